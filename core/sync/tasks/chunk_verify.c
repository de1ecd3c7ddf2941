#include "core/sync/tasks/chunk_verify.h"

#include <inttypes.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/data/digest.h"
#include "core/sync/parts/range.h"
#include "core/sync/run/try.h"
#include "core/sync/verify/suspects.h"

/* Keys that differ: with more of them there is no use in going on. */
#define CHUNK_SUSPECTS 50000

/* Rows of the source, and of the same keys at the destination. */
struct chunk_comparison {
	struct run_context *c;
	const struct range *range;
	struct verify_progress progress; /* told to nobody */
	struct verify_side sides[COMPARE_SIDES];
	struct compare compare;
	struct suspects suspects;
	struct digest sum; /* of the destination's */
	struct watermark_spec mark;
	struct schema schema; /* in the mark's order */
	char *column;
	struct watermark from; /* the pipeline's mark, when it all began */
	bool marked;
};

static void comparison_row(void *ctx, enum compare_side side,
			   const struct batch *b, size_t row,
			   const struct compare_hash *key,
			   const struct compare_hash *all)
{
	struct chunk_comparison *v = ctx;
	struct suspect *x = suspects_find(&v->suspects, key);
	const struct digest one = { all->low, all->high, 1 };

	(void)b;
	(void)row;
	if (!x)
		return;
	suspect_count(x, side, all);
	if (side == COMPARE_DESTINATION)
		digest_add(&v->sum, &one);
}

static int comparison_batch(struct chunk_comparison *v, const struct batch *b,
			    struct error *err)
{
	const struct verify_look look = { .compare = &v->compare,
					  .row = comparison_row,
					  .ctx = v };
	struct digest_rows slots = DIGEST_ROWS_INIT;
	size_t first = v->suspects.n;
	int rc;

	for (size_t row = 0; row < b->n_rows; row++) {
		struct compare_hash key, all;
		struct suspect *x;

		compare_rows(&v->compare, COMPARE_SOURCE, b, &row, 1, &slots,
			     &key, &all);
		x = suspects_get(&v->suspects, &key);
		suspect_note_texts(x, &v->compare, COMPARE_SOURCE, b, row);
		suspect_count(x, COMPARE_SOURCE, &all);
	}
	digest_rows_release(&slots);
	rc = verify_read_suspects(&v->sides[COMPARE_DESTINATION], &v->suspects,
				  first, v->suspects.n, &look, err);
	if (!rc)
		suspects_sieve(&v->suspects);
	return rc;
}

static void comparison_tick(void *ctx)
{
	const struct chunk_comparison *v = ctx;

	run_pace_look(&v->c->pacing);
}

static void comparison_tell(const struct verify_progress *so_far, void *ctx)
{
	(void)so_far;
	comparison_tick(ctx);
}

static int comparison_read(struct chunk_comparison *v, struct error *err)
{
	struct connector *source = v->sides[COMPARE_SOURCE].connector;
	const struct watermark none = { .strategy = v->mark.strategy };
	const struct scan scan = { .source = &v->sides[COMPARE_SOURCE].spec,
				   .schema = &v->schema,
				   .mark = &v->mark,
				   .from = &none,
				   .range = v->range };
	struct run_pace_reading reading = { &v->c->pacing, source,
					    comparison_tick, v };
	struct batch b;
	int rc = source->ops->scan(source, &scan, err);

	batch_init(&b, &v->schema);
	while (!rc && v->suspects.n < CHUNK_SUSPECTS) {
		batch_reset(&b);
		b.max_rows = VERIFY_KEYS;
		b.max_bytes = 4 << 20;
		rc = run_pace_next(&reading, &b, err);
		if (rc || !b.n_rows)
			break;
		rc = comparison_batch(v, &b, err);
	}
	batch_release(&b);
	return rc;
}

/* Past the pipeline's mark it is the next run's to bring what is newest, even
 * if that carries an older mark than what was delivered. */
static int comparison_mark_past(struct chunk_comparison *v, struct error *err)
{
	return v->marked ? verify_mark_past(&v->sides[COMPARE_SOURCE], &v->from,
					    &v->compare, &v->suspects, err)
			 : 0;
}

