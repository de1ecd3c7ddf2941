#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/failpoint.h"
#include "core/data/value.h"
#include "destinations/sqlite/internal.h"

const char mark_table_sql[] = "CREATE TABLE main." NAME_WATERMARK_TABLE " (\n"
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
static const char read_sql[] =
	"SELECT watermark, batch_id, fence, CASE WHEN ?2 THEN\n"
	"  (SELECT max(rows_total) FROM main." NAME_WATERMARK_TABLE " AS t\n"
	"   WHERE t.target = w.target COLLATE NOCASE)\n"
	"  ELSE rows_total END\n"
	"FROM main." NAME_WATERMARK_TABLE " AS w WHERE pipeline = ?1";

static const char history_sql[] =
	"SELECT created_target, watermark IS NOT NULL, target_rows\n"
	"FROM main." NAME_WATERMARK_TABLE
	" WHERE pipeline = ?1 AND target = ?2 COLLATE NOCASE";

static const char put_sql[] =
	"INSERT INTO main." NAME_WATERMARK_TABLE "\n"
	"  (pipeline, watermark, batch_id, updated_at, created_target, "
	"target)\n"
	"VALUES (?1, ?2, ?3, ?4, max(?5, 0), ?6)\n"
	"ON CONFLICT (pipeline) DO UPDATE SET watermark = ?2, batch_id = ?3,\n"
	"  updated_at = ?4, target = ?6, target_rows = 0,\n"
	"  created_target = CASE WHEN ?5 < 0\n"
	"    THEN created_target AND target = ?6 COLLATE NOCASE\n"
	"    ELSE ?5 END";

static const char take_sql[] =
	"UPDATE main." NAME_WATERMARK_TABLE " SET batch_id = ?2\n"
	"WHERE pipeline = ?1";

static const char claim_sql[] =
	"UPDATE main." NAME_WATERMARK_TABLE " SET fence = max(fence, ?2)\n"
	"WHERE pipeline = ?1";

/* The refresh that it names is over; whoever goes on with it is told. */
static const char release_sql[] = "UPDATE main." NAME_WATERMARK_TABLE "\n"
				  "SET batch_id = 'left-' || batch_id\n"
				  "WHERE pipeline = ?1 AND batch_id = ?2";

static const char write_sql[] =
	"UPDATE main." NAME_WATERMARK_TABLE " SET watermark = ?2,\n"
	"  batch_id = ?3, fence = ?4, rows_total = ?5,\n"
	"  updated_at = ?6, created_target = max(created_target, ?7),\n"
	"  target_rows = CASE WHEN ?7 THEN 0 ELSE target_rows END + ?8\n"
	"WHERE pipeline = ?1";

static void mark_now(struct strbuf *sb)
{
	value_print_timestamp(sb, clock_now_us(), false);
	strbuf_addstr(sb, "+00:00");
}

static void mark_remember(struct sqlite_target *d, const char *batch_id,
			  int64_t fence, int64_t rows_total)
{
	char *copy = xstrdup(batch_id ? batch_id : "");

	free(d->batch_id);
	d->batch_id = copy;
	d->fence = fence;
	d->rows_total = rows_total;
	d->first = false;
}

static int mark_read(struct sqlite *db, const struct place *place,
		     const char *pipeline, struct checkpoint *out,
		     struct error *err)
{
	struct sqlite_statement *st = NULL;
	int rc = sqlite_prepare(db, &st, read_sql, err);

	if (!rc) {
		sqlite_bind_str(st, 1, pipeline, -1);
		sqlite_bind_i64(st, 2, strcmp(place->table, place->base) != 0);
		rc = sqlite_step(st, err);
	}
	if (rc == 1) {
		checkpoint_release(out);
		out->found = true;
		out->watermark = xstrdup(sqlite_str(st, 0));
		out->batch_id = xstrdup(sqlite_str(st, 1));
		out->fence = sqlite_i64(st, 2);
		out->rows_total = sqlite_i64(st, 3);
		rc = 0;
	}
	sqlite_finalize(st);
	return rc;
}

