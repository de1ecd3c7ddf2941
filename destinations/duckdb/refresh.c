#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/failpoint.h"
#include "core/base/strbuf.h"
#include "core/data/table_name.h"
#include "destinations/duckdb/internal.h"

int duckdb_target_count_rows(struct duckdb_target_destination *d,
			     const char *quoted, int64_t *out,
			     struct error *err)
{
	char *sql = xstrfmt("SELECT count(*) FROM %s", quoted);
	struct duck_result *r = NULL;
	int rc = duck_query(d->db, &r, sql, NULL, 0, err);

	if (!rc && duck_next(r))
		*out = duck_i64(r, 0);
	duck_result_free(r);
	free(sql);
	return rc;
}

static int refresh_rename(struct duckdb_target_destination *d,
			  const struct existing *e, struct error *err)
{
	const struct duckdb_target_place *p = &d->place;
	struct strbuf sql = STRBUF_INIT;
	char *view = NULL;
	int rc = 0;

	if (e->has_data)
		rc = duck_execf(d->db, err, "DROP TABLE %s", p->quoted_data);
	strbuf_addf(&sql, "ALTER TABLE %s RENAME TO ", p->quoted_stage);
	sql_quote_name(&sql, p->data, '"');
	if (!rc)
		rc = duck_exec(d->db, sql.data, err);
	if (!rc && d->target->mode == LOAD_APPEND) {
		view = duckdb_target_view_sql(d->target, p);
		rc = duck_exec(d->db, view, err);
	}
	strbuf_release(&sql);
	free(view);
	return rc;
}

static int refresh_put(struct duckdb_target_destination *d,
		       const struct checkpoint *next, struct error *err)
{
	const struct existing made = {
		.mark = *next,
		.created = true,
		.delivered = d->mark.built,
	};

	return duckdb_target_mark_put(d, &d->place, d->target->pipeline, &made,
				      err);
}

int duckdb_target_refresh_swap(struct sql_mark *m,
			       const struct checkpoint *next, struct error *err)
{
	struct duckdb_target_destination *d =
		(struct duckdb_target_destination *)m;
	struct existing e;
	int rc = duckdb_target_existing_look(&e, d, &d->place,
					     d->target->pipeline, err);

	if (!rc)
		rc = refresh_rename(d, &e, err);
	if (!rc)
		rc = failpoint("before_watermark", err);
	if (!rc)
		rc = refresh_put(d, next, err);
	if (!rc)
		rc = failpoint("after_watermark", err);
	existing_release(&e);
	if (!rc)
		rc = duckdb_target_commit(m, next, err);
	if (!rc)
		rc = failpoint("commit_acked", err);
	return rc ? rc : 1;
}