static int64_t comparison_different(const struct suspects *s)
{
	int64_t different = 0;

	for (size_t i = 0; i < s->n; i++)
		different += !s->items[i].past;
	return different;
}

/* The destination first: what the source still has after that, unchanged since
 * it was loaded, was to be there. */
static int comparison_again(struct chunk_comparison *v, int64_t *different,
			    struct error *err)
{
	struct verify_side *there = &v->sides[COMPARE_DESTINATION];
	struct suspects *s = &v->suspects;
	bool changed = false;
	int rc = verify_count_suspects(there, &v->compare, s, err);

	if (!rc)
		rc = verify_mark_changed(&v->sides[COMPARE_SOURCE], &v->from,
					 &v->compare, s, &changed, err);
	if (!rc && changed)
		rc = verify_count_suspects(there, &v->compare, s, err);
	for (size_t i = 0; !rc && i < s->n; i++)
		s->items[i].past |= suspect_is_equal(&s->items[i]);
	if (rc || !comparison_different(s))
		return rc;
	rc = comparison_mark_past(v, err);
	if (!rc)
		rc = verify_excuse_letters(&v->sides[COMPARE_SOURCE],
					   v->c->store, s, err);
	*different = comparison_different(s);
	return rc;
}

static int comparison_open(struct chunk_comparison *v, struct error *err)
{
	const struct pipeline_settings *p = v->c->p;
	struct verify_side *source = &v->sides[COMPARE_SOURCE];
	struct verify_side *destination = &v->sides[COMPARE_DESTINATION];
	int rc = verify_find_mark(p, &v->from, &v->marked, err);

	if (!rc)
		rc = verify_side_open_source(source, p, err);
	if (!rc)
		rc = verify_side_open_destination(destination, p,
						  &source->schema, err);
	if (!rc)
		rc = compare_match(&v->compare, &source->schema,
				   &destination->schema, err);
	if (!rc)
		rc = range_describe(source->connector, p, &source->spec,
				    &v->mark, &v->column, &v->schema, err);
	if (!rc)
		rc = range_settle(source->connector, &source->spec, &v->mark,
				  &v->schema, err);
	suspects_init(&v->suspects, v->compare.n_key);
	return rc;
}

static void comparison_init(struct chunk_comparison *v)
{
	v->progress.tell = comparison_tell;
	v->progress.ctx = v;
	for (size_t i = 0; i < COMPARE_SIDES; i++) {
		schema_init(&v->sides[i].schema);
		v->sides[i].progress = &v->progress;
	}
	v->sides[COMPARE_SOURCE].pace = v->c->pacing.pace;
	schema_init(&v->schema);
	watermark_init(&v->from);
}

static void comparison_release(struct chunk_comparison *v)
{
	for (size_t i = 0; i < COMPARE_SIDES; i++)
		verify_side_close(&v->sides[i]);
	suspects_release(&v->suspects);
	compare_release(&v->compare);
	schema_release(&v->schema);
	watermark_release(&v->from);
	free(v->column);
}

int chunk_verify(struct run_context *c, const struct range *range,
		 char **checksum, struct error *err)
{
	struct chunk_comparison v = { .c = c, .range = range };
	char text[DIGEST_TEXT_SIZE];
	int64_t different = 0;
	int rc;

	comparison_init(&v);
	rc = comparison_open(&v, err);
	if (!rc)
		rc = comparison_read(&v, err);
	if (!rc && v.suspects.n)
		rc = comparison_again(&v, &different, err);
	if (!rc && different)
		rc = error_set(err, ERROR_DIFFERENT,
			       "%" PRId64 " rows of the chunk are not at the "
			       "destination as the source has them, although "
			       "they were just loaded (changed there by hand, "
			       "or with a later mark?); tidemark verify %s "
			       "names them",
			       different, settings_call(c->p));
	digest_text(&v.sum, text);
	free(*checksum);
	*checksum = rc ? NULL : xstrdup(text);
	comparison_release(&v);
	return rc;
}