int mark_history(struct sqlite *db, const struct place *place,
		 const char *pipeline, struct plan *out, struct error *err)
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

int mark_put(struct sqlite *db, const struct place *place, const char *pipeline,
	     const char *watermark, int created, struct error *err)
{
	struct sqlite_statement *st = NULL;
	struct strbuf now = STRBUF_INIT;
	char *batch_id = xstrfmt("set-%" PRId64, clock_now_us());
	int rc = sqlite_prepare(db, &st, put_sql, err);

	mark_now(&now);
	if (!rc) {
		sqlite_bind_str(st, 1, pipeline, -1);
		sqlite_bind_str(st, 2, watermark, -1);
		sqlite_bind_str(st, 3, batch_id, -1);
		sqlite_bind_str(st, 4, now.data, (int64_t)now.len);
		sqlite_bind_i64(st, 5, created);
		sqlite_bind_str(st, 6, place->table, -1);
		rc = sqlite_step(st, err);
	}
	sqlite_finalize(st);
	strbuf_release(&now);
	free(batch_id);
	return rc;
}

static int mark_run(struct sqlite *db, const char *sql, const char *pipeline,
		    const char *batch_id, struct error *err)
{
	struct sqlite_statement *st = NULL;
	int rc = sqlite_prepare(db, &st, sql, err);

	if (!rc) {
		sqlite_bind_str(st, 1, pipeline, -1);
		sqlite_bind_str(st, 2, batch_id, -1);
		rc = sqlite_step(st, err);
	}
	sqlite_finalize(st);
	return rc;
}

static int mark_raise(struct sqlite *db, const char *pipeline, int64_t fence,
		      struct error *err)
{
	struct sqlite_statement *st = NULL;
	int rc = sqlite_prepare(db, &st, claim_sql, err);

	if (!rc) {
		sqlite_bind_str(st, 1, pipeline, -1);
		sqlite_bind_i64(st, 2, fence);
		rc = sqlite_step(st, err);
	}
	sqlite_finalize(st);
	return rc;
}

int mark_claim(struct sqlite_target *d, const struct target *target,
	       struct error *err)
{
	const struct writer *w = &target->writer;
	struct checkpoint now;
	int rc = mark_raise(d->db, target->pipeline, w->fence, err);

	checkpoint_init(&now);
	if (!rc)
		rc = mark_read(d->db, &d->place, target->pipeline, &now, err);
	if (!rc)
		rc = writer_check_fence(w, target->pipeline, now.fence, err);
	if (!rc && w->claim && refresh_id_is(now.batch_id))
		rc = mark_run(d->db, release_sql, target->pipeline,
			      now.batch_id, err);
	checkpoint_release(&now);
	return rc;
}

int mark_check_free(struct sqlite *db, const struct place *place,
		    const char *pipeline, struct error *err)
{
	struct checkpoint now;
	bool there = false;
	int rc;

	if (!db)
		return 0;
	checkpoint_init(&now);
	rc = owned_has_marks(db, &there, err);
	if (!rc && there)
		rc = mark_read(db, place, pipeline, &now, err);
	if (!rc)
		rc = refresh_id_check_free(now.batch_id, pipeline, err);
	checkpoint_release(&now);
	return rc;
}

int mark_take_over(struct sqlite_target *d, const char *pipeline,
		   struct error *err)
{
	struct checkpoint now;
	char *id = refresh_id_new();
	int rc = mark_run(d->db, take_sql, pipeline, id, err);

	checkpoint_init(&now);
	if (!rc)
		rc = mark_read(d->db, &d->place, pipeline, &now, err);
	if (!rc)
		mark_remember(d, id, now.fence, now.rows_total);
	checkpoint_release(&now);
	free(id);
	return rc;
}

void mark_give_back(struct sqlite_target *d)
{
	if (d->db && d->target && d->target->refresh &&
	    refresh_id_is(d->batch_id))
		mark_run(d->db, release_sql, d->target->pipeline, d->batch_id,
			 NULL);
}

