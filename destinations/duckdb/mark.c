#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/failpoint.h"
#include "destinations/duckdb/internal.h"

/* Facts about a target. */
struct found {
	struct duckdb_target_place place;
	struct existing existing;
};

static const struct mark_statement put_mark = {
	"INSERT INTO " SQL_MARKS " (pipeline, watermark, batch_id, fence, "
	"rows_total, updated_at, created_target, target, target_rows) "
	"VALUES ($1, $2, $3, $4::BIGINT, $5::BIGINT, "
	"$6::TIMESTAMPTZ, $7::BOOLEAN, $8, $9::BIGINT) ON CONFLICT "
	"(pipeline) DO "
	"UPDATE SET watermark = excluded.watermark, batch_id = "
	"excluded.batch_id, fence = excluded.fence, rows_total = "
	"excluded.rows_total, updated_at = excluded.updated_at, "
	"created_target = excluded.created_target, target = "
	"excluded.target, target_rows = excluded.target_rows",
	{ MARK_PIPELINE, MARK_WATERMARK, MARK_BATCH_ID, MARK_FENCE,
	  MARK_ROWS_TOTAL, MARK_NOW, MARK_CREATED, MARK_TABLE, MARK_ROWS_MORE },
	NULL,
};

/* Pipelines that append to one table share its numbers, which rows_total is
 * the highest of. */
static const struct mark_statement read_mark = {
	"SELECT watermark, coalesce(batch_id, ''), fence::VARCHAR, CASE WHEN "
	"$2::BOOLEAN THEN (SELECT max(rows_total) FROM " SQL_MARKS " t "
	"WHERE lower(t.target) = lower(w.target)) ELSE rows_total "
	"END::VARCHAR FROM " SQL_MARKS " w WHERE pipeline = $1",
	{ MARK_PIPELINE, MARK_SHARED },
	NULL,
};

static const struct mark_statement hold_mark = {
	"UPDATE " SQL_MARKS " SET updated_at = updated_at WHERE "
	"pipeline = $1 AND batch_id = $2",
	{ MARK_PIPELINE, MARK_SEEN_ID },
	NULL,
};

static const struct mark_statement release_mark = {
	"UPDATE " SQL_MARKS " SET batch_id = 'left-' || batch_id "
	"WHERE pipeline = $1 AND "
	"starts_with(batch_id, '" REFRESH_PREFIX "')",
	{ MARK_PIPELINE },
	NULL,
};

static int marks_query(struct sql_mark *m, const char *sql, const char *shape,
		       const struct sql_values *values, struct sql_rows *out,
		       struct error *err)
{
	struct duckdb_target_destination *d =
		(struct duckdb_target_destination *)m;
	struct duck_result *r = NULL;
	int rc = duck_query(d->db, &r, sql, values->texts, values->n, err);

	(void)shape;
	out->n_columns = rc ? 0 : duck_columns(r);
	while (!rc && duck_next(r))
		for (size_t i = 0; i < out->n_columns; i++) {
			char *text = duck_str(r, i);

			strlist_add(&out->cells, text);
			free(text);
		}
	duck_result_free(r);
	return rc;
}

static int marks_change(struct sql_mark *m, const char *sql,
			const struct sql_values *values, int64_t *touched,
			struct error *err)
{
	struct duckdb_target_destination *d =
		(struct duckdb_target_destination *)m;

	return duck_change(d->db, sql, values->texts, values->n, touched, err);
}

static int marks_begin(struct sql_mark *m, struct error *err)
{
	return duck_exec(((struct duckdb_target_destination *)m)->db, "BEGIN",
			 err);
}

static int marks_commit(struct sql_mark *m, struct error *err)
{
	return duck_exec(((struct duckdb_target_destination *)m)->db, "COMMIT",
			 err);
}

static void marks_rollback(struct sql_mark *m)
{
	duck_exec(((struct duckdb_target_destination *)m)->db, "ROLLBACK",
		  NULL);
}

static struct mark_place mark_place(const struct duckdb_target_destination *d,
				    const struct duckdb_target_place *p)
{
	return (struct mark_place){
		.marks = p->quoted_mark,
		.rows = p->quoted_data,
		.building = p->quoted_stage,
		.schema = p->schema,
		.table = p->name,
		.shared = strcmp(p->name, p->data) != 0,
		.file = d->path,
	};
}

