#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/failpoint.h"
#include "core/base/retry.h"
#include "destinations/clickhouse/internal.h"

/* The fence comes before the number: what an overtaken writer still writes
 * does not count. */
#define FENCE_BITS 40

char *clickhouse_target_mark_new_id(const char *prefix)
{
	return xstrfmt("%s%" PRId64 "-%08" PRIx32, prefix, clock_now_us(),
		       (uint32_t)retry_random());
}

/* The fault of the table of the marks, or ''. A view runs with the rights of
 * whoever reads it. A constraint and a computed column run with the rights of
 * whoever writes. A TTL takes marks away, and a materialized view sees them,
 * and may refuse each. */
static const char fault_sql[] =
	",\n  anyIf(multiIf(\n"
	"    position(engine, 'ReplacingMergeTree') = 0,\n"
	"      concat('is of engine ', engine),\n"
	"    notEmpty(dependencies_table), concat('feeds ',\n"
	"      arrayStringConcat(dependencies_table, ', ')),\n"
	"    position(engine_full, ' TTL ') > 0, 'has a TTL',\n"
	"    position(create_table_query, ' CONSTRAINT ') > 0,\n"
	"      'has a constraint',\n"
	"    (SELECT count() FROM system.columns AS c\n"
	"     WHERE c.database = %s AND c.table = '" CLICKHOUSE_TARGET_MARK_ROWS
	"'\n"
	"       AND c.default_kind <> '' AND NOT (c.default_kind = 'DEFAULT'\n"
	"         AND match(c.default_expression,\n"
	"           '^(-?[0-9.]+|\\'[^\\']*\\'|true|false|NULL)$')))\n"
	"      > 0, 'has computed columns',\n"
	"    ''), name = '" CLICKHOUSE_TARGET_MARK_ROWS "')\n";

char *clickhouse_target_mark_table_sql(const struct place *place)
{
	struct strbuf sql = STRBUF_INIT, database = STRBUF_INIT;

	clickhouse_quote_text(&database, place->database);
	strbuf_addstr(&sql,
		      "SELECT count(), countIf(engine <> 'View' AND position("
		      "engine_full, 'fsync_part_directory = 1') = 0)");
	strbuf_addf(&sql, fault_sql, database.data);
	strbuf_addf(&sql,
		    "FROM system.tables WHERE database = %s AND name IN\n"
		    "  ('" NAME_WATERMARK_TABLE
		    "', '" CLICKHOUSE_TARGET_MARK_ROWS "')",
		    database.data);
	strbuf_release(&database);
	return strbuf_detach(&sql);
}

int clickhouse_target_mark_has_table(struct clickhouse_target *d,
				     const struct place *place, bool *out,
				     bool *durable, struct error *err)
{
	struct clickhouse_rows rows;
	char *sql = clickhouse_target_mark_table_sql(place);
	int rc = clickhouse_query(d->db, sql, "1ttt", &rows, err);

	if (!rc)
		rc = mark_keeper_check(
			CLICKHOUSE_TARGET_MARK_ROWS, clickhouse_shown(d->db),
			clickhouse_cell(&rows, 0, 2), MARK_HARM_CODE, err);
	*out = !rc && clickhouse_rows_i64(&rows, 0) == 2;
	if (durable)
		*durable = !rc && *clickhouse_cell(&rows, 0, 1) == '0';
	clickhouse_rows_release(&rows);
	free(sql);
	return rc;
}

void clickhouse_target_mark_take(struct mark_row *out,
				 const struct clickhouse_rows *rows, size_t row)
{
	out->revision = strtoull(clickhouse_cell(rows, row, 0), NULL, 10);
	out->found = *clickhouse_cell(rows, row, 1) == '0';
	out->watermark = xstrdup(clickhouse_cell(rows, row, 2));
	out->batch_id = xstrdup(clickhouse_cell(rows, row, 3));
	out->fence = strtoll(clickhouse_cell(rows, row, 4), NULL, 10);
	out->rows_total = strtoll(clickhouse_cell(rows, row, 5), NULL, 10);
	out->target = xstrdup(clickhouse_cell(rows, row, 6));
	out->target_rows = strtoll(clickhouse_cell(rows, row, 7), NULL, 10);
	out->table_uuid = xstrdup(clickhouse_cell(rows, row, 8));
	out->written_at = xstrdup(clickhouse_cell(rows, row, 9));
}

/* Pipelines that append to one table share its numbers. */
static void mark_write_total(struct strbuf *sb, const struct place *place)
{
	if (!place->append) {
		strbuf_addstr(sb, "rows_total");
		return;
	}
	strbuf_addf(sb,
		    "greatest(rows_total, (SELECT max(rows_total) FROM %s "
		    "FINAL WHERE target = ",
		    place->marks_rows);
	clickhouse_quote_text(sb, place->table);
	strbuf_addstr(sb, "))");
}

