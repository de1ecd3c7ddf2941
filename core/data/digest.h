/*
 * Order-free digest of rows over canonical values: NULL is not '', 1.10 is
 * 1.1, -0.0 is 0.0, timestamps in µs, JSON with sorted keys. The sum (not the
 * XOR) of 128-bit row hashes (XXH3), plus the count.
 */
#ifndef TIDEMARK_CORE_DATA_DIGEST_H
#define TIDEMARK_CORE_DATA_DIGEST_H

#include <stdbool.h>
#include <stdint.h>

#include "core/data/batch.h"

struct digest {
	uint64_t low, high; /* sum modulo 2^128 */
	uint64_t rows;
};

#define DIGEST_TEXT_SIZE 33

/* Hex XXH128 of the values of one row in these `n` columns, in their order;
 * NULL: in the first n. */
void digest_row(const struct batch *b, size_t row, const size_t *columns,
		size_t n, char out[DIGEST_TEXT_SIZE]);
void digest_add_batch(struct digest *d, const struct batch *b);
/* A digest of a batch's memory: the same rows in the same order, read from the
 * same engine. It is many times as quick, and equals no other digest. */
void digest_batch_memory(struct digest *d, const struct batch *b);
void digest_add(struct digest *d, const struct digest *other);
/* The same rows, as often each. */
bool digest_equal(const struct digest *a, const struct digest *b);
void digest_text(const struct digest *d, char out[DIGEST_TEXT_SIZE]); /* hex */
/* Hex XXH128 of any text: batch and run identities. */
void digest_hash_text(const char *text, size_t n, char out[DIGEST_TEXT_SIZE]);

#endif
