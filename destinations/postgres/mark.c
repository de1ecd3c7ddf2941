#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/failpoint.h"
#include "destinations/postgres/ahead.h"
#include "destinations/postgres/owned.h"
#include "destinations/postgres/postgres.h"

/* json, not jsonb: `watermark show` prints the text that was written. */
static const char table_sql[] =
	"CREATE TABLE IF NOT EXISTS %s (\n"
	"  pipeline text PRIMARY KEY,\n"
	"  watermark json,\n"
	"  batch_id text NOT NULL DEFAULT '',\n"
	"  fence bigint NOT NULL DEFAULT 0,\n"
	"  rows_total bigint NOT NULL DEFAULT 0,\n"
	"  updated_at timestamp with time zone NOT NULL DEFAULT now(),\n"
	"  created_target boolean NOT NULL DEFAULT false,\n"
	"  target text NOT NULL DEFAULT '',\n"
	"  target_id text NOT NULL DEFAULT '',\n"
	"  target_rows bigint NOT NULL DEFAULT 0)";

/* Pipelines that append to one table share its numbers, which rows_total is
 * the highest of. */
#define READ_COLUMNS                                                           \
	"SELECT watermark::text, batch_id, fence,\n"                           \
	"  CASE WHEN $2 THEN (SELECT max(rows_total) FROM " SQL_MARKS " t\n"   \
	"                     WHERE t.target = w.target) ELSE rows_total "     \
	"END"
#define READ_ROW "\nFROM " SQL_MARKS " w WHERE pipeline = $1"

const struct mark_statement postgres_read_mark = {
	READ_COLUMNS READ_ROW,
	{ MARK_PIPELINE, MARK_SHARED },
	"?ttt",
};

/* Waits for a writer that is still committing or rolling back. */
static const struct mark_statement read_locked = {
	READ_COLUMNS READ_ROW " FOR UPDATE",
	{ MARK_PIPELINE, MARK_SHARED },
	"?ttt",
};

/* And the signature of the table that is loaded. */
static const struct mark_statement read_held = {
	READ_COLUMNS ",\n  (SELECT " POSTGRES_SIGNATURE "\n   FROM pg_class c\n"
		     "   WHERE c.oid = to_regclass($3))" READ_ROW,
	{ MARK_PIPELINE, MARK_SHARED, MARK_LOADED },
	"?ttt?",
};

/* The same, and with it the marks that others have of the target. */
const struct mark_statement postgres_read_all = {
	READ_COLUMNS ",\n"
		     "  pipeline = $1, pipeline\n"
		     "FROM " SQL_MARKS " w WHERE pipeline = $1\n"
		     "  OR target = $3 AND watermark IS NOT NULL ORDER BY "
		     "pipeline",
	{ MARK_PIPELINE, MARK_SHARED, MARK_TABLE },
	"?ttttt",
};

static const struct mark_statement claim_mark = {
	"UPDATE ONLY " SQL_MARKS
	" SET fence = greatest(fence, $2) WHERE pipeline = $1\n"
	"RETURNING fence",
	{ MARK_PIPELINE, MARK_FENCE },
	"t",
};

static const struct mark_statement make_mark = {
	"INSERT INTO " SQL_MARKS " (pipeline, target)\n"
	"VALUES ($1, $2)\n"
	"ON CONFLICT (pipeline) DO NOTHING",
	{ MARK_PIPELINE, MARK_TABLE },
	NULL,
};

static const struct mark_statement put_mark = {
	"INSERT INTO " SQL_MARKS
	" AS w (pipeline, watermark, batch_id, target)\n"
	"VALUES ($1, $2::json, $3, $4)\n"
	"ON CONFLICT (pipeline) DO UPDATE SET watermark = $2::json,\n"
	"  batch_id = $3, updated_at = clock_timestamp(), target = $4,\n"
	"  created_target = w.created_target AND w.target = $4,\n"
	"  target_id = '', target_rows = 0",
	{ MARK_PIPELINE, MARK_WATERMARK, MARK_BATCH_ID, MARK_TABLE },
	NULL,
};

static int marks_query(struct sql_mark *m, const char *sql, const char *shape,
		       const struct sql_values *values, struct sql_rows *out,
		       struct error *err)
{
	struct postgres_destination *d = (struct postgres_destination *)m;
	struct pg_result *r = NULL;
	int rc = pg_query(d->pg, &r, sql, shape, (int)values->n, values->texts,
			  err);

