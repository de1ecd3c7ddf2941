#include "core/data/digest_rows.h"

#include <endian.h>
#include <math.h>
#include <stdlib.h>
#include <xxhash.h>

#include "core/base/alloc.h"
#include "core/data/canonical.h"

/* Kinds whose values may be equal share a class: an int32 at one end may be an
 * int64 at the other. Classes are part of every stored digest: never renumber
 * them. */
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

/* A slot: 16 bytes of the value, then its class. */
#define SLOT_CLASS 16

static uint8_t *rows_slot(const struct digest_rows *r, size_t column, size_t i)
{
	return r->slots + i * r->stride + column * DIGEST_SLOT;
}

static void slot_put(uint8_t *slot, uint64_t first, uint64_t second)
{
	first = htole64(first);
	second = htole64(second);
	memcpy(slot, &first, sizeof(first));
	memcpy(slot + sizeof(first), &second, sizeof(second));
}

static void slot_put_bool(uint8_t *slot, const uint8_t *at)
{
	slot_put(slot, *at != 0, 0);
}

/* The sign by itself: UINT64_MAX is not -1. */
static void slot_put_integer(uint8_t *slot, int64_t x)
{
	slot_put(slot, (uint64_t)x, x < 0);
}

static void slot_put_int16(uint8_t *slot, const uint8_t *at)
{
	int16_t x;

	memcpy(&x, at, sizeof(x));
	slot_put_integer(slot, x);
}

static void slot_put_int32(uint8_t *slot, const uint8_t *at)
{
	int32_t x;

	memcpy(&x, at, sizeof(x));
	slot_put_integer(slot, x);
}

static void slot_put_int64(uint8_t *slot, const uint8_t *at)
{
	int64_t x;

	memcpy(&x, at, sizeof(x));
	slot_put_integer(slot, x);
}

static void slot_put_uint64(uint8_t *slot, const uint8_t *at)
{
	uint64_t x;

	memcpy(&x, at, sizeof(x));
	slot_put(slot, x, 0);
}

static void slot_put_double(uint8_t *slot, double x)
{
	uint64_t bits;

	if (x == 0)
		x = 0.0; /* -0.0 is 0.0 */
	memcpy(&bits, &x, sizeof(bits));
	if (isnan(x))
		bits = UINT64_C(0x7ff8000000000000);
	slot_put(slot, bits, 0);
}

static void slot_put_float32(uint8_t *slot, const uint8_t *at)
{
	float x;

	memcpy(&x, at, sizeof(x));
	slot_put_double(slot, (double)x);
}

static void slot_put_float64(uint8_t *slot, const uint8_t *at)
{
	double x;

	memcpy(&x, at, sizeof(x));
	slot_put_double(slot, x);
}

static void slot_put_interval(uint8_t *slot, const uint8_t *at)
{
	struct interval_value x;

	memcpy(&x, at, sizeof(x));
	slot_put(slot, (uint64_t)x.microseconds,
		 (uint64_t)(uint32_t)x.days | (uint64_t)(uint32_t)x.months
						      << 32);
}

static void slot_put_uuid(uint8_t *slot, const uint8_t *at)
{
	memcpy(slot, at, 16);
}

/* Inlined for each kind, because it runs for each value of each row. */
static inline void rows_put_fixed(struct digest_rows *r, size_t column,
				  const struct vector *v,
				  void (*put)(uint8_t *, const uint8_t *))
{
	uint8_t *slot = rows_slot(r, column, 0);

	for (size_t i = 0; i < r->n; i++, slot += r->stride) {
		size_t row = r->rows[i];

		if (vector_is_null(v, row)) {
			memset(slot, DIGEST_NULL, DIGEST_SLOT);
			continue;
		}
		put(slot, v->data + row * v->width);
		slot[SLOT_CLASS] = digest_classes[v->kind];
	}
}

