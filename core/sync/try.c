#include "core/sync/try.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/sync/ledger.h"
#include "core/sync/opening.h"
#include "core/sync/reader.h"
#include "core/sync/runner.h"

/* One try: both ends opened anew, from the destination's mark to the end. */
struct run {
	const struct pipeline_settings *p;
	const struct run_options *options;
	struct store *store;
	struct run_result *out;
	struct connector *source;
	struct destination *destination;
	struct source_spec spec;
	struct watermark_spec mark;
	struct schema schema;
	struct target target;
	struct watermark from;
	struct settled settled;
	struct checkpoint checkpoint; /* as it stands in the destination */
	json_t *identity;
	bool again; /* a column has made every row new */
	struct reader reader;
	size_t rows; /* of the next batch */
};

static void run_init(struct run *r)
{
	schema_init(&r->schema);
	watermark_init(&r->from);
	settled_init(&r->settled);
	checkpoint_init(&r->checkpoint);
	settings_source_spec(r->p, &r->spec);
	settings_watermark_spec(r->p, &r->mark);
	r->target.pipeline = r->p->name;
	r->target.table = r->p->destination_table;
	r->target.mode = r->p->mode;
	r->target.drift = r->p->drift;
	r->target.force = r->options->full_refresh;
	r->target.refresh =
		r->p->mode == LOAD_REPLACE || r->options->full_refresh;
}

static void run_release(struct run *r)
{
	reader_stop(&r->reader);
	if (r->destination)
		r->destination->ops->close(r->destination);
	if (r->source)
		r->source->ops->close(r->source);
	schema_release(&r->schema);
	watermark_release(&r->from);
	settled_release(&r->settled);
	checkpoint_release(&r->checkpoint);
	json_decref(r->identity);
}

static void run_tick(void *ctx)
{
	struct run *r = ctx;

	r->out->elapsed_us = clock_monotonic_us() - r->out->begun_us;
	if (r->options->progress)
		r->options->progress(r->out, r->options->progress_ctx);
}

static void run_set_text(char **dst, const char *src)
{
	char *copy = xstrdup(src);

	free(*dst);
	*dst = copy;
}

static int run_open_source(struct run *r, struct error *err)
{
	int rc = runner_open_source(r->p, &r->source, err);

	if (!rc)
		rc = r->source->ops->describe(r->source, &r->spec, &r->mark,
					      &r->schema, err);
	if (!rc)
		rc = r->source->ops->identity(r->source, &r->spec, &r->identity,
					      err);
	r->target.schema = &r->schema;
	return rc;
}

/* Open both ends and learn what the source looks like; nothing is written.
 * What the source says goes before what the destination says. */
static int run_open(struct run *r, struct error *err)
{
	struct error ignored = ERROR_INIT;
	struct opening opening;
	int rc, opened;

	opening_begin(&opening, r->p);
	rc = run_open_source(r, err);
	opened = opening_end(&opening, &r->destination, rc ? &ignored : err);
	rc = rc ? rc : opened;
	if (!rc)
		r->rows = pipeline_first_rows((size_t)r->p->batch_rows,
					      r->destination->ops->batch_rows);
	return rc;
}

static int run_refuse_other_mark(struct run *r, const struct watermark *seen,
				 struct error *err)
{
	const char *column = r->p->mark_column ? r->p->mark_column : "";

	return error_set(err, ERROR_SCHEMA,
			 "the stored mark of %s belongs to strategy %s, column "
			 "\"%s\", but the config says %s, column \"%s\". "
			 "To read everything again under the new one: tidemark "
			 "watermark reset %s, or run --full-refresh",
			 r->p->name, strategy_name(seen->strategy),
			 seen->column ? seen->column : "",
			 strategy_name(r->p->strategy), column, r->p->name);
}

/* A column that the mark's rows were delivered without: all are read again. */
static int run_check_columns(struct run *r, struct watermark *seen,
			     struct error *err)
{
	char *column = watermark_new_column(seen, &r->schema);
	int rc = 0;

	if (column && r->p->drift.on_new_column == DRIFT_STOP)
		rc = error_set(err, ERROR_SCHEMA,
			       "table %s: column \"%s\" is new at the source, "
			       "or was dropped or left out for a while, and "
			       "on_new_column is stop; set schema: "
			       "{ on_new_column: add } or run --full-refresh",
			       r->p->source_table, column);
	else if (column && !r->again)
		log_info("column \"%s\" of %s is new, or was dropped or left "
			 "out for a while: every row is read again",
			 column, r->p->source_table);
	if (column && !rc) {
		r->again = true;
		watermark_forget(seen);
	}
	free(column);
	return rc;
}