static int mark_overtaken(struct sqlite_target *d, const struct checkpoint *now,
			  struct error *err)
{
	const struct checkpoint seen = { .batch_id = d->batch_id,
					 .fence = d->fence };
	char *where = xstrfmt(NAME_WATERMARK_TABLE " of %s", d->path);
	char *outcome = target_given_up(d->target);
	int rc = writer_overtaken(d->target->pipeline, where, outcome, &seen,
				  now, err);

	free(outcome);
	free(where);
	return rc;
}

/* Nobody else writes: the lock is the file's. */
static int mark_check_others(struct sqlite_target *d, struct error *err)
{
	struct strlist others = STRLIST_INIT;
	int rc = 0;

	if (d->first)
		rc = mark_list_others(d->db, &d->place, d->target->pipeline,
				      &others, err);
	if (!rc)
		rc = target_meet_others(d->target, &others, 2, err);
	strlist_release(&others);
	return rc;
}

int mark_lock(struct sqlite_target *d, struct error *err)
{
	const char *pipeline = d->target->pipeline;
	struct checkpoint now;
	bool there = false;
	int rc = owned_has_marks(d->db, &there, err);

	checkpoint_init(&now);
	if (!rc)
		rc = mark_read(d->db, &d->place, pipeline, &now, err);
	if (!rc && !now.found)
		rc = mark_overtaken(d, &now, err);
	if (!rc)
		rc = writer_check_fence(&d->target->writer, pipeline, now.fence,
					err);
	if (!rc && (strcmp(now.batch_id, d->batch_id) || now.fence != d->fence))
		rc = mark_overtaken(d, &now, err);
	if (!rc)
		rc = mark_check_others(d, err);
	if (!rc) {
		d->rows_total = now.rows_total;
		free(d->stands);
		d->stands = xstrdup(now.watermark);
	}
	checkpoint_release(&now);
	return rc;
}

static int mark_write_row(struct sqlite_target *d,
			  const struct checkpoint *next, int64_t n_rows,
			  struct error *err)
{
	struct sqlite_statement *st = NULL;
	struct strbuf now = STRBUF_INIT;
	int rc = sqlite_prepare(d->db, &st, write_sql, err);

	mark_now(&now);
	if (!rc) {
		sqlite_bind_str(st, 1, d->target->pipeline, -1);
		sqlite_bind_str(st, 2, next->watermark, -1);
		sqlite_bind_str(st, 3, next->batch_id ? next->batch_id : "",
				-1);
		sqlite_bind_i64(st, 4, next->fence);
		sqlite_bind_i64(st, 5, d->rows_total + n_rows);
		sqlite_bind_str(st, 6, now.data, (int64_t)now.len);
		sqlite_bind_i64(st, 7, d->target->refresh);
		sqlite_bind_i64(st, 8, n_rows);
		rc = sqlite_step(st, err);
	}
	sqlite_finalize(st);
	strbuf_release(&now);
	return rc;
}

int mark_write(struct sqlite_target *d, const struct checkpoint *next,
	       int64_t n_rows, struct error *err)
{
	int rc = failpoint("before_watermark", err);

	if (!rc)
		rc = mark_write_row(d, next, n_rows, err);
	return rc ? rc : failpoint("after_watermark", err);
}

int mark_commit(struct sqlite_target *d, const struct checkpoint *next,
		int64_t n_rows, struct error *err)
{
	int rc = writer_check(&d->target->writer, err);

	if (!rc)
		rc = failpoint("commit_sent", err);
	if (!rc)
		rc = sqlite_commit(d->db, err);
	if (rc) {
		sqlite_rollback(d->db);
		return rc;
	}
	if (next)
		mark_remember(d, next->batch_id, next->fence,
			      d->rows_total + n_rows);
	return failpoint("commit_acked", err);
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
	rc = mark_read(d->db, &d->place, pipeline, &now, err);
	if (!rc)
		rc = refresh_id_check_free(now.batch_id, pipeline, err);
	if (!rc && refresh_id_is(now.batch_id))
		rc = mark_run(d->db, release_sql, pipeline, now.batch_id, err);
	if (!rc)
		rc = sqlite_execf(d->db, err, "DROP TABLE IF EXISTS %s",
				  d->place.staging);
	if (!rc)
		rc = sqlite_commit(d->db, err);
	if (rc)
		sqlite_rollback(d->db);
	checkpoint_release(&now);
	return rc ? rc : failpoint("stage_dropped", err);
}

