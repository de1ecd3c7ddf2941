#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/failpoint.h"
#include "destinations/sqlite/internal.h"

const char sqlite_target_mark_table_sql[] =
	"CREATE TABLE main." NAME_WATERMARK_TABLE " (\n"
	"  pipeline TEXT NOT NULL PRIMARY KEY,\n"
	"  watermark TEXT,\n"
	"  batch_id TEXT NOT NULL DEFAULT '',\n"
	"  fence INTEGER NOT NULL DEFAULT 0,\n"
	"  rows_total INTEGER NOT NULL DEFAULT 0,\n"
	"  updated_at TEXT NOT NULL,\n"
	"  created_target INTEGER NOT NULL DEFAULT 0,\n"
	"  target TEXT NOT NULL DEFAULT '',\n"
	"  target_rows INTEGER NOT NULL DEFAULT 0)";

/* Pipelines that append to one table share its numbers, which rows_total is
 * the highest of. */
static const struct mark_statement read_mark = {
	"SELECT watermark, batch_id, fence, CASE WHEN ?2 THEN\n"
	"  (SELECT max(rows_total) FROM " SQL_MARKS " AS t\n"
	"   WHERE t.target = w.target COLLATE NOCASE)\n"
	"  ELSE rows_total END\n"
	"FROM " SQL_MARKS " AS w WHERE pipeline = ?1",
	{ MARK_PIPELINE, MARK_SHARED },
	"?ttt",
};

static const char history_sql[] =
	"SELECT created_target, watermark IS NOT NULL, target_rows\n"
	"FROM main." NAME_WATERMARK_TABLE
	" WHERE pipeline = ?1 AND target = ?2 COLLATE NOCASE";

static const struct mark_statement put_mark = {
	"INSERT INTO " SQL_MARKS "\n"
	"  (pipeline, watermark, batch_id, updated_at, created_target, "
	"target)\n"
	"VALUES (?1, ?2, ?3, ?4, max(?5, 0), ?6)\n"
	"ON CONFLICT (pipeline) DO UPDATE SET watermark = ?2, batch_id = ?3,\n"
	"  updated_at = ?4, target = ?6, target_rows = 0,\n"
	"  created_target = CASE WHEN ?5 < 0\n"
	"    THEN created_target AND target = ?6 COLLATE NOCASE\n"
	"    ELSE ?5 END",
	{ MARK_PIPELINE, MARK_WATERMARK, MARK_BATCH_ID, MARK_NOW, MARK_CREATED,
	  MARK_TABLE },
	NULL,
};

static const struct mark_statement take_mark = {
	"UPDATE " SQL_MARKS " SET batch_id = ?2\nWHERE pipeline = ?1",
	{ MARK_PIPELINE, MARK_BATCH_ID },
	NULL,
};

static const struct mark_statement claim_mark = {
	"UPDATE " SQL_MARKS " SET fence = max(fence, ?2)\n"
	"WHERE pipeline = ?1",
	{ MARK_PIPELINE, MARK_FENCE },
	NULL,
};

/* The refresh that it names is over; whoever goes on with it is told. */
static const struct mark_statement release_mark = {
	"UPDATE " SQL_MARKS "\n"
	"SET batch_id = 'left-' || batch_id\n"
	"WHERE pipeline = ?1 AND batch_id = ?2",
	{ MARK_PIPELINE, MARK_BATCH_ID },
	NULL,
};

static struct mark_place mark_place(const char *path, const struct place *p)
{
	struct mark_place at = mark_place_of(p);

	at.file = path;
	return at;
}

static struct mark_place marks_place(const struct sql_mark *m)
{
	const struct sqlite_target *d = (const struct sqlite_target *)m;

	return mark_place(d->path, &d->place);
}

static void marks_bind(struct sqlite_statement *st,
		       const struct sql_values *values)
{
	for (size_t i = 0; i < values->n; i++) {
		const char *text = values->texts[i];

		if (values->numbers[i])
			sqlite_bind_i64(st, (int)i + 1,
					strtoll(text, NULL, 10));
		else
			sqlite_bind_str(st, (int)i + 1, text, -1);
	}
}

static int marks_query(struct sql_mark *m, const char *sql, const char *shape,
		       const struct sql_values *values, struct sql_rows *out,
		       struct error *err)
{
	struct sqlite_target *d = (struct sqlite_target *)m;
	struct sqlite_statement *st = NULL;
	int rc = sqlite_prepare(d->db, &st, sql, err);

