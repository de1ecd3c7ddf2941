#include "core/sync/run/try.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/plugin/registry.h"
#include "core/sync/gate/gate.h"
#include "core/sync/ledger/ledger.h"
#include "core/sync/parts/about.h"
#include "core/sync/parts/changing.h"
#include "core/sync/parts/ends.h"
#include "core/sync/parts/marks.h"
#include "core/sync/parts/opening.h"
#include "core/sync/parts/shape.h"
#include "core/sync/parts/stamp.h"
#include "core/sync/run/in_place.h"
#include "core/sync/run/run.h"
#include "core/sync/run/target_check.h"
#include "core/sync/tasks/chunk.h"
#include "core/sync/tasks/letters.h"
#include "core/sync/tasks/replay.h"
#include "core/sync/verify/work.h"

static void run_init(struct run *r)
{
	schema_init(&r->schema);
	schema_init(&r->written);
	watermark_init(&r->from);
	settled_init(&r->settled);
	checkpoint_init(&r->checkpoint);
	settings_source_spec(r->p, &r->spec);
	settings_watermark_spec(r->p, &r->mark);
	r->scan = (struct scan){ .source = &r->spec,
				 .schema = &r->schema,
				 .mark = &r->mark,
				 .from = &r->from,
				 .settled = &r->settled };
	r->to = *r->p->destination;
	r->to.look = r->options->dry_run;
	marks_target(r->p, &r->target);
	if (r->options->chunk)
		r->target.pipeline = r->options->chunk->chunk->chunk_id;
	r->target.force = r->options->full_refresh;
	r->target.overwrite = r->options->work != NULL;
	if (r->p->soft_delete && *r->p->soft_delete)
		r->target.soft_delete = r->p->soft_delete;
	r->target.refresh =
		r->p->mode == LOAD_REPLACE || r->options->full_refresh;
}

static void run_release(struct run *r)
{
	stopper_end(&r->stopper);
	reader_stop(&r->reader);
	run_pace_rest(r->pacing);
	gate_free(r->gate);
	letters_release(&r->letters);
	strlist_release(&r->keys);
	strlist_release(&r->gone);
	if (r->destination)
		r->destination->ops->close(r->destination);
	if (r->source)
		r->source->ops->close(r->source);
	schema_release(&r->schema);
	schema_release(&r->written);
	watermark_release(&r->from);
	settled_release(&r->settled);
	checkpoint_release(&r->checkpoint);
	json_decref(r->identity);
	json_decref(r->shape);
	free(r->window_from);
	free(r->window_to);
	free(r->delivered);
	free(r->sizes);
}

void run_tick(void *ctx)
{
	struct run *r = ctx;

	run_pace_look(r->pacing);
	r->out->elapsed_us = clock_monotonic_us() - r->out->begun_us;
	if (r->options->progress)
		r->options->progress(r->out, r->options->progress_ctx);
}

/* Within one table a row that has the mark it was read with is taken for
 * unchanged. Of a mark that stays the same for a while that is so once its
 * second, or day, is over; SQLite keeps it as whoever writes likes. */
static bool run_holds_tail(const struct run *r)
{
	const struct type *mark = &r->schema.columns[r->schema.mark].type;

	return mark->kind == TYPE_DATE || mark->digits < 6 ||
	       !strcmp(r->p->source->url.engine, "sqlite");
}

static int run_find_in_place(struct run *r, struct error *err)
{
	int rc;

	if (r->p->mode != LOAD_UPDATE)
		return 0;
	rc = in_place_find(r->p, r->identity, &r->target.in_place, err);
	if (!rc && r->target.in_place && r->schema.mark >= 0 &&
	    run_holds_tail(r))
		r->mark.tail = TAIL_HOLD;
	return rc;
}

static int run_open_source(struct run *r, struct error *err)
{
	int rc = 0;

	r->source = ends_take_source(r->p->ends);
	if (!r->source)
		rc = registry_open_connector(r->p->source, &r->source, err);
	if (rc)
		return rc;
	stopper_start(&r->stopper, r->source);
	if (r->options->chunk)
		rc = chunk_describe(r, err);
	else
		rc = r->source->ops->describe(r->source, &r->spec, &r->mark,
					      &r->schema, err);
	if (!rc)
		rc = r->source->ops->identity(r->source, &r->spec, &r->identity,
					      err);
	if (rc)
		about_table(err, r->p->source_table);
	if (!rc)
		rc = run_find_in_place(r, err);
	if (!rc)
		rc = stamp_schema(r->p, &r->schema, &r->written, err);
	r->target.schema = &r->written;
	return rc;
}

