#include "core/sync/run/verify_look.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/stop.h"
#include "core/data/value.h"
#include "core/plugin/registry.h"
#include "core/sync/parts/range.h"
#include "core/sync/run/verify_view.h"

/* Rows that differ at first sight, looked at again together. */
#define WINDOW_SUSPECTS 20000
/* Differences: with more of them there is no use in going on. */
#define WINDOW_DIFFERENT 20000

void window_tick(void *ctx)
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

/* The pass of the run, once more. Where its mark may go is known by now. */
static void window_aim(struct window_view *w)
{
	struct window_pass *pass = &w->pass;

	settings_source_spec(w->c->p, &pass->spec);
	settings_watermark_spec(w->c->p, &pass->mark);
	pass->mark.settle = false;
	pass->mark.tail = TAIL_DELIVER;
	if (pass->mark.nulls == NULLS_ERROR)
		pass->mark.nulls = NULLS_SKIP;
	settled_init(&pass->settled);
	pass->settled.value = xstrdup(w->end.value);
	pass->scan = (struct scan){ .source = &pass->spec,
				    .schema = &pass->schema,
				    .mark = &pass->mark,
				    .from = &w->run->from,
				    .settled = &pass->settled };
}

static int window_open(struct window_view *w, struct error *err)
{
	const struct pipeline_settings *p = w->c->p;
	struct window_pass *pass = &w->pass;
	int rc = 0;

	w->end.strategy = p->strategy;
	if (w->out->watermark_after)
		rc = watermark_from_text(&w->end, w->out->watermark_after, err);
	window_aim(w);
	if (!rc)
		rc = registry_open_connector(p->source, &pass->connector, err);
	if (rc)
		return rc;
	stopper_start(&pass->stopper, pass->connector);
	rc = pass->connector->ops->describe(pass->connector, &pass->spec,
					    &pass->mark, &pass->schema, err);
	stopper_end(&pass->stopper);
	if (!rc)
		rc = verify_side_open_destination(
			&w->sides[COMPARE_DESTINATION], p, &pass->schema, err);
	if (!rc)
		rc = compare_match(&w->compare, &pass->schema,
				   &w->sides[COMPARE_DESTINATION].schema, err);
	suspects_init(&w->suspects, w->compare.n_key);
	return rc;
}

bool window_is_tail(const struct window_view *w, const struct batch *b)
{
	return b->n_tail && w->c->p->strategy != STRATEGY_XMIN;
}

static void window_row(struct window_view *w, const struct batch *b, size_t row)
{
	bool tail = window_is_tail(w, b), delivered = false;
	struct compare_hash key, all;
	struct suspect *x;

	if (w->run->delivered.n)
		delivered =
			fingerprints_has(&w->run->delivered,
					 digest_rows_of(&w->slots, b, row).low);
	if (tail && !delivered)
		return;
	w->tail_left -= tail;
	compare_rows(&w->compare, COMPARE_SOURCE, b, &row, 1, &w->slots, &key,
		     &all);
	if (w->tallied && tally_is_equal(&w->tally, &key))
		return;
	x = suspects_get(&w->suspects, &key);
	suspect_note_texts(x, &w->compare, COMPARE_SOURCE, b, row);
	/* A pass by blocks may come by a second time. */
	if (x->rows[COMPARE_SOURCE].rows)
		w->found->rows--;
	x->rows[COMPARE_SOURCE] = (struct digest){ 0, 0, 0 };
	suspect_count(x, COMPARE_SOURCE, &all);
	x->delivered = delivered;
	w->found->rows++;
}

static int window_batch(struct window_view *w, const struct batch *b,
			struct error *err)
{
	const struct verify_look look =
		verify_counting(&w->compare, &w->suspects);
	size_t first = w->suspects.n, rows = b->n_rows;
	int rc;

	if (w->left >= 0 && (int64_t)rows > w->left)
		rows = (size_t)w->left;
	for (size_t row = 0; row < rows; row++)
		window_row(w, b, row);
	if (w->left >= 0)
		w->left -= (int64_t)rows;
	rc = verify_read_suspects(&w->sides[COMPARE_DESTINATION], &w->suspects,
				  first, w->suspects.n, &look, err);
	if (!rc)
		suspects_sieve(&w->suspects);
	return rc;
}

static bool window_has_open(const struct window_view *w)
{
	for (size_t i = 0; i < w->suspects.n; i++)
		if (!w->suspects.items[i].past &&
		    !w->suspects.items[i].delivered)
			return true;
	return false;
}

