#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/failpoint.h"
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
static const char read_sql[] =
	"SELECT watermark::text, batch_id, fence,\n"
	"  CASE WHEN $2 THEN (SELECT max(rows_total) FROM %s t\n"
	"                     WHERE t.target = w.target) ELSE rows_total "
	"END%s\n"
	"FROM %s w WHERE pipeline = $1%s";

static const char signature_sql[] =
	",\n  (SELECT " POSTGRES_SIGNATURE "\n   FROM pg_class c\n"
	"   WHERE c.oid = to_regclass($3))";

/* The same, and with it the marks that others have of the target. */
static const char read_all_sql[] =
	"SELECT watermark::text, batch_id, fence,\n"
	"  CASE WHEN $2 THEN (SELECT max(rows_total) FROM %s t\n"
	"                     WHERE t.target = w.target) ELSE rows_total END,\n"
	"  pipeline = $1, pipeline\n"
	"FROM %s w WHERE pipeline = $1\n"
	"  OR target = $3 AND watermark IS NOT NULL ORDER BY pipeline";

static const char write_sql[] =
	"UPDATE ONLY %s SET watermark = $2::json, batch_id = $3, fence = $4,\n"
	"  rows_total = $5, updated_at = clock_timestamp(),\n"
	"  created_target = created_target OR $6, target_id = $8,\n"
	"  target_rows = CASE WHEN $6 THEN 0 ELSE target_rows END + $9\n"
	"WHERE pipeline = $1 AND batch_id = $7 AND fence <= $4";

static const char claim_sql[] =
	"UPDATE ONLY %s SET fence = greatest(fence, $2) WHERE pipeline = $1\n"
	"RETURNING fence";

static const char others_sql[] =
	"SELECT pipeline FROM %s WHERE target = $1 AND pipeline <> $2\n"
	"  AND watermark IS NOT NULL";

void postgres_mark_table_sql(struct strbuf *sb, const struct place *place)
{
	strbuf_addf(sb, table_sql, place->watermark);
}

void postgres_mark_remember(struct postgres_destination *d,
			    const char *batch_id, int64_t fence,
			    int64_t rows_total)
{
	char *copy = xstrdup(batch_id ? batch_id : "");

	free(d->seen.batch_id);
	d->seen = (struct mark_seen){ copy, fence, rows_total };
	d->first = false;
}

static void mark_take(const struct pg_result *r, int row,
		      struct checkpoint *out)
{
	out->found = true;
	out->watermark = xstrdup(pg_value(r, row, 0));
	out->batch_id = xstrdup(pg_value(r, row, 1));
	out->fence = strtoll(pg_value(r, row, 2), NULL, 10);
	out->rows_total = strtoll(pg_value(r, row, 3), NULL, 10);
}

/* And the signature of a quoted table, unless that is NULL. */
static int mark_read(struct pg *pg, const struct place *place,
		     const char *pipeline, bool lock, const char *table,
		     struct checkpoint *out, char **signature,
		     struct error *err)
{
	struct pg_result *r = NULL;
	bool shared = strcmp(place->table, place->base) != 0;
	const char *params[] = { pipeline, shared ? "t" : "f", table };
	char *sql =
		xstrfmt(read_sql, place->watermark, table ? signature_sql : "",
			place->watermark, lock ? " FOR UPDATE" : "");
	int rc = pg_query(pg, &r, sql, table ? "?ttt?" : "?ttt", table ? 3 : 2,
			  params, err);

	free(sql);
	if (!rc && pg_rows(r) && table)
		*signature = xstrdup(pg_value(r, 0, 4));
	if (!rc && pg_rows(r)) {
		checkpoint_release(out);
		checkpoint_init(out);
		mark_take(r, 0, out);
	}
	pg_result_free(r);
	return rc;
}

static int mark_read_all(struct pg *pg, const struct place *place,
			 const char *pipeline, struct checkpoint *out,
			 struct error *err)
{
	struct pg_result *r = NULL;
	bool shared = strcmp(place->table, place->base) != 0;
	const char *params[] = { pipeline, shared ? "t" : "f", place->table };
	char *sql = xstrfmt(read_all_sql, place->watermark, place->watermark);
	int rc = pg_query(pg, &r, sql, "?ttttt", ARRAY_SIZE(params), params,
			  err);