/* Is the stored mark this pipeline's, of this very source? */
static int run_check_mark(struct run *r, const char *text, struct error *err)
{
	struct watermark seen;
	const char *column = r->p->mark_column ? r->p->mark_column : "";
	int rc;

	watermark_init(&seen);
	rc = watermark_from_text(&seen, text, err);
	if (rc) {
		error_prefix(err, "stored mark of %s", r->p->name);
	} else if (seen.strategy != r->p->strategy ||
		   strcmp(seen.column ? seen.column : "", column) != 0) {
		rc = run_refuse_other_mark(r, &seen, err);
	} else if (seen.identity) {
		rc = watermark_check_identity(&seen, r->identity, r->p->name,
					      err);
	}
	if (!rc)
		rc = run_check_columns(r, &seen, err);
	if (!rc) {
		watermark_release(&r->from);
		watermark_copy(&r->from, &seen);
	}
	watermark_release(&seen);
	return rc;
}

/* Where are we? The destination's own row is the truth. */
static int run_recover(struct run *r, struct error *err)
{
	int rc;

	checkpoint_release(&r->checkpoint);
	checkpoint_init(&r->checkpoint);
	rc = r->destination->ops->recover(r->destination, &r->target,
					  &r->checkpoint, err);
	if (rc)
		return rc;
	/* What this run has seen as delivered stays so when prepare clears the
	 * mark. */
	watermark_forget(&r->from);
	r->from.strategy = r->p->strategy;
	free(r->from.column);
	r->from.column = xstrdup(r->p->mark_column);
	if (r->target.refresh || !r->checkpoint.watermark)
		return 0;
	return run_check_mark(r, r->checkpoint.watermark, err);
}

/* Tell the ledger once, as soon as the window's start is known. */
static int run_record(struct run *r, struct error *err)
{
	char id[DIGEST_TEXT_SIZE];

	if (r->out->recorded)
		return 0;
	run_set_text(&r->out->watermark_before, r->checkpoint.watermark);
	run_set_text(&r->out->watermark_after, r->checkpoint.watermark);
	ledger_run_id(r->p, r->checkpoint.watermark, id);
	run_set_text(&r->out->run_id, id);
	r->out->recorded = true;
	return ledger_begin(r->store, r->out, err);
}

/* The mark is looked at before anything is written: a table that was dropped
 * and made anew, or another server at that address, changes nothing here. */
static int run_locate(struct run *r, struct error *err)
{
	int rc = run_recover(r, err);

	if (!rc)
		rc = run_record(r, err);
	if (!rc)
		rc = r->destination->ops->prepare(r->destination, &r->target,
						  err);
	if (!rc)
		rc = run_recover(r, err);
	return rc;
}

/* The settled point comes before the snapshot that serves the first row. */
static int run_settle(struct run *r, struct error *err)
{
	int rc = r->source->ops->settle(r->source, &r->spec, &r->schema,
					&r->mark, &r->from, &r->settled, err);

	if (rc)
		return rc;
	r->out->guarantee = r->settled.guarantee;
	run_set_text(&r->out->guarantee_reason, r->settled.reason);
	json_decref(r->out->held_by);
	r->out->held_by = json_incref(r->settled.held_by);
	return 0;
}

/* The next checkpoint: the mark behind this batch and who the batch is. */
static void run_checkpoint(struct run *r, const struct batch *b,
			   struct checkpoint *next)
{
	char id[DIGEST_TEXT_SIZE], content[2 * DIGEST_TEXT_SIZE];
	struct digest digest = { 0, 0, 0 };
	struct watermark mark;

	watermark_copy(&mark, &b->watermark);
	watermark_set_columns(&mark, &r->schema);
	checkpoint_init(next);
	next->watermark = watermark_to_text(&mark);
	next->delivered = xstrdup(watermark_delivered(&mark));
	watermark_release(&mark);
	next->fence = r->checkpoint.fence;
	next->rows_total = r->checkpoint.rows_total + (int64_t)b->n_rows;
	if (r->destination->ops->traits & DESTINATION_TRANSACTIONAL) {
		snprintf(content, sizeof(content), "%s:%" PRId64,
			 r->out->attempt_id, r->out->batches);
	} else {
		digest_add_batch(&digest, b);
		digest_text(&digest, content);
	}
	ledger_batch_id(r->p, r->checkpoint.watermark, next->watermark, content,
			id);
	next->batch_id = xstrdup(id);
}

static void run_count(struct run *r, const struct batch *b,
		      const struct load_counts *counts)
{
	r->out->batches++;
	r->out->rows_read += (int64_t)b->n_rows;
	r->out->bytes_read += (int64_t)batch_bytes(b);
	r->out->rows_inserted += counts->inserted;
	r->out->rows_updated += counts->updated;
	r->out->rows_unchanged += counts->unchanged;
	r->out->rows_deleted += counts->deleted;
	r->out->progress = b->progress;
}

static int run_account(const struct batch *b, const struct load_counts *counts,
		       struct error *err)
{
	int64_t sum = counts->inserted + counts->updated + counts->unchanged;

	if (sum == (int64_t)b->n_rows)
		return 0;
	return error_set(err, ERROR_BUG,
			 "accounting: %zu rows read but %" PRId64
			 " inserted + %" PRId64 " updated + %" PRId64
			 " unchanged",
			 b->n_rows, counts->inserted, counts->updated,
			 counts->unchanged);
}