static struct mark_place marks_place(const struct sql_mark *m)
{
	const struct duckdb_target_destination *d =
		(const struct duckdb_target_destination *)m;

	return mark_place(d, &d->place);
}

/* Says what the row is like by now, as far as it can be read. */
static int marks_lost(struct sql_mark *m, const struct target *target,
		      struct error *err)
{
	struct checkpoint now = { .found = false };
	int rc = sql_mark_read(m, &read_mark, NULL, target->pipeline, &now,
			       NULL);

	rc = sql_mark_overtaken(m, target, m->seen.batch_id, rc ? NULL : &now,
				err);
	checkpoint_release(&now);
	return rc;
}

static const struct sql_mark_engine duckdb_target_marks = {
	.load = &duckdb_target_load_engine,
	.query = marks_query,
	.change = marks_change,
	.begin = marks_begin,
	.commit = marks_commit,
	.rollback = marks_rollback,
	.place = marks_place,
	.lost = marks_lost,
	.meet = { "SELECT pipeline, watermark FROM " SQL_MARKS " WHERE "
		  "lower(target) = lower($1) AND pipeline <> $2 AND "
		  "watermark IS NOT NULL "
		  "ORDER BY pipeline",
		  { MARK_TABLE, MARK_PIPELINE },
		  "tt" },
	.write = { "UPDATE " SQL_MARKS
		   " SET watermark = $2, batch_id = $3, fence = "
		   "$4::BIGINT, rows_total = $5::BIGINT, updated_at = "
		   "$6::TIMESTAMPTZ, target_rows = target_rows + $8::BIGINT "
		   "WHERE pipeline = $1 AND batch_id = $7 AND "
		   "fence <= $4::BIGINT",
		   { MARK_PIPELINE, MARK_WATERMARK, MARK_BATCH_ID, MARK_FENCE,
		     MARK_ROWS_TOTAL, MARK_NOW, MARK_SEEN_ID, MARK_ROWS_MORE },
		   NULL },
	.look = { "SELECT watermark FROM " SQL_MARKS " WHERE pipeline = $1",
		  { MARK_PIPELINE },
		  "?" },
	.raise = { "UPDATE " SQL_MARKS
		   " SET watermark = $2 WHERE pipeline = $1",
		   { MARK_PIPELINE, MARK_WATERMARK },
		   NULL },
	.hand_on = { "UPDATE " SQL_MARKS
		     " SET rows_total = greatest(rows_total, "
		     "(SELECT rows_total FROM " SQL_MARKS
		     " WHERE pipeline = $1)) "
		     "WHERE pipeline = (SELECT min(o.pipeline) FROM " SQL_MARKS
		     " o "
		     "JOIN " SQL_MARKS
		     " w ON lower(w.target) = lower(o.target) "
		     "AND o.pipeline <> w.pipeline WHERE w.pipeline = $1)",
		     { MARK_PIPELINE },
		     NULL },
	.forget = { "DELETE FROM " SQL_MARKS
		    " WHERE pipeline = $1 AND fence <= "
		    "$2::BIGINT",
		    { MARK_PIPELINE, MARK_FENCE },
		    NULL },
	.emptied = { "UPDATE " SQL_MARKS " SET target_rows = 0 "
		     "WHERE pipeline = $1 AND "
		     "NOT EXISTS (SELECT 1 FROM " SQL_ROWS ")",
		     { MARK_PIPELINE },
		     NULL },
	.cut = { "DELETE FROM " SQL_ROWS " WHERE " NAME_RAW_SEQ " > $1::BIGINT",
		 { MARK_ROWS_TOTAL },
		 NULL },
	.built = { "SELECT count(*)::VARCHAR FROM " SQL_BUILDING,
		   { MARK_NONE },
		   "1t" },
};

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

