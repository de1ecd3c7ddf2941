#include "core/sync/verify/driver.h"

#include <string.h>

#include "core/sync/verify/examples.h"

static void driver_init_sides(struct driver *d)
{
	for (size_t i = 0; i < COMPARE_SIDES; i++) {
		schema_init(&d->sides[i].schema);
		schema_init(&d->sides[i].keys_schema);
		d->sides[i].progress = &d->progress;
	}
}

void driver_init(struct driver *d)
{
	driver_init_sides(d);
	watermark_init(&d->mark);
}

void driver_close(struct driver *d)
{
	for (size_t i = 0; i < COMPARE_SIDES; i++)
		verify_side_close(&d->sides[i]);
	compare_release(&d->compare);
	driver_init_sides(d);
}

void driver_release(struct driver *d)
{
	driver_close(d);
	watermark_release(&d->mark);
	if (d->tallied)
		tally_release(&d->tally);
	d->tallied = false;
}

int driver_match(struct driver *d, const struct schema *source,
		 struct error *err)
{
	struct verify_side *there = &d->sides[COMPARE_DESTINATION];
	int rc = verify_side_open_destination(there, d->p, source, err);

	return rc ? rc
		  : compare_match(&d->compare, source, &there->schema, err);
}

void driver_tally_begin(struct driver *d)
{
	tally_init(&d->tally);
	d->tallied = true;
}

static void driver_row_tally(void *ctx, enum compare_side side,
			     const struct batch *b, size_t row,
			     const struct compare_hash *key,
			     const struct compare_hash *all)
{
	struct driver *d = ctx;

	(void)b;
	(void)row;
	if (!d->part || verify_part_has(d->part, key))
		tally_add(&d->tally, side, key, all);
}

static void driver_row_soon(void *ctx, enum compare_side side,
			    const struct compare_hash *key)
{
	const struct driver *d = ctx;

	tally_prefetch(&d->tally, side, key);
}

struct verify_look driver_tallying(struct driver *d)
{
	return (struct verify_look){ .compare = &d->compare,
				     .row = driver_row_tally,
				     .soon = driver_row_soon,
				     .ctx = d };
}

bool driver_has_open(const struct driver *d)
{
	for (size_t i = 0; i < d->suspects.n; i++)
		if (!d->suspects.items[i].past)
			return true;
	return false;
}

static int driver_ask(struct driver *d, enum compare_side side,
		      struct error *err)
{
	return verify_count_suspects(&d->sides[side], &d->compare, &d->suspects,
				     err);
}

/* For keys that changed during the look, both sides are asked for their present
 * rows. */
static int driver_ask_changed(struct driver *d, struct error *err)
{
	bool changed = false;
	int rc = verify_mark_changed(&d->sides[COMPARE_SOURCE], &d->mark,
				     &d->compare, &d->suspects, &changed, err);

	if (!rc && changed)
		rc = driver_ask(d, COMPARE_DESTINATION, err);
	return rc;
}

static void driver_sum(struct driver *d)
{
	for (size_t side = 0; side < COMPARE_SIDES; side++)
		for (size_t i = 0; i < d->suspects.n; i++)
			digest_add(&d->recounted[side],
				   &d->suspects.items[i].rows[side]);
}

/* The destination first: what the source has after that, at or below the mark,
 * was to be there before the destination was asked. */
static int driver_ask_again(struct driver *d, struct error *err)
{
	struct verify_side *source = &d->sides[COMPARE_SOURCE];
	int rc = source->connector ? 0
				   : verify_side_open_source(source, d->p, err);

	verify_progress_begin(&d->progress, "looking up");
	for (size_t i = 0; i < COMPARE_SIDES; i++)
		d->progress.expected[i] = (int64_t)d->suspects.n;
	if (!rc)
		rc = driver_ask(d, COMPARE_DESTINATION, err);
	if (!rc)
		rc = d->terms->recounts ? driver_ask(d, COMPARE_SOURCE, err)
					: driver_ask_changed(d, err);
	if (rc)
		return rc;
	driver_sum(d);
	suspects_sieve(&d->suspects);
	return 0;
}

/* Where the rows of the source were counted anew, a row may change while its
 * place is asked. It may have been past the mark and gone, or lie past it by
 * now. */
static int driver_excuse(struct driver *d, struct error *err)
{
	struct verify_side *source = &d->sides[COMPARE_SOURCE];
	int rc = 0;

	if (d->terms->letters && d->suspects.n)
		rc = verify_excuse_letters(source, d->terms->letters,
					   &d->suspects, err);
	if (!rc && driver_has_open(d))
		rc = d->terms->excuse(d, err);
	if (!rc && d->suspects.n && d->terms->recounts)
		rc = driver_ask_changed(d, err);
	if (!rc)
		suspects_sieve(&d->suspects);
	return rc;
}

/* A key is one difference. Rows without a key are counted one by one. */
static int64_t driver_weight(const struct driver *d, const struct suspect *x)
{
	uint64_t here = x->rows[COMPARE_SOURCE].rows;
	uint64_t there = x->rows[COMPARE_DESTINATION].rows;

	if (!d->compare.keyless)
		return 1;
	return (int64_t)(here > there ? here - there : there - here);
}

static void driver_count(struct driver *d)
{
	for (size_t i = 0; i < d->suspects.n; i++) {
		const struct suspect *x = &d->suspects.items[i];

		if (x->past)
			d->found->unsettled++;
		else
			d->found->of[suspect_kind(x)] += driver_weight(d, x);
		d->terms->judged(d, x);
	}
}

static int driver_show(struct driver *d, struct error *err)
{
	const struct verify_examples examples = {
		.sides = d->sides,
		.compare = &d->compare,
		.suspects = &d->suspects,
		.most = d->terms->examples,
		.values = d->terms->values,
		.extra_only = d->terms->extra_only,
	};

	return d->terms->examples
		       ? verify_examples_add(&examples, d->examples, err)
		       : 0;
}

static int driver_judge(struct driver *d, struct error *err)
{
	int rc = 0;

	/* Without a key no row can be asked for. */
	if (!d->compare.keyless)
		rc = driver_ask_again(d, err);
	if (!rc && !d->compare.keyless)
		rc = driver_excuse(d, err);
	/* Equal rows have one mark. */
	if (!rc && d->compare.keyless && d->suspects.n)
		rc = d->terms->excuse(d, err);
	if (rc)
		return rc;
	driver_count(d);
	return driver_show(d, err);
}

int driver_run(struct driver *d, struct error *err)
{
	bool more = true;
	int rc = 0;

	while (!rc && more) {
		suspects_init(&d->suspects, d->compare.n_key);
		rc = d->terms->suspect(d, &more, err);
		if (!rc && d->suspects.n)
			rc = driver_judge(d, err);
		suspects_release(&d->suspects);
	}
	return rc;
}