static void rows_put_variable(struct digest_rows *r, size_t column,
			      const struct vector *v)
{
	for (size_t i = 0; i < r->n; i++) {
		size_t n;
		const char *text =
			(const char *)vector_bytes(v, r->rows[i], &n);

		if (vector_is_null(v, r->rows[i])) {
			digest_rows_put_null(r, column, i);
			continue;
		}
		strbuf_reset(&r->canonical);
		if (v->kind == TYPE_DECIMAL)
			canonical_number(&r->canonical, text, n);
		else if (v->kind == TYPE_JSON)
			canonical_json(&r->canonical, text, n);
		if (r->canonical.len) {
			text = r->canonical.data;
			n = r->canonical.len;
		}
		digest_rows_put_bytes(r, column, i, digest_classes[v->kind],
				      text, n);
	}
}

void digest_rows_put(struct digest_rows *r, size_t column,
		     const struct vector *v)
{
	switch (v->kind) {
	case TYPE_BOOL:
		rows_put_fixed(r, column, v, slot_put_bool);
		break;
	case TYPE_INT16:
		rows_put_fixed(r, column, v, slot_put_int16);
		break;
	case TYPE_INT32:
	case TYPE_DATE:
		rows_put_fixed(r, column, v, slot_put_int32);
		break;
	case TYPE_UINT64:
		rows_put_fixed(r, column, v, slot_put_uint64);
		break;
	case TYPE_FLOAT32:
		rows_put_fixed(r, column, v, slot_put_float32);
		break;
	case TYPE_FLOAT64:
		rows_put_fixed(r, column, v, slot_put_float64);
		break;
	case TYPE_INTERVAL:
		rows_put_fixed(r, column, v, slot_put_interval);
		break;
	case TYPE_UUID:
		rows_put_fixed(r, column, v, slot_put_uuid);
		break;
	default:
		if (v->width)
			rows_put_fixed(r, column, v, slot_put_int64);
		else
			rows_put_variable(r, column, v);
	}
}

void digest_rows_put_null(struct digest_rows *r, size_t column, size_t i)
{
	memset(rows_slot(r, column, i), DIGEST_NULL, DIGEST_SLOT);
}

void digest_rows_put_bytes(struct digest_rows *r, size_t column, size_t i,
			   uint8_t class, const void *bytes, size_t n)
{
	uint8_t *slot = rows_slot(r, column, i);
	XXH128_hash_t hash = XXH3_128bits(bytes, n);

	slot_put(slot, hash.low64, hash.high64);
	slot[SLOT_CLASS] = class;
}

struct digest digest_rows_hash(const struct digest_rows *r, size_t i,
			       size_t n_columns)
{
	XXH128_hash_t hash =
		XXH3_128bits(rows_slot(r, 0, i), n_columns * DIGEST_SLOT);

	return (struct digest){ hash.low64, hash.high64, 1 };
}

struct digest digest_rows_squeeze(struct digest_rows *r, size_t i,
				  size_t n_columns)
{
	size_t kept = 0;

	for (size_t column = 0; column < n_columns; column++) {
		const uint8_t *slot = rows_slot(r, column, i);

		if (slot[SLOT_CLASS] == DIGEST_NULL)
			continue;
		if (kept < column)
			memcpy(rows_slot(r, kept, i), slot, DIGEST_SLOT);
		kept++;
	}
	return digest_rows_hash(r, i, kept);
}

void digest_rows_begin(struct digest_rows *r, size_t n_columns,
		       const size_t *rows, size_t n)
{
	r->rows = rows;
	r->n = n;
	r->stride = n_columns * DIGEST_SLOT;
	r->slots = xgrow(r->slots, &r->capacity, n * r->stride, 1);
}

void digest_rows_init(struct digest_rows *r)
{
	*r = (struct digest_rows)DIGEST_ROWS_INIT;
}

void digest_rows_release(struct digest_rows *r)
{
	free(r->slots);
	strbuf_release(&r->canonical);
	digest_rows_init(r);
}

struct digest digest_rows_of(struct digest_rows *r, const struct batch *b,
			     size_t row)
{
	size_t n_columns = b->schema->n_columns;

	digest_rows_begin(r, n_columns, &row, 1);
	for (size_t i = 0; i < n_columns; i++)
		digest_rows_put(r, i, &b->vectors[i]);
	return digest_rows_hash(r, 0, n_columns);
}
