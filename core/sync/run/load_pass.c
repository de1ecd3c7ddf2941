#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/store/pipelines.h"
#include "core/sync/ledger/ledger.h"
#include "core/sync/parts/load.h"
#include "core/sync/parts/stamp.h"
#include "core/sync/run/dead_letter.h"
#include "core/sync/run/hooks.h"
#include "core/sync/run/keyless.h"
#include "core/sync/run/past_mark.h"
#include "core/sync/run/run.h"

/* The batch's identity comes from its rows, which the reader has hashed. For a
 * transactional destination the batch's maker is enough. */
static void run_identity(struct run *r, const struct digest *digest,
			 struct checkpoint *next)
{
	char id[DIGEST_TEXT_SIZE], content[2 * DIGEST_TEXT_SIZE];
	const char *again = r->task->ops->batch_id(r);

	if (again) {
		next->batch_id = xstrdup(again);
		return;
	}
	if (r->destination->ops->traits & DESTINATION_TRANSACTIONAL)
		snprintf(content, sizeof(content), "%s:%" PRId64,
			 r->out->attempt_id, r->out->batches);
	else
		digest_text(digest, content);
	ledger_batch_id(r->p, r->window_from, r->window_to, content, id);
	next->batch_id = xstrdup(id);
}

/* The next checkpoint: the mark behind this batch and who the batch is. */
static void run_checkpoint(struct run *r, const struct batch *b,
			   const struct digest *digest, struct checkpoint *next)
{
	bool stands = !task_has(r->task, TASK_MOVES_MARK);
	char *highest = stands ? past_mark_highest(r, b) : NULL;
	struct watermark mark;

	watermark_copy(&mark, &b->watermark);
	if (r->p->strategy == STRATEGY_NONE) {
		watermark_release(&mark);
		mark.strategy = STRATEGY_NONE;
		mark.identity = json_incref(r->identity);
	}
	if (r->keyless.on)
		run_keyless_mark(r, b, &mark);
	watermark_set_columns(&mark, &r->schema, &r->gone);
	json_decref(mark.shape);
	mark.shape = json_incref(r->shape);
	mark.update = r->p->mode == LOAD_UPDATE;
	checkpoint_init(next);
	next->delivered = xstrdup(r->task->ops->mark(r, b, &mark));
	free(r->window_to);
	r->window_to = watermark_to_text(&mark);
	if (stands)
		next->watermark = run_mark_standing(r, highest);
	else
		next->watermark = xstrdup(r->window_to);
	watermark_release(&mark);
	free(highest);
	next->fence = r->target.writer.fence ? r->target.writer.fence
					     : r->checkpoint.fence;
	next->rows_beside = r->rows_beside;
	next->cut = r->keyless.cut;
	next->rows_total = r->checkpoint.rows_total + (int64_t)b->n_rows +
			   r->rows_beside - r->keyless.cut;
	run_identity(r, digest, next);
}

static struct batch_record run_batch_record(struct run *r,
					    const struct read_batch *rb,
					    const struct checkpoint *next,
					    const struct load_counts *counts,
					    int64_t dead, int64_t load_us)
{
	return (struct batch_record){
		.attempt_id = r->out->attempt_id,
		.batch_id = next->batch_id,
		.pipeline = r->p->name,
		.window_from = r->window_from,
		.watermark = r->window_to,
		.number = r->out->batches - r->out->earlier.batches + 1,
		.rows = (int64_t)rb->batch.n_rows,
		.inserted = counts->inserted,
		.updated = counts->updated,
		.unchanged = counts->unchanged,
		.deleted = counts->deleted,
		.dead_lettered = dead,
		.read_us = rb->read_us,
		.load_us = load_us,
		.at = clock_now_us(),
	};
}

/* The batch is durable: mirror the mark, count, remember. Takes `next`. */
static int run_loaded(struct run *r, const struct read_batch *rb,
		      struct checkpoint *next, const struct load_counts *counts,
		      int64_t dead, int64_t load_us, struct error *err)
{
	struct batch_record record =
		run_batch_record(r, rb, next, counts, dead, load_us);
	bool mirrors = task_has(r->task, TASK_MIRRORS);
	int rc;

	run_result_count(r->out, &rb->batch, rb->batch.n_rows, counts, dead);
	r->out->last_batch_us = load_us;
	if (!r->target.refresh && mirrors)
		xassign(&r->out->watermark_after, next->watermark);
	r->rows_beside = 0;
	r->keyless.cut = 0;
	r->task->ops->loaded(r, &rb->batch);
	if (!r->target.refresh)
		letters_loaded(&r->letters, &rb->batch);
	run_verify_loaded(r, &rb->batch);
	rc = ledger_batch(r->store, r->out, &record,
			  mirrors ? next->watermark : NULL, err);
	if (!rc)
		rc = letters_clear(&r->letters, err);
	if (!rc)
		rc = run_tell_session(r, err);
	checkpoint_release(&r->checkpoint);
	r->checkpoint = *next;
	checkpoint_init(next);
	xassign(&r->window_from, r->window_to);
	return rc;
}

