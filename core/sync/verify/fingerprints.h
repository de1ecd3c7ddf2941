/*
 * A bounded set of row hashes (digest_rows.h): which rows, in which
 * version, a run has delivered. Once it is full it takes no more.
 */
#ifndef TIDEMARK_CORE_SYNC_VERIFY_FINGERPRINTS_H
#define TIDEMARK_CORE_SYNC_VERIFY_FINGERPRINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 8 to 16 bytes each. */
struct fingerprints {
	uint64_t *slots; /* 0 is free */
	size_t n_slots; /* a power of two, or 0 */
	size_t n;
};

void fingerprints_release(struct fingerprints *f);
/* False: `most` are in it by now, and this one is not. */
bool fingerprints_add(struct fingerprints *f, uint64_t hash, size_t most);
bool fingerprints_has(const struct fingerprints *f, uint64_t hash);

#endif
