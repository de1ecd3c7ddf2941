#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/failpoint.h"
#include "destinations/clickhouse/internal.h"

/* A batch that is sent again is the same to the server, as long as neither the
 * mark has moved nor the table has changed. After another preparation it is not
 * the same, because its rows may have been deleted by hand since. Where the
 * newest row of a key counts, it does no harm if they are there twice. Where
 * each version is kept, the batch is the same whoever sends it behind that
 * mark. Only rows that are found missing then differ. */
char *clickhouse_target_load_token(const struct clickhouse_target *d,
				   const struct checkpoint *next)
{
	bool any = d->target->mode == LOAD_APPEND && !d->missing;
	const char *since = any ? d->seen.written_at : d->preparation;

	/* By another one of these other rows of it are written. */
	const char *delivered = any ? NULL : next->delivered;

	return xstrfmt("%s:%" PRId64 ":%s:%s:%s",
		       next->batch_id ? next->batch_id : "",
		       d->seen.rows_total + d->refreshed,
		       d->there.uuid ? d->there.uuid : "", since ? since : "",
		       delivered ? delivered : "");
}

int clickhouse_target_load_count(struct clickhouse_target *d,
				 const struct checkpoint *next,
				 struct load_counts *out, struct error *err)
{
	struct clickhouse_rows rows;
	struct strbuf sql = STRBUF_INIT;
	int64_t brought;
	int rc;

	clickhouse_target_statement_count(&sql, d, next->delivered);
	rc = clickhouse_query(d->db, sql.data, "1ttt", &rows, err);
	brought = rc ? 0 : strtoll(clickhouse_cell(&rows, 0, 2), NULL, 10);
	/* A table for batches knows no tokens: an INSERT that was sent again
	 * may be there twice. */
	if (!rc && brought != (int64_t)d->order.n)
		rc = error_set(err, ERROR_TRANSIENT,
			       "%s: %zu rows were sent, and %" PRId64
			       " are there",
			       clickhouse_shown(d->db), d->order.n, brought);
	if (!rc) {
		out->inserted = strtoll(clickhouse_cell(&rows, 0, 0), NULL, 10);
		out->updated = strtoll(clickhouse_cell(&rows, 0, 1), NULL, 10);
		out->unchanged =
			(int64_t)d->order.n - out->inserted - out->updated;
	}
	clickhouse_rows_release(&rows);
	strbuf_release(&sql);
	return rc;
}

static bool load_says(int rc, const struct error *err, const char *what)
{
	return rc == -ERROR_DATA && err && strstr(err->message, what);
}

/* `rc`, or TRANSIENT if a column is not any more as prepare saw it. With
 * another look at the table its rows may fit, and none of them is to blame.
 * TRANSIENT also if the batch did not arrive as it was sent: a table for
 * batches knows no tokens. */
static int load_why(struct clickhouse_target *d, int rc, struct error *err)
{
	if (load_says(rc, err, CLICKHOUSE_TARGET_ALTERED)) {
		error_clear(err);
		return error_set(err, ERROR_TRANSIENT,
				 CLICKHOUSE_TARGET_ALTERED
				 " while rows were on their way, none of which "
				 "was written; the table has to be looked at "
				 "anew");
	}
	if (load_says(rc, err, CLICKHOUSE_TARGET_OTHER)) {
		error_clear(err);
		return error_set(err, ERROR_TRANSIENT,
				 "%s: of %zu rows that were sent, some did not "
				 "come, or came twice; none was written",
				 clickhouse_shown(d->db), d->order.n);
	}
	return rc;
}

/* `room`: no row of the table has a key of the batch. */
static int load_merge(struct clickhouse_target *d,
		      const struct checkpoint *next, bool room,
		      struct error *err)
{
	struct strbuf insert = STRBUF_INIT, select = STRBUF_INIT;
	char *token = clickhouse_target_load_token(d, next);
	int rc;

	clickhouse_target_statement_insert(&insert, d, !room);
	if (room)
		clickhouse_target_statement_select_all(&select, d, next);
	else
		clickhouse_target_statement_select(&select, d, next);
	rc = clickhouse_insert_select(d->db, insert.data, token, select.data,
				      err);
	strbuf_release(&insert);
	strbuf_release(&select);
	free(token);
	return load_why(d, rc, err);
}

