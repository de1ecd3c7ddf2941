#include "core/data/batch.h"

#include <stdlib.h>

#include "core/base/alloc.h"

#define BATCH_FIRST_ROWS   1024
#define VECTOR_FIRST_BYTES 4096
/* Bytes of variable data that are kept over a reset: one batch of giant rows
 * must not hold memory for the rest of the run. */
#define VECTOR_KEEP_BYTES ((size_t)64 << 20)

void batch_init(struct batch *b, const struct schema *schema)
{
	memset(b, 0, sizeof(*b));
	b->schema = schema;
	b->vectors = xcalloc(schema->n_columns ? schema->n_columns : 1,
			     sizeof(*b->vectors));
	for (size_t i = 0; i < schema->n_columns; i++) {
		struct vector *v = &b->vectors[i];
		v->kind = schema->columns[i].type.kind;
		v->width = (uint32_t)type_width(v->kind);
		b->row_bytes += v->width ? v->width : sizeof(*v->offsets);
	}
	b->progress = -1;
	watermark_init(&b->watermark);
}

void batch_release(struct batch *b)
{
	if (!b || !b->schema)
		return;
	for (size_t i = 0; i < b->schema->n_columns; i++) {
		free(b->vectors[i].validity);
		free(b->vectors[i].offsets);
		free(b->vectors[i].data);
	}
	free(b->vectors);
	watermark_release(&b->watermark);
	free(b->newest_held);
	free(b->mark_held);
	memset(b, 0, sizeof(*b));
}

static void vector_reset(struct vector *v)
{
	v->n_nulls = 0;
	if (v->width == 0 && v->data_capacity > VECTOR_KEEP_BYTES) {
		free(v->data);
		v->data = xmalloc(VECTOR_FIRST_BYTES);
		v->data_capacity = VECTOR_FIRST_BYTES;
	}
}

void batch_reset(struct batch *b)
{
	for (size_t i = 0; i < b->schema->n_columns; i++)
		vector_reset(&b->vectors[i]);
	watermark_release(&b->watermark);
	watermark_init(&b->watermark);
	b->n_rows = 0;
	b->variable_bytes = 0;
	b->n_tail = 0;
	b->n_held = 0;
	free(b->newest_held);
	b->newest_held = NULL;
	free(b->mark_held);
	b->mark_held = NULL;
	b->progress = -1;
}

size_t batch_bytes(const struct batch *b)
{
	return b->variable_bytes + b->n_rows * b->row_bytes;
}

bool batch_is_full(const struct batch *b)
{
	if (b->n_rows == 0)
		return false;
	if (b->max_rows && b->n_rows >= b->max_rows)
		return true;
	return b->max_bytes && batch_bytes(b) >= b->max_bytes;
}

static void vector_grow_rows(struct vector *v, size_t rows)
{
	v->validity = xrealloc(v->validity, (rows + 7) / 8);
	if (v->width) {
		v->data = xreallocarray(v->data, rows, v->width);
		v->data_capacity = rows * v->width;
		return;
	}
	v->offsets = xreallocarray(v->offsets, rows + 1, sizeof(*v->offsets));
	v->offsets[0] = 0;
	if (!v->data) {
		v->data = xmalloc(VECTOR_FIRST_BYTES);
		v->data_capacity = VECTOR_FIRST_BYTES;
	}
}

static void batch_grow_rows(struct batch *b)
{
	size_t rows =
		b->rows_capacity ? b->rows_capacity * 2 : BATCH_FIRST_ROWS;

	if (b->max_rows && rows > b->max_rows && b->max_rows > b->n_rows)
		rows = b->max_rows;
	for (size_t i = 0; i < b->schema->n_columns; i++)
		vector_grow_rows(&b->vectors[i], rows);
	b->rows_capacity = rows;
}

void batch_reserve_row(struct batch *b)
{
	if (b->n_rows >= b->rows_capacity)
		batch_grow_rows(b);
	/* Validity starts as NULL, eight rows at a time. */
	if ((b->n_rows & 7) == 0) {
		for (size_t i = 0; i < b->schema->n_columns; i++)
			b->vectors[i].validity[b->n_rows >> 3] = 0;
	}
}

