#include "core/sync/run/verify_look.h"

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/plugin/naming.h"
#include "core/sync/parts/range.h"
#include "core/sync/verify/pass.h"

/* Differences: with more of them there is no use in going on. */
#define WINDOW_DIFFERENT 20000
#define WINDOW_EXAMPLES	 10
/* The size of a page that second looks read past the mark. */
#define WINDOW_BYTES (4 << 20)

struct window_view {
	struct run_context *c;
	struct run_result *out;
	struct run_verified *found;
	const struct run_verify *run;
	struct driver_terms terms;
	struct driver driver; /* its mark is the one behind the window */
	struct pass pass; /* the window, as the source has it now */
	bool begun;
	int64_t left; /* rows to read, where no mark says; -1: it does */
	int64_t tail_left; /* rows of the tail to be found */
	struct digest_rows slots;
};

static void window_tick(void *ctx)
{
	struct window_view *w = ctx;
	const struct run_options *options = w->c->options;

	run_pace_look(&w->c->pacing);
	w->out->elapsed_us = clock_monotonic_us() - w->out->begun_us;
	if (options->progress)
		options->progress(w->out, options->progress_ctx);
}

static void window_tell(const struct verify_progress *so_far, void *ctx)
{
	(void)so_far;
	window_tick(ctx);
}

/* Blocks have no order of marks: a batch of them may hold rows of the tail, and
 * others, and all of them are looked at. */
static bool window_is_tail(const struct window_view *w, const struct batch *b)
{
	return b->n_tail && w->c->p->strategy != STRATEGY_XMIN;
}

static bool window_goes_on(void *ctx, const struct batch *b)
{
	const struct window_view *w = ctx;

	if (!b->n_rows || !w->left)
		return false;
	return !window_is_tail(w, b) || w->tail_left > 0;
}

/* Rows of the tail count only if this run has delivered them as they are
 * now. */
static bool window_wants(void *ctx, const struct batch *b, size_t row,
			 bool *delivered)
{
	struct window_view *w = ctx;
	bool tail = window_is_tail(w, b);

	if (!w->left)
		return false;
	w->left -= w->left > 0;
	if (w->run->delivered.n)
		*delivered =
			fingerprints_has(&w->run->delivered,
					 digest_rows_of(&w->slots, b, row).low);
	if (tail && !*delivered)
		return false;
	w->tail_left -= tail;
	return true;
}

static bool window_has_open(const struct window_view *w)
{
	const struct suspects *s = &w->driver.suspects;

	for (size_t i = 0; i < s->n; i++)
		if (!s->items[i].past && !s->items[i].delivered)
			return true;
	return false;
}

static void window_mark_batch(struct window_view *w, const struct batch *b)
{
	struct driver *d = &w->driver;

	for (size_t row = 0; row < b->n_rows; row++) {
		struct compare_hash key, all;
		struct suspect *x;

		compare_rows(&d->compare, COMPARE_SOURCE, b, &row, 1, &w->slots,
			     &key, &all);
		x = suspects_find(&d->suspects, &key);
		/* As it is now, it was delivered: it comes again in vain. */
		if (x && !x->delivered)
			x->past = true;
	}
}

/* Read from the source that second looks use. */
static int window_next(struct window_view *w, struct batch *b,
		       struct error *err)
{
	struct run_pace_reading reading = {
		&w->c->pacing, w->driver.sides[COMPARE_SOURCE].connector,
		window_tick, w
	};

	batch_reset(b);
	b->max_rows = VERIFY_KEYS;
	b->max_bytes = WINDOW_BYTES;
	return run_pace_next(&reading, b, err);
}

/* Excuse rows that the next run reads, as far as they lie in the window. Beyond
 * it they may be all the rest of a large table. */
static int window_excuse(struct driver *d, struct error *err)
{
	struct window_view *w = d->ctx;
	struct connector *source = d->sides[COMPARE_SOURCE].connector;
	struct scan scan = w->pass.scan;
	struct batch b;
	int rc;

	if (!window_has_open(w))
		return 0;
	scan.from = &d->mark;
	rc = range_settle(source, scan.source, scan.mark, scan.schema, err);
	if (!rc)
		rc = source->ops->scan(source, &scan, err);
	batch_init(&b, scan.schema);
	while (!rc && window_has_open(w)) {
		rc = window_next(w, &b, err);
		if (rc || !b.n_rows || window_is_tail(w, &b))
			break;
		window_mark_batch(w, &b);
		window_tick(w);
	}
	batch_release(&b);
	return rc;
}

static void window_judged(struct driver *d, const struct suspect *x)
{
	struct window_view *w = d->ctx;

	w->found->rows -= x->past;
}

