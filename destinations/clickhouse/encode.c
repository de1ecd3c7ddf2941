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
/* Bytes of a value at most, or of what is before one of any length; of the
 * columns behind those of the source. */
#define ROOM_OF_ONE  ((size_t)34)
#define ROOM_OF_OURS ((size_t)64)
#define SIGN_BIT     (UINT64_C(1) << 63)

/* There is room: encode_row() and encode_text() see to it. */
static inline void encode_put(struct encoder *e, const void *src, size_t n)
{
	memcpy(e->chunk.data + e->chunk.len, src, n);
	e->chunk.len += n;
}

static inline void encode_byte(struct encoder *e, uint8_t byte)
{
	e->chunk.data[e->chunk.len++] = (char)byte;
}

/* Of the widths that values have, each by itself: this is done for each. */
static inline void encode_fixed(struct encoder *e, const uint8_t *src,
				size_t width)
{
	switch (width) {
	case 1:
		encode_byte(e, *src);
		break;
	case 4:
		encode_put(e, src, 4);
		break;
	case 8:
		encode_put(e, src, 8);
		break;
	default:
		encode_put(e, src, width);
	}
}

static void encode_text(struct encoder *e, const void *text, size_t n)
{
	size_t left = n;

	strbuf_reserve(&e->chunk, n + e->fixed);
	for (; left >= 0x80; left >>= 7)
		encode_byte(e, (uint8_t)(left | 0x80));
	encode_byte(e, (uint8_t)left);
	if (n)
		encode_put(e, text, n);
}

static void encode_printed(struct encoder *e, const struct vector *v,
			   size_t row)
{
	struct strbuf text = STRBUF_INIT;

	value_print(&text, v, row);
	encode_text(e, text.data, text.len);
	strbuf_release(&text);
}

static void encode_uuid(struct encoder *e, const uint8_t *uuid)
{
	for (int i = 0; i < 8; i++)
		encode_byte(e, uuid[7 - i]);
	for (int i = 0; i < 8; i++)
		encode_byte(e, uuid[15 - i]);
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
	int precision, scale;
	size_t n;
	const uint8_t *text = vector_bytes(v, row, &n);

	if (!chdst_type_decimal(t, &precision, &scale)) {
		encode_text(e, text, n);
		return 0;
	}
	if (!clickhouse_decimal_encode((const char *)text, n, precision, scale,
				       out))
		return encode_refuse(e, row, column,
				     "Decimal has no such number", err);
	encode_put(e, out, clickhouse_decimal_width(precision));
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
		encode_text(e, fixed, n);
		return 0;
	case TYPE_TIME:
	case TYPE_INTERVAL:
		encode_printed(e, v, row);
		return 0;
	case TYPE_UUID:
		encode_uuid(e, fixed);
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
	encode_fixed(e, fixed, v->width);
	return 0;
}

static int encode_cell(struct encoder *e, size_t row, size_t column,
		       struct error *err)
{
	bool null = vector_is_null(&e->batch->vectors[column], row);

	if (e->nullable[column])
		encode_byte(e, null);
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

/* Rows that are not far are hashed together, column by column. */
static void encode_fill_block(struct encoder *e, size_t at)
{
	size_t n = 0;

	for (; n < DIGEST_ROWS && at + n < e->order->n; n++)
		e->block_rows[n] = e->order->rows[at + n];
	e->block_at = at;
	digest_rows_begin(&e->block, e->batch->schema->n_columns, e->block_rows,
			  n);
	for (size_t i = 0; i < e->batch->schema->n_columns; i++)
		digest_rows_put(&e->block, i, &e->batch->vectors[i]);
}

/* A column that is NULL does not count: one that is added later does not make
 * every row another one. So the names of those that are not are part of it. */
static void encode_hash(struct encoder *e, size_t at)
{
	size_t n = e->batch->schema->n_columns, row = e->order->rows[at];
	struct digest digest;
	uint64_t half[2], names = 0;

	if (at < e->block_at || at >= e->block_at + e->block.n)
		encode_fill_block(e, at);
	digest = digest_rows_squeeze(&e->block, at - e->block_at, n);
	for (size_t i = 0; i < n; i++)
		names += vector_is_null(&e->batch->vectors[i], row)
				 ? 0
				 : e->names[i];
	half[0] = digest.high + names;
	half[1] = digest.low;
	encode_put(e, half, sizeof(half));
}

static void encode_extra(struct encoder *e, size_t at)
{
	size_t row = e->order->rows[at];
	uint64_t version = encode_version(e->batch, row);
	int64_t seq = e->first_seq + (int64_t)row;

	if (e->extra == ENCODE_APPEND) {
		encode_text(e, e->batch_id, strlen(e->batch_id));
		encode_put(e, &seq, sizeof(seq));
		encode_put(e, &e->now_us, sizeof(e->now_us));
	} else {
		encode_put(e, &version, sizeof(version));
	}
	encode_hash(e, at);
	if (e->extra == ENCODE_INPUT)
		encode_put(e, &seq, sizeof(seq));
}

static int encode_row(struct encoder *e, size_t at, struct error *err)
{
	size_t row = e->order->rows[at];

	strbuf_reserve(&e->chunk, e->fixed);
	for (size_t i = 0; i < e->batch->schema->n_columns; i++) {
		int rc = encode_cell(e, row, i, err);

		if (rc)
			return rc;
	}
	encode_extra(e, at);
	return 0;
}

static int encode_chunk(struct encoder *e, struct error *err)
{
	int rc = 0;

	strbuf_reset(&e->chunk);
	e->sent = 0;
	while (!rc && e->next < e->order->n && e->chunk.len < CHUNK_BYTES) {
		rc = encode_row(e, e->next++, err);
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
	e->next = e->sent = e->block.n = 0;
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
	e->fixed = ROOM_OF_OURS + b->schema->n_columns * ROOM_OF_ONE;
	digest_rows_init(&e->block);
	strbuf_init(&e->chunk);
	e->nullable = xcalloc(b->schema->n_columns + 1, sizeof(*e->nullable));
	e->names = xcalloc(b->schema->n_columns + 1, sizeof(*e->names));
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
	digest_rows_release(&e->block);
}