/* Open both ends and learn what the source looks like; nothing is written.
 * What the source says goes before what the destination says. */
static int run_open(struct run *r, struct error *err)
{
	struct error ignored = ERROR_INIT;
	struct opening opening;
	int rc, opened = 0;

	r->destination = ends_take_destination(r->p->ends);
	if (r->destination)
		rc = run_open_source(r, err);
	else {
		opening_begin(&opening, r->p, &r->to);
		rc = run_open_source(r, err);
		opened = opening_end(&opening, &r->destination,
				     rc ? &ignored : err);
	}
	rc = rc ? rc : opened;
	stopper_add(&r->stopper, r->destination);
	if (!rc)
		rc = gate_open(&r->gate, r->p, &r->schema, err);
	if (!rc)
		adapt_init(&r->adapt, (size_t)r->p->batch_rows,
			   r->destination->ops->batch_rows,
			   r->p->batch_target_us);
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
	r->from.strategy = r->mark.strategy;
	free(r->from.column);
	r->from.column = xstrdup(r->mark.column);
	json_decref(r->shape);
	r->shape = shape_of(r->p, &r->schema);
	if (r->target.refresh || !r->checkpoint.watermark)
		return 0;
	return run_check_mark(r, r->checkpoint.watermark, err);
}

/* Tell the ledger as soon as the window's start is known: that of the first
 * attempt, whatever the others find. */
static int run_record(struct run *r, struct error *err)
{
	char id[DIGEST_TEXT_SIZE];

	if (!r->out->located) {
		xassign(&r->out->watermark_before, r->checkpoint.watermark);
		xassign(&r->out->watermark_after, r->checkpoint.watermark);
		if (r->out->aside)
			ledger_aside_id(r->p, r->out->attempt_id, id);
		else
			ledger_run_id(r->p, r->checkpoint.watermark, id);
		xassign(&r->out->run_id, id);
		r->out->located = true;
	}
	r->out->recorded = true;
	return ledger_begin(r->store, r->out, err);
}

/* The mark is looked at before anything is written: a table that was dropped
 * and made anew, or another server at that address, changes nothing here. */
static int run_locate(struct run *r, struct error *err)
{
	const struct destination_ops *ops = r->destination->ops;
	int rc = run_recover(r, err);

	rc = rc ? rc : target_check_run(r, err);
	/* Computed columns are tried before their first rows are loaded. */
	if (!rc && !r->from.value && run_moves_mark(r) && !r->options->chunk)
		rc = changing_try(r->p, err);
	if (!rc && r->options->chunk)
		rc = chunk_find_settled(r, err);
	if (!rc && r->options->dry_run) {
		rc = run_record(r, err);
		return rc ? rc : dry_run_prepare(r, err);
	}
	if (!rc)
		rc = lease_keeper_meet(r->keeper, r->store, r->checkpoint.fence,
				       ops->session(r->destination), err);
	lease_keeper_writer(r->keeper, &r->target.writer);
	if (r->options->chunk)
		chunk_guard(r);
	if (!rc)
		rc = run_record(r, err);
	if (!rc)
		rc = letters_open(r, err);
	if (!rc)
		rc = ops->prepare(r->destination, &r->target, err);
	if (rc)
		return rc;
	lease_keeper_claimed(r->keeper);
	r->target.writer.claim = false;
	r->target.writer.predecessor = NULL;
	rc = run_recover(r, err);
	if (!rc && r->options->chunk)
		chunk_resume(r);
	return rc;
}

/* The settled point comes before the snapshot that serves the first row. */
static int run_settle(struct run *r, struct error *err)
{
	int rc;

	/* A range by the key has no mark. */
	if (r->mark.any_type)
		return 0;
	rc = r->source->ops->settle(r->source, &r->spec, &r->schema, &r->mark,
				    &r->from, &r->settled, err);

	if (rc) {
		about_table(err, r->p->source_table);
		return rc;
	}
	changing_settled(r->p, &r->settled);
	r->out->guarantee = r->settled.guarantee;
	xassign(&r->out->guarantee_reason, r->settled.reason);
	json_decref(r->out->held_by);
	r->out->held_by = json_incref(r->settled.held_by);
	return 0;
}

