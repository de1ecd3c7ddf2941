#include "core/sync/verify/roster.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

#define ROSTER_FIRST 1024 /* a power of two */

void roster_release(struct roster *r)
{
	free(r->slots);
	memset(r, 0, sizeof(*r));
}

/* The entry of that key, or the free one where it belongs. */
static struct roster_entry *roster_entry(const struct roster *r,
					 const struct compare_hash *key)
{
	uint64_t wanted = key->low ? key->low : 1;
	size_t at = wanted & (r->n_slots - 1);

	while (r->slots[at].key && r->slots[at].key != wanted)
		at = (at + 1) & (r->n_slots - 1);
	return &r->slots[at];
}

static void roster_grow(struct roster *r)
{
	struct roster more = { .n = r->n };

	more.n_slots = r->n_slots ? r->n_slots * 2 : ROSTER_FIRST;
	more.slots = xcalloc(more.n_slots, sizeof(*more.slots));
	for (size_t i = 0; i < r->n_slots; i++) {
		const struct compare_hash key = { r->slots[i].key, 0 };

		if (key.low)
			*roster_entry(&more, &key) = r->slots[i];
	}
	free(r->slots);
	*r = more;
}

/* Two keys of one hash of 64 bits share an entry, which is equal if both are:
 * whole rows are summed in 128 bits. */
static void roster_sum(struct roster_entry *e, enum compare_side side,
		       const struct compare_hash *all)
{
	struct digest sum = { e->sums[side].low, e->sums[side].high, 0 };
	const struct digest one = { all->low, all->high, 1 };

	digest_add(&sum, &one);
	e->sums[side] = (struct compare_hash){ sum.low, sum.high };
}

bool roster_add(struct roster *r, const struct compare_hash *key,
		const struct compare_hash *all)
{
	struct roster_entry *e;

	if (r->n * 4 >= r->n_slots * 3 && r->n < ROSTER_ROWS)
		roster_grow(r);
	e = roster_entry(r, key);
	if (!e->key && r->n >= ROSTER_ROWS)
		return false;
	r->n += !e->key;
	e->key = key->low ? key->low : 1;
	roster_sum(e, COMPARE_SOURCE, all);
	return true;
}

void roster_meet(struct roster *r, const struct compare_hash *key,
		 const struct compare_hash *all)
{
	struct roster_entry *e = r->n ? roster_entry(r, key) : NULL;

	if (e && e->key)
		roster_sum(e, COMPARE_DESTINATION, all);
}

static bool roster_entry_is_equal(const struct roster_entry *e)
{
	const struct compare_hash *here = &e->sums[COMPARE_SOURCE];
	const struct compare_hash *there = &e->sums[COMPARE_DESTINATION];

	return e->key && here->low == there->low && here->high == there->high;
}

bool roster_is_equal(const struct roster *r, const struct compare_hash *key)
{
	return r->n && roster_entry_is_equal(roster_entry(r, key));
}

size_t roster_equal(const struct roster *r, struct digest *sum)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n_slots; i++) {
		const struct compare_hash *here =
			&r->slots[i].sums[COMPARE_SOURCE];
		const struct digest one = { here->low, here->high, 1 };

		if (!roster_entry_is_equal(&r->slots[i]))
			continue;
		digest_add(sum, &one);
		n++;
	}
	return n;
}
