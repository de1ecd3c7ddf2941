#include <inttypes.h>
#include <stdlib.h>

#include "clients/pg_ahead.h"
#include "clients/pg_lock.h"
#include "core/base/alloc.h"
#include "core/data/table_name.h"
#include "destinations/postgres/ahead.h"
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

static char *lock_row_sql(const struct place *place, const char *pipeline,
			  bool target)
{
	struct strbuf sql = STRBUF_INIT;

	strbuf_addf(&sql, "SELECT FROM %s WHERE pipeline = ", place->watermark);
	sql_quote_literal(&sql, pipeline);
	if (target) {
		strbuf_addstr(&sql, " OR target = ");
		sql_quote_literal(&sql, place->table);
		strbuf_addstr(&sql, " ORDER BY pipeline");
	}
	strbuf_addstr(&sql, " FOR UPDATE");
	return strbuf_detach(&sql);
}

static void lock_add(struct strlist *out, char *sql)
{
	strlist_add(out, sql);
	free(sql);
}

/* Up to the table of the marks. */
static void lock_table_statements(const struct place *place, int64_t lease_us,
				  unsigned what, struct strlist *out)
{
	strlist_add(out, "BEGIN");
	strlist_add(out, "SET LOCAL lock_timeout = '" PG_LOCK_WAIT "'");
	if (lease_us)
		lock_add(out, xstrfmt("SET LOCAL "
				      "idle_in_transaction_session_timeout = "
				      "%" PRId64,
				      lease_us / 1000));
	if (what & LOCK_DDL)
		lock_add(out,
			 xstrfmt("SELECT pg_advisory_xact_lock(%d)", DDL_LOCK));
	if (what & LOCK_ROW)
		postgres_owned_lock(out, place);
}

/* From there on. `looked`: the message has looked at that table behind its
 * lock. */
static void lock_row_statements(const struct place *place, const char *pipeline,
				unsigned what, bool looked, struct strlist *out)
{
	if ((what & LOCK_ROW) && looked)
		strlist_add(out, postgres_stop_sql);
	else if (what & LOCK_ROW)
		postgres_owned_stop(out, place);
	if (what & LOCK_ROW)
		lock_add(out,
			 lock_row_sql(place, pipeline, what & LOCK_TARGET));
	strlist_add(out, "SET LOCAL lock_timeout TO DEFAULT");
}

/* Roll back, and say why. */
static int lock_failed(struct postgres_destination *d, const char *pipeline,
		       unsigned what, struct error *err)
{
	if (!pg_alive(d->pg))
		return -(int)err->code;
	postgres_session_rollback(d);
	if (pg_lock_missed(err) && (what & LOCK_ROW))
		lock_explain_row(d, pipeline, err);
	if (pg_lock_missed(err) && (what & LOCK_DDL))
		lock_explain_ddl(d, pipeline, err);
	return postgres_owned_explain(d->pg, &d->place, err);
}

int postgres_lock_begin(struct postgres_destination *d, const char *pipeline,
			unsigned what, struct error *err)
{
	struct strlist sql = STRLIST_INIT;
	int rc;

	lock_table_statements(&d->place, d->lease_us, what, &sql);
	lock_row_statements(&d->place, pipeline, what, false, &sql);
	if (what & LOCK_TABLE)
		lock_add(&sql, xstrfmt("LOCK TABLE %s IN ROW EXCLUSIVE MODE",
				       d->rows));
	rc = pg_exec_list(d->pg, &sql, err);
	strlist_release(&sql);
	return rc ? lock_failed(d, pipeline, what, err) : 0;
}

static void lock_ahead(struct postgres_destination *d, struct strlist *sql,
		       size_t from)
{
	for (size_t i = from; i < sql->n; i++)
		pg_ahead_add(d->pg, sql->items[i], 0, NULL);
	strlist_release(sql);
}

void postgres_lock_ahead_table(struct postgres_destination *d,
			       const struct place *place, int64_t lease_us)
{
	struct strlist sql = STRLIST_INIT;

	lock_table_statements(place, lease_us, LOCK_ROW, &sql);
	lock_ahead(d, &sql, 0);
}

void postgres_lock_ahead_row(struct postgres_destination *d,
			     const struct place *place, const char *pipeline,
			     bool looked)
{
	struct strlist sql = STRLIST_INIT;

	lock_row_statements(place, pipeline, LOCK_ROW, looked, &sql);
	lock_ahead(d, &sql, looked ? 1 : 0);
}

int postgres_lock_asked(struct postgres_destination *d, const char *pipeline,
			struct error *err)
{
	bool looked = pg_ahead_has(d->pg, postgres_stop_sql);
	struct strlist sql = STRLIST_INIT;
	int rc = 0;

	lock_table_statements(&d->place, d->lease_us, LOCK_ROW, &sql);
	lock_row_statements(&d->place, pipeline, LOCK_ROW, looked, &sql);
	for (size_t i = 0; !rc && i < sql.n; i++) {
		struct pg_result *r = NULL;

		rc = pg_query(d->pg, &r, sql.items[i], NULL, 0, NULL, err);
		pg_result_free(r);
	}
	strlist_release(&sql);
	return rc ? lock_failed(d, pipeline, LOCK_ROW, err) : 0;
}
