#include "core/data/digest.h"

#include <endian.h>
#include <math.h>
#include <stdio.h>
#include <xxhash.h>

#include "core/base/strbuf.h"
#include "core/data/canonical.h"

/* Kinds whose values may be equal share a class: what is an int32 at one end
 * may be an int64 at the other. Part of every stored digest: never renumber. */
enum digest_class {
	DIGEST_NULL = 0,
	DIGEST_BOOL = 1,
	DIGEST_INTEGER = 2,
	DIGEST_FLOAT = 3,
	DIGEST_DECIMAL = 4,
	DIGEST_TEXT = 5,
	DIGEST_BYTES = 6,
	DIGEST_DATE = 7,
	DIGEST_TIME = 8,
	DIGEST_TIMESTAMP = 9,
	DIGEST_TIMESTAMPTZ = 10,
	DIGEST_INTERVAL = 11,
	DIGEST_UUID = 12,
	DIGEST_JSON = 13,
};

static const uint8_t digest_classes[TYPE_KINDS] = {
	[TYPE_BOOL] = DIGEST_BOOL,
	[TYPE_INT16] = DIGEST_INTEGER,
	[TYPE_INT32] = DIGEST_INTEGER,
	[TYPE_INT64] = DIGEST_INTEGER,
	[TYPE_UINT64] = DIGEST_INTEGER,
	[TYPE_FLOAT32] = DIGEST_FLOAT,
	[TYPE_FLOAT64] = DIGEST_FLOAT,
	[TYPE_DECIMAL] = DIGEST_DECIMAL,
	[TYPE_TEXT] = DIGEST_TEXT,
	[TYPE_BYTES] = DIGEST_BYTES,
	[TYPE_DATE] = DIGEST_DATE,
	[TYPE_TIME] = DIGEST_TIME,
	[TYPE_TIMESTAMP] = DIGEST_TIMESTAMP,
	[TYPE_TIMESTAMPTZ] = DIGEST_TIMESTAMPTZ,
	[TYPE_INTERVAL] = DIGEST_INTERVAL,
	[TYPE_UUID] = DIGEST_UUID,
	[TYPE_JSON] = DIGEST_JSON,
	[TYPE_NATIVE] = DIGEST_TEXT,
};

/* Before each value: ordinal of the column (2 bytes), class (1), length (4),
 * so that no two rows of different values run together to the same bytes. */
#define DIGEST_HEADER 7
#define DIGEST_FIXED  16 /* bytes of a fixed value, at most */

static void digest_put_header(uint8_t *out, size_t column, uint8_t class,
			      size_t n)
{
	uint16_t ordinal = htole16((uint16_t)column);
	uint32_t length = htole32((uint32_t)n);

	memcpy(out, &ordinal, sizeof(ordinal));
	out[2] = class;
	memcpy(out + 3, &length, sizeof(length));
}

static size_t digest_put_integer(uint8_t *out, uint64_t bits, bool negative)
{
	bits = htole64(bits);
	memcpy(out, &bits, sizeof(bits));
	out[8] = negative;
	return 9;
}

static size_t digest_put_float(uint8_t *out, double x)
{
	uint64_t bits;

	if (x == 0)
		x = 0.0; /* -0.0 is 0.0 */
	memcpy(&bits, &x, sizeof(bits));
	if (isnan(x))
		bits = UINT64_C(0x7ff8000000000000);
	bits = htole64(bits);
	memcpy(out, &bits, sizeof(bits));
	return sizeof(bits);
}

static size_t digest_put_interval(uint8_t *out, const uint8_t *at)
{
	struct interval_value value;
	uint64_t us;
	uint32_t days, months;

	memcpy(&value, at, sizeof(value));
	us = htole64((uint64_t)value.microseconds);
	days = htole32((uint32_t)value.days);
	months = htole32((uint32_t)value.months);
	memcpy(out, &us, 8);
	memcpy(out + 8, &days, 4);
	memcpy(out + 12, &months, 4);
	return 16;
}