/* The rows that a table may have already are compared where they are. */
static int load_compared(struct clickhouse_target *d,
			 const struct checkpoint *next, struct load_counts *out,
			 struct error *err)
{
	int rc = clickhouse_target_load_count(d, next, out, err);

	if (!rc && d->target->mode == LOAD_DELETE_INSERT)
		rc = failpoint("after_delete", err);
	if (!rc && out->inserted + out->updated)
		rc = load_merge(d, next, false, err);
	return rc;
}

static int load_ask(struct clickhouse_target *d, const struct batch *b,
		    const struct checkpoint *next, int64_t *sent,
		    struct error *err)
{
	struct clickhouse_rows rows;
	char *sql = clickhouse_target_input_sent(d, b, next);
	int rc = clickhouse_query(d->db, sql, "t", &rows, err);

	*sent = rc ? 0 : clickhouse_rows_i64(&rows, 0);
	clickhouse_rows_release(&rows);
	free(sql);
	return rc;
}

/* The server drops a batch that it remembers, also where its rows, `n` more
 * than `before`, are gone by now, or some of them. Time has passed: whose
 * pipeline is it? */
static int load_missing(struct clickhouse_target *d, const struct batch *b,
			const struct checkpoint *next, int64_t before,
			int64_t n, struct error *err)
{
	char *sql = clickhouse_target_input_sent(d, b, next);
	int64_t sent = 0;
	int rc = clickhouse_target_mark_lock_and_ask(d, sql, &sent, err);

	free(sql);
	if (rc || sent - before >= n)
		return rc;
	rc = writer_check(&d->target->writer, err);
	d->missing = true;
	if (!rc)
		rc = load_merge(d, next, false, err);
	d->missing = false;
	return rc;
}

static int load_rows(struct clickhouse_target *d, const struct batch *b,
		     const struct checkpoint *next, bool room,
		     struct load_counts *out, struct error *err)
{
	int64_t before = 0;
	int rc = d->order.n ? clickhouse_target_input_fill(d, b, err) : 0;

	if (!rc)
		rc = failpoint("before_merge", err);
	if (!rc && d->doubtful && !room && d->order.n)
		rc = load_ask(d, b, next, &before, err);
	if (!rc && room) {
		rc = load_merge(d, next, true, err);
		out->inserted = (int64_t)d->order.n;
	} else if (!rc && d->order.n) {
		rc = load_compared(d, next, out, err);
	}
	d->written = !rc && out->inserted + out->updated;
	if (!rc && d->doubtful && out->inserted)
		rc = load_missing(d, b, next, before, out->inserted, err);
	out->unchanged += (int64_t)d->order.n_duplicates;
	if (!rc)
		rc = counts_check(out, b->n_rows, d->target->table, err);
	if (rc)
		return rc;
	return failpoint("after_merge", err);
}

int clickhouse_target_load(struct destination *base, const struct batch *batch,
			   const struct checkpoint *next,
			   struct load_counts *out, struct error *err)
{
	struct clickhouse_target *d = (struct clickhouse_target *)base;
	struct load_counts counts = { .inserted = 0 };
	struct checkpoint kept;
	int rc = row_order_build(&d->order, batch, err);
	char *room = rc ? NULL : clickhouse_target_input_room(d, batch);
	int64_t taken = 1;

	d->written = false;
	/* Before the look: see internal.h. */
	if (!rc && d->order.n)
		rc = clickhouse_target_input_make(d, err);
	if (!rc)
		rc = clickhouse_target_mark_lock_and_ask(d, room, &taken, err);
	free(room);
	checkpoint_init(&kept);
	checkpoint_keep(&kept, next,
			d->target->refresh ? NULL : d->seen.watermark);
	/* Rows that are in cannot be taken back. */
	if (!rc)
		rc = writer_check(&d->target->writer, err);
	if (!rc)
		rc = clickhouse_target_mark_why(
			d, load_rows(d, batch, &kept, !taken, &counts, err),
			err);
	if (rc)
		error_prefix(err, "table %s", d->target->table);
	else if (!d->target->refresh)
		rc = clickhouse_target_mark_advance(
			d, &kept, (int64_t)batch->n_rows, err);
	checkpoint_release(&kept);
	if (rc)
		return rc;
	/* No more than one batch was sent behind the mark that was found. */
	d->doubtful = false;
	if (d->target->refresh) {
		d->refreshed += (int64_t)batch->n_rows;
		d->built += counts.inserted;
	}
	*out = counts;
	return 0;
}