static int run_check_options(struct run *r, struct error *err)
{
	bool bounded = r->options->max_batches || r->options->max_us;

	if (changing_refuse(r->p, err))
		return -ERROR_CONFIG;
	if (r->verify && run_verify_check(r->p, err))
		return -ERROR_CONFIG;
	if (r->target.mode == LOAD_UPDATE && r->target.refresh)
		return error_set(
			err, ERROR_CONFIG,
			"%s is in mode update, which changes rows of "
			"a table that others fill, so there is nothing "
			"to refresh; to read all rows again: tidemark "
			"watermark reset %s",
			r->p->name, settings_call(r->p));
	if (!r->target.refresh || !bounded)
		return 0;
	return error_set(
		err, ERROR_CONFIG,
		"%s is loaded whole and swapped in at its end (%s), so "
		"%s would never let it end; run it without",
		r->p->name,
		r->p->mode == LOAD_REPLACE ? "mode replace" : "--full-refresh",
		r->options->max_batches ? "--max-batches" : "--max-seconds");
}

/* How many rows there are is asked before the first is loaded; a refresh is
 * not seen before its end, and a replay's window was let through once. */
static int run_open_window(struct run *r, struct error *err)
{
	window_init(&r->window, r->p, r->target.refresh,
		    r->options->replay ? 0 : r->out->rows_read);
	if (!run_moves_mark(r) || r->options->chunk)
		return 0;
	return window_count(&r->window, &r->scan, r->destination, r->adapt.rows,
			    run_tick, r, err);
}

static int run_look(void *ctx, const struct batch *b, struct error *err)
{
	struct run *r = ctx;

	return gate_check(r->gate, b, err);
}

static int run_start_reader(struct run *r, struct error *err)
{
	/* Two batches are in memory at once: each gets half of the bound. */
	struct reader_bounds bounds = {
		.max_rows = r->adapt.rows,
		.max_bytes = (size_t)r->p->batch_bytes / READER_SLOTS,
		.sizes = r->sizes,
		.n_sizes = r->n_sizes,
		.look = run_look,
		.look_ctx = r,
		.digest = !(r->destination->ops->traits &
			    DESTINATION_TRANSACTIONAL),
		.pace = r->pacing->pace,
		.deadline_us = r->deadline_us,
	};

	bounds.max_rows = chunk_batch_rows(r, r->adapt.rows);
	if (r->options->max_batches)
		bounds.max_batches = r->options->max_batches - r->out->batches;
	return reader_start(&r->reader, r->source, r->destination, &r->schema,
			    r->p->name, &bounds, err);
}

static int run_is_idle(void *ctx, struct error *err)
{
	(void)ctx;
	(void)err;
	return 0;
}

static bool run_is_over(void *ctx)
{
	const struct run *r = ctx;

	run_tick(ctx);
	return r->deadline_us && clock_monotonic_us() >= r->deadline_us;
}

static int run_begin_pace(struct run *r, struct error *err)
{
	const struct pace_waiter waiter = { run_is_idle, run_is_over, r };

	return run_pace_begin(r->pacing, &waiter, err);
}

static int run_sync(struct run *r, struct error *err)
{
	int rc = run_check_options(r, err);

	if (!rc)
		rc = run_open(r, err);
	if (!rc)
		rc = run_locate(r, err);
	if (!rc && r->options->replay)
		rc = replay_locate(r, err);
	else
		xassign(&r->window_from, r->checkpoint.watermark);
	/* Held from the begin on: the settled point is not to grow old
	 * meanwhile. */
	if (!rc)
		rc = run_begin_pace(r, err);
	if (!rc)
		rc = run_settle(r, err);
	if (!rc && r->options->replay)
		rc = replay_bound(r, err);
	if (!rc && r->options->chunk)
		chunk_trust_settled(r);
	if (!rc && r->options->letters) {
		r->scan.keys = &r->keys;
		rc = letter_replay_keys(r, err);
	}
	if (r->options->work)
		r->scan.keys = &r->options->work->load;
	r->scan.identity = r->identity;
	if (!rc)
		rc = run_open_window(r, err);
	if (!rc)
		rc = r->source->ops->scan(r->source, &r->scan, err);
	if (!rc)
		run_verify_begin(r);
	if (!rc && r->options->dry_run)
		rc = dry_run_explain(r, err);
	stopper_end(&r->stopper);
	if (!rc)
		rc = run_start_reader(r, err);
	return rc ? rc : run_pass(r, err);
}

int pipeline_try(struct run_context *c, struct run_result *out,
		 struct error *err)
{
	struct run r = {
		.p = c->p,
		.options = c->options,
		.store = c->store,
		.keeper = &c->keeper,
		.tries = &c->tries,
		.deadline_us = c->deadline_us,
		.over = &c->over,
		.verify = c->verifies ? &c->verify : NULL,
		.pacing = &c->pacing,
		.out = out,
	};
	int rc;

	run_init(&r);
	rc = run_sync(&r, err);
	run_release(&r);
	return rc;
}
