#include "core/sync/verify/whole.h"

#include "core/sync/verify/work.h"

/* Rows of unequal buckets, of both sides, collected at once: about 30 MiB. */
#define WHOLE_SUSPECTS 100000
/* A row that is looked up by its key costs as much as so many keys that are
 * read in passing. */
#define WHOLE_LOOK_UP_COST 20

void whole_release(struct whole *w)
{
	compare_release(&w->keys_compare);
}

void whole_end(struct whole *w)
{
	for (size_t i = 0; w->sampling && i < COMPARE_SIDES; i++)
		w->rows[i] = w->d->recounted[i];
}

/* Rows that a pass over the part will bring, as far as the servers know. */
static void whole_begin_pass(const struct whole *w, const char *pass)
{
	struct driver *d = w->d;

	verify_progress_begin(&d->progress, pass);
	for (size_t i = 0; !d->part->since && i < COMPARE_SIDES; i++)
		d->progress.expected[i] = d->sides[i].schema.row_estimate;
}

static int whole_tally(struct whole *w, struct error *err)
{
	struct driver *d = w->d;
	const struct verify_look look = driver_tallying(d);
	int rc;

	driver_tally_begin(d);
	whole_begin_pass(w, "comparing");
	rc = verify_read_both(d->sides, false, &look, err);
	for (size_t i = 0; i < COMPARE_SIDES; i++)
		w->rows[i] = tally_total(&d->tally, (enum compare_side)i);
	return rc;
}

static void whole_row_collect(void *ctx, enum compare_side side,
			      const struct batch *b, size_t row,
			      const struct compare_hash *key,
			      const struct compare_hash *all)
{
	struct whole *w = ctx;
	struct driver *d = w->d;
	struct suspects *s = &d->suspects;
	struct suspect *x;

	if (!verify_part_has(d->part, key) ||
	    (!w->sampling && !tally_wants(&d->tally, key)))
		return;
	pthread_mutex_lock(&s->lock);
	w->too_many |= w->sampling && s->n == WHOLE_SUSPECTS;
	x = w->too_many ? suspects_find(s, key) : suspects_get(s, key);
	if (x && !x->rows[side].rows)
		suspect_note_texts(x,
				   b->schema == &d->sides[side].schema
					   ? &d->compare
					   : &w->keys_compare,
				   side, b, row);
	if (x)
		suspect_count(x, side, all);
	pthread_mutex_unlock(&s->lock);
}

static int whole_match_keys(struct whole *w, struct error *err)
{
	struct driver *d = w->d;
	int rc = 0;

	for (size_t i = 0; !rc && i < COMPARE_SIDES; i++)
		rc = verify_side_describe_keys(&d->sides[i], err);
	if (rc || w->keys_compare.n)
		return rc;
	return compare_match(&w->keys_compare,
			     &d->sides[COMPARE_SOURCE].keys_schema,
			     &d->sides[COMPARE_DESTINATION].keys_schema, err);
}

/* Few rows: their keys are enough, since each is looked up next. Many: their
 * rows, since most of them turn out to be equal. */
static int whole_collect(struct whole *w, struct error *err)
{
	struct driver *d = w->d;
	struct verify_look look = { .compare = &d->compare,
				    .row = whole_row_collect,
				    .ctx = w };
	uint64_t rows = w->rows[COMPARE_SOURCE].rows +
			w->rows[COMPARE_DESTINATION].rows;
	bool keys =
		w->sampling || (!d->compare.keyless &&
				d->tally.n_wanted * WHOLE_LOOK_UP_COST < rows);
	int rc = keys ? whole_match_keys(w, err) : 0;

	whole_begin_pass(w, w->sampling ? "reading keys" : "naming");
	if (keys)
		look.compare = &w->keys_compare;
	if (!rc)
		rc = verify_read_both(d->sides, keys, &look, err);
	if (!rc && !keys)
		suspects_sieve(&d->suspects);
	if (rc)
		return rc;
	/* No row is looked up. */
	if (d->compare.keyless)
		return 0;
	rc = suspects_refuse_cut(&d->suspects, err);
	if (!rc || !w->sampling)
		return rc;
	/* Its row may well be equal: the sums of the rows tell. */
	error_clear(err);
	w->too_many = true;
	return 0;
}

/* For a small share of the keys, only keys are read of the whole. The rows of
 * the share follow, unless there are too many to have them at once. */
static int whole_sample(struct whole *w, struct error *err)
{
	struct driver *d = w->d;
	int64_t share = d->part->share;
	int64_t rows = d->sides[COMPARE_SOURCE].schema.row_estimate;
	int rc;

	w->sampling = share && !d->compare.keyless &&
		      share * WHOLE_LOOK_UP_COST < VERIFY_PART_ALL &&
		      rows / VERIFY_PART_ALL * share < WHOLE_SUSPECTS;
	if (!w->sampling)
		return 0;
	rc = whole_collect(w, err);
	w->sampling = !w->too_many;
	if (rc || w->sampling)
		return rc;
	w->too_many = false;
	suspects_release(&d->suspects);
	suspects_init(&d->suspects, d->compare.n_key);
	return 0;
}

static bool whole_goes_on(const struct whole *w)
{
	return !w->brief || !w->work || !w->work->more;
}

int whole_suspect(struct whole *w, bool *more, struct error *err)
{
	int rc = 0;

	if (!w->begun) {
		w->begun = true;
		rc = whole_sample(w, err);
		if (!rc && !w->sampling)
			rc = whole_tally(w, err);
	}
	*more = !rc && !w->sampling && whole_goes_on(w) &&
		tally_choose(&w->d->tally, WHOLE_SUSPECTS);
	if (*more && w->sums) {
		w->d->found->of[DIFFERENCE_DIFFERENT]++;
		*more = false;
	}
	return *more ? whole_collect(w, err) : rc;
}
