#include "core/sync/verify/tally.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

#define SUSPECTS_FIRST 1024 /* a power of two */

void tally_init(struct tally *t)
{
	memset(t, 0, sizeof(*t));
	for (size_t i = 0; i < COMPARE_SIDES; i++)
		t->buckets[i] = xcalloc(TALLY_BUCKETS, sizeof(struct digest));
	t->wanted = xcalloc(TALLY_BUCKETS, sizeof(*t->wanted));
}

void tally_release(struct tally *t)
{
	for (size_t i = 0; i < COMPARE_SIDES; i++)
		free(t->buckets[i]);
	free(t->wanted);
	memset(t, 0, sizeof(*t));
}

static size_t tally_bucket(const struct compare_hash *key)
{
	return key->high % TALLY_BUCKETS;
}

static void tally_sum(struct digest *d, const struct compare_hash *all)
{
	const struct digest one = { all->low, all->high, 1 };

	digest_add(d, &one);
}

void tally_add(struct tally *t, enum compare_side side,
	       const struct compare_hash *key, const struct compare_hash *all)
{
	tally_sum(&t->buckets[side][tally_bucket(key)], all);
}

void tally_prefetch(const struct tally *t, enum compare_side side,
		    const struct compare_hash *key)
{
	__builtin_prefetch(&t->buckets[side][tally_bucket(key)], 1);
}

struct digest tally_total(const struct tally *t, enum compare_side side)
{
	struct digest total = { 0, 0, 0 };

	for (size_t i = 0; i < TALLY_BUCKETS; i++)
		digest_add(&total, &t->buckets[side][i]);
	return total;
}

static bool tally_bucket_is_equal(const struct tally *t, size_t bucket)
{
	return digest_equal(&t->buckets[COMPARE_SOURCE][bucket],
			    &t->buckets[COMPARE_DESTINATION][bucket]);
}

bool tally_is_equal(const struct tally *t, const struct compare_hash *key)
{
	return tally_bucket_is_equal(t, tally_bucket(key));
}

bool tally_is_all_equal(const struct tally *t)
{
	for (size_t i = 0; i < TALLY_BUCKETS; i++)
		if (!tally_bucket_is_equal(t, i))
			return false;
	return true;
}

uint64_t tally_equal_rows(const struct tally *t)
{
	uint64_t rows = 0;

	for (size_t i = 0; i < TALLY_BUCKETS; i++)
		if (tally_bucket_is_equal(t, i))
			rows += t->buckets[COMPARE_SOURCE][i].rows;
	return rows;
}

bool tally_choose(struct tally *t, size_t most)
{
	uint64_t both = 0;
	size_t chosen = 0;

	t->n_wanted = 0;
	memset(t->wanted, 0, TALLY_BUCKETS * sizeof(*t->wanted));
	for (; t->next < TALLY_BUCKETS; t->next++) {
		const struct digest *a = &t->buckets[COMPARE_SOURCE][t->next];
		const struct digest *b =
			&t->buckets[COMPARE_DESTINATION][t->next];

		if (digest_equal(a, b))
			continue;
		/* Each row may have a key that the other side has not. */
		both += a->rows + b->rows;
		if (chosen && both > most)
			break;
		t->n_wanted += a->rows > b->rows ? a->rows : b->rows;
		t->wanted[t->next] = true;
		chosen++;
	}
	return chosen > 0;
}

bool tally_wants(const struct tally *t, const struct compare_hash *key)
{
	return t->wanted[tally_bucket(key)];
}

void suspects_init(struct suspects *s, size_t n_key)
{
	memset(s, 0, sizeof(*s));
	s->n_key = n_key;
	pthread_mutex_init(&s->lock, NULL);
}

static void suspect_release(struct suspect *x, size_t n_key)
{
	for (size_t side = 0; side < COMPARE_SIDES; side++) {
		for (size_t i = 0; x->texts[side] && i < n_key; i++)
			free(x->texts[side][i]);
		free(x->texts[side]);
	}
}

void suspects_release(struct suspects *s)
{
	for (size_t i = 0; i < s->n; i++)
		suspect_release(&s->items[i], s->n_key);
	free(s->items);
	free(s->slots);
	pthread_mutex_destroy(&s->lock);
	memset(s, 0, sizeof(*s));
}