void batch_row_done(struct batch *b)
{
	size_t row = b->n_rows;

	for (size_t i = 0; i < b->schema->n_columns; i++) {
		struct vector *v = &b->vectors[i];
		if (vector_is_null(v, row)) {
			vector_set_null(v, row);
			v->n_nulls++;
		} else if (!v->width) {
			b->variable_bytes +=
				(size_t)(v->offsets[row + 1] - v->offsets[row]);
		}
	}
	b->n_rows++;
}

void batch_reserve_rows(struct batch *b, size_t n)
{
	size_t first = (b->n_rows + 7) / 8, end = (b->n_rows + n + 7) / 8;

	while (b->n_rows + n > b->rows_capacity)
		batch_grow_rows(b);
	for (size_t i = 0; end > first && i < b->schema->n_columns; i++)
		memset(b->vectors[i].validity + first, 0, end - first);
}

void batch_rows_done(struct batch *b, size_t n)
{
	for (size_t i = 0; i < b->schema->n_columns; i++) {
		struct vector *v = &b->vectors[i];
		for (size_t row = b->n_rows; row < b->n_rows + n; row++)
			v->n_nulls += vector_is_null(v, row);
		if (!v->width)
			b->variable_bytes +=
				(size_t)(v->offsets[b->n_rows + n] -
					 v->offsets[b->n_rows]);
	}
	b->n_rows += n;
}

static void vector_copy_fixed(struct vector *dst, const struct vector *src,
			      const uint32_t *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (vector_is_null(src, rows[i]))
			vector_set_null(dst, i);
		else
			vector_set_fixed(dst, i,
					 src->data +
						 (size_t)rows[i] * src->width);
	}
}

/* The sizes fitted in `src`, so they fit here: nothing can fail. */
static void vector_copy_variable(struct vector *dst, const struct vector *src,
				 const uint32_t *rows, size_t n)
{
	size_t bytes = 0, size;

	for (size_t i = 0; i < n; i++) {
		vector_bytes(src, rows[i], &size);
		bytes += size;
	}
	if (bytes > dst->data_capacity)
		vector_grow(dst, bytes, NULL);
	for (size_t i = 0; i < n; i++) {
		const uint8_t *from = vector_bytes(src, rows[i], &size);

		if (vector_is_null(src, rows[i]))
			vector_set_null(dst, i);
		else
			vector_set_bytes(dst, i, from, size, NULL);
	}
}

void batch_copy_rows(struct batch *dst, const struct batch *src,
		     const uint32_t *rows, size_t n)
{
	batch_reset(dst);
	if (!n)
		return;
	batch_reserve_rows(dst, n);
	for (size_t i = 0; i < src->schema->n_columns; i++) {
		if (src->vectors[i].width)
			vector_copy_fixed(&dst->vectors[i], &src->vectors[i],
					  rows, n);
		else
			vector_copy_variable(&dst->vectors[i], &src->vectors[i],
					     rows, n);
	}
	batch_rows_done(dst, n);
}

void batch_row_undo(struct batch *b)
{
	size_t row = b->n_rows;

	if (row >= b->rows_capacity)
		return;
	for (size_t i = 0; i < b->schema->n_columns; i++)
		b->vectors[i].validity[row >> 3] &=
			(uint8_t) ~(1u << (row & 7));
}

int vector_grow(struct vector *v, size_t need, struct error *err)
{
	size_t capacity =
		v->data_capacity ? v->data_capacity : VECTOR_FIRST_BYTES;

	if (need > VECTOR_MAX_BYTES)
		return error_set(err, ERROR_DATA,
				 "the values of one column in one batch pass "
				 "2 GiB; lower batch.rows or batch.bytes");
	while (capacity < need)
		capacity *= 2;
	v->data = xrealloc(v->data, capacity);
	v->data_capacity = capacity;
	return 0;
}