void clickhouse_target_mark_write_select(struct strbuf *sb,
					 const struct place *place)
{
	strbuf_addstr(sb, "SELECT " NAME_VERSION ", " NAME_DELETED
			  ", watermark, batch_id, fence,\n  ");
	mark_write_total(sb, place);
	strbuf_addstr(sb, ", target, target_rows, table_uuid, "
			  "toString(updated_at)");
}

char *clickhouse_target_mark_sql(const struct place *place,
				 const char *pipeline, const char *question)
{
	struct strbuf sql = STRBUF_INIT;

	clickhouse_target_mark_write_select(&sql, place);
	if (question)
		strbuf_addf(&sql, ", (%s)", question);
	strbuf_addf(&sql, "\nFROM %s\nWHERE pipeline = ", place->marks_rows);
	clickhouse_quote_text(&sql, pipeline);
	strbuf_addstr(&sql, "\nORDER BY " NAME_VERSION " DESC LIMIT 1");
	return strbuf_detach(&sql);
}

int clickhouse_target_mark_ask(struct clickhouse_target *d,
			       const struct place *place, const char *pipeline,
			       const char *question, struct mark_row *out,
			       int64_t *answer, struct error *err)
{
	struct clickhouse_rows rows;
	char *sql = clickhouse_target_mark_sql(place, pipeline, question);
	int rc = clickhouse_query(d->db, sql,
				  question ? "tt?tttttttt" : "tt?ttttttt",
				  &rows, err);

	clickhouse_target_mark_row_release(out);
	if (!rc && rows.n_rows)
		clickhouse_target_mark_take(out, &rows, 0);
	if (!rc && rows.n_rows && question)
		*answer = strtoll(clickhouse_cell(&rows, 0, 10), NULL, 10);
	clickhouse_rows_release(&rows);
	free(sql);
	return rc;
}

int clickhouse_target_mark_read(struct clickhouse_target *d,
				const struct place *place, const char *pipeline,
				struct mark_row *out, struct error *err)
{
	return clickhouse_target_mark_ask(d, place, pipeline, NULL, out, NULL,
					  err);
}

static uint64_t mark_next_revision(uint64_t seen, int64_t fence)
{
	uint64_t least = (uint64_t)fence << FENCE_BITS;

	return seen + 1 > least ? seen + 1 : least;
}

static void mark_write_row(struct strbuf *sb, const struct place *place,
			   const char *pipeline, const struct mark_row *next,
			   uint64_t revision, bool deleted)
{
	strbuf_addf(sb,
		    "INSERT INTO %s (pipeline, watermark, batch_id, fence,\n"
		    "  rows_total, updated_at, target, target_rows, "
		    "table_uuid, " NAME_VERSION ", " NAME_DELETED ")\nSELECT ",
		    place->marks_rows);
	clickhouse_quote_text(sb, pipeline);
	strbuf_addstr(sb, ", ");
	if (next->watermark)
		clickhouse_quote_text(sb, next->watermark);
	else
		strbuf_addstr(sb, "NULL");
	strbuf_addstr(sb, ", ");
	clickhouse_quote_text(sb, next->batch_id ? next->batch_id : "");
	strbuf_addf(sb, ", %" PRId64 ", %" PRId64 ", ", next->fence,
		    next->rows_total);
	if (next->written_at) {
		strbuf_addstr(sb, "toDateTime64(");
		clickhouse_quote_text(sb, next->written_at);
		strbuf_addstr(sb, ", 6, 'UTC'), ");
	} else {
		strbuf_addstr(sb, "now64(6), ");
	}
	clickhouse_quote_text(sb, next->target ? next->target : "");
	strbuf_addf(sb, ", %" PRId64 ", ", next->target_rows);
	clickhouse_quote_text(sb, next->table_uuid ? next->table_uuid : "");
	strbuf_addf(sb, ", %" PRIu64 ", %d", revision, deleted);
}

static bool mark_is(const struct mark_row *now, const struct mark_row *next,
		    uint64_t revision, bool deleted)
{
	return now->revision == revision && now->found == !deleted &&
	       !strcmp(now->batch_id ? now->batch_id : "",
		       next->batch_id ? next->batch_id : "");
}