/* The stage of a refresh that was killed. A refresh of our own has made its
 * stage anew in prepare. */
static int mark_drop_leftover(struct sqlite_target *d, struct error *err)
{
	bool there = false;
	int rc = failpoint("in_recovery", err);

	if (!rc && !d->target->refresh)
		rc = catalog_has(d->db, d->place.stage, &there, err);
	return rc || !there ? rc : mark_drop_stage(d, err);
}

/* A refresh holds on to what prepare wrote: the row may be another's by now. */
static int mark_recover_own(struct sqlite_target *d, struct checkpoint *out,
			    struct error *err)
{
	int rc = mark_drop_leftover(d, err);
	bool first;

	if (!rc)
		rc = mark_read(d->db, &d->place, d->target->pipeline, out, err);
	first = !rc && !out->watermark && d->target->n_others &&
		d->target->mode != LOAD_UPDATE;
	d->first = first;
	if (!rc && d->target->refresh && refresh_id_is(d->batch_id))
		return mark_lock(d, err);
	if (!rc)
		rc = writer_check_fence(&d->target->writer, d->target->pipeline,
					out->fence, err);
	if (!rc)
		mark_remember(d, out->batch_id, out->fence, out->rows_total);
	d->first = first;
	return rc;
}

/* Both the table that readers use and _tidemark_watermark are there. */
static int mark_has_tables(struct sqlite_target *d, const struct place *place,
			   bool *has_target, bool *has_watermark,
			   struct error *err)
{
	int rc;

	if (!d->db)
		return 0;
	rc = catalog_has(d->db, place->table, has_target, err);
	if (!rc)
		rc = owned_has_marks(d->db, has_watermark, err);
	return rc;
}

int sqlite_target_recover(struct destination *base, const struct target *target,
			  struct checkpoint *out, struct error *err)
{
	struct sqlite_target *d = (struct sqlite_target *)base;
	struct place place = { .table = NULL };
	bool has_target = false, has_watermark = false;
	int rc;

	if (d->target)
		return mark_recover_own(d, out, err);
	rc = place_set(&place, target, err);
	if (!rc)
		rc = mark_has_tables(d, &place, &has_target, &has_watermark,
				     err);
	if (!rc && has_watermark)
		rc = mark_read(d->db, &place, target->pipeline, out, err);
	if (!rc && has_watermark)
		rc = mark_list_others(d->db, &place, target->pipeline,
				      &out->others, err);
	if (!rc && !has_target)
		checkpoint_set_missing(out);
	place_release(&place);
	return rc;
}

int sqlite_target_set_watermark(struct destination *base,
				const struct target *target,
				const char *watermark, struct error *err)
{
	struct sqlite_target *d = (struct sqlite_target *)base;
	struct place place = { .table = NULL };
	bool has_target = false, has_watermark = false;
	int rc = place_set(&place, target, err);

	if (!rc)
		rc = mark_has_tables(d, &place, &has_target, &has_watermark,
				     err);
	if (!rc && !has_target)
		rc = error_set(err, ERROR_SCHEMA,
			       "table %s is not in %s: there is no mark to set "
			       "before a first run",
			       target->table, d->path);
	if (!rc)
		rc = sqlite_begin(d->db, err);
	if (!rc && !has_watermark)
		rc = sqlite_exec(d->db, mark_table_sql, err);
	if (!rc)
		rc = mark_put(d->db, &place, target->pipeline, watermark, -1,
			      err);
	if (!rc)
		rc = sqlite_commit(d->db, err);
	if (rc && d->db)
		sqlite_rollback(d->db);
	place_release(&place);
	return rc;
}
