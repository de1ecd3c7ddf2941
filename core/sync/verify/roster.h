/*
 * Rows of the source, by the hashes of their keys, that are crossed off as
 * rows of the same keys come by at the destination. It is bounded: once it is
 * full it takes no more.
 */
#ifndef TIDEMARK_CORE_SYNC_VERIFY_ROSTER_H
#define TIDEMARK_CORE_SYNC_VERIFY_ROSTER_H

#include "core/data/digest.h"
#include "core/sync/verify/compare.h"

/* They take at most 20 MiB. */
#define ROSTER_ROWS 393216

struct roster_entry {
	uint64_t key; /* 0 is free */
	struct compare_hash sums[COMPARE_SIDES]; /* whole rows */
};

struct roster {
	struct roster_entry *slots;
	size_t n_slots; /* a power of two, or 0 */
	size_t n;
};

void roster_release(struct roster *r);
/* A row of the source. False: it is full, and has no entry of this key. */
bool roster_add(struct roster *r, const struct compare_hash *key,
		const struct compare_hash *all);
/* A row of the destination; one of another key is passed over. */
void roster_meet(struct roster *r, const struct compare_hash *key,
		 const struct compare_hash *all);
/* Are the rows of this key equal at both sides? */
bool roster_is_equal(const struct roster *r, const struct compare_hash *key);
/* How many keys are; `*sum`: of their rows, added to. */
size_t roster_equal(const struct roster *r, struct digest *sum);

#endif