	(void)shape;
	if (!rc) {
		marks_bind(st, values);
		out->n_columns = (size_t)sqlite_columns(st);
		rc = sqlite_step(st, err);
	}
	for (; rc == 1; rc = sqlite_step(st, err))
		for (size_t i = 0; i < out->n_columns; i++)
			strlist_add(&out->cells, sqlite_str(st, (int)i));
	sqlite_finalize(st);
	return rc;
}

static int marks_change(struct sql_mark *m, const char *sql,
			const struct sql_values *values, int64_t *touched,
			struct error *err)
{
	struct sqlite_target *d = (struct sqlite_target *)m;
	struct sqlite_statement *st = NULL;
	int rc = sqlite_prepare(d->db, &st, sql, err);

	if (!rc) {
		marks_bind(st, values);
		rc = sqlite_step(st, err);
	}
	sqlite_finalize(st);
	if (!rc && touched)
		*touched = sqlite_changes_count(d->db);
	return rc;
}

static int marks_begin(struct sql_mark *m, struct error *err)
{
	return sqlite_exec(((struct sqlite_target *)m)->db, "BEGIN", err);
}

static int marks_commit(struct sql_mark *m, struct error *err)
{
	return sqlite_commit(((struct sqlite_target *)m)->db, err);
}

static void marks_rollback(struct sql_mark *m)
{
	struct sqlite *db = ((struct sqlite_target *)m)->db;

	if (db)
		sqlite_rollback(db);
}

static const struct sql_mark_engine sqlite_marks = {
	.load = &sqlite_target_load_engine,
	.query = marks_query,
	.change = marks_change,
	.begin = marks_begin,
	.commit = marks_commit,
	.rollback = marks_rollback,
	.place = marks_place,
	.lost = sql_mark_changed_hands,
	.meet = { "SELECT pipeline, watermark\n"
		  "FROM " SQL_MARKS "\n"
		  "WHERE target = ?1 COLLATE NOCASE\n"
		  "  AND pipeline <> ?2\n"
		  "  AND watermark IS NOT NULL ORDER BY pipeline",
		  { MARK_TABLE, MARK_PIPELINE },
		  "tt" },
	.write = { "UPDATE " SQL_MARKS " SET watermark = ?2,\n"
		   "  batch_id = ?3, fence = ?4, rows_total = ?5,\n"
		   "  updated_at = ?6, created_target = max(created_target, "
		   "?7),\n"
		   "  target_rows = CASE WHEN ?7 THEN 0 ELSE target_rows END + "
		   "?8\n"
		   "WHERE pipeline = ?1",
		   { MARK_PIPELINE, MARK_WATERMARK, MARK_BATCH_ID, MARK_FENCE,
		     MARK_ROWS_TOTAL, MARK_NOW, MARK_CREATED, MARK_ROWS_MORE },
		   NULL },
	.look = { "SELECT watermark FROM " SQL_MARKS " WHERE pipeline = ?1",
		  { MARK_PIPELINE },
		  "?" },
	.raise = { "UPDATE " SQL_MARKS
		   " SET watermark = ?2 WHERE pipeline = ?1",
		   { MARK_PIPELINE, MARK_WATERMARK },
		   NULL },
	.hand_on = { "UPDATE " SQL_MARKS " SET rows_total =\n"
		     "  max(rows_total, (SELECT rows_total FROM " SQL_MARKS "\n"
		     "                   WHERE pipeline = ?1))\n"
		     "WHERE pipeline = (SELECT min(o.pipeline)\n"
		     "  FROM " SQL_MARKS " o\n"
		     "  JOIN " SQL_MARKS " w\n"
		     "    ON w.target = o.target COLLATE NOCASE\n"
		     "      AND o.pipeline <> w.pipeline\n"
		     "  WHERE w.pipeline = ?1)",
		     { MARK_PIPELINE },
		     NULL },
	.forget = { "DELETE FROM " SQL_MARKS
		    " WHERE pipeline = ?1 AND fence <= ?2",
		    { MARK_PIPELINE, MARK_FENCE },
		    NULL },
	.emptied = { "UPDATE " SQL_MARKS " SET target_rows = 0\n"
		     "WHERE pipeline = ?1 AND\n"
		     "  NOT EXISTS (SELECT 1 FROM " SQL_ROWS ")",
		     { MARK_PIPELINE },
		     NULL },
	.cut = { "DELETE FROM " SQL_ROWS " WHERE " NAME_RAW_SEQ " > ?1",
		 { MARK_ROWS_TOTAL },
		 NULL },
	.built = { "SELECT count(*) FROM " SQL_BUILDING, { MARK_NONE }, "1t" },
};

