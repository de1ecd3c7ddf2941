#include <stdlib.h>
#include <string.h>

#include "clients/clickhouse_decimal.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/failpoint.h"
#include "core/data/digest.h"
#include "core/data/value.h"
#include "destinations/clickhouse/internal.h"

#define CHUNK_BYTES ((size_t)256 << 10)
/* What Date32 and DateTime64(6) hold: the years 1900 to 2299. */
#define FIRST_DAY   (-25567)
#define LAST_DAY    120529
#define FIRST_US    (FIRST_DAY * US_PER_DAY)
#define LAST_US	    ((LAST_DAY + 1) * US_PER_DAY - 1)
#define HALF_DIGITS 16 /* of a hash in hex */
#define SIGN_BIT    (UINT64_C(1) << 63)

static void encode_length(struct strbuf *sb, size_t n)
{
	while (n >= 0x80) {
		strbuf_addch(sb, (char)(n | 0x80));
		n >>= 7;
	}
	strbuf_addch(sb, (char)n);
}

static void encode_text(struct strbuf *sb, const void *text, size_t n)
{
	encode_length(sb, n);
	strbuf_add(sb, text, n);
}

static void encode_printed(struct strbuf *sb, const struct vector *v,
			   size_t row)
{
	struct strbuf text = STRBUF_INIT;

	value_print(&text, v, row);
	encode_text(sb, text.data, text.len);
	strbuf_release(&text);
}

static void encode_uuid(struct strbuf *sb, const uint8_t *uuid)
{
	char out[16];

	for (int i = 0; i < 8; i++) {
		out[i] = (char)uuid[7 - i];
		out[8 + i] = (char)uuid[15 - i];
	}
	strbuf_add(sb, out, sizeof(out));
}

static int encode_refuse(const struct encoder *e, size_t row, size_t column,
			 const char *what, struct error *err)
{
	struct strbuf key = STRBUF_INIT, value = STRBUF_INIT;
	const struct schema *s = e->batch->schema;

	value_print_key(&key, e->batch, row);
	value_print(&value, &e->batch->vectors[column], row);
	error_set(err, ERROR_DATA,
		  "table %s, row %s: column %s: %.80s does not fit: %s",
		  e->table, key.data, s->columns[column].name, value.data,
		  what);
	strbuf_release(&key);
	strbuf_release(&value);
	return -ERROR_DATA;
}

static int encode_decimal(struct encoder *e, size_t row, size_t column,
			  struct error *err)
{
	const struct type *t = &e->batch->schema->columns[column].type;
	const struct vector *v = &e->batch->vectors[column];
	uint8_t out[32];
	size_t n;
	const uint8_t *text = vector_bytes(v, row, &n);

	if (t->precision <= 0 || t->precision > CLICKHOUSE_DECIMAL_DIGITS) {
		encode_text(&e->chunk, text, n);
		return 0;
	}
	if (!clickhouse_decimal_encode((const char *)text, n, t->precision,
				       t->scale, out))
		return encode_refuse(e, row, column,
				     "Decimal has no such number", err);
	strbuf_add(&e->chunk, out, clickhouse_decimal_width(t->precision));
	return 0;
}

static int encode_value(struct encoder *e, size_t row, size_t column,
			struct error *err)
{
	const struct vector *v = &e->batch->vectors[column];
	const uint8_t *fixed = v->data + row * v->width;
	size_t n;

	switch (v->kind) {
	case TYPE_DECIMAL:
		return encode_decimal(e, row, column, err);
	case TYPE_TEXT:
	case TYPE_BYTES:
	case TYPE_JSON:
	case TYPE_NATIVE:
		fixed = vector_bytes(v, row, &n);
		encode_text(&e->chunk, fixed, n);
		return 0;
	case TYPE_TIME:
	case TYPE_INTERVAL:
		encode_printed(&e->chunk, v, row);
		return 0;
	case TYPE_UUID:
		encode_uuid(&e->chunk, fixed);
		return 0;
	case TYPE_DATE:
		if (vector_i32(v, row) < FIRST_DAY ||
		    vector_i32(v, row) > LAST_DAY)
			return encode_refuse(e, row, column,
					     "Date32 is of 1900 to 2299", err);
		break;
	case TYPE_TIMESTAMP:
	case TYPE_TIMESTAMPTZ:
		if (vector_i64(v, row) < FIRST_US ||
		    vector_i64(v, row) > LAST_US)
			return encode_refuse(e, row, column,
					     "DateTime64 is of 1900 to 2299",
					     err);
		break;
	default:
		break;
	}
	strbuf_add(&e->chunk, fixed, v->width);
	return 0;
}

static int encode_cell(struct encoder *e, size_t row, size_t column,
		       struct error *err)
{
	bool null = vector_is_null(&e->batch->vectors[column], row);

	if (e->nullable[column])
		strbuf_addch(&e->chunk, null);
	else if (null)
		return encode_refuse(e, row, column, "the column takes no NULL",
				     err);
	return null ? 0 : encode_value(e, row, column, err);
}

/* A number that grows with the mark; 0: there is none, or it is of no kind
 * that is a number. */
