#include "destinations/bigquery/encode.h"

#include <string.h>

#include "core/base/clock.h"
#include "core/base/utf8.h"
#include "core/data/decimal.h"
#include "core/data/value.h"
#include "destinations/bigquery/json.h"

/* DATE, DATETIME and TIMESTAMP: from 0001-01-01 to 9999-12-31. */
#define ENCODE_FIRST_DAY (-719162)
#define ENCODE_LAST_DAY	 2932896
#define ENCODE_DAY_US	 (INT64_C(86400) * US_PER_SECOND)

void bigquery_encode_base64(struct strbuf *out, const uint8_t *data, size_t n)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789+/";
	char *p = strbuf_reserve(out, (n + 2) / 3 * 4);

	for (size_t i = 0; i < n; i += 3) {
		uint32_t x = (uint32_t)data[i] << 16;

		if (i + 1 < n)
			x |= (uint32_t)data[i + 1] << 8;
		if (i + 2 < n)
			x |= data[i + 2];
		*p++ = digits[x >> 18];
		*p++ = digits[x >> 12 & 63];
		*p++ = i + 1 < n ? digits[x >> 6 & 63] : '=';
		*p++ = i + 2 < n ? digits[x & 63] : '=';
	}
	out->len += (n + 2) / 3 * 4;
	out->data[out->len] = '\0';
}

void bigquery_encode_text(struct strbuf *out, const uint8_t *text, size_t n)
{
	size_t begun = 0;

	strbuf_addch(out, '"');
	for (size_t i = 0; i < n; i++) {
		uint8_t c = text[i];

		if (c >= ' ' && c != '"' && c != '\\')
			continue;
		strbuf_add(out, text + begun, i - begun);
		begun = i + 1;
		if (c == '"' || c == '\\')
			strbuf_addf(out, "\\%c", c);
		else
			strbuf_addf(out, "\\u%04x", c);
	}
	strbuf_add(out, text + begun, n - begun);
	strbuf_addch(out, '"');
}

/* The reason why the type cannot hold the value; NULL: it can. */
static const char *encode_refused(const struct vector *v, size_t row,
				  const struct bigquery_type *type)
{
	enum bigquery_carrier carrier = type->carrier;
	const uint8_t *text;
	size_t n;
	int64_t us;

	/* The service would put something else for it. */
	if (type_is_variable(v->kind) && v->kind != TYPE_BYTES) {
		text = vector_bytes(v, row, &n);
		if (!utf8_is_valid((const char *)text, n))
			return "text that is not UTF-8";
	}

	switch (v->kind) {
	case TYPE_DATE:
		if (carrier == CARRIER_DATE &&
		    (vector_i32(v, row) < ENCODE_FIRST_DAY ||
		     vector_i32(v, row) > ENCODE_LAST_DAY))
			return "a date outside of the years 1 to 9999";
		return NULL;
	case TYPE_TIMESTAMP:
	case TYPE_TIMESTAMPTZ:
		us = vector_i64(v, row);
		if (us < ENCODE_FIRST_DAY * ENCODE_DAY_US ||
		    us >= (ENCODE_LAST_DAY + 1) * ENCODE_DAY_US)
			return "a time outside of the years 1 to 9999";
		return NULL;
	case TYPE_TIME:
		return vector_i64(v, row) >= ENCODE_DAY_US ? "the time 24:00"
							   : NULL;
	case TYPE_DECIMAL:
		text = vector_bytes(v, row, &n);
		/* NaN, Infinity, -Infinity */
		if (carrier == CARRIER_NUMERIC && n &&
		    (text[n - 1] == 'N' || text[n - 1] == 'y'))
			return "a number that is not finite";
		return NULL;
	case TYPE_JSON:
		text = vector_bytes(v, row, &n);
		return strcmp(type->column, "JSON") != 0
			       ? NULL
			       : bigquery_json_refused((const char *)text, n);
	default:
		return NULL;
	}
}