int duckdb_target_mark_put(struct duckdb_target_destination *d,
			   const struct duckdb_target_place *p,
			   const char *pipeline, const struct existing *e,
			   struct error *err)
{
	const struct mark_place at = mark_place(d, p);
	const struct checkpoint *mark = &e->mark;
	const struct mark_facts facts = {
		.texts = { [MARK_PIPELINE] = pipeline,
			   [MARK_WATERMARK] = mark->watermark,
			   [MARK_BATCH_ID] =
				   mark->batch_id ? mark->batch_id : "" },
		.numbers = { [MARK_FENCE] = mark->fence,
			     [MARK_ROWS_TOTAL] = mark->rows_total,
			     [MARK_ROWS_MORE] = e->delivered,
			     [MARK_CREATED] = e->created },
	};

	return sql_mark_change(&d->mark, &put_mark, &at, &facts, NULL, err);
}

/* In a refresh a write, so that two transactions cannot both find the row their
 * own; a load writes the mark. */
int duckdb_target_mark_begin(struct sql_mark *m, bool rows, struct error *err)
{
	const struct target *target = sql_mark_target(m);
	struct mark_facts facts = sql_mark_of(target->pipeline);
	int64_t touched = 1;
	int rc = marks_begin(m, err);

	(void)rows;
	facts.texts[MARK_SEEN_ID] = m->seen.batch_id;
	if (!rc && target->refresh)
		rc = sql_mark_change(m, &hold_mark, NULL, &facts, &touched,
				     err);
	return rc || touched == 1 ? rc : marks_lost(m, target, err);
}

int duckdb_target_mark_look(struct sql_mark *m, bool rows,
			    struct checkpoint *now, char **table,
			    struct error *err)
{
	(void)rows;
	(void)table;
	return sql_mark_read(m, &read_mark, NULL, sql_mark_target(m)->pipeline,
			     now, err);
}

/* A commit that failed may have been written all the same: what the row says
 * now decides. */
static bool mark_committed(struct duckdb_target_destination *d,
			   const struct checkpoint *next)
{
	struct existing existing;
	bool same = false;

	if (!duckdb_target_existing_look(&existing, d, &d->place,
					 d->target->pipeline, NULL))
		same = next->batch_id && *next->batch_id &&
		       sql_mark_is_there(&d->mark, next, &existing.mark);
	existing_release(&existing);
	return same;
}

int duckdb_target_commit(struct sql_mark *m, const struct checkpoint *next,
			 struct error *err)
{
	struct duckdb_target_destination *d =
		(struct duckdb_target_destination *)m;
	struct error refused = ERROR_INIT;
	int rc = writer_check(&d->target->writer, err);

	if (!rc)
		rc = failpoint("commit_sent", err);
	if (rc || !duck_exec(d->db, "COMMIT", &refused))
		return rc;
	duck_exec(d->db, "ROLLBACK", NULL);
	if (next && mark_committed(d, next))
		return 0;
	return error_set(err, refused.code, "%s", refused.message);
}

/* The stage that a killed refresh left, once prepare has run. Its process is
 * gone, or is ours: the file's lock keeps all others out. */
static int mark_drop_leftovers(struct duckdb_target_destination *d,
			       struct existing *e,
			       const struct duckdb_target_place *p,
			       struct error *err)
{
	const struct mark_facts facts = sql_mark_of(d->target->pipeline);
	int rc;

	if (!e->has_stage || d->target->refresh)
		return 0;
	rc = duck_exec(d->db, "BEGIN", err);
	if (rc)
		return rc;
	rc = sql_mark_change(&d->mark, &release_mark, NULL, &facts, NULL, err);
	if (!rc)
		rc = duck_execf(d->db, err, "DROP TABLE %s", p->quoted_stage);
	rc = sql_mark_end(&d->mark, rc, err);
	if (rc)
		return rc;
	existing_release(e);
	return duckdb_target_existing_look(e, d, p, d->target->pipeline, err);
}

static int mark_find(struct mark_keeper *k, const struct target *target,
		     enum mark_look look, struct mark_found *out,
		     struct error *err)
{
	struct duckdb_target_destination *d =
		(struct duckdb_target_destination *)k;
	struct found *f = xcalloc(1, sizeof(*f));
	struct existing *e = &f->existing;
	int rc = duckdb_target_place_init(&f->place, d, target, err);

