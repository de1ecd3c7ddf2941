#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "destinations/duckdb/internal.h"

#define MARK_NUMBER_SIZE 24

int duckdb_target_mark_create_table(struct duckdb_target_destination *d,
				    const struct duckdb_target_place *p,
				    struct error *err)
{
	return duck_execf(d->db, err,
			  "CREATE TABLE IF NOT EXISTS %s (pipeline VARCHAR "
			  "PRIMARY KEY, watermark VARCHAR, batch_id VARCHAR, "
			  "fence BIGINT, rows_total BIGINT, updated_at "
			  "TIMESTAMP WITH TIME ZONE, created_target BOOLEAN, "
			  "target VARCHAR, target_rows BIGINT)",
			  p->quoted_mark);
}

/* Numbers and time as text parameters. */
struct mark_texts {
	char fence[MARK_NUMBER_SIZE];
	char rows[MARK_NUMBER_SIZE];
	char delivered[MARK_NUMBER_SIZE];
	char now[CLOCK_TEXT_SIZE];
};

static void mark_texts_init(struct mark_texts *t, const struct checkpoint *mark,
			    int64_t delivered)
{
	snprintf(t->delivered, sizeof(t->delivered), "%" PRId64, delivered);
	snprintf(t->fence, sizeof(t->fence), "%" PRId64, mark->fence);
	snprintf(t->rows, sizeof(t->rows), "%" PRId64, mark->rows_total);
	clock_format_utc(clock_now_us(), t->now);
}

int duckdb_target_mark_put(struct duckdb_target_destination *d,
			   const struct duckdb_target_place *p,
			   const char *pipeline, const struct existing *e,
			   struct error *err)
{
	const struct checkpoint *mark = &e->mark;
	struct mark_texts t;
	const char *params[] = { pipeline,
				 mark->watermark,
				 mark->batch_id ? mark->batch_id : "",
				 t.fence,
				 t.rows,
				 t.now,
				 e->created ? "true" : "false",
				 p->name,
				 t.delivered };
	char *sql = xstrfmt(
		"INSERT INTO %s (pipeline, watermark, batch_id, fence, "
		"rows_total, updated_at, created_target, target, target_rows) "
		"VALUES ($1, $2, $3, $4::BIGINT, $5::BIGINT, "
		"$6::TIMESTAMPTZ, $7::BOOLEAN, $8, $9::BIGINT) ON CONFLICT "
		"(pipeline) DO "
		"UPDATE SET watermark = excluded.watermark, batch_id = "
		"excluded.batch_id, fence = excluded.fence, rows_total = "
		"excluded.rows_total, updated_at = excluded.updated_at, "
		"created_target = excluded.created_target, target = "
		"excluded.target, target_rows = excluded.target_rows",
		p->quoted_mark);
	int rc;

	mark_texts_init(&t, mark, e->delivered);
	rc = duck_change(d->db, sql, params, ARRAY_SIZE(params), NULL, err);
	free(sql);
	return rc;
}

/* Says what the row is like by now, as far as it can be read. */
static int mark_overtaken(struct duckdb_target_destination *d,
			  const char *batch_id, struct error *err)
{
	const struct checkpoint seen = { .batch_id = (char *)batch_id,
					 .fence = d->seen.fence };
	struct checkpoint now = { 0 };
	char *sql = xstrfmt("SELECT batch_id, fence::VARCHAR FROM %s WHERE "
			    "pipeline = $1",
			    d->place.quoted_mark);
	char *where = xstrfmt(NAME_WATERMARK_TABLE " of %s", d->path);
	char *outcome = target_given_up(d->target);
	struct duck_result *r = NULL;
	int rc = duck_query(d->db, &r, sql, &d->target->pipeline, 1, NULL);

	now.found = !rc && duck_next(r);
	if (now.found) {
		char *fence = duck_str(r, 1);

		now.batch_id = duck_str(r, 0);
		now.fence = strtoll(fence, NULL, 10);
		free(fence);
	}
	duck_result_free(r);
	rc = writer_overtaken(d->target->pipeline, where, outcome, &seen,
			      rc ? NULL : &now, err);
	checkpoint_release(&now);
	free(outcome);
	free(where);
	free(sql);
	return rc;
}

int duckdb_target_mark_move(struct duckdb_target_destination *d,
			    const struct checkpoint *next, struct error *err)
{
	struct mark_texts t;
	const char *params[] = { d->target->pipeline,
				 next->watermark,
				 next->batch_id ? next->batch_id : "",
				 t.fence,
				 t.rows,
				 t.now,
				 d->seen.batch_id ? d->seen.batch_id : "",
				 t.delivered };
	char *sql = xstrfmt(
		"UPDATE %s SET watermark = $2, batch_id = $3, fence = "
		"$4::BIGINT, rows_total = $5::BIGINT, updated_at = "
		"$6::TIMESTAMPTZ, target_rows = target_rows + $8::BIGINT "
		"WHERE pipeline = $1 AND batch_id = $7 AND "
		"fence <= $4::BIGINT",
		d->place.quoted_mark);
	int64_t rows = 0;
	int rc;

	mark_texts_init(&t, next, next->rows_total - d->seen.rows_total);
	rc = duck_change(d->db, sql, params, ARRAY_SIZE(params), &rows, err);
	free(sql);
	if (!rc && rows != 1)
		rc = mark_overtaken(d, d->seen.batch_id, err);
	return rc;
}

int duckdb_target_mark_stands(struct duckdb_target_destination *d,
			      const struct duckdb_target_place *p,
			      const char *pipeline, char **out,
			      struct error *err)
{
	char *sql = xstrfmt("SELECT watermark FROM %s WHERE pipeline = $1",
			    p->quoted_mark);
	struct duck_result *r = NULL;
	int rc = duck_query(d->db, &r, sql, &pipeline, 1, err);
	bool found = !rc && duck_next(r);

