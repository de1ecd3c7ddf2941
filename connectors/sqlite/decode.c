#include "connectors/sqlite/decode.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/row_values.h"
#include "core/base/utf8.h"
#include "core/data/value.h"

/* The most characters of a value that an error shows. */
#define DECODE_SHOWN 40

/* "the text 'abc' in a column declared INTEGER" */
static int decode_refuse(struct sqlite_statement *st, int column,
			 const struct type *type, struct error *err)
{
	static const char *const names[] = {
		[SQLITE_CLASS_NULL] = "NULL",
		[SQLITE_CLASS_INTEGER] = "the integer",
		[SQLITE_CLASS_REAL] = "the number",
		[SQLITE_CLASS_TEXT] = "the text",
		[SQLITE_CLASS_BLOB] = "the blob",
	};
	enum sqlite_class class = sqlite_class_of(st, column);
	const char *text = class == SQLITE_CLASS_BLOB
				   ? ""
				   : row_value(sqlite_str(st, column));

	return error_set(err, ERROR_DATA,
			 "%s%s%.*s%s in a column declared %s: correct it, or "
			 "say what is meant in source.expressions, as in "
			 "CAST(... AS TEXT)",
			 names[class],
			 class == SQLITE_CLASS_TEXT   ? " '"
			 : class == SQLITE_CLASS_BLOB ? ""
						      : " ",
			 (int)utf8_cut(text, strnlen(text, DECODE_SHOWN)), text,
			 class == SQLITE_CLASS_TEXT ? "'" : "",
			 *type->native ? type->native : "with no type");
}

SQLITE_SOURCE_DECODE(sqlite_source_decode_integer)
{
	int64_t value;

	if (sqlite_class_of(st, column) != SQLITE_CLASS_INTEGER)
		return decode_refuse(st, column, type, err);
	value = sqlite_i64(st, column);
	vector_set_fixed(v, row, &value);
	return 0;
}

SQLITE_SOURCE_DECODE(sqlite_source_decode_bool)
{
	int64_t number;
	uint8_t value;

	if (sqlite_class_of(st, column) != SQLITE_CLASS_INTEGER)
		return decode_refuse(st, column, type, err);
	number = sqlite_i64(st, column);
	if (number != 0 && number != 1)
		return decode_refuse(st, column, type, err);
	value = (uint8_t)number;
	vector_set_fixed(v, row, &value);
	return 0;
}

/* SQLite takes NaN for NULL, so some writers store it as a text. */
SQLITE_SOURCE_DECODE(sqlite_source_decode_real)
{
	enum sqlite_class class = sqlite_class_of(st, column);
	double value;

	if (class == SQLITE_CLASS_REAL)
		value = sqlite_f64(st, column);
	else if (class == SQLITE_CLASS_TEXT &&
		 !strcmp(sqlite_str(st, column), "NaN"))
		value = NAN;
	else
		return decode_refuse(st, column, type, err);
	vector_set_fixed(v, row, &value);
	return 0;
}

static int decode_utf8(struct vector *v, size_t row, const char *text, size_t n,
		       struct error *err)
{
	for (size_t at = 0; at < n;) {
		size_t one = (unsigned char)text[at] < 0x80
				     ? 1
				     : utf8_char_length(text + at, n - at);
		if (!one)
			return error_set(err, ERROR_DATA,
					 "a text with bytes that are not UTF-8 "
					 "(at byte %zu)",
					 at + 1);
		at += one;
	}
	return vector_set_bytes(v, row, text, n, err);
}

SQLITE_SOURCE_DECODE(sqlite_source_decode_text)
{
	const char *text;
	size_t n;

	if (sqlite_class_of(st, column) != SQLITE_CLASS_TEXT)
		return decode_refuse(st, column, type, err);
	text = sqlite_bytes(st, column, &n);
	return decode_utf8(v, row, text, n, err);
}

/* Print a number with all digits: SQLite itself prints only 15. */
static void decode_print_number(struct strbuf *sb, struct sqlite_statement *st,
				int column)
{
	if (sqlite_class_of(st, column) == SQLITE_CLASS_INTEGER)
		strbuf_addf(sb, "%" PRId64, sqlite_i64(st, column));
	else
		value_print_float64(sb, sqlite_f64(st, column));
}