	(void)look;
	out->own = f;
	if (!rc)
		rc = duckdb_target_existing_look(e, d, &f->place,
						 target->pipeline, err);
	if (!rc)
		rc = duckdb_target_existing_refuse_marks(e, d, err);
	if (rc)
		return rc;
	out->at = mark_place(d, &f->place);
	out->where = d->path;
	out->has_target = e->has_data;
	out->has_marks = e->has_mark_table;
	return 0;
}

static void mark_lose(struct mark_found *f)
{
	struct found *own = f->own;

	duckdb_target_place_release(&own->place);
	existing_release(&own->existing);
	free(own);
}

static void mark_add_other(void *ctx, const struct duckdb_target_mark *m)
{
	if (!m->own && m->watermark)
		checkpoint_add_other(ctx, m->pipeline, m->watermark);
}

static int mark_read_all(struct mark_keeper *k, const struct mark_found *f,
			 const char *pipeline, struct checkpoint *out,
			 struct error *err)
{
	struct found *own = f->own;

	checkpoint_copy(out, &own->existing.mark);
	return duckdb_target_rows((struct duckdb_target_destination *)k,
				  &own->place, pipeline, mark_add_other, out,
				  err);
}

static int mark_resume(struct mark_keeper *k, struct checkpoint *out,
		       struct error *err)
{
	struct duckdb_target_destination *d =
		(struct duckdb_target_destination *)k;
	struct mark_found f = { .own = NULL };
	int rc = mark_find(k, d->target, MARK_LOOK_ALL, &f, err);
	struct found *own = f.own;

	if (!rc)
		rc = mark_drop_leftovers(d, &own->existing, &own->place, err);
	if (!rc)
		rc = sql_mark_resume(&d->mark, d->target, &own->existing.mark,
				     err);
	if (!rc)
		checkpoint_copy(out, &own->existing.mark);
	mark_lose(&f);
	return rc;
}

/* An empty batch_id makes every writer that is under way find that it was
 * moved. */
static int mark_set(struct mark_keeper *k, const struct mark_found *f,
		    const char *pipeline, const char *watermark,
		    struct error *err)
{
	struct duckdb_target_destination *d =
		(struct duckdb_target_destination *)k;
	const struct found *own = f->own;
	struct existing put = own->existing;
	int rc = duck_exec(d->db, "BEGIN", err);

	if (rc)
		return rc;
	put.mark.watermark = (char *)watermark;
	put.mark.batch_id = (char *)"";
	put.delivered = 0;
	rc = duckdb_target_mark_create_table(d, &own->place, err);
	if (!rc)
		rc = duckdb_target_mark_put(d, &own->place, pipeline, &put,
					    err);
	return sql_mark_end(&d->mark, rc, err);
}

static int mark_raise(struct mark_keeper *k, const struct mark_found *f,
		      const char *pipeline, const char *mark, struct error *err)
{
	struct duckdb_target_destination *d =
		(struct duckdb_target_destination *)k;
	const struct found *own = f->own;
	struct existing made = { .known = true };
	int rc = duck_exec(d->db, "BEGIN", err);

	if (rc)
		return rc;
	rc = sql_mark_raise(&d->mark, &f->at, pipeline, mark,
			    &made.mark.watermark, err);
	if (rc > 0)
		rc = duckdb_target_mark_put(d, &own->place, pipeline, &made,
					    err);
	rc = sql_mark_end(&d->mark, rc, err);
	existing_release(&made);
	return rc;
}

static const struct target *mark_prepared(const struct mark_keeper *k)
{
	return ((const struct duckdb_target_destination *)k)->target;
}

static const struct mark_engine duckdb_target_keeper = {
	.prepared = mark_prepared,
	.missing = { "does not exist in", "" },
	.find = mark_find,
	.lose = mark_lose,
	.read = mark_read_all,
	.resume = mark_resume,
	.forget = sql_mark_forget,
	.set = mark_set,
	.raise = mark_raise,
};

void duckdb_target_mark_init(struct duckdb_target_destination *d,
			     const struct destination_ops *ops)
{
	sql_mark_init(&d->mark, ops, &duckdb_target_keeper,
		      &duckdb_target_marks);
}