	out->n_columns = rc ? 0 : (size_t)pg_columns(r);
	for (int i = 0; !rc && i < pg_rows(r); i++)
		for (int k = 0; k < pg_columns(r); k++)
			strlist_add(&out->cells, pg_value(r, i, k));
	pg_result_free(r);
	return rc;
}

static int marks_change(struct sql_mark *m, const char *sql,
			const struct sql_values *values, int64_t *touched,
			struct error *err)
{
	struct postgres_destination *d = (struct postgres_destination *)m;

	return pg_exec_count(d->pg, sql, (int)values->n, values->texts, touched,
			     err);
}

static struct mark_place marks_place(const struct sql_mark *m)
{
	const struct postgres_destination *d =
		(const struct postgres_destination *)m;
	struct mark_place at = mark_place_of(&d->place);

	at.table_id = d->table.oid;
	return at;
}

static int marks_begin(struct sql_mark *m, struct error *err)
{
	return pg_exec(((struct postgres_destination *)m)->pg, "BEGIN", err);
}

static int marks_commit(struct sql_mark *m, struct error *err)
{
	return pg_exec(((struct postgres_destination *)m)->pg, "COMMIT", err);
}

static void marks_rollback(struct sql_mark *m)
{
	postgres_session_rollback((struct postgres_destination *)m);
}

static const struct sql_mark_engine postgres_marks = {
	.load = &postgres_load_engine,
	.query = marks_query,
	.change = marks_change,
	.begin = marks_begin,
	.commit = marks_commit,
	.rollback = marks_rollback,
	.place = marks_place,
	.lost = sql_mark_changed_hands,
	.meet = { "SELECT pipeline FROM " SQL_MARKS
		  " WHERE target = $1 AND pipeline <> $2\n"
		  "  AND watermark IS NOT NULL",
		  { MARK_TABLE, MARK_PIPELINE },
		  "t" },
	.write = { "UPDATE ONLY " SQL_MARKS
		   " SET watermark = $2::json, batch_id = $3, fence = $4,\n"
		   "  rows_total = $5, updated_at = clock_timestamp(),\n"
		   "  created_target = created_target OR $6, target_id = $8,\n"
		   "  target_rows = CASE WHEN $6 THEN 0 ELSE target_rows END + "
		   "$9\n"
		   "WHERE pipeline = $1 AND batch_id = $7 AND fence <= $4",
		   { MARK_PIPELINE, MARK_WATERMARK, MARK_BATCH_ID, MARK_FENCE,
		     MARK_ROWS_TOTAL, MARK_CREATED, MARK_SEEN_ID, MARK_TABLE_ID,
		     MARK_ROWS_MORE },
		   NULL },
	.look = { READ_COLUMNS READ_ROW " FOR UPDATE",
		  { MARK_PIPELINE, MARK_SHARED },
		  "?ttt" },
	.raise = { "UPDATE ONLY " SQL_MARKS
		   " SET watermark = $2::json WHERE pipeline = $1",
		   { MARK_PIPELINE, MARK_WATERMARK },
		   NULL },
	.hand_on = { "UPDATE ONLY " SQL_MARKS
		     " SET rows_total = greatest(rows_total,\n"
		     "  (SELECT rows_total FROM " SQL_MARKS
		     " WHERE pipeline = $1))\n"
		     "WHERE pipeline = (SELECT min(o.pipeline) FROM " SQL_MARKS
		     " o\n"
		     "  JOIN " SQL_MARKS
		     " w ON w.target = o.target AND o.pipeline <> w.pipeline\n"
		     "  WHERE w.pipeline = $1)",
		     { MARK_PIPELINE },
		     NULL },
	.forget = { "DELETE FROM ONLY " SQL_MARKS " WHERE pipeline = $1 AND "
		    "fence <= $2",
		    { MARK_PIPELINE, MARK_FENCE },
		    NULL },
	.emptied = { "UPDATE ONLY " SQL_MARKS " SET target_rows = 0\n"
		     "WHERE pipeline = $1 AND\n"
		     "  NOT EXISTS (SELECT 1 FROM " SQL_ROWS ")",
		     { MARK_PIPELINE },
		     NULL },
	.cut = { "DELETE FROM " SQL_ROWS " WHERE " NAME_RAW_SEQ " > $1",
		 { MARK_ROWS_TOTAL },
		 NULL },
	.built = { "SELECT count(*) FROM " SQL_BUILDING, { MARK_NONE }, "1t" },
};

