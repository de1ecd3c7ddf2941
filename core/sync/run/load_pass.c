#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/sync/ledger/ledger.h"
#include "core/sync/parts/load.h"
#include "core/sync/parts/stamp.h"
#include "core/sync/run/dead_letter.h"
#include "core/sync/run/past_mark.h"
#include "core/sync/run/run.h"
#include "core/sync/tasks/chunk.h"
#include "core/sync/tasks/letters.h"
#include "core/sync/tasks/removal.h"
#include "core/sync/tasks/replay.h"

bool run_moves_mark(const struct run *r)
{
	return !r->target.refresh && !r->options->replay && !r->out->aside;
}

/* Rows are loaded that the mark's next place knows of: if that never comes to
 * be, what was delivered has to be known all the same. */
char *run_mark_standing(const struct run *r, const char *delivered)
{
	const char *stands = r->checkpoint.watermark;
	struct error ignored = ERROR_INIT;
	struct watermark mark;
	char *text;

	if (!delivered || r->p->strategy == STRATEGY_XMIN)
		return xstrdup(stands);
	watermark_init(&mark);
	if (!stands || watermark_from_text(&mark, stands, &ignored)) {
		mark.strategy = r->p->strategy;
		mark.column = xstrdup(r->p->mark_column);
	}
	watermark_raise(&mark, delivered);
	text = watermark_to_text(&mark);
	watermark_release(&mark);
	return text;
}

/* By its rows, which the reader has hashed. Of a transactional destination who
 * made the batch is enough. */
static void run_identity(struct run *r, const struct digest *digest,
			 struct checkpoint *next)
{
	char id[DIGEST_TEXT_SIZE], content[2 * DIGEST_TEXT_SIZE];
	const char *again = NULL;

	if (r->options->replay)
		again = replay_batch_id(r->options->replay, r->window_from,
					r->window_to);
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
	bool stands = r->options->replay || r->out->aside;
	char *highest = stands ? past_mark_highest(r, b) : NULL;
	struct watermark mark;

	watermark_copy(&mark, &b->watermark);
	watermark_set_columns(&mark, &r->schema, &r->gone);
	json_decref(mark.shape);
	mark.shape = json_incref(r->shape);
	mark.update = r->p->mode == LOAD_UPDATE;
	if (r->options->chunk)
		chunk_note_rows(r, b, &mark);
	checkpoint_init(next);
	free(r->window_to);
	r->window_to = watermark_to_text(&mark);
	next->delivered = xstrdup(r->options->replay || r->options->chunk
					  ? r->delivered
					  : watermark_delivered(&mark));
	if (stands)
		next->watermark = run_mark_standing(r, highest);
	else
		next->watermark = xstrdup(r->window_to);
	watermark_release(&mark);
	free(highest);
	next->fence = r->target.writer.fence ? r->target.writer.fence
					     : r->checkpoint.fence;
	next->rows_total = r->checkpoint.rows_total + (int64_t)b->n_rows;
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
	const char *mark = r->options->replay || r->options->chunk
				   ? NULL
				   : next->watermark;
	int rc;

	run_result_count(r->out, &rb->batch, rb->batch.n_rows, counts, dead);
	r->out->last_batch_us = load_us;
	if (!r->target.refresh && !r->options->replay)
		xassign(&r->out->watermark_after, next->watermark);
	if (r->options->chunk)
		r->options->chunk->rows += (int64_t)rb->batch.n_rows;
	letters_loaded(r, &rb->batch);
	run_verify_loaded(r, &rb->batch);
	rc = ledger_batch(r->store, r->out, &record, mark, err);
	if (!rc)
		rc = letters_clear(r, err);
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
	checkpoint_release(&r->checkpoint);
	r->checkpoint = *next;
	checkpoint_init(next);
	return rc;
}