/* The pass of the run, once more. Where its mark may go is known by now. */
static void window_aim(struct window_view *w)
{
	struct pass *pass = &w->pass;

	settings_watermark_spec(w->c->p, &pass->mark);
	pass->mark.settle = false;
	pass->mark.tail = TAIL_DELIVER;
	if (pass->mark.nulls == NULLS_ERROR)
		pass->mark.nulls = NULLS_SKIP;
	pass->settled.value = xstrdup(w->driver.mark.value);
	pass->scan.from = &w->run->from;
	pass->scan.settled = &pass->settled;
}

static int window_open(struct window_view *w, struct error *err)
{
	const struct pipeline_settings *p = w->c->p;
	struct pass *pass = &w->pass;
	bool stopped = w->out->outcome == OUTCOME_STOPPED;
	int rc = pass_open(pass, p, err);

	/* Where a pass by blocks was left, only their number says. */
	w->left = stopped && p->strategy == STRATEGY_XMIN ? w->out->rows_read
							  : -1;
	w->tail_left = w->run->n_tail;
	w->driver.sides[COMPARE_SOURCE].pace = w->c->pacing.pace;
	window_aim(w);
	if (!rc)
		rc = source_describe(pass->connector, &pass->spec, &pass->mark,
				     &pass->schema, err);
	return rc ? rc : driver_match(&w->driver, &pass->schema, err);
}

/* Does the window begin with the table, and end at its end? Then the
 * destination has its rows and no others, except for rows that the source has
 * lost. */
static bool window_is_whole(const struct window_view *w)
{
	const struct watermark *from = &w->run->from;
	const struct schema *there =
		&w->driver.sides[COMPARE_DESTINATION].schema;
	bool begun = from->value ||
		     (from->strategy == STRATEGY_XMIN && from->pending != NULL);

	/* A table that has far more rows than were loaded costs more to read
	 * than to look them up. */
	return !begun && w->out->outcome == OUTCOME_CAUGHT_UP &&
	       there->row_estimate / 2 <= w->out->rows_read;
}

/* Rows that the sums clear are not looked up. The other rows are, by
 * connections of their own: the tally's connections may have been interrupted
 * in the midst of a statement. */
static int window_begin(struct window_view *w, bool *more, struct error *err)
{
	struct driver *d = &w->driver;
	int rc = 0;

	w->begun = true;
	if (window_is_whole(w)) {
		rc = pass_tally(&w->pass, d, err);
		*more = !rc && !tally_is_all_equal(&d->tally);
		if (!*more)
			return rc;
		pass_close(&w->pass);
		driver_close(d);
		rc = window_open(w, err);
	}
	return rc ? rc : pass_begin(&w->pass, d, err);
}

static int window_suspect(struct driver *d, bool *more, struct error *err)
{
	struct window_view *w = d->ctx;
	int rc = w->begun ? 0 : window_begin(w, more, err);

	w->found->more = differences_sum(d->found) >= WINDOW_DIFFERENT;
	*more &= !w->found->more;
	if (!rc && *more)
		rc = pass_suspect(&w->pass, d, more, err);
	return rc ? rc : suspects_refuse_cut(&d->suspects, err);
}

static void window_init(struct window_view *w)
{
	w->terms = (struct driver_terms){ .suspect = window_suspect,
					  .excuse = window_excuse,
					  .judged = window_judged,
					  .letters = w->c->store,
					  .examples = WINDOW_EXAMPLES };
	w->driver = (struct driver){ .p = w->c->p,
				     .terms = &w->terms,
				     .ctx = w,
				     .found = &w->found->found,
				     .examples = w->found->examples };
	driver_init(&w->driver);
	w->driver.progress.tell = window_tell;
	w->driver.progress.ctx = w;
	w->driver.mark.strategy = w->c->p->strategy;
	w->pass = (struct pass){ .wants = window_wants,
				 .goes_on = window_goes_on,
				 .ctx = w,
				 .repeats = true,
				 .rows = &w->found->rows };
	pass_init(&w->pass);
	digest_rows_init(&w->slots);
}

int window_look(struct run_context *c, struct run_result *out,
		struct error *err)
{
	struct window_view w = {
		.c = c, .out = out, .found = &out->verified, .run = &c->verify
	};
	int rc = 0;

	window_init(&w);
	if (out->watermark_after)
		rc = watermark_from_text(&w.driver.mark, out->watermark_after,
					 err);
	if (!rc)
		rc = window_open(&w, err);
	if (!rc)
		rc = driver_run(&w.driver, err);
	pass_close(&w.pass);
	driver_release(&w.driver);
	digest_rows_release(&w.slots);
	return rc;
}