void postgres_mark_table_sql(struct strbuf *sb, const struct place *place)
{
	strbuf_addf(sb, table_sql, place->watermark);
}

int postgres_mark_read(struct postgres_destination *d, const char *pipeline,
		       bool lock, struct checkpoint *out, struct error *err)
{
	return sql_mark_read(&d->mark,
			     lock ? &read_locked : &postgres_read_mark, NULL,
			     pipeline, out, err);
}

int postgres_mark_claim(struct postgres_destination *d,
			const struct target *target, struct error *err)
{
	struct mark_facts facts = sql_mark_of(target->pipeline);
	struct sql_rows rows = { .n_columns = 0 };
	int rc;

	facts.numbers[MARK_FENCE] = target->writer.fence;
	rc = sql_mark_query(&d->mark, &claim_mark, NULL, &facts, &rows, err);
	if (!rc && sql_rows_count(&rows))
		rc = writer_check_fence(&target->writer, target->pipeline,
					sql_rows_number(&rows, 0, 0), err);
	sql_rows_release(&rows);
	return rc;
}

/* The table is looked at behind its lock, by the statement that reads the mark:
 * from here to the COMMIT nobody alters it. */
int postgres_mark_look(struct sql_mark *m, bool rows, struct checkpoint *now,
		       char **table, struct error *err)
{
	struct postgres_destination *d = (struct postgres_destination *)m;

	return rows ? sql_mark_read_held(m, &read_held, d->rows, now, table,
					 NULL, err)
		    : postgres_mark_read(d, d->target->pipeline, false, now,
					 err);
}

int postgres_mark_begin(struct sql_mark *m, bool rows, struct error *err)
{
	struct postgres_destination *d = (struct postgres_destination *)m;
	/* Rows of a raw table are numbered by one writer at a time: the one
	 * that comes last has the last word. */
	bool all = d->target->mode == LOAD_APPEND || d->mark.first;
	unsigned what =
		LOCK_ROW | (rows ? LOCK_TABLE : 0) | (all ? LOCK_TARGET : 0);
	int rc = postgres_lock_begin(d, d->target->pipeline, what, err);

	return rc && rows && postgres_signature_is_gone(err)
		       ? postgres_signature_refuse(d->target, err)
		       : rc;
}

/* A stage of a run that was killed. This run's own, in a refresh, is the one
 * that prepare has just made. */
static int mark_drop_leftover(struct postgres_destination *d, struct error *err)
{
	const char *params[] = { d->place.building };
	struct pg_result *r = NULL;
	int rc = 0;

	if (!d->target->refresh)
		rc = pg_query(d->pg, &r, postgres_leftover_sql, "1?", 1, params,
			      err);
	if (!rc && r && pg_value(r, 0, 0))
		rc = postgres_refresh_drop_leftover(d, err);
	pg_result_free(r);
	return rc;
}

/* The backend of a killed predecessor may still be committing. */
static int mark_read_settled(struct postgres_destination *d,
			     struct checkpoint *out, struct error *err)
{
	const char *pipeline = d->target->pipeline;
	struct pg_result *r = NULL;
	int rc = postgres_ahead_settled(d, err);

	if (!rc)
		rc = postgres_lock_asked(d, pipeline, err);
	if (rc)
		return rc;
	rc = postgres_mark_read(d, pipeline, false, out, err);
	if (!rc)
		rc = pg_query(d->pg, &r, postgres_rollback_sql, NULL, 0, NULL,
			      err);
	pg_result_free(r);
	if (rc)
		postgres_session_rollback(d);
	return rc;
}

static int mark_resume(struct mark_keeper *k, struct checkpoint *out,
		       struct error *err)
{
	struct postgres_destination *d = (struct postgres_destination *)k;
	int rc = postgres_ahead_settled(d, err);

	if (!rc)
		rc = mark_drop_leftover(d, err);
	if (!rc)
		rc = mark_read_settled(d, out, err);
	return rc ? rc : sql_mark_resume(&d->mark, d->target, out, err);
}