static int mark_overtaken(struct clickhouse_target *d, const char *pipeline,
			  const struct mark_row *seen,
			  const struct mark_row *now, struct error *err)
{
	const struct checkpoint left = { .watermark = seen->watermark,
					 .batch_id = seen->batch_id,
					 .fence = seen->fence };
	const struct checkpoint there = { .watermark = now->watermark,
					  .batch_id = now->batch_id,
					  .fence = now->fence,
					  .found = now->found };
	char *where =
		xstrfmt(NAME_WATERMARK_TABLE " of %s", clickhouse_shown(d->db));
	int rc = writer_overtaken(
		pipeline, where,
		d->written ? "the rows had been written by then, "
			     "and their mark was not"
			   : "nothing was written",
		&left, &there, err);

	free(where);
	return rc;
}

/* An answer that was lost is found out about by reading the row back. */
int clickhouse_target_mark_put(struct clickhouse_target *d,
			       const struct place *place, const char *pipeline,
			       const struct mark_row *seen,
			       struct mark_row *next, bool deleted,
			       struct error *err)
{
	uint64_t revision = mark_next_revision(seen->revision, next->fence);
	struct mark_row now = { .found = false };
	struct strbuf sql = STRBUF_INIT;
	struct error why = ERROR_INIT;
	int rc, read;

	mark_write_row(&sql, place, pipeline, next, revision, deleted);
	strbuf_addf(&sql,
		    "\nWHERE (SELECT max(" NAME_VERSION
		    ") FROM %s WHERE pipeline = ",
		    place->marks_rows);
	clickhouse_quote_text(&sql, pipeline);
	strbuf_addf(&sql, ") = %" PRIu64, seen->revision);
	rc = clickhouse_exec(d->db, sql.data, &why);
	strbuf_release(&sql);
	if (rc && why.code != ERROR_TRANSIENT) {
		if (err)
			*err = why;
		return rc;
	}
	read = clickhouse_target_mark_read(d, place, pipeline, &now,
					   rc ? NULL : err);
	if (!read && mark_is(&now, next, revision, deleted)) {
		rc = 0;
		free(next->written_at);
		next->written_at = xstrdup(now.written_at);
	} else if (rc && err) {
		*err = why;
	} else if (!rc && !read) {
		read = mark_overtaken(d, pipeline, seen, &now, err);
	}
	clickhouse_target_mark_row_release(&now);
	return rc ? rc : read;
}

static int mark_lock(struct clickhouse_target *d, const char *question,
		     int64_t *answer, struct error *err)
{
	const char *pipeline = d->target->pipeline;
	struct mark_row now = { .found = false };
	int rc = clickhouse_target_mark_ask(d, &d->place, pipeline, question,
					    &now, answer, err);

	if (!rc && !now.found)
		rc = mark_overtaken(d, pipeline, &d->seen, &now, err);
	/* It says that nothing was written. */
	if (!rc && !d->written)
		rc = writer_check_fence(&d->target->writer, pipeline, now.fence,
					err);
	if (!rc && !clickhouse_target_mark_is_handed_on(&now, &d->seen))
		rc = mark_overtaken(d, pipeline, &d->seen, &now, err);
	if (rc) {
		clickhouse_target_mark_row_release(&now);
		return rc;
	}
	clickhouse_target_mark_row_release(&d->seen);
	d->seen = now;
	return 0;
}

int clickhouse_target_mark_lock(struct clickhouse_target *d, struct error *err)
{
	return mark_lock(d, NULL, NULL, err);
}

int clickhouse_target_mark_lock_and_ask(struct clickhouse_target *d,
					const char *question, int64_t *answer,
					struct error *err)
{
	return clickhouse_target_mark_why(
		d, mark_lock(d, question, answer, err), err);
}

int clickhouse_target_mark_why(struct clickhouse_target *d, int rc,
			       struct error *err)
{
	struct error why = ERROR_INIT;

	if (!refresh_may_be_overtaken(rc) || !err)
		return rc;
	if (clickhouse_target_mark_lock(d, &why) == -ERROR_STATE) {
		*err = why;
		return -(int)why.code;
	}
	/* A run that began at the same moment took it for one that a dead run
	 * has left. */
	if (d->target->refresh && error_has_code(err, "60"))
		err->code = ERROR_TRANSIENT;
	if (!strstr(err->message, CLICKHOUSE_TARGET_MOVED))
		return -(int)err->code;
	error_clear(err);
	return error_set(err, ERROR_TRANSIENT,
			 "pipeline %s: its row in " NAME_WATERMARK_TABLE
			 " was written while rows were on their way, none of "
			 "which was written",
			 d->target->pipeline);
}

/* Take over changes that another writer has handed on between the look and the
 * write. True if this was the cause, and the write may come again. */
