#include <stdlib.h>
#include <string.h>

#include "clients/clickhouse_decimal.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/failpoint.h"
#include "core/base/row_values.h"
#include "core/data/value.h"
#include "destinations/clickhouse/internal.h"

#define CHUNK_BYTES ((size_t)256 << 10)
/* Rows that are encoded at once. */
#define SLICE_ROWS 1024
/* The range of Date32 and DateTime64(6): the years 1900 to 2299. */
#define FIRST_DAY (-25567)
#define LAST_DAY  120529
#define FIRST_US  (FIRST_DAY * US_PER_DAY)
#define LAST_US	  ((LAST_DAY + 1) * US_PER_DAY - 1)
#define UUID_SIZE 16

static bool encode_is_ours(const struct encoder *e)
{
	return e->column >= e->batch->schema->n_columns;
}

static const struct vector *encode_vector(const struct encoder *e)
{
	return &e->batch->vectors[e->column];
}

static int encode_refuse(const struct encoder *e, size_t row, const char *what,
			 struct error *err)
{
	struct strbuf key = STRBUF_INIT, value = STRBUF_INIT;

	value_print_key(&key, e->batch, row);
	value_print(&value, encode_vector(e), row);
	error_set(err, ERROR_DATA,
		  "table %s, row %s: column %s: %.80s does not fit: %s",
		  e->table, key.data, e->batch->schema->columns[e->column].name,
		  row_value(value.data), what);
	strbuf_release(&key);
	strbuf_release(&value);
	return -ERROR_DATA;
}

static void encode_fixed(struct encoder *e, const uint32_t *rows, size_t n)
{
	const struct vector *v = encode_vector(e);
	char *out = strbuf_reserve(&e->chunk, n * v->width);

	for (size_t i = 0; i < n; i++) {
		const uint8_t *value = v->data + (size_t)rows[i] * v->width;

		/* Copy by the widths that values have, each by itself. */
		if (v->width == 8)
			memcpy(out + i * 8, value, 8);
		else if (v->width == 4)
			memcpy(out + i * 4, value, 4);
		else
			memcpy(out + i * v->width, value, v->width);
	}
	e->chunk.len += n * v->width;
}

static int encode_times(struct encoder *e, const uint32_t *rows, size_t n,
			struct error *err)
{
	const struct vector *v = encode_vector(e);

	for (size_t i = 0; i < n; i++) {
		int64_t us = vector_i64(v, rows[i]);

		if (us < FIRST_US || us > LAST_US)
			return encode_refuse(e, rows[i],
					     "DateTime64 is of 1900 to 2299",
					     err);
	}
	encode_fixed(e, rows, n);
	return 0;
}

static int encode_dates(struct encoder *e, const uint32_t *rows, size_t n,
			struct error *err)
{
	const struct vector *v = encode_vector(e);

	for (size_t i = 0; i < n; i++) {
		int32_t day = vector_i32(v, rows[i]);

		if (day < FIRST_DAY || day > LAST_DAY)
			return encode_refuse(e, rows[i],
					     "Date32 is of 1900 to 2299", err);
	}
	encode_fixed(e, rows, n);
	return 0;
}

/* Two numbers, each with its least byte first. */
static void encode_uuids(struct encoder *e, const uint32_t *rows, size_t n)
{
	const struct vector *v = encode_vector(e);
	char *out = strbuf_reserve(&e->chunk, n * UUID_SIZE);

	for (size_t i = 0; i < n; i++, out += UUID_SIZE)
		for (size_t k = 0; k < UUID_SIZE; k++)
			out[k] = (char)v->data[(size_t)rows[i] * UUID_SIZE +
					       (k ^ 7)];
	e->chunk.len += n * UUID_SIZE;
}

static void encode_texts(struct encoder *e, const uint32_t *rows, size_t n)
{
	const struct vector *v = encode_vector(e);

	for (size_t i = 0; i < n; i++) {
		size_t size;
		const uint8_t *text = vector_bytes(v, rows[i], &size);

		clickhouse_target_encode_text(e, text, size);
	}
}

static void encode_printed(struct encoder *e, const uint32_t *rows, size_t n)
{
	const struct vector *v = encode_vector(e);
	struct strbuf text = STRBUF_INIT;

	for (size_t i = 0; i < n; i++) {
		strbuf_reset(&text);
		if (!vector_is_null(v, rows[i]))
			value_print(&text, v, rows[i]);
		clickhouse_target_encode_text(e, text.data, text.len);
	}
	strbuf_release(&text);
}

static int encode_decimals(struct encoder *e, const uint32_t *rows, size_t n,
			   struct error *err)
{
	const struct vector *v = encode_vector(e);
	int precision, scale;
	size_t width;
	char *out;

	if (!clickhouse_target_type_decimal(
		    &e->batch->schema->columns[e->column].type, &precision,
		    &scale)) {
		encode_texts(e, rows, n);
		return 0;
	}
	width = clickhouse_decimal_width(precision);
	out = strbuf_reserve(&e->chunk, n * width);
	memset(out, 0, n * width);
	for (size_t i = 0; i < n; i++, out += width) {
		size_t size;
		const uint8_t *text = vector_bytes(v, rows[i], &size);

		if (!vector_is_null(v, rows[i]) &&
		    !clickhouse_decimal_encode((const char *)text, size,
					       precision, scale,
					       (uint8_t *)out))
			return encode_refuse(e, rows[i],
					     "Decimal has no such number", err);
	}
	e->chunk.len += n * width;
	return 0;
}