	free(sql);
	checkpoint_release(out);
	for (int i = 0; !rc && i < pg_rows(r); i++) {
		if (*pg_value(r, i, 4) == 't')
			mark_take(r, i, out);
		else
			checkpoint_add_other(out, pg_value(r, i, 5),
					     pg_value(r, i, 0));
	}
	pg_result_free(r);
	return rc;
}

int postgres_mark_read(struct pg *pg, const struct place *place,
		       const char *pipeline, bool lock, struct checkpoint *out,
		       struct error *err)
{
	return mark_read(pg, place, pipeline, lock, NULL, out, NULL, err);
}

static int mark_overtaken(struct postgres_destination *d,
			  const struct checkpoint *now, struct error *err)
{
	const struct checkpoint seen = { .batch_id = d->seen.batch_id,
					 .fence = d->seen.fence };
	char *outcome = target_given_up(d->target);
	int rc = writer_overtaken(d->target->pipeline, d->place.watermark,
				  outcome, &seen, now, err);

	free(outcome);
	return rc;
}

static int mark_compare(struct postgres_destination *d,
			const struct checkpoint *now, struct error *err)
{
	if (!now->found)
		return mark_overtaken(d, now, err);
	if (writer_check_fence(&d->target->writer, d->target->pipeline,
			       now->fence, err))
		return -ERROR_STATE;
	if (strcmp(now->batch_id, d->seen.batch_id) ||
	    now->fence != d->seen.fence)
		return mark_overtaken(d, now, err);
	return 0;
}

int postgres_mark_claim(struct postgres_destination *d,
			const struct target *target, struct error *err)
{
	const struct writer *w = &target->writer;
	char *fence = xstrfmt("%" PRId64, w->fence);
	char *sql = xstrfmt(claim_sql, d->place.watermark);
	const char *params[] = { target->pipeline, fence };
	struct pg_result *r = NULL;
	int rc = pg_query(d->pg, &r, sql, "t", 2, params, err);

	if (!rc && pg_rows(r))
		rc = writer_check_fence(w, target->pipeline,
					strtoll(pg_value(r, 0, 0), NULL, 10),
					err);
	pg_result_free(r);
	free(sql);
	free(fence);
	return rc;
}

/* Behind the locks of all that load into the table. */
static int mark_check_others(struct postgres_destination *d, struct error *err)
{
	const char *params[] = { d->place.table, d->target->pipeline };
	struct pg_result *r = NULL;
	struct strlist others = STRLIST_INIT;
	char *sql;
	int rc;

	if (!d->first)
		return 0;
	sql = xstrfmt(others_sql, d->place.watermark);
	rc = pg_query(d->pg, &r, sql, "t", 2, params, err);
	free(sql);
	for (int i = 0; !rc && i < pg_rows(r); i++)
		strlist_add(&others, pg_value(r, i, 0));
	if (!rc)
		rc = target_meet_others(d->target, &others, 1, err);
	strlist_release(&others);
	pg_result_free(r);
	return rc;
}

/* The table is looked at behind its lock, by the statement that reads the mark:
 * from here to the COMMIT nobody alters it. */
int postgres_mark_begin(struct postgres_destination *d, bool rows,
			struct error *err)
{
	const char *pipeline = d->target->pipeline;
	/* Rows of a raw table are numbered by one writer at a time: the one
	 * that comes last has the last word. */
	bool all = d->target->mode == LOAD_APPEND || d->first;
	unsigned what =
		LOCK_ROW | (rows ? LOCK_TABLE : 0) | (all ? LOCK_TARGET : 0);
	struct checkpoint now;
	char *signature = NULL;
	int rc = postgres_lock_begin(d, pipeline, what, err);

	checkpoint_init(&now);
	if (rc && rows && postgres_signature_is_gone(err))
		rc = postgres_signature_refuse(d->target, err);
	if (!rc)
		rc = mark_read(d->pg, &d->place, pipeline, false,
			       rows ? d->rows : NULL, &now, &signature, err);
	if (!rc)
		rc = mark_compare(d, &now, err);
	if (!rc)
		rc = mark_check_others(d, err);
	if (!rc && rows)
		rc = postgres_signature_compare(d->target, d->signature,
						signature, err);
	if (!rc) {
		d->seen.rows_total = now.rows_total;
		free(d->stands);
		d->stands = xstrdup(now.watermark);
	}
	checkpoint_release(&now);
	free(signature);
	return rc;
}