SQLITE_SOURCE_DECODE(sqlite_source_decode_any)
{
	enum sqlite_class class = sqlite_class_of(st, column);
	struct strbuf sb = STRBUF_INIT;
	int rc;

	if (class == SQLITE_CLASS_BLOB)
		return decode_refuse(st, column, type, err);
	if (class == SQLITE_CLASS_TEXT)
		return sqlite_source_decode_text(v, row, st, column, type, err);
	decode_print_number(&sb, st, column);
	rc = vector_set_bytes(v, row, sb.data, sb.len, err);
	strbuf_release(&sb);
	return rc;
}

/* JSON has NUMERIC affinity: the number 5 is stored as such. */
SQLITE_SOURCE_DECODE(sqlite_source_decode_json)
{
	return sqlite_source_decode_any(v, row, st, column, type, err);
}

SQLITE_SOURCE_DECODE(sqlite_source_decode_blob)
{
	const void *bytes;
	size_t n;

	if (sqlite_class_of(st, column) != SQLITE_CLASS_BLOB)
		return decode_refuse(st, column, type, err);
	bytes = sqlite_bytes(st, column, &n);
	return vector_set_bytes(v, row, bytes, n, err);
}

static int decode_hex(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

SQLITE_SOURCE_DECODE(sqlite_source_decode_uuid)
{
	enum sqlite_class class = sqlite_class_of(st, column);
	uint8_t bytes[16];
	size_t n, digits = 0;
	const char *text;

	if (class != SQLITE_CLASS_TEXT && class != SQLITE_CLASS_BLOB)
		return decode_refuse(st, column, type, err);
	text = sqlite_bytes(st, column, &n);
	if (class == SQLITE_CLASS_BLOB && n == sizeof(bytes)) {
		vector_set_fixed(v, row, text);
		return 0;
	}
	for (size_t i = 0; i < n && digits <= 32; i++) {
		int digit = decode_hex(text[i]);
		if (digit < 0 && text[i] != '-')
			break;
		if (digit >= 0 && digits < 32)
			bytes[digits / 2] =
				(uint8_t)(digits % 2 ? bytes[digits / 2] << 4 |
							       digit
						     : digit);
		digits += digit >= 0;
	}
	if (digits != 32 || (n != 36 && n != 32))
		return decode_refuse(st, column, type, err);
	vector_set_fixed(v, row, bytes);
	return 0;
}

SQLITE_SOURCE_DECODE(sqlite_source_decode_date)
{
	int32_t days;

	if (sqlite_class_of(st, column) != SQLITE_CLASS_TEXT ||
	    !value_parse_date(sqlite_str(st, column), &days))
		return decode_refuse(st, column, type, err);
	vector_set_fixed(v, row, &days);
	return 0;
}

SQLITE_SOURCE_DECODE(sqlite_source_decode_time)
{
	struct strbuf sb = STRBUF_INIT;
	const char *text;
	int64_t us;
	bool ok;

	if (sqlite_class_of(st, column) != SQLITE_CLASS_TEXT)
		return decode_refuse(st, column, type, err);
	text = sqlite_str(st, column);
	strbuf_addf(&sb, "1970-01-01 %s", text);
	us = US_PER_DAY;
	ok = !strcmp(text, "24:00:00") ||
	     (strspn(text, "0123456789:.") == strlen(text) &&
	      value_parse_timestamp(sb.data, &us));
	strbuf_release(&sb);
	if (!ok)
		return decode_refuse(st, column, type, err);
	vector_set_fixed(v, row, &us);
	return 0;
}

/* Behind the time of day: "Z", "+00", "-03:30". */
static bool decode_has_zone(const char *text, size_t n)
{
	const char *zone = n > 11 ? strpbrk(text + 11, "+-Zz") : NULL;

	return zone != NULL;
}

SQLITE_SOURCE_DECODE(sqlite_source_decode_timestamp)
{
	const char *text;
	int64_t us;
	size_t n;

	if (sqlite_class_of(st, column) != SQLITE_CLASS_TEXT)
		return decode_refuse(st, column, type, err);
	text = sqlite_bytes(st, column, &n);
	if (!value_parse_timestamp(text, &us))
		return decode_refuse(st, column, type, err);
	if (us != INT64_MAX && us != INT64_MIN &&
	    decode_has_zone(text, n) != (v->kind == TYPE_TIMESTAMPTZ))
		return error_set(
			err, ERROR_DATA,
			"'%.40s' %s a time zone, and a column "
			"declared %s %s: say what is meant in "
			"source.expressions, as in datetime(...)",
			row_value(text),
			v->kind == TYPE_TIMESTAMPTZ ? "is without" : "has",
			type->native,
			v->kind == TYPE_TIMESTAMPTZ ? "needs one" : "has none");
	vector_set_fixed(v, row, &us);
	return 0;
}
