/*
 * Two multisets of rows compared in flat memory. First each side's rows are
 * counted and summed up by the hash of their key, in TALLY_BUCKETS parts. Then
 * the rows of unequal parts are collected, so many at a time. Keys whose rows
 * are equal after all drop out. The rest are suspects.
 *
 * A thread for each side adds its rows. Rows are summed, and not combined by
 * XOR: a row that is there twice at one side must not vanish.
 */
#ifndef TIDEMARK_CORE_SYNC_VERIFY_TALLY_H
#define TIDEMARK_CORE_SYNC_VERIFY_TALLY_H

#include <pthread.h>

#include "core/base/strlist.h"
#include "core/data/digest.h"
#include "core/sync/parts/difference.h"
#include "core/sync/verify/compare.h"

#define TALLY_BUCKETS 65536

struct tally {
	struct digest *buckets[COMPARE_SIDES]; /* TALLY_BUCKETS of each */
	bool *wanted; /* collected in this round */
	uint64_t n_wanted; /* rows of those, at the side that has more */
	size_t next; /* the first bucket that no round has seen */
};

void tally_init(struct tally *t);
void tally_release(struct tally *t);
void tally_add(struct tally *t, enum compare_side side,
	       const struct compare_hash *key, const struct compare_hash *all);
/* Call some rows before tally_add(): its buckets do not fit the caches. */
void tally_prefetch(const struct tally *t, enum compare_side side,
		    const struct compare_hash *key);
/* All rows of a side. */
struct digest tally_total(const struct tally *t, enum compare_side side);
/* Choose the next unequal buckets, of `most` rows together (one at least),
 * those of both sides counted.
 * False: there are no more. */
bool tally_choose(struct tally *t, size_t most);
/* Are the rows of this key's bucket equal, at both sides? */
bool tally_is_equal(const struct tally *t, const struct compare_hash *key);
bool tally_is_all_equal(const struct tally *t);
/* Rows of the source that are in such buckets. */
uint64_t tally_equal_rows(const struct tally *t);
bool tally_wants(const struct tally *t, const struct compare_hash *key);

/* The rows of one key. */
struct suspect {
	struct compare_hash key;
	struct digest rows[COMPARE_SIDES];
	/* How the connector of each side finds it; n_key texts. */
	char **texts[COMPARE_SIDES];
	bool past; /* its source row lies past the mark */
	/* Its source row has changed while it was looked at, and does not lie
	 * past the mark. */
	bool changed;
	bool cut; /* a NUL in its key ends a text too early */
	bool delivered; /* a run is known to have loaded it as it is */
};

struct suspects {
	struct suspect *items;
	size_t n, capacity;
	size_t *slots; /* by hash: 1 + index of an item, 0 is free */
	size_t n_slots;
	size_t n_key;
	pthread_mutex_t lock;
};

void suspects_init(struct suspects *s, size_t n_key);
void suspects_release(struct suspects *s);
/* NULL if there is none. */
struct suspect *suspects_find(struct suspects *s,
			      const struct compare_hash *key);
/* The one of that key, added without texts if it is new. Call with the lock. */
struct suspect *suspects_get(struct suspects *s,
			     const struct compare_hash *key);
/* The texts by which either connector finds it, of a row of that side. */
void suspect_note_texts(struct suspect *x, const struct compare *c,
			enum compare_side side, const struct batch *b,
			size_t row);
/* SCHEMA if there is one that no connector would find by its texts. */
int suspects_refuse_cut(const struct suspects *s, struct error *err);
void suspect_count(struct suspect *x, enum compare_side side,
		   const struct compare_hash *all);
bool suspect_is_equal(const struct suspect *x);
/* The kind of a suspect that is not equal. */
enum difference suspect_kind(const struct suspect *x);
/* Drop suspects that are equal. */
void suspects_sieve(struct suspects *s);
/* Forget what was counted at this side. */
void suspects_uncount(struct suspects *s, enum compare_side side);

#endif