int postgres_mark_write(struct postgres_destination *d,
			const struct checkpoint *next, size_t n_rows,
			struct error *err)
{
	const char *batch_id = next->batch_id ? next->batch_id : "";
	char *fence = xstrfmt("%" PRId64, next->fence);
	char *rows = xstrfmt("%" PRId64, d->seen.rows_total + (int64_t)n_rows);
	char *id = xstrfmt("%u", d->table.oid);
	char *more = xstrfmt("%zu", n_rows);
	const char *params[] = { d->target->pipeline,
				 next->watermark,
				 batch_id,
				 fence,
				 rows,
				 d->target->refresh ? "t" : "f",
				 d->seen.batch_id,
				 id,
				 more };
	char *sql = xstrfmt(write_sql, d->place.watermark);
	int64_t touched = 0;
	int rc = failpoint("before_watermark", err);

	if (!rc)
		rc = pg_exec_count(d->pg, sql, ARRAY_SIZE(params), params,
				   &touched, err);
	if (!rc && touched != 1)
		rc = error_set(err, ERROR_STATE,
			       "pipeline %s: its row in %s has changed hands",
			       d->target->pipeline, d->place.watermark);
	if (!rc)
		rc = failpoint("after_watermark", err);
	free(fence);
	free(rows);
	free(id);
	free(more);
	free(sql);
	return rc;
}

void postgres_mark_advance(struct postgres_destination *d,
			   const struct checkpoint *next, size_t n_rows)
{
	postgres_mark_remember(d, next->batch_id, next->fence,
			       d->seen.rows_total + (int64_t)n_rows);
}

/* A stage of a run that was killed. This run's own, in a refresh, is the one
 * that prepare has just made. */
static int mark_drop_leftover(struct postgres_destination *d, struct error *err)
{
	const char *params[] = { d->place.building };
	struct pg_result *r = NULL;
	int rc = failpoint("in_recovery", err);

	if (!rc && !d->target->refresh)
		rc = pg_query(d->pg, &r, "SELECT to_regclass($1)", "1?", 1,
			      params, err);
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
	int rc = postgres_lock_begin(d, pipeline, LOCK_ROW, err);

	if (!rc)
		rc = postgres_mark_read(d->pg, &d->place, pipeline, false, out,
					err);
	postgres_session_rollback(d);
	return rc;
}

/* A refresh holds on to what prepare wrote: the row may be another's by now. */
static int mark_recover_own(struct postgres_destination *d,
			    struct checkpoint *out, struct error *err)
{
	int rc = mark_drop_leftover(d, err);

	if (!rc)
		rc = mark_read_settled(d, out, err);
	if (!rc)
		rc = writer_check_fence(&d->target->writer, d->target->pipeline,
					out->fence, err);
	if (!rc && d->target->refresh)
		rc = mark_compare(d, out, err);
	else if (!rc)
		postgres_mark_remember(d, out->batch_id, out->fence,
				       out->rows_total);
	d->first = !out->watermark && d->target->n_others &&
		   d->target->mode != LOAD_UPDATE;
	return rc;
}

int postgres_mark_has_tables(struct pg *pg, const struct place *place,
			     bool *has_target, bool *has_watermark,
			     struct error *err)
{
	const char *params[] = { place->readable, place->watermark };
	struct strbuf sql = STRBUF_INIT;
	struct pg_result *r = NULL;
	int rc;

	strbuf_addstr(&sql, "SELECT to_regclass($1), to_regclass($2),\n  ");
	postgres_owned_add_fault(&sql, "$2");
	rc = pg_query(pg, &r, sql.data, "1???", ARRAY_SIZE(params), params,
		      err);
	strbuf_release(&sql);
	if (!rc)
		rc = postgres_owned_refuse(pg_value(r, 0, 2), place, err);
	if (!rc) {
		*has_target = pg_value(r, 0, 0) != NULL;
		*has_watermark = pg_value(r, 0, 1) != NULL;
	}
	pg_result_free(r);
	return rc;
}

