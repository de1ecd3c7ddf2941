#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/failpoint.h"
#include "destinations/clickhouse/internal.h"
#include "destinations/common/refresh.h"

static int swap_check(struct clickhouse_target *d, struct error *err)
{
	struct clickhouse_rows rows;
	char *sql = xstrfmt("SELECT count() FROM %s%s", d->place.staging,
			    d->target->mode == LOAD_APPEND ? "" : " FINAL");
	int rc = clickhouse_query(d->db, sql, "t", &rows, err);
	int64_t n = rc ? 0 : clickhouse_rows_i64(&rows, -1);

	free(sql);
	clickhouse_rows_release(&rows);
	return rc ? rc
		  : refresh_check_built(d->target->table, n, d->built, err);
}

/* Both names in one step; the old table goes afterwards. Done twice, it would
 * be undone: when the answer is lost, the refresh begins anew. */
static int swap_tables(struct clickhouse_target *d, struct error *err)
{
	struct catalog_table old;
	char *sql = NULL;
	int rc;

	clickhouse_target_catalog_init(&old);
	rc = clickhouse_target_catalog_read(d->db, d->place.database,
					    d->place.base, &old, err);
	if (!rc && old.exists)
		sql = xstrfmt("EXCHANGE TABLES %s AND %s", d->place.staging,
			      d->place.rows);
	else if (!rc)
		sql = xstrfmt("RENAME TABLE %s TO %s", d->place.staging,
			      d->place.rows);
	if (!rc)
		rc = clickhouse_exec_once(d->db, sql, err);
	free(sql);
	clickhouse_target_catalog_release(&old);
	return rc;
}

static int swap_view(struct clickhouse_target *d, struct error *err)
{
	struct strbuf sql = STRBUF_INIT;
	int rc;

	clickhouse_target_ddl_view(&sql, &d->place, d->target, &d->there);
	rc = clickhouse_exec(d->db, sql.data, err);
	strbuf_release(&sql);
	return rc;
}

static int swap_all(struct clickhouse_target *d, const struct checkpoint *next,
		    struct error *err)
{
	int rc = swap_check(d, err);

	if (!rc)
		rc = writer_check(&d->target->writer, err);
	if (!rc)
		rc = swap_tables(d, err);
	d->written = !rc;
	if (!rc)
		rc = failpoint("after_delete", err);
	if (!rc)
		rc = swap_view(d, err);
	return rc ? rc
		  : clickhouse_target_mark_advance(d, next, d->refreshed, err);
}

int clickhouse_target_finish(struct destination *base,
			     const struct checkpoint *next, struct error *err)
{
	struct clickhouse_target *d = (struct clickhouse_target *)base;
	int rc = failpoint("stage_full", err);

	d->written = false;
	if (!rc)
		rc = clickhouse_target_mark_lock(d, err);
	if (!rc)
		rc = clickhouse_target_mark_why(d, swap_all(d, next, err), err);
	if (!rc)
		rc = clickhouse_execf(d->db, err,
				      "DROP TABLE IF EXISTS %s SYNC",
				      d->place.staging);
	return rc;
}
