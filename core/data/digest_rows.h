/*
 * Some rows of a batch on their way into hashes. A row has a slot of a fixed
 * size for each of its columns. Slots are filled column by column. The slot of
 * a fixed width value holds the value itself, any other slot the XXH128 of the
 * value's canonical bytes. A slot also holds the value's class, so that NULL is
 * like no value. Equal values have equal slots, different values do not. The
 * row's hash is the hash of its slots.
 */
#ifndef TIDEMARK_CORE_DATA_DIGEST_ROWS_H
#define TIDEMARK_CORE_DATA_DIGEST_ROWS_H

#include "core/data/digest.h"

/* Rows at a time, for a usual table: their slots stay in the nearest cache. */
#define DIGEST_ROWS 32
#define DIGEST_SLOT 17 /* bytes */
/* Classes of the caller's own begin here. */
#define DIGEST_CLASS_FREE 32

struct digest_rows {
	const size_t *rows; /* in the batch, not owned; n */
	size_t n;
	uint8_t *slots; /* n rows of `stride` bytes */
	size_t stride, capacity;
	struct strbuf canonical; /* one value's */
};

#define DIGEST_ROWS_INIT                                                       \
	{                                                                      \
		.canonical = STRBUF_INIT                                       \
	}

void digest_rows_init(struct digest_rows *r);
void digest_rows_release(struct digest_rows *r);
/* Begin other rows; the memory is kept. Fill every slot before you ask for a
 * hash of it. */
void digest_rows_begin(struct digest_rows *r, size_t n_columns,
		       const size_t *rows, size_t n);
/* The slots of one column. */
void digest_rows_put(struct digest_rows *r, size_t column,
		     const struct vector *v);
/* One slot: of rows[i]. */
void digest_rows_put_null(struct digest_rows *r, size_t column, size_t i);
void digest_rows_put_bytes(struct digest_rows *r, size_t column, size_t i,
			   uint8_t class, const void *bytes, size_t n);
/* The hash of rows[i] in the first `n_columns`. */
struct digest digest_rows_hash(const struct digest_rows *r, size_t i,
			       size_t n_columns);
/* The same for a row without its NULLs, whose slots are gone then. */
struct digest digest_rows_squeeze(struct digest_rows *r, size_t i,
				  size_t n_columns);
/* The hash of one row of the batch, in all of its columns. */
struct digest digest_rows_of(struct digest_rows *r, const struct batch *b,
			     size_t row);

#endif