/* The canonical bytes of a fixed-width value; returns how many. */
static size_t digest_put_fixed(uint8_t *out, const struct vector *v, size_t row)
{
	const uint8_t *at = v->data + row * v->width;
	int16_t i16;
	float f32;
	double f64;
	int64_t n;

	switch (v->kind) {
	case TYPE_INT16:
		memcpy(&i16, at, sizeof(i16));
		return digest_put_integer(out, (uint64_t)(int64_t)i16, i16 < 0);
	case TYPE_INT32:
	case TYPE_DATE:
		n = vector_i32(v, row);
		return digest_put_integer(out, (uint64_t)n, n < 0);
	case TYPE_UINT64:
		return digest_put_integer(out, (uint64_t)vector_i64(v, row),
					  false);
	case TYPE_FLOAT32:
		memcpy(&f32, at, sizeof(f32));
		return digest_put_float(out, (double)f32);
	case TYPE_FLOAT64:
		memcpy(&f64, at, sizeof(f64));
		return digest_put_float(out, f64);
	case TYPE_INTERVAL:
		return digest_put_interval(out, at);
	case TYPE_UUID:
		memcpy(out, at, 16);
		return 16;
	case TYPE_BOOL:
		*out = *at != 0;
		return 1;
	default:
		n = vector_i64(v, row);
		return digest_put_integer(out, (uint64_t)n, n < 0);
	}
}

static void digest_put_variable(struct strbuf *sb, const struct vector *v,
				size_t row, size_t column)
{
	uint8_t header[DIGEST_HEADER] = { 0 };
	size_t n, start = sb->len;
	const char *text = (const char *)vector_bytes(v, row, &n);

	strbuf_add(sb, header, sizeof(header));
	if (v->kind == TYPE_DECIMAL)
		canonical_number(sb, text, n);
	else if (v->kind == TYPE_JSON)
		canonical_json(sb, text, n);
	else
		strbuf_add(sb, text, n);
	/* The length of a canonical value is known only now. */
	digest_put_header((uint8_t *)sb->data + start, column,
			  digest_classes[v->kind],
			  sb->len - start - sizeof(header));
}

void digest_add_value(struct strbuf *sb, const struct vector *v, size_t row,
		      size_t column)
{
	uint8_t *out;
	uint8_t class = DIGEST_NULL;
	size_t n = 0;

	if (!vector_is_null(v, row) && !v->width) {
		digest_put_variable(sb, v, row, column);
		return;
	}
	/* Written in place: this is done for each value of each row. */
	out = (uint8_t *)strbuf_reserve(sb, DIGEST_HEADER + DIGEST_FIXED);
	if (!out)
		return;
	if (!vector_is_null(v, row)) {
		n = digest_put_fixed(out + DIGEST_HEADER, v, row);
		class = digest_classes[v->kind];
	}
	digest_put_header(out, column, class, n);
	sb->len += DIGEST_HEADER + n;
	sb->data[sb->len] = '\0';
}

static void digest_add_hash(struct digest *d, uint64_t low, uint64_t high)
{
	d->low += low;
	d->high += high + (d->low < low);
}

void digest_add_batch(struct digest *d, const struct batch *b)
{
	struct strbuf row_bytes = STRBUF_INIT;

	for (size_t row = 0; row < b->n_rows; row++) {
		XXH128_hash_t hash;

		strbuf_reset(&row_bytes);
		for (size_t i = 0; i < b->schema->n_columns; i++)
			digest_add_value(&row_bytes, &b->vectors[i], row, i);
		hash = XXH3_128bits(row_bytes.data, row_bytes.len);
		digest_add_hash(d, hash.low64, hash.high64);
	}
	d->rows += b->n_rows;
	strbuf_release(&row_bytes);
}

void digest_add(struct digest *d, const struct digest *other)
{
	digest_add_hash(d, other->low, other->high);
	d->rows += other->rows;
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
	struct strbuf bytes = STRBUF_INIT;

	for (size_t i = 0; i < n; i++)
		digest_add_value(&bytes, &b->vectors[columns ? columns[i] : i],
				 row, i);
	digest_hash_text(bytes.data, bytes.len, out);
	strbuf_release(&bytes);
}