static int run_removed(struct run *r, const struct read_batch *nothing_read,
		       struct checkpoint *next,
		       const struct load_counts *counts, int64_t took_us,
		       struct error *err)
{
	struct batch_record record =
		run_batch_record(r, nothing_read, next, counts, 0, took_us);
	int rc;

	r->out->batches++;
	r->out->rows_deleted += counts->deleted;
	rc = ledger_batch(r->store, r->out, &record, next->watermark, err);
	if (!rc)
		rc = run_tell_session(r, err);
	checkpoint_release(&r->checkpoint);
	r->checkpoint = *next;
	checkpoint_init(next);
	return rc;
}

/* Record a batch that was not loaded, with the reason. If it went in pieces,
 * some rows may be in all the same, or be letters: they are counted. */
static void run_refused(struct run *r, const struct read_batch *rb,
			const struct checkpoint *next,
			const struct load_counts *counts, int64_t dead,
			int64_t load_us, const struct error *err)
{
	int64_t rows =
		counts->inserted + counts->updated + counts->unchanged + dead;
	struct batch_record record =
		run_batch_record(r, rb, next, counts, dead, load_us);
	struct error ignored = ERROR_INIT;

	if (rows) {
		record.rows = rows;
		run_result_count(r->out, &rb->batch, (size_t)rows, counts,
				 dead);
	}
	record.error_code = (char *)error_code_name(err->code);
	record.error_message = (char *)err->message;
	ledger_batch(r->store, r->out, &record, NULL, &ignored);
}

/* Nothing of a refresh lasts before its end, and a replay begins its window
 * again: a batch of them is no progress. */
/* A copy has no config to write it into, and letters go by keys. */
static void run_hint_bad_row(const struct run *r, struct error *err)
{
	if (!r->p->call && r->schema.n_key && r->p->mode != LOAD_REPLACE)
		error_hint(err, "(to load the other rows and keep such rows "
				"aside: on_bad_row: dead_letter)");
}

static int run_load_batch(struct run *r, const struct batch *b,
			  struct checkpoint *next, struct load_counts *counts,
			  int64_t *dead, struct error *err)
{
	struct error why = ERROR_INIT;
	int rc = r->task->ops->loading(r, b, err);

	if (rc)
		return rc;
	rc = load_batch(r->destination, &r->target, b, next, run_moves_mark(r),
			r->tries, counts, &why);

	if (!rc)
		return 0;
	/* It was rolled back. */
	*counts = (struct load_counts){ .inserted = 0 };
	if (rc == -ERROR_DATA && b->n_rows &&
	    (r->p->bad_rows.keep || task_has(r->task, TASK_RETRIES_LETTERS)))
		return dead_letter_load(r, b, next, &why, counts, dead, err);
	*err = why;
	if (rc == -ERROR_DATA && b->n_rows)
		run_hint_bad_row(r, err);
	return rc;
}

static int run_load(struct run *r, const struct read_batch *rb,
		    struct error *err)
{
	struct load_counts counts = { .inserted = 0 };
	struct checkpoint next;
	int64_t begun, load_us, dead = 0;
	int rc;

	run_checkpoint(r, &rb->batch, &rb->digest, &next);
	rc = -(int)rb->refused.code;
	if (rc)
		*err = rb->refused;
	if (!rc && task_has(r->task, TASK_GATED))
		rc = window_check_next(&r->window, rb->batch.n_rows, err);
	if (!rc)
		rc = hooks_begin(r, err);
	begun = clock_monotonic_us();
	if (!rc)
		rc = run_load_batch(r, &rb->batch, &next, &counts, &dead, err);
	load_us = clock_monotonic_us() - begun;
	if (rc)
		run_refused(r, rb, &next, &counts, dead, load_us, err);
	else
		rc = run_loaded(r, rb, &next, &counts, dead, load_us, err);
	checkpoint_release(&next);
	return rc;
}

