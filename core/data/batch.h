/*
 * A bounded set of rows, by column, in Arrow's memory layout: validity bitmap
 * (least significant bit first, 1 is present), int32 offsets and data. One
 * batch is filled by a connector, handed to a destination, reset and reused:
 * its buffers grow to what the widest batch needed and stay.
 *
 * A row is appended column by column with the vector_* functions at row
 * `n_rows`, then counted by batch_row_done(). A half-built row is undone by
 * batch_row_undo().
 */
#ifndef TIDEMARK_CORE_DATA_BATCH_H
#define TIDEMARK_CORE_DATA_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/base/error.h"
#include "core/data/schema.h"
#include "core/data/watermark.h"

/* The values of one column. Fixed width: data[row * width]. Variable:
 * data[offsets[row] .. offsets[row + 1]). */
struct vector {
	enum type_kind kind;
	uint32_t width; /* bytes of a fixed value, 0: variable */
	uint8_t *validity;
	int32_t *offsets;
	uint8_t *data;
	size_t data_capacity; /* bytes */
	size_t n_nulls;
};

struct batch {
	const struct schema *schema; /* not owned; outlives the batch */
	struct vector *vectors; /* schema->n_columns of them */
	size_t n_rows;
	size_t rows_capacity;
	size_t variable_bytes; /* bytes of variable data so far */
	size_t row_bytes; /* each row's bytes beside them: widths, offsets */

	/* The engine sets these bounds before connector.next, which stops at
	 * either. */
	size_t max_rows;
	size_t max_bytes;

	/* The connector sets these in connector.next:
	 * - where to go on once these rows are durable
	 * - rows past the settled point, which come again
	 * - the share of the pass done, 0..1, or -1 if it cannot be known */
	struct watermark watermark;
	size_t n_tail;
	double progress;
	/* At the end of the pass: rows past the settled point that tail: hold
	 * keeps back, and the highest of their marks (owned) or NULL. */
	int64_t n_held;
	char *newest_held;
	/* At the end of the pass: the reason why the mark stays behind the read
	 * rows, for people (owned), or NULL. */
	char *mark_held;
};

void batch_init(struct batch *b, const struct schema *schema);
void batch_release(struct batch *b);
void batch_reset(struct batch *b); /* no rows; memory kept */
size_t batch_bytes(const struct batch *b); /* the bytes that max_bytes limits */
bool batch_is_full(const struct batch *b); /* n_rows > 0 and a bound reached */

/* Make room for one more row; call before the row's first vector_* call. */
void batch_reserve_row(struct batch *b);
void batch_row_done(struct batch *b);
void batch_row_undo(struct batch *b);
/* The same for `n` rows that are filled column by column. Each column sets each
 * of them in order, to a value or to NULL. */
void batch_reserve_rows(struct batch *b, size_t n);
void batch_rows_done(struct batch *b, size_t n);
/* Fill `dst`, of the same schema, with just the rows `rows[0..n)` of `src`, in
 * that order. They are no more than src has. */
void batch_copy_rows(struct batch *dst, const struct batch *src,
		     const uint32_t *rows, size_t n);

static inline bool vector_is_null(const struct vector *v, size_t row)
{
	return !(v->validity[row >> 3] >> (row & 7) & 1);
}

static inline void vector_set_present(struct vector *v, size_t row)
{
	v->validity[row >> 3] |= (uint8_t)(1u << (row & 7));
}

/* Store a fixed-width value of exactly v->width bytes. */
static inline void vector_set_fixed(struct vector *v, size_t row,
				    const void *value)
{
	vector_set_present(v, row);
	memcpy(v->data + row * v->width, value, v->width);
}

/* NULL at `row` (fixed or variable): clears the validity bit, zeroes a fixed
 * slot, gives a variable value no bytes. batch_row_done() makes NULL of a
 * column that a row never set, and counts n_nulls. */
static inline void vector_set_null(struct vector *v, size_t row)
{
	v->validity[row >> 3] &= (uint8_t) ~(1u << (row & 7));
	if (v->width)
		memset(v->data + row * v->width, 0, v->width);
	else
		v->offsets[row + 1] = v->offsets[row];
}

#define VECTOR_MAX_BYTES ((size_t)INT32_MAX)
/* Make `data` hold at least `need` bytes: the slow half of vector_reserve. */
int vector_grow(struct vector *v, size_t need, struct error *err);

/* Room for `n` bytes of a variable value at `row` (the row being appended),
 * to be filled by the caller. DATA error when the column would pass 2 GiB. */
static inline int vector_reserve(struct vector *v, size_t row, size_t n,
				 uint8_t **out, struct error *err)
{
	size_t start = (size_t)v->offsets[row];

	if (n > v->data_capacity - start) {
		int rc = n > VECTOR_MAX_BYTES ? vector_grow(v, SIZE_MAX, err)
					      : vector_grow(v, start + n, err);
		if (rc)
			return rc;
	}
	*out = v->data + start;
	return 0;
}

/* The value at `row` took `n` bytes (<= what was reserved). */
static inline void vector_commit(struct vector *v, size_t row, size_t n)
{
	vector_set_present(v, row);
	v->offsets[row + 1] = v->offsets[row] + (int32_t)n;
}

static inline int vector_set_bytes(struct vector *v, size_t row,
				   const void *src, size_t n, struct error *err)
{
	uint8_t *out;
	int rc = vector_reserve(v, row, n, &out, err);

	if (rc)
		return rc;
	if (n)
		memcpy(out, src, n);
	vector_commit(v, row, n);
	return 0;
}

static inline int64_t vector_i64(const struct vector *v, size_t row)
{
	int64_t x;
	memcpy(&x, v->data + row * 8, 8);
	return x;
}

static inline int32_t vector_i32(const struct vector *v, size_t row)
{
	int32_t x;
	memcpy(&x, v->data + row * 4, 4);
	return x;
}

static inline const uint8_t *vector_bytes(const struct vector *v, size_t row,
					  size_t *n)
{
	*n = (size_t)(v->offsets[row + 1] - v->offsets[row]);
	return v->data + v->offsets[row];
}

#endif
