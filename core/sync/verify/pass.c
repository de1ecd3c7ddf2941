#include "core/sync/verify/pass.h"

#include <string.h>

#include "core/plugin/registry.h"
#include "core/sync/parts/range.h"

/* Two of these are in memory at once. */
#define PASS_BYTES (4 << 20)
/* Rows that differ at first sight, looked at again together. */
#define PASS_SUSPECTS 20000

void pass_init(struct pass *x)
{
	schema_init(&x->schema);
	settled_init(&x->settled);
	digest_rows_init(&x->slots);
}

int pass_open(struct pass *x, const struct pipeline_settings *p,
	      struct error *err)
{
	int rc;

	settings_source_spec(p, &x->spec);
	x->scan.source = &x->spec;
	x->scan.schema = &x->schema;
	x->scan.mark = &x->mark;
	rc = registry_open_connector(p->source, &x->connector, err);
	if (!rc)
		stopper_start(&x->stopper, x->connector);
	return rc;
}

void pass_close(struct pass *x)
{
	stopper_end(&x->stopper);
	reader_stop(&x->reader);
	memset(&x->reader, 0, sizeof(x->reader));
	if (x->connector)
		x->connector->ops->close(x->connector);
	x->connector = NULL;
	schema_release(&x->schema);
	settled_release(&x->settled);
	digest_rows_release(&x->slots);
	pass_init(x);
}

void pass_release(struct pass *x)
{
	pass_close(x);
	roster_release(&x->cleared);
}

int pass_start(struct pass *x, struct driver *d, size_t rows, struct error *err)
{
	const struct reader_bounds bounds = {
		.max_rows = rows,
		.max_bytes = PASS_BYTES,
		.pace = d->sides[COMPARE_SOURCE].pace,
	};
	int rc =
		range_settle(x->connector, &x->spec, &x->mark, &x->schema, err);

	if (!rc)
		rc = x->connector->ops->scan(x->connector, &x->scan, err);
	/* From here on the reader sees to a stop. */
	stopper_end(&x->stopper);
	return rc ? rc
		  : reader_start(&x->reader, x->connector, NULL, &x->schema,
				 d->p->name, &bounds, err);
}

int pass_begin(struct pass *x, struct driver *d, struct error *err)
{
	return pass_start(x, d, VERIFY_KEYS, err);
}

const struct batch *pass_next(struct pass *x, struct driver *d, int *rc,
			      struct error *err)
{
	struct read_batch *rb = reader_take(&x->reader, verify_progress_tick,
					    &d->progress, rc, err);

	return rb && x->goes_on(x->ctx, &rb->batch) ? &rb->batch : NULL;
}

static void pass_row(struct pass *x, struct driver *d, const struct batch *b,
		     size_t row)
{
	struct compare_hash key, all;
	bool delivered = false;
	struct suspect *s;

	if (!x->wants(x->ctx, b, row, &delivered))
		return;
	compare_rows(&d->compare, COMPARE_SOURCE, b, &row, 1, &x->slots, &key,
		     &all);
	if (d->tallied && tally_is_equal(&d->tally, &key))
		return;
	if (roster_is_equal(&x->cleared, &key))
		return;
	s = suspects_get(&d->suspects, &key);
	suspect_note_texts(s, &d->compare, COMPARE_SOURCE, b, row);
	if (x->repeats && s->rows[COMPARE_SOURCE].rows) {
		s->rows[COMPARE_SOURCE] = (struct digest){ 0, 0, 0 };
		--*x->rows;
	}
	suspect_count(s, COMPARE_SOURCE, &all);
	s->delivered = delivered;
	++*x->rows;
}

struct pass_look_up {
	struct pass *pass;
	struct suspects *suspects;
};

static void pass_row_there(void *ctx, enum compare_side side,
			   const struct batch *b, size_t row,
			   const struct compare_hash *key,
			   const struct compare_hash *all)
{
	struct pass_look_up *up = ctx;
	struct suspect *s = suspects_find(up->suspects, key);
	const struct digest one = { all->low, all->high, 1 };

	(void)b;
	(void)row;
	if (!s)
		return;
	suspect_count(s, side, all);
	digest_add(&up->pass->there, &one);
}