/* The slot of that key, or the free one where it belongs. */
static size_t *suspects_slot(const struct suspects *s,
			     const struct compare_hash *key)
{
	size_t at = key->low & (s->n_slots - 1);

	while (s->slots[at]) {
		const struct suspect *x = &s->items[s->slots[at] - 1];

		if (x->key.low == key->low && x->key.high == key->high)
			break;
		at = (at + 1) & (s->n_slots - 1);
	}
	return &s->slots[at];
}

static void suspects_index(struct suspects *s, size_t n_slots)
{
	free(s->slots);
	s->n_slots = n_slots;
	s->slots = xcalloc(n_slots, sizeof(*s->slots));
	for (size_t i = 0; i < s->n; i++)
		*suspects_slot(s, &s->items[i].key) = i + 1;
}

struct suspect *suspects_find(struct suspects *s,
			      const struct compare_hash *key)
{
	size_t found = s->n_slots ? *suspects_slot(s, key) : 0;

	return found ? &s->items[found - 1] : NULL;
}

struct suspect *suspects_get(struct suspects *s, const struct compare_hash *key)
{
	struct suspect *found = suspects_find(s, key);

	if (found)
		return found;
	s->items = xgrow(s->items, &s->capacity, s->n + 1, sizeof(*s->items));
	found = &s->items[s->n++];
	memset(found, 0, sizeof(*found));
	found->key = *key;
	if (s->n * 2 > s->n_slots)
		suspects_index(s, s->n_slots ? s->n_slots * 2 : SUSPECTS_FIRST);
	else
		*suspects_slot(s, key) = s->n;
	return found;
}

void suspect_note_texts(struct suspect *x, const struct compare *c,
			enum compare_side side, const struct batch *b,
			size_t row)
{
	for (size_t finder = 0; finder < COMPARE_SIDES; finder++) {
		char **texts;

		/* Its own spelling goes before a translated one. */
		if (x->texts[finder] && finder != side)
			continue;
		texts = x->texts[finder];
		if (!texts)
			texts = xcalloc(c->n_key, sizeof(*texts));
		for (size_t i = 0; i < c->n_key; i++) {
			struct strbuf text = STRBUF_INIT;

			compare_key_text(c, side, b, row, i,
					 (enum compare_side)finder, &text);
			x->cut |= text.len &&
				  memchr(text.data, '\0', text.len) != NULL;
			free(texts[i]);
			texts[i] = strbuf_detach(&text);
		}
		x->texts[finder] = texts;
	}
}

int suspects_refuse_cut(const struct suspects *s, struct error *err)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->items[i].cut)
			return error_set(
				err, ERROR_SCHEMA,
				"there are differences, maybe in rows whose "
				"keys have a NUL character, by which no row "
				"can be looked up, such as one that begins "
				"with '%.100s': correct those keys at the "
				"source, then run and verify again",
				s->items[i].texts[COMPARE_SOURCE][0]);
	return 0;
}

void suspect_count(struct suspect *x, enum compare_side side,
		   const struct compare_hash *all)
{
	tally_sum(&x->rows[side], all);
}

bool suspect_is_equal(const struct suspect *x)
{
	return digest_equal(&x->rows[COMPARE_SOURCE],
			    &x->rows[COMPARE_DESTINATION]);
}

enum difference suspect_kind(const struct suspect *x)
{
	uint64_t here = x->rows[COMPARE_SOURCE].rows;
	uint64_t there = x->rows[COMPARE_DESTINATION].rows;

	if (here > there)
		return DIFFERENCE_MISSING;
	return here < there ? DIFFERENCE_EXTRA : DIFFERENCE_DIFFERENT;
}

void suspects_sieve(struct suspects *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->n; i++) {
		if (suspect_is_equal(&s->items[i]))
			suspect_release(&s->items[i], s->n_key);
		else
			s->items[kept++] = s->items[i];
	}
	s->n = kept;
	if (s->n_slots)
		suspects_index(s, s->n_slots);
}

void suspects_uncount(struct suspects *s, enum compare_side side)
{
	for (size_t i = 0; i < s->n; i++)
		s->items[i].rows[side] = (struct digest){ 0, 0, 0 };
}