static void window_mark_batch(struct window_view *w, const struct batch *b)
{
	for (size_t row = 0; row < b->n_rows; row++) {
		struct compare_hash key, all;
		struct suspect *x;

		compare_rows(&w->compare, COMPARE_SOURCE, b, &row, 1, &w->slots,
			     &key, &all);
		x = suspects_find(&w->suspects, &key);
		/* As it is now, it was delivered: it comes again in vain. */
		if (x && !x->delivered)
			x->past = true;
	}
}

/* Of the source that second looks have. */
static int window_next(struct window_view *w, struct batch *b,
		       struct error *err)
{
	struct run_pace_reading reading = { &w->c->pacing,
					    w->sides[COMPARE_SOURCE].connector,
					    window_tick, w };

	batch_reset(b);
	b->max_rows = VERIFY_KEYS;
	b->max_bytes = WINDOW_BYTES;
	return run_pace_next(&reading, b, err);
}

/* What the next run reads that lies in the window: no further, for that may be
 * all the rest of a large table. */
static int window_mark_past(struct window_view *w, struct error *err)
{
	struct connector *source = w->sides[COMPARE_SOURCE].connector;
	struct scan scan = w->pass.scan;
	struct batch b;
	int rc;

	scan.from = &w->end;
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

/* The destination first: what the source still has after that, unchanged since
 * it was read, was to be there. */
static int window_ask_again(struct window_view *w, struct error *err)
{
	struct verify_side *source = &w->sides[COMPARE_SOURCE];
	struct verify_side *there = &w->sides[COMPARE_DESTINATION];
	struct suspects *s = &w->suspects;
	bool changed = false;
	int rc = suspects_refuse_cut(s, err);

	if (!rc && !source->connector)
		rc = verify_side_open_source(source, w->c->p, err);
	if (!rc)
		rc = verify_count_suspects(there, &w->compare, s, err);
	if (!rc)
		rc = verify_mark_changed(source, &w->end, &w->compare, s,
					 &changed, err);
	if (!rc && changed)
		rc = verify_count_suspects(there, &w->compare, s, err);
	if (!rc)
		suspects_sieve(s);
	if (!rc && s->n && w->c->store)
		rc = verify_excuse_letters(source, w->c->store, s, err);
	if (!rc && window_has_open(w))
		rc = window_mark_past(w, err);
	return rc;
}

static void window_row_key(void *ctx, enum compare_side side,
			   const struct batch *b, size_t row,
			   const struct compare_hash *key,
			   const struct compare_hash *all)
{
	struct window_view *w = ctx;
	const struct suspect *x = suspects_find(&w->suspects, key);
	size_t i = x ? (size_t)(x - w->suspects.items) : WINDOW_EXAMPLES;

	(void)side;
	(void)all;
	if (i < WINDOW_EXAMPLES && !w->keys[i])
		w->keys[i] = value_key_json(b, row);
}

/* A row that went away just now is not worth naming. */
static int window_show(struct window_view *w, struct error *err)
{
	const struct verify_look look = { .compare = &w->compare,
					  .row = window_row_key,
					  .ctx = w };
	size_t n = WINDOW_EXAMPLES - json_array_size(w->found->examples);
	int rc;

	n = w->suspects.n < n ? w->suspects.n : n;
	if (!n)
		return 0;
	rc = verify_read_suspects(&w->sides[COMPARE_SOURCE], &w->suspects, 0, n,
				  &look, err);
	for (size_t i = 0; i < n; i++) {
		const char *kind = suspect_kind(&w->suspects.items[i]);

		if (!rc && w->keys[i])
			json_array_append_new(w->found->examples,
					      json_pack("{s:O, s:s}", "key",
							w->keys[i], "kind",
							kind));
		json_decref(w->keys[i]);
		w->keys[i] = NULL;
	}
	return rc;
}

/* Those that differ and are not excused stay. */
static void window_count(struct window_view *w)
{
	struct suspects *s = &w->suspects;

	for (size_t i = 0; i < s->n; i++) {
		struct suspect *x = &s->items[i];

		if (x->past) {
			w->found->unsettled++;
			w->found->rows--;
			/* Equal to itself: it drops out. */
			x->rows[COMPARE_DESTINATION] = x->rows[COMPARE_SOURCE];
		} else if (*suspect_kind(x) == 'm') {
			w->found->missing++;
		} else {
			w->found->different++;
		}
	}
	suspects_sieve(s);
}

static int window_round(struct window_view *w, struct error *err)
{
	int rc;

	if (!w->suspects.n)
		return 0;
	rc = window_ask_again(w, err);
	if (!rc) {
		window_count(w);
		rc = window_show(w, err);
	}
	suspects_release(&w->suspects);
	suspects_init(&w->suspects, w->compare.n_key);
	return rc;
}

bool window_goes_on(const struct window_view *w, const struct batch *b)
{
	if (!b->n_rows || !w->left || w->found->more)
		return false;
	return !window_is_tail(w, b) || w->tail_left > 0;
}

static int window_read(struct window_view *w, struct error *err)
{
	struct reader *reader = &w->pass.reader;
	int rc = 0;

	while (!rc) {
		struct read_batch *rb =
			reader_take(reader, window_tick, w, &rc, err);

		if (!rb || !window_goes_on(w, &rb->batch))
			break;
		rc = window_batch(w, &rb->batch, err);
		reader_give_back(reader, VERIFY_KEYS);
		if (!rc && w->suspects.n >= WINDOW_SUSPECTS)
			rc = window_round(w, err);
		w->found->more = w->found->missing + w->found->different >=
				 WINDOW_DIFFERENT;
		window_tick(w);
	}
	return rc ? rc : window_round(w, err);
}

int window_begin(struct window_view *w, size_t rows, struct error *err)
{
	const struct reader_bounds bounds = { .max_rows = rows,
					      .max_bytes = WINDOW_BYTES,
					      .pace = w->c->pacing.pace };
	struct window_pass *pass = &w->pass;
	int rc;

	stopper_start(&pass->stopper, pass->connector);
	rc = range_settle(pass->connector, &pass->spec, &pass->mark,
			  &pass->schema, err);
	if (!rc)
		rc = pass->connector->ops->scan(pass->connector, &pass->scan,
						err);
	/* From here on the reader sees to a stop. */
	stopper_end(&pass->stopper);
	w->tail_left = w->run->n_tail;
	return rc ? rc
		  : reader_start(&pass->reader, pass->connector, NULL,
				 &pass->schema, w->c->p->name, &bounds, err);
}

/* The rows one by one, but for those that the tally has found to be there. */
static int window_find(struct window_view *w, struct error *err)
{
	int rc = window_begin(w, VERIFY_KEYS, err);

	return rc ? rc : window_read(w, err);
}

static void window_init(struct window_view *w)
{
	bool stopped = w->out->outcome == OUTCOME_STOPPED;

	for (size_t i = 0; i < COMPARE_SIDES; i++) {
		schema_init(&w->sides[i].schema);
		w->sides[i].progress = &w->progress;
	}
	w->progress = (struct verify_progress){ .tell = window_tell, .ctx = w };
	w->sides[COMPARE_SOURCE].pace = w->c->pacing.pace;
	schema_init(&w->pass.schema);
	watermark_init(&w->end);
	digest_rows_init(&w->slots);
	/* Where a pass by blocks was left, only their number says. */
	w->left = stopped && w->c->p->strategy == STRATEGY_XMIN
			  ? w->out->rows_read
			  : -1;
}

static void window_close(struct window_view *w)
{
	stopper_end(&w->pass.stopper);
	reader_stop(&w->pass.reader);
	if (w->pass.connector)
		w->pass.connector->ops->close(w->pass.connector);
	for (size_t i = 0; i < COMPARE_SIDES; i++)
		verify_side_close(&w->sides[i]);
	suspects_release(&w->suspects);
	compare_release(&w->compare);
	schema_release(&w->pass.schema);
	settled_release(&w->pass.settled);
	watermark_release(&w->end);
	digest_rows_release(&w->slots);
	memset(&w->pass, 0, sizeof(w->pass));
}

/* By connections of their own: those of the tally may have been interrupted in
 * the midst of a statement. */
static int window_find_rest(struct window_view *w, struct error *err)
{
	int rc;

	if (tally_is_all_equal(&w->tally))
		return 0;
	window_close(w);
	window_init(w);
	rc = window_open(w, err);
	return rc ? rc : window_find(w, err);
}

int window_look(struct run_context *c, struct run_result *out,
		struct error *err)
{
	struct window_view w = {
		.c = c, .out = out, .found = &out->verified, .run = &c->verify
	};
	int rc;

	window_init(&w);
	rc = window_open(&w, err);
	if (!rc && window_is_whole(&w)) {
		rc = window_tally(&w, err);
		if (!rc)
			rc = window_find_rest(&w, err);
		tally_release(&w.tally);
	} else if (!rc) {
		rc = window_find(&w, err);
	}
	window_close(&w);
	return rc;
}
