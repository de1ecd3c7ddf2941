#include "core/data/digest.h"

#include <stdio.h>
#include <xxhash.h>

#include "core/data/digest_rows.h"

static void digest_add_hash(struct digest *d, uint64_t low, uint64_t high)
{
	d->low += low;
	d->high += high + (d->low < low);
}

void digest_add(struct digest *d, const struct digest *other)
{
	digest_add_hash(d, other->low, other->high);
	d->rows += other->rows;
}

void digest_add_batch(struct digest *d, const struct batch *b)
{
	size_t rows[DIGEST_ROWS], n_columns = b->schema->n_columns;
	struct digest_rows slots = DIGEST_ROWS_INIT;

	for (size_t row = 0; row < b->n_rows;) {
		size_t n = 0;

		while (n < DIGEST_ROWS && row < b->n_rows)
			rows[n++] = row++;
		digest_rows_begin(&slots, n_columns, rows, n);
		for (size_t i = 0; i < n_columns; i++)
			digest_rows_put(&slots, i, &b->vectors[i]);
		for (size_t i = 0; i < n; i++) {
			struct digest one =
				digest_rows_hash(&slots, i, n_columns);

			digest_add(d, &one);
		}
	}
	digest_rows_release(&slots);
}

static void memory_part(struct strbuf *parts, const void *data, size_t n)
{
	XXH128_hash_t hash = XXH3_128bits(data, n);

	strbuf_add(parts, (const char *)&hash, sizeof(hash));
}

/* Bits behind the last row are whatever they are. */
static void memory_validity(struct strbuf *parts, const struct vector *v,
			    size_t n_rows)
{
	uint8_t last = 0;

	if (n_rows % 8)
		last = v->validity[n_rows / 8] & ((1u << n_rows % 8) - 1);
	memory_part(parts, v->validity, n_rows / 8);
	memory_part(parts, &last, sizeof(last));
}

void digest_batch_memory(struct digest *d, const struct batch *b)
{
	struct strbuf parts = STRBUF_INIT;
	XXH128_hash_t hash;

	for (size_t i = 0; b->n_rows && i < b->schema->n_columns; i++) {
		const struct vector *v = &b->vectors[i];
		size_t n = v->width ? b->n_rows * v->width
				    : (size_t)v->offsets[b->n_rows];

		memory_validity(&parts, v, b->n_rows);
		if (!v->width)
			memory_part(&parts, v->offsets,
				    (b->n_rows + 1) * sizeof(*v->offsets));
		memory_part(&parts, v->data, n);
	}
	hash = XXH3_128bits(parts.data, parts.len);
	*d = (struct digest){ hash.low64, hash.high64, b->n_rows };
	strbuf_release(&parts);
}

static void digest_hex(char out[DIGEST_TEXT_SIZE], uint64_t high, uint64_t low)
{
	snprintf(out, DIGEST_TEXT_SIZE, "%016llx%016llx",
		 (unsigned long long)high, (unsigned long long)low);
}

bool digest_equal(const struct digest *a, const struct digest *b)
{
	return a->low == b->low && a->high == b->high && a->rows == b->rows;
}

void digest_text(const struct digest *d, char out[DIGEST_TEXT_SIZE])
{
	digest_hex(out, d->high, d->low);
}

void digest_hash_text(const char *text, size_t n, char out[DIGEST_TEXT_SIZE])
{
	XXH128_hash_t hash = XXH3_128bits(text, n);

	digest_hex(out, hash.high64, hash.low64);
}

void digest_row(const struct batch *b, size_t row, const size_t *columns,
		size_t n, char out[DIGEST_TEXT_SIZE])
{
	struct digest_rows slots = DIGEST_ROWS_INIT;
	struct digest one;

	digest_rows_begin(&slots, n, &row, 1);
	for (size_t i = 0; i < n; i++)
		digest_rows_put(&slots, i,
				&b->vectors[columns ? columns[i] : i]);
	one = digest_rows_hash(&slots, 0, n);
	digest_hex(out, one.high, one.low);
	digest_rows_release(&slots);
}