static int pass_page(struct pass *x, struct driver *d, const struct batch *b,
		     struct error *err)
{
	struct pass_look_up up = { x, &d->suspects };
	const struct verify_look look = { .compare = &d->compare,
					  .row = pass_row_there,
					  .ctx = &up };
	size_t first = d->suspects.n;
	int rc;

	for (size_t row = 0; row < b->n_rows; row++)
		pass_row(x, d, b, row);
	rc = verify_read_suspects(&d->sides[COMPARE_DESTINATION], &d->suspects,
				  first, d->suspects.n, &look, err);
	if (!rc)
		suspects_sieve(&d->suspects);
	return rc;
}

int pass_suspect(struct pass *x, struct driver *d, bool *more,
		 struct error *err)
{
	int rc = 0;

	while (!rc && d->suspects.n < PASS_SUSPECTS) {
		const struct batch *b = pass_next(x, d, &rc, err);

		*more = b != NULL;
		if (!b)
			break;
		rc = pass_page(x, d, b, err);
		reader_give_back(&x->reader, VERIFY_KEYS);
		verify_progress_tick(&d->progress);
	}
	return rc;
}

static void pass_tally_rows(struct pass *x, struct driver *d,
			    const struct batch *b, const size_t *rows, size_t n)
{
	struct compare_hash keys[DIGEST_ROWS], all[DIGEST_ROWS];

	compare_rows(&d->compare, COMPARE_SOURCE, b, rows, n, &x->slots, keys,
		     all);
	for (size_t i = 0; i < n; i++)
		tally_prefetch(&d->tally, COMPARE_SOURCE, &keys[i]);
	for (size_t i = 0; i < n; i++)
		tally_add(&d->tally, COMPARE_SOURCE, &keys[i], &all[i]);
	*x->rows += (int64_t)n;
}

static void pass_tally_batch(struct pass *x, struct driver *d,
			     const struct batch *b)
{
	size_t rows[DIGEST_ROWS];
	bool delivered;

	for (size_t row = 0; row < b->n_rows;) {
		size_t n = 0;

		for (; n < DIGEST_ROWS && row < b->n_rows; row++)
			if (x->wants(x->ctx, b, row, &delivered))
				rows[n++] = row;
		pass_tally_rows(x, d, b, rows, n);
	}
}

/* `*open`: there may be more. */
static int pass_tally_step(struct pass *x, struct driver *d, bool *open,
			   struct error *err)
{
	int rc = 0;
	const struct batch *b = pass_next(x, d, &rc, err);

	*open = b != NULL;
	if (!b)
		return rc;
	pass_tally_batch(x, d, b);
	reader_give_back(&x->reader, PASS_TALLY_ROWS);
	verify_progress_tick(&d->progress);
	return 0;
}

static int pass_tally_both(struct pass *x, struct driver *d, struct error *err)
{
	const struct verify_look look = driver_tallying(d);
	struct verify_reading *there = NULL;
	bool here = true;
	int rc = verify_reading_start(&there, &d->sides[COMPARE_DESTINATION],
				      &look, err);

	while (!rc && (here || verify_reading_is_open(there))) {
		if (here)
			rc = pass_tally_step(x, d, &here, err);
		if (!rc)
			rc = verify_reading_step(there, err);
	}
	verify_reading_end(there);
	return rc;
}

int pass_tally(struct pass *x, struct driver *d, struct error *err)
{
	int rc;

	driver_tally_begin(d);
	rc = pass_start(x, d, PASS_TALLY_ROWS, err);
	if (!rc)
		rc = pass_tally_both(x, d, err);
	reader_stop(&x->reader);
	/* Rows of other buckets are found one by one. */
	*x->rows = (int64_t)tally_equal_rows(&d->tally);
	return rc;
}