/* The batch is durable: mirror the mark, count, remember. Takes `next`. */
static int run_loaded(struct run *r, const struct read_batch *rb,
		      struct checkpoint *next, const struct load_counts *counts,
		      int64_t load_us, struct error *err)
{
	struct batch_record record = {
		.attempt_id = r->out->attempt_id,
		.batch_id = next->batch_id,
		.pipeline = r->p->name,
		.watermark = next->watermark,
		.rows = (int64_t)rb->batch.n_rows,
		.inserted = counts->inserted,
		.updated = counts->updated,
		.unchanged = counts->unchanged,
		.deleted = counts->deleted,
		.read_us = rb->read_us,
		.load_us = load_us,
		.at = clock_now_us(),
	};

	run_count(r, &rb->batch, counts);
	record.number = r->out->batches;
	r->out->last_batch_us = load_us;
	checkpoint_release(&r->checkpoint);
	r->checkpoint = *next;
	checkpoint_init(next);
	if (!r->target.refresh)
		run_set_text(&r->out->watermark_after, r->checkpoint.watermark);
	return ledger_batch(r->store, r->out, &record, err);
}

static int run_load(struct run *r, const struct read_batch *rb,
		    struct error *err)
{
	struct load_counts counts = { 0, 0, 0, 0 };
	struct checkpoint next;
	int64_t begun = clock_monotonic_us(), load_us;
	int rc;

	run_checkpoint(r, &rb->batch, &next);
	rc = r->destination->ops->load(r->destination, &rb->batch, &next,
				       &counts, err);
	load_us = clock_monotonic_us() - begun;
	if (!rc)
		rc = run_account(&rb->batch, &counts, err);
	if (!rc)
		rc = run_loaded(r, rb, &next, &counts, load_us, err);
	checkpoint_release(&next);
	return rc;
}

/* The last, empty batch carries the pass's final mark: it may be newer than
 * the last rows' own (xmin, pending sequences). */
static int run_end_pass(struct run *r, const struct read_batch *rb,
			struct error *err)
{
	struct load_counts counts = { 0, 0, 0, 0 };
	struct checkpoint next;
	bool moved;
	int rc = 0;

	run_checkpoint(r, &rb->batch, &next);
	moved = rb->batch.watermark.value || rb->batch.watermark.pending;
	moved = moved && (!r->checkpoint.watermark ||
			  strcmp(r->checkpoint.watermark, next.watermark) != 0);
	if (r->target.refresh)
		rc = r->destination->ops->finish(r->destination, &next, err);
	else if (moved)
		rc = r->destination->ops->load(r->destination, &rb->batch,
					       &next, &counts, err);
	if (!rc && (moved || r->target.refresh)) {
		run_set_text(&r->out->watermark_after, next.watermark);
		if (r->store)
			rc = r->store->ops->set_watermark(r->store, r->p->name,
							  next.watermark, err);
	}
	run_result_hold(r->out, &rb->batch);
	r->out->outcome = OUTCOME_CAUGHT_UP;
	r->out->progress = 1;
	checkpoint_release(&next);
	return rc;
}

/* Load what the reader hands over until the pass ends. */
static int run_pass(struct run *r, struct error *err)
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
		r->rows = pipeline_adapt_rows(
			r->rows, loaded, r->out->last_batch_us,
			r->p->batch_target_us, (size_t)r->p->batch_rows,
			r->destination->ops->batch_rows);
		reader_give_back(&r->reader, r->rows);
		run_tick(r);
	}
	return rc;
}

static int run_check_options(struct run *r, struct error *err)
{
	if (!r->target.refresh || !r->options->max_batches)
		return 0;
	return error_set(
		err, ERROR_CONFIG,
		"%s is loaded whole and swapped in at its end (%s), so "
		"--max-batches would never let it end; run it without",
		r->p->name,
		r->p->mode == LOAD_REPLACE ? "mode replace" : "--full-refresh");
}

static int run_sync(struct run *r, struct error *err)
{
	struct scan scan = { .source = &r->spec,
			     .schema = &r->schema,
			     .mark = &r->mark,
			     .from = &r->from,
			     .settled = &r->settled };
	int64_t left = 0;
	int rc = run_check_options(r, err);

	if (!rc)
		rc = run_open(r, err);
	if (!rc)
		rc = run_locate(r, err);
	if (!rc)
		rc = run_settle(r, err);
	scan.identity = r->identity;
	if (!rc)
		rc = r->source->ops->scan(r->source, &scan, err);
	if (r->options->max_batches)
		left = r->options->max_batches - r->out->batches;
	/* Two batches are in memory at once: each gets half of the bound. */
	if (!rc)
		rc = reader_start(&r->reader, r->source, r->destination,
				  &r->schema, r->p->name, r->rows,
				  (size_t)r->p->batch_bytes / READER_SLOTS,
				  left, err);
	return rc ? rc : run_pass(r, err);
}

int pipeline_try(const struct pipeline_settings *p, struct store *store,
		 const struct run_options *options, struct run_result *out,
		 struct error *err)
{
	struct run r = {
		.p = p, .options = options, .store = store, .out = out
	};
	int rc;

	run_init(&r);
	rc = run_sync(&r, err);
	run_release(&r);
	return rc;
}
