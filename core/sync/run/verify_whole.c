#include "core/sync/run/verify_view.h"
#include "core/sync/verify/whole_row.h"

/* Large pages cost the source least. */
#define WHOLE_ROWS 10000

bool window_is_whole(const struct window_view *w)
{
	const struct watermark *from = &w->run->from;
	const struct schema *there = &w->sides[COMPARE_DESTINATION].schema;
	bool begun = from->value ||
		     (from->strategy == STRATEGY_XMIN && from->pending != NULL);

	/* A table that has far more rows than were loaded costs more to read
	 * than to look them up. */
	return !begun && w->out->outcome == OUTCOME_CAUGHT_UP &&
	       there->row_estimate / 2 <= w->out->rows_read;
}

static void whole_rows(struct window_view *w, const struct batch *b,
		       const size_t *rows, size_t n)
{
	struct compare_hash keys[DIGEST_ROWS], all[DIGEST_ROWS];

	compare_rows(&w->compare, COMPARE_SOURCE, b, rows, n, &w->slots, keys,
		     all);
	for (size_t i = 0; i < n; i++)
		tally_prefetch(&w->tally, COMPARE_SOURCE, &keys[i]);
	for (size_t i = 0; i < n; i++)
		tally_add(&w->tally, COMPARE_SOURCE, &keys[i], &all[i]);
	w->found->rows += (int64_t)n;
}

/* Of the tail those that this run has delivered as they are now. */
static bool whole_has(struct window_view *w, const struct batch *b, size_t row)
{
	if (!window_is_tail(w, b))
		return true;
	if (!fingerprints_has(&w->run->delivered,
			      digest_rows_of(&w->slots, b, row).low))
		return false;
	w->tail_left--;
	return true;
}

static void whole_batch(struct window_view *w, const struct batch *b)
{
	size_t rows[DIGEST_ROWS];

	for (size_t row = 0; row < b->n_rows;) {
		size_t n = 0;

		for (; n < DIGEST_ROWS && row < b->n_rows; row++)
			if (whole_has(w, b, row))
				rows[n++] = row;
		whole_rows(w, b, rows, n);
	}
}

/* `open`: there may be more. */
static int whole_step(struct window_view *w, bool *open, struct error *err)
{
	struct reader *reader = &w->pass.reader;
	int rc = 0;
	struct read_batch *rb = reader_take(reader, window_tick, w, &rc, err);

	*open = rb && window_goes_on(w, &rb->batch);
	if (!*open)
		return rc;
	whole_batch(w, &rb->batch);
	reader_give_back(reader, WHOLE_ROWS);
	window_tick(w);
	return 0;
}

static int whole_read(struct window_view *w, struct error *err)
{
	struct verify_tallied all = { .tally = &w->tally };
	const struct verify_look look = verify_tallying(&w->compare, &all);
	struct verify_reading *there = NULL;
	bool here = true;
	int rc = verify_reading_start(&there, &w->sides[COMPARE_DESTINATION],
				      &look, err);

	while (!rc && (here || verify_reading_is_open(there))) {
		if (here)
			rc = whole_step(w, &here, err);
		if (!rc)
			rc = verify_reading_step(there, err);
	}
	verify_reading_end(there);
	return rc;
}

int window_tally(struct window_view *w, struct error *err)
{
	int rc;

	tally_init(&w->tally);
	w->tallied = true;
	rc = window_begin(w, WHOLE_ROWS, err);
	if (!rc)
		rc = whole_read(w, err);
	reader_stop(&w->pass.reader);
	/* Those of other buckets are found one by one. */
	w->found->rows = (int64_t)tally_equal_rows(&w->tally);
	return rc;
}