static int mark_read(struct sqlite_target *d, const char *pipeline,
		     struct checkpoint *out, struct error *err)
{
	return sql_mark_read(&d->mark, &read_mark, NULL, pipeline, out, err);
}

int sqlite_target_mark_history(struct sqlite *db, const struct place *place,
			       const char *pipeline, struct plan *out,
			       struct error *err)
{
	struct sqlite_statement *st = NULL;
	int rc = sqlite_prepare(db, &st, history_sql, err);

	if (!rc) {
		sqlite_bind_str(st, 1, pipeline, -1);
		sqlite_bind_str(st, 2, place->table, -1);
		rc = sqlite_step(st, err);
	}
	if (rc == 1) {
		out->known = true;
		out->created = sqlite_i64(st, 0) != 0;
		out->marked = sqlite_i64(st, 1) != 0;
		out->delivered = sqlite_i64(st, 2);
		rc = 0;
	}
	sqlite_finalize(st);
	return rc;
}

int sqlite_target_mark_put(struct sqlite_target *d, const struct place *place,
			   const char *pipeline, const char *watermark,
			   int created, struct error *err)
{
	const struct mark_place at = mark_place(d->path, place);

	return sql_mark_put(&d->mark, &put_mark, &at, pipeline, watermark,
			    created, err);
}

/* Take the row for a refresh, or let go of it. */
static int mark_set_id(struct sqlite_target *d,
		       const struct mark_statement *statement,
		       const char *pipeline, const char *refresh_id,
		       struct error *err)
{
	struct mark_facts facts = sql_mark_of(pipeline);

	facts.texts[MARK_BATCH_ID] = refresh_id;
	return sql_mark_change(&d->mark, statement, NULL, &facts, NULL, err);
}

int sqlite_target_mark_claim(struct sqlite_target *d,
			     const struct target *target, struct error *err)
{
	const struct writer *w = &target->writer;
	const char *pipeline = target->pipeline;
	struct mark_facts facts = sql_mark_of(pipeline);
	struct checkpoint now;
	int rc;

	checkpoint_init(&now);
	facts.numbers[MARK_FENCE] = w->fence;
	rc = sql_mark_change(&d->mark, &claim_mark, NULL, &facts, NULL, err);
	if (!rc)
		rc = mark_read(d, pipeline, &now, err);
	if (!rc)
		rc = writer_check_fence(w, pipeline, now.fence, err);
	if (!rc && w->claim && refresh_id_is(now.batch_id))
		rc = mark_set_id(d, &release_mark, pipeline, now.batch_id, err);
	checkpoint_release(&now);
	return rc;
}

int sqlite_target_mark_check_free(struct sqlite_target *d, const char *pipeline,
				  struct error *err)
{
	struct checkpoint now;
	bool there = false;
	int rc;

	if (!d->db)
		return 0;
	checkpoint_init(&now);
	rc = sqlite_target_owned_has_marks(d->db, &there, err);
	if (!rc && there)
		rc = mark_read(d, pipeline, &now, err);
	if (!rc)
		rc = refresh_id_check_free(now.batch_id, pipeline, err);
	checkpoint_release(&now);
	return rc;
}

int sqlite_target_mark_take_over(struct sqlite_target *d, const char *pipeline,
				 struct error *err)
{
	struct checkpoint now;
	char *id = refresh_id_new();
	int rc = mark_set_id(d, &take_mark, pipeline, id, err);

	checkpoint_init(&now);
	if (!rc)
		rc = mark_read(d, pipeline, &now, err);
	if (!rc)
		sql_mark_remember(&d->mark, id, now.fence, now.rows_total);
	checkpoint_release(&now);
	free(id);
	return rc;
}

void sqlite_target_mark_give_back(struct sqlite_target *d)
{
	const char *own = d->mark.seen.batch_id;

	if (d->db && d->target && d->target->refresh && refresh_id_is(own))
		mark_set_id(d, &release_mark, d->target->pipeline, own, NULL);
}

/* Nobody else writes: the lock is the file's. */
int sqlite_target_mark_look(struct sql_mark *m, bool rows,
			    struct checkpoint *now, char **table,
			    struct error *err)
{
	struct sqlite_target *d = (struct sqlite_target *)m;
	bool there = false;
	int rc = sqlite_target_owned_has_marks(d->db, &there, err);

	(void)rows;
	(void)table;
	return rc ? rc : mark_read(d, d->target->pipeline, now, err);
}

/* Asked again under the lock, which no refresh can begin beside. The row goes
 * with the stage: should the other one live after all, it finds out. */