	*out = found && !duck_is_null(r, 0) ? duck_str(r, 0) : NULL;
	duck_result_free(r);
	free(sql);
	return rc ? rc : !found;
}

int duckdb_target_mark_raise(struct duckdb_target_destination *d,
			     const struct duckdb_target_place *p,
			     const char *pipeline, const char *mark,
			     struct error *err)
{
	struct existing made = { .known = true };
	char *stands = NULL, *raised = NULL, *sql;
	int rc = duckdb_target_mark_stands(d, p, pipeline, &stands, err);
	bool missing = rc > 0;

	if (rc < 0)
		return rc;
	raised = watermark_raise_text(stands, mark);
	sql = xstrfmt("UPDATE %s SET watermark = $2 WHERE pipeline = $1",
		      p->quoted_mark);
	made.mark.watermark = raised;
	rc = 0;
	if (missing) {
		rc = duckdb_target_mark_put(d, p, pipeline, &made, err);
	} else if (raised) {
		const char *params[] = { pipeline, raised };

		rc = duck_change(d->db, sql, params, 2, NULL, err);
	}
	free(stands);
	free(raised);
	free(sql);
	return rc;
}

/* The numbers of a raw table go on behind the highest, whoever gave it. */
static int mark_hand_on(struct duckdb_target_destination *d,
			const struct duckdb_target_place *p,
			const char *pipeline, struct error *err)
{
	const char *mark = p->quoted_mark;
	char *sql;
	int rc;

	if (!strcmp(p->name, p->data))
		return 0;
	sql = xstrfmt("UPDATE %s SET rows_total = greatest(rows_total, "
		      "(SELECT rows_total FROM %s WHERE pipeline = $1)) "
		      "WHERE pipeline = (SELECT min(o.pipeline) FROM %s o "
		      "JOIN %s w ON lower(w.target) = lower(o.target) "
		      "AND o.pipeline <> w.pipeline WHERE w.pipeline = $1)",
		      mark, mark, mark, mark);
	rc = duck_change(d->db, sql, &pipeline, 1, NULL, err);
	free(sql);
	return rc;
}

int duckdb_target_mark_forget(struct duckdb_target_destination *d,
			      const struct duckdb_target_place *p,
			      const struct target *target, struct error *err)
{
	char fence[MARK_NUMBER_SIZE];
	const char *params[] = { target->pipeline, fence };
	char *sql = xstrfmt("DELETE FROM %s WHERE pipeline = $1 AND fence <= "
			    "$2::BIGINT",
			    p->quoted_mark);
	int rc = mark_hand_on(d, p, target->pipeline, err);

	snprintf(fence, sizeof(fence), "%" PRId64, target->writer.fence);
	if (!rc)
		rc = duck_change(d->db, sql, params, ARRAY_SIZE(params), NULL,
				 err);
	free(sql);
	return rc;
}

int duckdb_target_mark_others(struct duckdb_target_destination *d,
			      const struct duckdb_target_place *p,
			      const char *pipeline, struct strlist *out,
			      struct error *err)
{
	const char *params[] = { p->name, pipeline };
	char *sql = xstrfmt("SELECT pipeline, watermark FROM %s WHERE "
			    "lower(target) = lower($1) AND pipeline <> $2 AND "
			    "watermark IS NOT NULL "
			    "ORDER BY pipeline",
			    p->quoted_mark);
	struct duck_result *r = NULL;
	int rc = duck_query(d->db, &r, sql, params, ARRAY_SIZE(params), err);

	while (!rc && duck_next(r))
		for (size_t i = 0; i < 2; i++) {
			char *text = duck_str(r, i);

			strlist_add(out, text);
			free(text);
		}
	duck_result_free(r);
	free(sql);
	return rc;
}

int duckdb_target_mark_meet_others(struct duckdb_target_destination *d,
				   struct error *err)
{
	struct strlist others = STRLIST_INIT;
	int rc = 0;

	if (d->target->mode != LOAD_UPDATE && d->target->n_others)
		rc = duckdb_target_mark_others(
			d, &d->place, d->target->pipeline, &others, err);
	if (!rc)
		rc = target_meet_others(d->target, &others, 2, err);
	strlist_release(&others);
	return rc;
}

/* A write, so that two transactions cannot both find the row their own. */
int duckdb_target_mark_hold(struct duckdb_target_destination *d,
			    struct error *err)
{
	const char *pipeline = d->target->pipeline;
	const char *params[] = { pipeline, d->refresh_id };
	char *sql = xstrfmt("UPDATE %s SET updated_at = updated_at WHERE "
			    "pipeline = $1 AND batch_id = $2",
			    d->place.quoted_mark);
	int64_t rows = 0;
	int rc =
		duck_change(d->db, sql, params, ARRAY_SIZE(params), &rows, err);

	free(sql);
	if (!rc && rows != 1)
		rc = mark_overtaken(d, d->refresh_id, err);
	return rc;
}

int duckdb_target_mark_release(struct duckdb_target_destination *d,
			       const struct duckdb_target_place *p,
			       const char *pipeline, struct error *err)
{
	char *sql = xstrfmt("UPDATE %s SET batch_id = 'left-' || batch_id "
			    "WHERE pipeline = $1 AND "
			    "starts_with(batch_id, '" REFRESH_PREFIX "')",
			    p->quoted_mark);
	int rc = duck_change(d->db, sql, &pipeline, 1, NULL, err);

	free(sql);
	return rc;
}