int postgres_recover(struct destination *base, const struct target *target,
		     struct checkpoint *out, struct error *err)
{
	struct postgres_destination *d = (struct postgres_destination *)base;
	struct place place = { .schema = NULL };
	bool has_target = false, has_watermark = false;
	int rc;

	if (d->target)
		return mark_recover_own(d, out, err);
	rc = postgres_place_set(&place, d->pg, target, err);
	if (!rc)
		rc = postgres_mark_has_tables(d->pg, &place, &has_target,
					      &has_watermark, err);
	if (!rc && has_watermark)
		rc = mark_read_all(d->pg, &place, target->pipeline, out, err);
	if (!rc && !has_target)
		checkpoint_set_missing(out);
	postgres_place_release(&place);
	return rc;
}

/* The numbers of a raw table go on behind the highest, whoever gave it. */
static const char hand_on_sql[] =
	"UPDATE ONLY %s SET rows_total = greatest(rows_total,\n"
	"  (SELECT rows_total FROM %s WHERE pipeline = $1))\n"
	"WHERE pipeline = (SELECT min(o.pipeline) FROM %s o\n"
	"  JOIN %s w ON w.target = o.target AND o.pipeline <> w.pipeline\n"
	"  WHERE w.pipeline = $1)";

static int mark_hand_on(struct pg *pg, const struct place *place,
			const char *pipeline, struct error *err)
{
	const char *mark = place->watermark;
	char *sql;
	int rc;

	if (!strcmp(place->table, place->base))
		return 0;
	sql = xstrfmt(hand_on_sql, mark, mark, mark, mark);
	rc = pg_exec_count(pg, sql, 1, &pipeline, NULL, err);
	free(sql);
	return rc;
}

int postgres_forget(struct destination *base, const struct target *target,
		    struct error *err)
{
	struct postgres_destination *d = (struct postgres_destination *)base;
	struct place place = { .schema = NULL };
	bool has_target = false, has_watermark = false;
	char *fence = xstrfmt("%" PRId64, target->writer.fence);
	const char *params[] = { target->pipeline, fence };
	char *sql = NULL;
	int rc = postgres_place_set(&place, d->pg, target, err);

	if (!rc)
		rc = postgres_mark_has_tables(d->pg, &place, &has_target,
					      &has_watermark, err);
	if (!rc && has_watermark)
		rc = mark_hand_on(d->pg, &place, target->pipeline, err);
	if (!rc && has_watermark) {
		sql = xstrfmt("DELETE FROM ONLY %s WHERE pipeline = $1 AND "
			      "fence <= $2",
			      place.watermark);
		rc = pg_exec_count(d->pg, sql, 2, params, NULL, err);
	}
	postgres_place_release(&place);
	free(sql);
	free(fence);
	return rc;
}

static int mark_list_others(struct pg *pg, const struct place *place,
			    const char *pipeline, struct strlist *out,
			    struct error *err)
{
	const char *params[] = { place->table, pipeline };
	char *sql = xstrfmt("SELECT pipeline, watermark::text FROM %s\n"
			    "WHERE target = $1 AND pipeline <> $2\n"
			    "  AND watermark IS NOT NULL ORDER BY pipeline",
			    place->watermark);
	struct pg_result *r = NULL;
	int rc = pg_query(pg, &r, sql, "tt", 2, params, err);

	for (int i = 0; !rc && i < pg_rows(r); i++) {
		strlist_add(out, pg_value(r, i, 0));
		strlist_add(out, pg_value(r, i, 1));
	}
	pg_result_free(r);
	free(sql);
	return rc;
}

int postgres_others(struct destination *base, const struct target *target,
		    struct strlist *out, struct error *err)
{
	struct postgres_destination *d = (struct postgres_destination *)base;
	struct place place = { .schema = NULL };
	bool has_target = false, has_watermark = false;
	int rc = postgres_place_set(&place, d->pg, target, err);

	if (!rc)
		rc = postgres_mark_has_tables(d->pg, &place, &has_target,
					      &has_watermark, err);
	if (!rc && has_target && has_watermark)
		rc = mark_list_others(d->pg, &place, target->pipeline, out,
				      err);
	postgres_place_release(&place);
	return rc;
}
