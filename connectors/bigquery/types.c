#include "connectors/bigquery/types.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "clients/bigquery_reply.h"
#include "core/base/alloc.h"
#include "core/base/row_values.h"
#include "core/base/strbuf.h"
#include "core/data/value.h"

#define PLAIN "%s"
/* Its 77th digit is a partial one: it ends at 5.78e38. */
#define BIGNUMERIC_DIGITS 77
/* The text of NULL is "null". */
#define JSON_TEXT "IF(%s IS NULL, NULL, TO_JSON_STRING(%s))"

static const struct bigquery_source_type types_table[] = {
	{ "BOOL", PLAIN, "CAST(? AS BOOL)", TYPE_BOOL, 0 },
	{ "INT64", PLAIN, "CAST(? AS INT64)", TYPE_INT64, 0 },
	/* Ordered as text: nothing is below, above or equal to NaN. */
	{ "FLOAT64", PLAIN, "CAST(CAST(? AS FLOAT64) + 0.0 AS STRING)",
	  TYPE_FLOAT64, 0 },
	{ "NUMERIC", PLAIN, "CAST(? AS NUMERIC)", TYPE_DECIMAL, 0 },
	{ "BIGNUMERIC", PLAIN, "CAST(? AS BIGNUMERIC)", TYPE_DECIMAL, 0 },
	{ "STRING", PLAIN, "?", TYPE_TEXT, 0 },
	{ "BYTES", PLAIN, "FROM_HEX(?)", TYPE_BYTES, 0 },
	{ "DATE", PLAIN, "CAST(? AS DATE)", TYPE_DATE, 0 },
	{ "TIME", PLAIN, "CAST(? AS TIME)", TYPE_TIME, 6 },
	{ "DATETIME", PLAIN, "CAST(? AS DATETIME)", TYPE_TIMESTAMP, 6 },
	/* As the API writes it, it may have lost its last digits. */
	{ "TIMESTAMP", "UNIX_MICROS(%s)", "CAST(? AS TIMESTAMP)",
	  TYPE_TIMESTAMPTZ, 6 },
	{ "JSON", JSON_TEXT, NULL, TYPE_JSON, 0 },
	{ "GEOGRAPHY", "ST_ASTEXT(%s)", NULL, TYPE_NATIVE, 0 },
	{ "INTERVAL", "CAST(%s AS STRING)", NULL, TYPE_NATIVE, 0 },
	{ "RANGE", "CAST(%s AS STRING)", NULL, TYPE_NATIVE, 0 },
	{ NULL, JSON_TEXT, NULL, TYPE_NATIVE, 0 },
};

/* -1: it is not told, or no number from 0 to `most`. */
static int types_number(const json_t *field, const char *name, long most)
{
	const char *text = bigquery_reply_text(field, name);
	char *end;
	long n = strtol(text, &end, 10);

	return *text && !*end && n >= 0 && n <= most ? (int)n : -1;
}

/* Numbers of digits that no such column has come from a lying server. */
static bool types_digits(const json_t *field, bool big, int *precision,
			 int *scale)
{
	*precision = types_number(field, "precision", big ? 76 : 38);
	*scale = types_number(field, "scale", big ? 38 : 9);
	if (*scale < 0 && !*bigquery_reply_text(field, "scale"))
		*scale = 0;
	return *precision > 0 && *scale >= 0 && *scale <= *precision;
}

static void types_decimal(const json_t *field, bool big, struct type *out)
{
	if (types_digits(field, big, &out->precision, &out->scale))
		return;
	out->precision = big ? BIGNUMERIC_DIGITS : 38;
	out->scale = big ? 38 : 9;
}

static char *types_native(const json_t *field, const char *name, bool repeated)
{
	int precision, scale;
	char *one = types_digits(field, *name == 'B', &precision, &scale)
			    ? xstrfmt("%s(%d,%d)", name, precision, scale)
			    : xstrdup(name);
	char *all = repeated ? xstrfmt("ARRAY<%s>", one) : xstrdup(one);

	free(one);
	return all;
}

const struct bigquery_source_type *bigquery_source_type_of(const json_t *field,
							   struct type *out)
{
	const char *name = bigquery_reply_type(field);
	bool repeated = !strcmp(bigquery_reply_text(field, "mode"), "REPEATED");
	const struct bigquery_source_type *how = types_table;
	int length = 0;