static bool mark_follow(struct clickhouse_target *d, const char *pipeline,
			struct mark_row *next)
{
	struct mark_row now = { .found = false };
	bool follows = !clickhouse_target_mark_read(d, &d->place, pipeline,
						    &now, NULL) &&
		       now.revision > d->seen.revision &&
		       clickhouse_target_mark_is_handed_on(&now, &d->seen);

	if (!follows) {
		clickhouse_target_mark_row_release(&now);
		return false;
	}
	next->rows_total += now.rows_total - d->seen.rows_total;
	clickhouse_target_mark_row_release(&d->seen);
	d->seen = now;
	return true;
}

/* By what it says since, rows that this batch has left alone may have to be
 * replaced: it is loaded once more. */
static int mark_follow_raise(struct clickhouse_target *d, struct mark_row *next,
			     bool loaded, struct error *err)
{
	char *raised = next->watermark && !(d->target && d->target->refresh)
			       ? watermark_raise_text(next->watermark,
						      d->seen.watermark)
			       : NULL;

	if (!raised)
		return 0;
	free(next->watermark);
	next->watermark = raised;
	if (!loaded)
		return 0;
	return error_set(err, ERROR_CONFLICT,
			 "%s: rows past the mark were delivered beside this "
			 "batch, which is loaded once more",
			 clickhouse_shown(d->db));
}

/* `loaded`: rows were, by what the mark that was seen says is delivered. */
static int mark_move(struct clickhouse_target *d, const char *pipeline,
		     struct mark_row *next, bool loaded, struct error *err)
{
	struct error why = ERROR_INIT;
	int rc;

	do {
		error_clear(&why);
		rc = mark_follow_raise(d, next, loaded, &why);
		if (!rc)
			rc = clickhouse_target_mark_put(d, &d->place, pipeline,
							&d->seen, next, false,
							&why);
	} while (rc == -ERROR_STATE && mark_follow(d, pipeline, next));
	if (rc && err)
		*err = why;
	if (rc) {
		clickhouse_target_mark_row_release(next);
		return rc;
	}
	next->found = true;
	next->revision = mark_next_revision(d->seen.revision, next->fence);
	clickhouse_target_mark_row_release(&d->seen);
	d->seen = *next;
	return 0;
}

/* The writer's own words are that nothing of the batch was written. */
static int mark_check_lease(struct clickhouse_target *d, struct error *err)
{
	int rc = writer_check(&d->target->writer, err);

	if (rc != -ERROR_STATE || !err)
		return rc;
	error_clear(err);
	return error_set(err, ERROR_STATE,
			 "pipeline %s: the lease of this run was lost after a "
			 "batch was loaded into %s and before its mark was: "
			 "the run that goes on reads its rows again, and finds "
			 "them there",
			 d->target->pipeline, d->target->table);
}

int clickhouse_target_mark_move(struct clickhouse_target *d,
				const char *pipeline, struct mark_row *next,
				struct error *err)
{
	return mark_move(d, pipeline, next, false, err);
}

int clickhouse_target_mark_advance(struct clickhouse_target *d,
				   const struct checkpoint *next,
				   int64_t n_rows, struct error *err)
{
	bool refresh = d->target->refresh;
	struct mark_row row;
	int rc = failpoint("before_watermark", err);

	if (!rc)
		rc = mark_check_lease(d, err);
	if (!rc)
		rc = failpoint("commit_sent", err);
	if (rc)
		return rc;
	clickhouse_target_mark_row_copy(&row, &d->seen);
	free(row.watermark);
	free(row.batch_id);
	free(row.written_at);
	row.written_at = NULL;
	row.watermark = xstrdup(next->watermark);
	row.batch_id = xstrdup(next->batch_id ? next->batch_id : "");
	row.fence = next->fence;
	row.rows_total += n_rows;
	row.target_rows = (refresh ? 0 : row.target_rows) + n_rows;
	if (refresh) {
		free(row.table_uuid);
		row.table_uuid = xstrdup(d->there.uuid);
	}
	rc = mark_move(d, d->target->pipeline, &row, !refresh && n_rows, err);
	d->written = false;
	if (!rc)
		rc = failpoint("after_watermark", err);
	return rc ? rc : failpoint("commit_acked", err);
}

void clickhouse_target_mark_give_back(struct clickhouse_target *d)
{
	struct mark_row next;

	if (!d->target || !d->target->refresh ||
	    !refresh_id_is(d->seen.batch_id))
		return;
	clickhouse_target_mark_row_copy(&next, &d->seen);
	free(next.batch_id);
	next.batch_id = xstrfmt("left-%s", d->seen.batch_id);
	clickhouse_target_mark_put(d, &d->place, d->target->pipeline, &d->seen,
				   &next, false, NULL);
	clickhouse_target_mark_row_release(&next);
}