/* A NULL has a value, too, which does not count: zeros, or no bytes. */
static int encode_values(struct encoder *e, const uint32_t *rows, size_t n,
			 struct error *err)
{
	switch (encode_vector(e)->kind) {
	case TYPE_DECIMAL:
		return encode_decimals(e, rows, n, err);
	case TYPE_TEXT:
	case TYPE_BYTES:
	case TYPE_JSON:
	case TYPE_NATIVE:
		encode_texts(e, rows, n);
		return 0;
	case TYPE_TIME:
	case TYPE_INTERVAL:
		encode_printed(e, rows, n);
		return 0;
	case TYPE_UUID:
		encode_uuids(e, rows, n);
		return 0;
	case TYPE_DATE:
		return encode_dates(e, rows, n, err);
	case TYPE_TIMESTAMP:
	case TYPE_TIMESTAMPTZ:
		return encode_times(e, rows, n, err);
	default:
		encode_fixed(e, rows, n);
		return 0;
	}
}

/* For each row whether it is NULL; of a key, that none is. */
static int encode_nulls(struct encoder *e, const uint32_t *rows, size_t n,
			struct error *err)
{
	const struct vector *v = encode_vector(e);
	char *out;

	if (schema_is_key(e->batch->schema, e->column)) {
		for (size_t i = 0; v->n_nulls && i < n; i++)
			if (vector_is_null(v, rows[i]))
				return encode_refuse(e, rows[i],
						     "the column takes no NULL",
						     err);
		return 0;
	}
	out = strbuf_reserve(&e->chunk, n);
	for (size_t i = 0; i < n; i++)
		out[i] = v->n_nulls && vector_is_null(v, rows[i]);
	e->chunk.len += n;
	return 0;
}

static void encode_begin_column(struct encoder *e)
{
	const struct schema *s = e->batch->schema;
	struct strbuf sent = STRBUF_INIT;
	char *type;

	if (encode_is_ours(e)) {
		clickhouse_target_encode_own_begin(e);
		return;
	}
	clickhouse_target_type_write_sent(&sent, &s->columns[e->column].type);
	type = clickhouse_target_ddl_column_type(s, e->column, sent.data);
	clickhouse_target_encode_text(e, s->columns[e->column].name,
				      strlen(s->columns[e->column].name));
	clickhouse_target_encode_text(e, type, strlen(type));
	free(type);
	strbuf_release(&sent);
}

/* How many rows go at once: as many values of any length as a chunk takes. */
static size_t encode_slice_rows(const struct encoder *e)
{
	const uint32_t *rows = e->order->rows + e->next;
	size_t left = e->order->n - e->next, bytes = 0, n = 0;
	size_t most = left < SLICE_ROWS ? left : SLICE_ROWS;
	const struct vector *v;

	if (e->stage != ENCODE_VALUES || encode_is_ours(e))
		return most;
	v = encode_vector(e);
	if (v->width)
		return most;
	while (n < most && bytes < CHUNK_BYTES) {
		size_t size;

		vector_bytes(v, rows[n++], &size);
		bytes += size;
	}
	return n;
}

/* Encode some rows of the present part of a column; behind the last row, go to
 * the next part. */
static int encode_slice(struct encoder *e, struct error *err)
{
	const uint32_t *rows = e->order->rows + e->next;
	size_t n = encode_slice_rows(e);
	int rc = 0;

	if (e->stage == ENCODE_NAME) {
		encode_begin_column(e);
		e->stage = encode_is_ours(e) ? ENCODE_VALUES : ENCODE_NULLS;
		return 0;
	}
	if (encode_is_ours(e))
		clickhouse_target_encode_own(e, rows, n);
	else if (e->stage == ENCODE_NULLS)
		rc = encode_nulls(e, rows, n, err);
	else
		rc = encode_values(e, rows, n, err);
	e->next += n;
	if (rc || e->next < e->order->n)
		return rc;
	e->next = 0;
	if (e->stage == ENCODE_NULLS) {
		e->stage = ENCODE_VALUES;
		return 0;
	}
	e->stage = ENCODE_NAME;
	e->column++;
	return 0;
}

static int encode_chunk(struct encoder *e, struct error *err)
{
	int rc = 0;

	strbuf_reset(&e->chunk);
	e->sent = 0;
	if (!e->begun) {
		clickhouse_target_encode_number(e, e->n_columns);
		clickhouse_target_encode_number(e, e->order->n);
		e->begun = true;
	}
	while (!rc && e->column < e->n_columns && e->chunk.len < CHUNK_BYTES) {
		rc = encode_slice(e, err);
		if (!rc && !e->halfway && 2 * e->column >= e->n_columns) {
			e->halfway = true;
			rc = failpoint("mid_load", err);
		}
	}
	return rc;
}

long clickhouse_target_encoder_read(void *ctx, void *out, size_t room,
				    struct error *err)
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

void clickhouse_target_encoder_rewind(void *ctx)
{
	struct encoder *e = ctx;

	strbuf_reset(&e->chunk);
	e->begun = false;
	e->stage = ENCODE_NAME;
	e->column = e->next = e->sent = 0;
}

void clickhouse_target_encoder_init(struct encoder *e, const struct batch *b,
				    const struct row_order *order,
				    const char *table)
{
	memset(e, 0, sizeof(*e));
	e->batch = b;
	e->order = order;
	e->table = table;
	strbuf_init(&e->chunk);
	clickhouse_target_encode_own_init(e);
}

void clickhouse_target_encoder_release(struct encoder *e)
{
	strbuf_release(&e->chunk);
	clickhouse_target_encode_own_release(e);
}
