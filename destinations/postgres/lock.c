#include <inttypes.h>
#include <stdlib.h>

#include "clients/pg_lock.h"
#include "core/base/alloc.h"
#include "core/data/table_name.h"
#include "destinations/postgres/owned.h"
#include "destinations/postgres/postgres.h"

/* One key for all of Tidemark's DDL in a database ("tidm"): CREATE ... IF NOT
 * EXISTS of two sessions at once fails on a catalog's unique index. */
#define DDL_LOCK 0x7469646d

/* FOR UPDATE leaves the holder's transaction in the row's xmax. */
static const char row_holder_sql[] =
	"SELECT l.pid FROM pg_locks l JOIN %s w ON l.transactionid = w.xmax\n"
	"WHERE l.granted AND l.pid <> pg_backend_pid() AND w.pipeline = $1";

/* Its halves are two oids. */
const char postgres_lock_advisory_sql[] =
	"SELECT l.pid FROM pg_locks l\n"
	"WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1\n"
	"  AND l.pid <> pg_backend_pid()\n"
	"  AND l.database = (SELECT oid FROM pg_database\n"
	"                    WHERE datname = current_database())\n"
	"  AND l.classid = (($1::bigint >> 32) & 4294967295)::oid\n"
	"  AND l.objid = ($1::bigint & 4294967295)::oid";

static void lock_explain_row(struct postgres_destination *d,
			     const char *pipeline, struct error *err)
{
	char *sql = xstrfmt(row_holder_sql, d->place.watermark);
	char *what = xstrfmt("pipeline %s: its row in %s is locked by another "
			     "run of %s",
			     pipeline, d->place.watermark, pipeline);

	(void)pg_lock_explain(d->pg, what, sql, 1, &pipeline, err);
	free(what);
	free(sql);
}

static void lock_explain_ddl(struct postgres_destination *d,
			     const char *pipeline, struct error *err)
{
	char *key = xstrfmt("%d", DDL_LOCK);
	const char *params[] = { key };
	char *what = xstrfmt("pipeline %s: another run is just making or "
			     "altering tables in this database",
			     pipeline);

	(void)pg_lock_explain(d->pg, what, postgres_lock_advisory_sql, 1,
			      params, err);
	free(what);
	free(key);
}

int postgres_lock_begin(struct postgres_destination *d, const char *pipeline,
			unsigned what, struct error *err)
{
	struct strbuf sql = STRBUF_INIT;
	int rc;

	strbuf_addstr(&sql,
		      "BEGIN; SET LOCAL lock_timeout = '" PG_LOCK_WAIT "';\n");
	if (d->lease_us)
		strbuf_addf(&sql,
			    "SET LOCAL idle_in_transaction_session_timeout = "
			    "%" PRId64 ";\n",
			    d->lease_us / 1000);
	if (what & LOCK_DDL)
		strbuf_addf(&sql, "SELECT pg_advisory_xact_lock(%d);\n",
			    DDL_LOCK);
	if (what & LOCK_ROW) {
		postgres_owned_hold(&sql, &d->place);
		strbuf_addf(&sql, "SELECT FROM %s WHERE pipeline = ",
			    d->place.watermark);
		sql_quote_literal(&sql, pipeline);
		if (what & LOCK_TARGET) {
			strbuf_addstr(&sql, " OR target = ");
			sql_quote_literal(&sql, d->place.table);
			strbuf_addstr(&sql, " ORDER BY pipeline");
		}
		strbuf_addstr(&sql, " FOR UPDATE;\n");
	}
	strbuf_addstr(&sql, "SET LOCAL lock_timeout TO DEFAULT");
	if (what & LOCK_TABLE)
		strbuf_addf(&sql, ";\nLOCK TABLE %s IN ROW EXCLUSIVE MODE",
			    d->rows);
	rc = pg_exec(d->pg, sql.data, err);
	strbuf_release(&sql);
	if (!rc || !pg_alive(d->pg))
		return rc;
	postgres_session_rollback(d);
	if (pg_lock_missed(err) && (what & LOCK_ROW))
		lock_explain_row(d, pipeline, err);
	if (pg_lock_missed(err) && (what & LOCK_DDL))
		lock_explain_ddl(d, pipeline, err);
	return postgres_owned_explain(d->pg, &d->place, err);
}