/* A batch that was not loaded is on record with the reason; of one that went in
 * pieces, rows may be in all the same, or be letters: they are counted. */
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
static int run_load_batch(struct run *r, const struct batch *b,
			  struct checkpoint *next, struct load_counts *counts,
			  int64_t *dead, struct error *err)
{
	struct error why = ERROR_INIT;
	int rc;

	rc = r->options->chunk ? chunk_tell(r, b, err) : 0;
	if (rc)
		return rc;
	rc = load_batch(r->destination, &r->target, b, next, run_moves_mark(r),
			r->tries, counts, &why);

	if (!rc)
		return 0;
	/* It was rolled back. */
	*counts = (struct load_counts){ .inserted = 0 };
	if (rc == -ERROR_DATA && b->n_rows &&
	    (r->p->bad_rows.keep || r->options->letters))
		return dead_letter_load(r, b, next, &why, counts, dead, err);
	*err = why;
	return rc;
}

static int run_load(struct run *r, const struct read_batch *rb,
		    struct error *err)
{
	struct load_counts counts = { .inserted = 0 };
	struct checkpoint next;
	int64_t begun = clock_monotonic_us(), load_us, dead = 0;
	int rc;

	run_checkpoint(r, &rb->batch, &rb->digest, &next);
	rc = -(int)rb->refused.code;
	if (rc)
		*err = rb->refused;
	/* Rows by their keys are no window, and a chunk is a piece of one. */
	if (!rc && !r->out->aside && !r->options->chunk)
		rc = window_check_next(&r->window, rb->batch.n_rows, err);
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
	int rc;

	digest_batch_memory(&digest, keys);
	run_checkpoint(r, keys, &digest, &next);
	next.rows_total = r->checkpoint.rows_total;
	rc = run_remove_rows(r, keys, &next, &removed, err);
	/* Of a key with many versions they all go: keys are counted. */
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
static int run_end_pass(struct run *r, const struct read_batch *rb,
			struct error *err)
{
	struct load_counts counts = { .inserted = 0 };
	struct checkpoint next;
	int64_t dead = 0;
	bool moved;
	int rc = window_check_end(&r->window, err);

	if (rc)
		return rc;
	r->out->outcome = OUTCOME_CAUGHT_UP;
	r->out->progress = 1;
	if (r->options->replay)
		return 0;
	if (r->options->letters)
		return letter_replay_end(r, err);
	if (r->options->work)
		return removal_run(r, err);
	if (r->options->chunk)
		return chunk_end_pass(r, err);
	run_checkpoint(r, &rb->batch, &rb->digest, &next);
	moved = rb->batch.watermark.value || rb->batch.watermark.pending;
	moved = moved && (!r->checkpoint.watermark ||
			  strcmp(r->checkpoint.watermark, next.watermark) != 0);
	if (r->target.preview)
		rc = 0;
	else if (r->target.refresh)
		rc = r->destination->ops->finish(r->destination, &next, err);
	else if (moved)
		rc = run_load_batch(r, &rb->batch, &next, &counts, &dead, err);
	if (!rc && r->target.refresh)
		rc = letters_refreshed(r, err);
	if (!rc && (moved || r->target.refresh)) {
		xassign(&r->out->watermark_after, next.watermark);
		if (r->store)
			rc = r->store->ops->set_watermark(r->store, r->p->name,
							  r->out->attempt_id,
							  next.watermark, err);
	}
	run_result_hold(r->out, &rb->batch);
	run_result_missing(r->out);
	checkpoint_release(&next);
	return rc;
}

int run_pass(struct run *r, struct error *err)
{
	int rc = 0;

	while (!rc) {
		struct read_batch *rb =
			reader_take(&r->reader, run_tick, r, &rc, err);
		size_t loaded;

		if (!rb) {
			r->out->outcome = OUTCOME_STOPPED;
			return rc;
		}
		loaded = rb->batch.n_rows;
		if (!loaded)
			return run_end_pass(r, rb, err);
		rc = run_load(r, rb, err);
		if (rc)
			return rc;
		adapt_loaded(&r->adapt, loaded, r->out->last_batch_us);
		pace_loaded(r->pacing->pace, r->out->last_batch_us);
		reader_give_back(&r->reader,
				 chunk_batch_rows(r, r->adapt.rows));
		run_tick(r);
	}
	return rc;
}