/* As load_batch(), of rows that go. */
static int run_remove_rows(struct run *r, const struct batch *keys,
			   const struct checkpoint *next, int64_t *removed,
			   struct error *err)
{
	struct tries now = *r->tries;
	struct stamped s;
	int rc;

	stamp_begin(&s, r->target.schema, keys);
	do {
		error_clear(err);
		rc = r->destination->ops->remove(r->destination, s.batch, next,
						 removed, err);
	} while (rc == -ERROR_CONFLICT && tries_again(&now, err));
	stamp_end(&s);
	if (rc)
		*r->tries = now;
	return rc;
}

int run_remove(struct run *r, const struct batch *keys, struct error *err)
{
	static const struct read_batch nothing_read;
	static const struct load_counts none;
	struct digest digest;
	struct load_counts counts = { .inserted = 0 };
	struct checkpoint next;
	int64_t begun = clock_monotonic_us(), removed = 0;
	int rc = hooks_begin(r, err);

	if (rc)
		return rc;
	digest_batch_memory(&digest, keys);
	run_checkpoint(r, keys, &digest, &next);
	next.rows_total = r->checkpoint.rows_total;
	rc = run_remove_rows(r, keys, &next, &removed, err);
	/* A key may have many versions, and all of them go: so keys are
	 * counted. */
	counts.deleted = removed < (int64_t)keys->n_rows
				 ? removed
				 : (int64_t)keys->n_rows;
	if (rc)
		run_refused(r, &nothing_read, &next, &none, 0,
			    clock_monotonic_us() - begun, err);
	else
		rc = run_removed(r, &nothing_read, &next, &counts,
				 clock_monotonic_us() - begun, err);
	checkpoint_release(&next);
	return rc;
}

/* The last, empty batch carries the pass's final mark: it may be newer than
 * the last rows' own (xmin, pending sequences). */
int task_finish(struct run *r, const struct read_batch *last, struct error *err)
{
	struct load_counts counts = { .inserted = 0 };
	struct checkpoint next;
	int64_t dead = 0;
	bool moved;
	int rc = 0;

	run_checkpoint(r, &last->batch, &last->digest, &next);
	moved = last->batch.watermark.value || last->batch.watermark.pending;
	moved |= r->keyless.cut > 0;
	moved = moved && (!r->checkpoint.watermark ||
			  strcmp(r->checkpoint.watermark, next.watermark) != 0);
	if (r->target.refresh || r->keyless.cut)
		rc = hooks_begin(r, err);
	if (rc) {
		checkpoint_release(&next);
		return rc;
	}
	if (r->target.refresh && !r->target.preview)
		rc = r->destination->ops->finish(r->destination, &next, err);
	else if (moved && !r->target.preview)
		rc = run_load_batch(r, &last->batch, &next, &counts, &dead,
				    err);
	if (!rc && r->target.refresh)
		rc = letters_refreshed(&r->letters, err);
	if (!rc && (moved || r->target.refresh)) {
		xassign(&r->out->watermark_after, next.watermark);
		if (r->store)
			rc = store_mark_set(r->store, r->p->name,
					    r->out->attempt_id, next.watermark,
					    err);
	}
	run_result_hold(r->out, &last->batch);
	run_result_missing(r->out);
	checkpoint_release(&next);
	return rc;
}

static int run_end_pass(struct run *r, const struct read_batch *last,
			struct error *err)
{
	int rc = window_check_end(&r->window, err);

	if (rc)
		return rc;
	r->out->outcome = OUTCOME_CAUGHT_UP;
	r->out->progress = 1;
	return r->task->ops->finish(r, last, err);
}

int run_pass(struct run *r, struct error *err)
{
	int rc = 0;

	while (!rc) {
		struct read_batch *rb =
			reader_take(&r->reader, run_tick, r, &rc, err);
		size_t loaded;

		if (!rb || run_keyless_is_over(r, &rb->batch)) {
			r->out->outcome = OUTCOME_STOPPED;
			return rc ? rc : run_keyless_check_progress(r, err);
		}
		loaded = rb->batch.n_rows;
		if (!loaded)
			return run_end_pass(r, rb, err);
		run_keyless_trim(r, &rb->batch);
		rc = run_load(r, rb, err);
		if (rc)
			return rc;
		adapt_loaded(&r->adapt, loaded, r->out->last_batch_us);
		pace_loaded(r->pacing->pace, r->out->last_batch_us);
		reader_give_back(&r->reader, run_batch_rows(r));
		run_tick(r);
	}
	return rc;
}
