#include "core/sync/run/try.h"

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/sync/gate/gate.h"
#include "core/sync/parts/about.h"
#include "core/sync/parts/changing.h"
#include "core/sync/run/keyless.h"
#include "core/sync/run/pre_check.h"
#include "core/sync/run/run.h"

static int run_check_options(struct run *r, struct error *err)
{
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
	return run_check_bounds(r, err);
}

/* The settled point comes before the snapshot that serves the first row. */
int run_settle(struct run *r, struct error *err)
{
	int rc;

	settled_release(&r->settled);
	settled_init(&r->settled);

	/* A range by the key has no mark. */
	if (r->mark.any_type)
		return 0;
	rc = r->source->ops->settle(r->source, &r->spec, &r->schema,
				    r->scan.mark, r->scan.from, &r->settled,
				    err);

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

/* Count the rows before the first is loaded. A refresh is not seen before its
 * end, and a replay's window was let through once, so both are left out. */
static int run_open_window(struct run *r, struct error *err)
{
	window_init(&r->window, r->p, r->target.refresh,
		    task_has(r->task, TASK_MOVES_MARK) ? r->out->rows_read : 0);
	if (!run_moves_mark(r) || !task_has(r->task, TASK_GATED))
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
		.max_rows = run_batch_rows(r),
		.max_bytes = (size_t)r->p->batch_bytes / READER_SLOTS,
		.sizes = r->sizes,
		.n_sizes = r->n_sizes,
		.look = run_look,
		.look_ctx = r,
		.digest = !(r->destination->ops->traits &
			    DESTINATION_TRANSACTIONAL),
		.pace = r->pacing->pace,
		.deadline_us = r->deadline_us,
		.most_rows = r->options->limit,
	};

	if (r->options->max_batches)
		bounds.max_batches = r->options->max_batches - r->out->batches;
	bounds.max_batches = run_keyless_bound(r, bounds.max_batches);
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

/* The target has every row of the source, and no other. */
static int run_end_unchanged(struct run *r, struct error *err)
{
	int rc = run_settle(r, err);

	if (rc)
		return rc;
	r->out->rows_read += r->same_rows;
	r->out->rows_unchanged += r->same_rows;
	r->out->outcome = OUTCOME_CAUGHT_UP;
	r->out->progress = 1;
	return 0;
}

/* One straight line; nothing goes back. */
static int run_once(struct run *r, struct error *err)
{
	int rc = run_check_options(r, err);

	if (!rc)
		rc = run_open(r, err);
	if (rc || pre_check_waits(r))
		return rc;
	rc = run_locate(r, err);
	if (!rc && r->unchanged)
		rc = run_end_unchanged(r, err);
	if (rc || r->unchanged)
		return rc ? rc : hooks_end(r, err);
	/* Held from the begin on: the settled point is not to grow old
	 * meanwhile. */
	if (!rc)
		rc = run_begin_pace(r, err);
	if (!rc)
		rc = run_settle(r, err);
	if (!rc)
		rc = r->task->ops->bound(r, err);
	r->scan.identity = r->identity;
	if (!rc)
		rc = run_open_window(r, err);
	if (!rc)
		rc = r->source->ops->scan(r->source, &r->scan, err);
	if (!rc)
		run_verify_begin(r);
	if (!rc)
		rc = r->task->ops->begun(r, err);
	stopper_end(&r->stopper);
	if (!rc)
		rc = run_start_reader(r, err);
	if (!rc)
		rc = run_pass(r, err);
	return rc ? rc : hooks_end(r, err);
}

int pipeline_try(struct run_context *c, struct run_result *out,
		 struct error *err)
{
	struct run r = {
		.p = c->p,
		.options = c->options,
		.task = c->options->task,
		.store = c->store,
		.keeper = &c->keeper,
		.tries = &c->tries,
		.refused = &c->refused,
		.deadline_us = c->deadline_us,
		.letters = { .p = c->p,
			     .store = c->store,
			     .over = &c->over,
			     .out = out },
		.hooks = &c->hooks,
		.verify = c->verifies ? &c->verify : NULL,
		.pacing = &c->pacing,
		.out = out,
	};
	int rc;

	c->refused = NULL;
	run_init(&r);
	rc = run_once(&r, err);
	run_release(&r);
	return rc;
}