static int mark_drop_stage(struct sqlite_target *d, struct error *err)
{
	const char *pipeline = d->target->pipeline;
	struct checkpoint now;
	int rc = sqlite_begin(d->db, err);

	if (rc)
		return rc;
	checkpoint_init(&now);
	rc = mark_read(d, pipeline, &now, err);
	if (!rc)
		rc = refresh_id_check_free(now.batch_id, pipeline, err);
	if (!rc && refresh_id_is(now.batch_id))
		rc = mark_set_id(d, &release_mark, pipeline, now.batch_id, err);
	if (!rc)
		rc = sqlite_execf(d->db, err, "DROP TABLE IF EXISTS %s",
				  d->place.building);
	rc = sql_mark_end(&d->mark, rc, err);
	checkpoint_release(&now);
	return rc ? rc : failpoint("stage_dropped", err);
}

/* The stage of a refresh that was killed. A refresh of our own has made its
 * stage anew in prepare. */
static int mark_drop_leftover(struct sqlite_target *d, struct error *err)
{
	bool there = false;
	int rc = 0;

	if (!d->target->refresh)
		rc = sqlite_target_catalog_has(d->db, d->place.build, &there,
					       err);
	return rc || !there ? rc : mark_drop_stage(d, err);
}

static int mark_resume(struct mark_keeper *k, struct checkpoint *out,
		       struct error *err)
{
	struct sqlite_target *d = (struct sqlite_target *)k;
	int rc = mark_drop_leftover(d, err);

	if (!rc)
		rc = mark_read(d, d->target->pipeline, out, err);
	return rc ? rc : sql_mark_resume(&d->mark, d->target, out, err);
}

static int mark_find(struct mark_keeper *k, const struct target *target,
		     enum mark_look look, struct mark_found *out,
		     struct error *err)
{
	struct sqlite_target *d = (struct sqlite_target *)k;
	struct place *place = xcalloc(1, sizeof(*place));
	int rc = sqlite_target_place_set(place, target, err);

	out->own = place;
	if (rc)
		return rc;
	out->at = mark_place(d->path, place);
	out->where = d->path;
	if (d->db && look == MARK_LOOK_ALL)
		rc = sqlite_target_catalog_has(d->db, place->table,
					       &out->has_target, err);
	if (!rc && d->db && look != MARK_LOOK_NAMES)
		rc = sqlite_target_owned_has_marks(d->db, &out->has_marks, err);
	return rc;
}

static void mark_lose(struct mark_found *f)
{
	place_release(f->own);
	free(f->own);
}

static int mark_read_all(struct mark_keeper *k, const struct mark_found *f,
			 const char *pipeline, struct checkpoint *out,
			 struct error *err)
{
	int rc = sql_mark_read((struct sql_mark *)k, &read_mark, &f->at,
			       pipeline, out, err);

	return rc ? rc
		  : sql_mark_list((struct sql_mark *)k, &f->at, pipeline,
				  &out->others, err);
}

static int mark_set(struct mark_keeper *k, const struct mark_found *f,
		    const char *pipeline, const char *watermark,
		    struct error *err)
{
	struct sqlite_target *d = (struct sqlite_target *)k;
	int rc = sqlite_begin(d->db, err);

	if (!rc && !f->has_marks)
		rc = sqlite_exec(d->db, sqlite_target_mark_table_sql, err);
	if (!rc)
		rc = sqlite_target_mark_put(d, f->own, pipeline, watermark, -1,
					    err);
	rc = sql_mark_end(&d->mark, rc, err);
	return rc;
}

static int mark_raise(struct mark_keeper *k, const struct mark_found *f,
		      const char *pipeline, const char *mark, struct error *err)
{
	struct sqlite_target *d = (struct sqlite_target *)k;
	char *raised = NULL;
	bool there = false;
	int rc = sqlite_begin(d->db, err);

	if (!rc)
		rc = sqlite_target_owned_has_marks(d->db, &there, err);
	if (!rc)
		rc = sql_mark_raise(&d->mark, &f->at, pipeline, mark, &raised,
				    err);
	if (rc > 0)
		rc = sqlite_target_mark_put(d, f->own, pipeline, raised, -1,
					    err);
	rc = sql_mark_end(&d->mark, rc, err);
	free(raised);
	return rc;
}

static const struct target *mark_prepared(const struct mark_keeper *k)
{
	return ((const struct sqlite_target *)k)->target;
}

static const struct mark_engine sqlite_keeper = {
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

void sqlite_target_mark_init(struct sqlite_target *d,
			     const struct destination_ops *ops)
{
	sql_mark_init(&d->mark, ops, &sqlite_keeper, &sqlite_marks);
}