static void encode_printed(struct strbuf *out, const struct vector *v,
			   size_t row)
{
	struct strbuf text = STRBUF_INIT;

	value_print(&text, v, row);
	bigquery_encode_text(out, (const uint8_t *)text.data, text.len);
	strbuf_release(&text);
}

/* Exactly: the nearest double of a float's shortest text is another one. */
static void encode_float(struct strbuf *out, const struct vector *v, size_t row)
{
	double x;
	float f;

	if (v->kind == TYPE_FLOAT32) {
		memcpy(&f, v->data + row * sizeof(f), sizeof(f));
		x = (double)f;
	} else {
		memcpy(&x, v->data + row * sizeof(x), sizeof(x));
	}
	strbuf_addch(out, '"');
	value_print_float64(out, x);
	strbuf_addch(out, '"');
}

static void encode_value(struct strbuf *out, const struct vector *v, size_t row,
			 enum bigquery_carrier carrier)
{
	const uint8_t *data;
	size_t n;

	switch (carrier) {
	case CARRIER_BOOL:
	case CARRIER_INTEGER:
		value_print(out, v, row);
		break;
	case CARRIER_FLOAT:
		encode_float(out, v, row);
		break;
	case CARRIER_ARRAY:
		data = vector_bytes(v, row, &n);
		strbuf_add(out, data, n);
		break;
	case CARRIER_BYTES:
		data = vector_bytes(v, row, &n);
		strbuf_addch(out, '"');
		bigquery_encode_base64(out, data, n);
		strbuf_addch(out, '"');
		break;
	default:
		if (type_is_variable(v->kind)) {
			data = vector_bytes(v, row, &n);
			bigquery_encode_text(out, data, n);
		} else {
			encode_printed(out, v, row);
		}
	}
}

/* A number that is kept as text: 1.0 and 1.00 are one key. */
static void encode_key(struct strbuf *out, const struct vector *v, size_t row,
		       enum bigquery_carrier carrier)
{
	size_t n;
	const char *text;

	if (v->kind != TYPE_DECIMAL || carrier != CARRIER_STRING) {
		encode_value(out, v, row, carrier);
		return;
	}
	text = (const char *)vector_bytes(v, row, &n);
	strbuf_addch(out, '"');
	decimal_print(out, text, n);
	strbuf_addch(out, '"');
}

static int encode_fail(const struct batch *b, size_t row, size_t column,
		       const char *what, const char *table, struct error *err)
{
	struct strbuf key = STRBUF_INIT;
	int rc;

	value_print_key(&key, b, row);
	rc = error_set(err, ERROR_DATA, "table %s, row %s: column %s: %s",
		       table, key.data, b->schema->columns[column].name, what);
	strbuf_release(&key);
	return rc;
}

int bigquery_encode_row(struct strbuf *out, const struct batch *b, size_t row,
			const struct bigquery_type *types, bool keys_only,
			const char *table, struct error *err)
{
	strbuf_addch(out, '{');
	for (size_t i = 0; i < b->schema->n_columns; i++) {
		const struct vector *v = &b->vectors[i];
		const char *refused;

		if (keys_only && !schema_is_key(b->schema, i))
			continue;
		if (vector_is_null(v, row)) {
			if (schema_is_key(b->schema, i))
				return encode_fail(b, row, i, "the key is NULL",
						   table, err);
			continue;
		}
		refused = encode_refused(v, row, &types[i]);
		if (refused)
			return encode_fail(b, row, i, refused, table, err);
		strbuf_addf(out, "\"c%zu\":", i);
		if (schema_is_key(b->schema, i))
			encode_key(out, v, row, types[i].carrier);
		else
			encode_value(out, v, row, types[i].carrier);
		strbuf_addch(out, ',');
	}
	strbuf_addf(out, "\"r\":%zu}\n", row);
	return 0;
}