static uint64_t encode_version(const struct batch *b, size_t row)
{
	long mark = b->schema->mark;
	const struct vector *v = mark < 0 ? NULL : &b->vectors[mark];
	struct strbuf text = STRBUF_INIT;
	int64_t number = 0;

	if (!v || vector_is_null(v, row))
		return 0;
	if (v->kind == TYPE_TIMESTAMP || v->kind == TYPE_TIMESTAMPTZ ||
	    v->kind == TYPE_INT64) {
		number = vector_i64(v, row);
	} else {
		value_print(&text, v, row);
		if (!value_parse_instant(text.data, &number))
			number = strtoll(text.data, NULL, 10);
		strbuf_release(&text);
	}
	/* Half of the numbers are left for what replaces a row. */
	return ((uint64_t)number ^ SIGN_BIT) >> 1;
}

static uint64_t encode_name(const char *name)
{
	char hex[DIGEST_TEXT_SIZE];

	digest_hash_text(name, strlen(name), hex);
	hex[HALF_DIGITS] = '\0';
	return strtoull(hex, NULL, 16);
}

/* A column that is NULL does not count: one that is added later does not make
 * every row another one. So the names of those that are not are part of it. */
static void encode_hash(struct encoder *e, size_t row)
{
	char hex[DIGEST_TEXT_SIZE];
	uint64_t half[2], names = 0;
	size_t n = 0;

	for (size_t i = 0; i < e->batch->schema->n_columns; i++) {
		if (vector_is_null(&e->batch->vectors[i], row))
			continue;
		names += e->names[i];
		e->present[n++] = i;
	}
	digest_row(e->batch, row, e->present, n, hex);
	half[1] = strtoull(hex + HALF_DIGITS, NULL, 16);
	hex[HALF_DIGITS] = '\0';
	half[0] = strtoull(hex, NULL, 16) + names;
	strbuf_add(&e->chunk, half, sizeof(half));
}

static void encode_extra(struct encoder *e, size_t row)
{
	uint64_t version = encode_version(e->batch, row);
	int64_t seq = e->first_seq + (int64_t)row;

	if (e->extra == ENCODE_APPEND) {
		encode_text(&e->chunk, e->batch_id, strlen(e->batch_id));
		strbuf_add(&e->chunk, &seq, sizeof(seq));
		strbuf_add(&e->chunk, &e->now_us, sizeof(e->now_us));
	} else {
		strbuf_add(&e->chunk, &version, sizeof(version));
	}
	encode_hash(e, row);
	if (e->extra == ENCODE_INPUT)
		strbuf_add(&e->chunk, &seq, sizeof(seq));
}

static int encode_row(struct encoder *e, size_t row, struct error *err)
{
	for (size_t i = 0; i < e->batch->schema->n_columns; i++) {
		int rc = encode_cell(e, row, i, err);

		if (rc)
			return rc;
	}
	encode_extra(e, row);
	return 0;
}

static int encode_chunk(struct encoder *e, struct error *err)
{
	int rc = 0;

	strbuf_reset(&e->chunk);
	e->sent = 0;
	while (!rc && e->next < e->order->n && e->chunk.len < CHUNK_BYTES) {
		rc = encode_row(e, e->order->rows[e->next++], err);
		if (!rc && !e->halfway && 2 * e->next >= e->order->n) {
			e->halfway = true;
			rc = failpoint("mid_load", err);
		}
	}
	return rc;
}

long chdst_encoder_read(void *ctx, void *out, size_t room, struct error *err)
{
	struct encoder *e = ctx;
	size_t n;

	if (e->sent == e->chunk.len) {
		int rc = encode_chunk(e, err);

		if (rc)
			return rc;
	}
	n = e->chunk.len - e->sent;
	n = n < room ? n : room;
	memcpy(out, e->chunk.data + e->sent, n);
	e->sent += n;
	return (long)n;
}

void chdst_encoder_rewind(void *ctx)
{
	struct encoder *e = ctx;

	strbuf_reset(&e->chunk);
	e->next = e->sent = 0;
}

void chdst_encoder_init(struct encoder *e, const struct batch *b,
			const struct row_order *order, const char *table,
			enum encode_extra extra)
{
	memset(e, 0, sizeof(*e));
	e->batch = b;
	e->order = order;
	e->table = table;
	e->extra = extra;
	e->batch_id = "";
	e->now_us = clock_now_us();
	strbuf_init(&e->chunk);
	e->nullable = xcalloc(b->schema->n_columns + 1, sizeof(*e->nullable));
	e->names = xcalloc(b->schema->n_columns + 1, sizeof(*e->names));
	e->present = xcalloc(b->schema->n_columns + 1, sizeof(*e->present));
	for (size_t i = 0; i < b->schema->n_columns; i++) {
		e->nullable[i] = !schema_is_key(b->schema, i);
		e->names[i] = encode_name(b->schema->columns[i].name);
	}
}

void chdst_encoder_release(struct encoder *e)
{
	strbuf_release(&e->chunk);
	free(e->nullable);
	free(e->names);
	free(e->present);
}