static int mark_look_at(struct postgres_destination *d,
			const struct place *place, struct mark_found *out,
			struct error *err)
{
	const char *params[] = { place->readable, place->watermark };
	struct strbuf sql = STRBUF_INIT;
	struct pg_result *r = NULL;
	int rc;

	postgres_ahead_look_sql(&sql);
	rc = pg_query(d->pg, &r, sql.data, "1??t", ARRAY_SIZE(params), params,
		      err);
	strbuf_release(&sql);
	if (!rc && strcmp(pg_value(r, 0, 2), POSTGRES_NO_FAULT) != 0)
		rc = postgres_owned_refuse(pg_value(r, 0, 2), place, err);
	if (!rc) {
		out->has_target = pg_value(r, 0, 0) != NULL;
		out->has_marks = pg_value(r, 0, 1) != NULL;
	}
	pg_result_free(r);
	return rc;
}

static int mark_find(struct mark_keeper *k, const struct target *target,
		     enum mark_look look, struct mark_found *out,
		     struct error *err)
{
	struct postgres_destination *d = (struct postgres_destination *)k;
	struct place *place = xcalloc(1, sizeof(*place));
	int rc = postgres_place_set(place, d->pg, target, err);

	out->own = place;
	if (rc)
		return rc;
	out->at = mark_place_of(place);
	out->where = "the destination";
	if (look == MARK_LOOK_NAMES)
		return 0;
	if (look == MARK_LOOK_ALL)
		rc = postgres_ahead_recover(d, place, target, err);
	return rc ? rc : mark_look_at(d, place, out, err);
}

static int mark_read_all(struct mark_keeper *k, const struct mark_found *f,
			 const char *pipeline, struct checkpoint *out,
			 struct error *err)
{
	return sql_mark_read_all((struct sql_mark *)k, &postgres_read_all,
				 &f->at, pipeline, out, err);
}

static void mark_lose(struct mark_found *f)
{
	postgres_place_release(f->own);
	free(f->own);
}

/* A table that somebody has made since we looked for it is looked at. */
static int mark_set(struct mark_keeper *k, const struct mark_found *f,
		    const char *pipeline, const char *watermark,
		    struct error *err)
{
	struct postgres_destination *d = (struct postgres_destination *)k;
	struct strbuf sql = STRBUF_INIT;
	int rc = pg_exec(d->pg, "BEGIN", err);

	if (!rc && !f->has_marks) {
		postgres_mark_table_sql(&sql, f->own);
		rc = pg_exec(d->pg, sql.data, err);
	}
	if (!rc)
		rc = postgres_owned_check(d, f->own, err);
	if (!rc)
		rc = sql_mark_put(&d->mark, &put_mark, &f->at, pipeline,
				  watermark, -1, err);
	rc = sql_mark_end(&d->mark, rc, err);
	strbuf_release(&sql);
	return rc;
}

/* The row's lock waits for the batch of a run that is under way. */
static int mark_raise(struct mark_keeper *k, const struct mark_found *f,
		      const char *pipeline, const char *mark, struct error *err)
{
	struct postgres_destination *d = (struct postgres_destination *)k;
	int rc = postgres_lock_begin(d, pipeline, 0, err);

	if (!rc)
		rc = postgres_owned_check(d, f->own, err);
	if (rc)
		return rc;
	rc = sql_mark_make_and_raise(&d->mark, &make_mark, &f->at, pipeline,
				     mark, err);
	rc = sql_mark_end(&d->mark, rc, err);
	return rc;
}

static const struct target *mark_prepared(const struct mark_keeper *k)
{
	return ((const struct postgres_destination *)k)->target;
}

static const struct mark_engine postgres_keeper = {
	.prepared = mark_prepared,
	.missing = MARK_MISSING,
	.find = mark_find,
	.lose = mark_lose,
	.read = mark_read_all,
	.resume = mark_resume,
	.forget = sql_mark_forget,
	.set = mark_set,
	.raise = mark_raise,
};

void postgres_mark_init(struct postgres_destination *d,
			const struct destination_ops *ops)
{
	sql_mark_init(&d->mark, ops, &postgres_keeper, &postgres_marks);
}