	while (how->name && (repeated || strcmp(name, how->name) != 0))
		how++;
	*out = (struct type){ .kind = how->kind,
			      .digits = how->digits,
			      .native = types_native(field, name, repeated) };
	if (how->kind == TYPE_DECIMAL)
		types_decimal(field, *name == 'B', out);
	else if (how->kind == TYPE_TEXT || how->kind == TYPE_BYTES)
		length = types_number(field, "maxLength", INT_MAX);
	if (length > 0)
		out->precision = length;
	return how;
}

char *bigquery_source_type_output(const struct bigquery_source_type *how,
				  const char *sql)
{
	struct strbuf text = STRBUF_INIT;
	const char *rest = how->output, *at;

	while ((at = strstr(rest, PLAIN))) {
		strbuf_add(&text, rest, (size_t)(at - rest));
		strbuf_addstr(&text, sql);
		rest = at + strlen(PLAIN);
	}
	strbuf_addstr(&text, rest);
	return strbuf_detach(&text);
}

static int types_digit(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' || c == '-' ? 62 : c == '/' || c == '_' ? 63 : -1;
}

/* Into `out`, which has room; how many bytes, or -1. */
static long types_base64(const char *text, size_t n, uint8_t *out)
{
	uint32_t bits = 0;
	int have = 0;
	long done = 0;

	while (n && text[n - 1] == '=')
		n--;
	for (size_t i = 0; i < n; i++) {
		int digit = types_digit(text[i]);

		if (digit < 0)
			return -1;
		bits = bits << 6 | (uint32_t)digit;
		have += 6;
		if (have < 8)
			continue;
		have -= 8;
		out[done++] = (uint8_t)(bits >> have);
	}
	return done;
}

static int types_take_bytes(struct vector *v, size_t row, const char *text,
			    size_t n, struct error *err)
{
	uint8_t *room;
	int rc = vector_reserve(v, row, n, &room, err);
	long done = rc ? 0 : types_base64(text, n, room);

	if (rc)
		return rc;
	if (done < 0)
		return error_set(err, ERROR_DATA, "bytes that are no base64");
	vector_commit(v, row, (size_t)done);
	return 0;
}

static int types_take_micros(struct vector *v, size_t row, const char *text,
			     struct error *err)
{
	char *end;
	int64_t us = strtoll(text, &end, 10);

	if (!*text || *end)
		return error_set(err, ERROR_DATA, "no point in time: %.60s",
				 row_value(text));
	vector_set_fixed(v, row, &us);
	return 0;
}

int bigquery_source_type_take(const struct bigquery_source_type *how,
			      struct vector *v, size_t row, const char *text,
			      size_t n, struct error *err)
{
	if (how->kind == TYPE_TIMESTAMPTZ)
		return types_take_micros(v, row, text, err);
	if (how->kind == TYPE_BYTES)
		return types_take_bytes(v, row, text, n, err);
	if (v->kind == TYPE_DECIMAL)
		return value_set_decimal(v, row, text, n, err);
	if (type_is_variable(v->kind))
		return vector_set_bytes(v, row, text, n, err);
	if (value_set(v, row, text))
		return 0;
	return error_set(err, ERROR_DATA, "no %s: %.60s",
			 how->name ? how->name : "value", row_value(text));
}

void bigquery_source_type_print(const char *api_type, const char *text,
				struct strbuf *out)
{
	int64_t us;

	if (!strcmp(api_type, "TIMESTAMP")) {
		value_print_timestamp(out, strtoll(text, NULL, 10), true);
	} else if (!strcmp(api_type, "DATETIME") &&
		   value_parse_timestamp(text, &us)) {
		value_print_timestamp(out, us, false);
	} else if (!strcmp(api_type, "BYTES")) {
		uint8_t *room = xmalloc(strlen(text) + 1);
		long n = types_base64(text, strlen(text), room);

		strbuf_addstr(out, "\\x");
		for (long i = 0; i < n; i++)
			strbuf_addf(out, "%02x", room[i]);
		free(room);
	} else {
		strbuf_addstr(out, text);
	}
}
