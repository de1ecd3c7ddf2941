#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/data/decimal.h"
#include "core/data/value.h"

static bool value_set_signed(struct vector *v, size_t row, const char *text)
{
	char *end;
	long long x;
	int16_t small;
	int32_t middle;

	errno = 0;
	x = strtoll(text, &end, 10);
	if (errno || end == text || *end)
		return false;
	small = (int16_t)x;
	middle = (int32_t)x;
	if (v->kind == TYPE_INT16)
		vector_set_fixed(v, row, &small);
	else if (v->kind == TYPE_INT32)
		vector_set_fixed(v, row, &middle);
	else
		vector_set_fixed(v, row, &x);
	return v->kind == TYPE_INT16   ? small == x
	       : v->kind == TYPE_INT32 ? middle == x
				       : true;
}

static bool value_set_unsigned(struct vector *v, size_t row, const char *text)
{
	char *end;
	unsigned long long x;

	errno = 0;
	x = strtoull(text, &end, 10);
	if (errno || end == text || *end || *text == '-')
		return false;
	vector_set_fixed(v, row, &x);
	return true;
}

static bool value_set_float(struct vector *v, size_t row, const char *text)
{
	char *end;
	double x = strtod(text, &end);
	float small = v->kind == TYPE_FLOAT32 ? strtof(text, &end) : 0;

	if (end == text || *end)
		return false;
	if (v->kind == TYPE_FLOAT32)
		vector_set_fixed(v, row, &small);
	else
		vector_set_fixed(v, row, &x);
	return true;
}

static bool value_set_bool(struct vector *v, size_t row, const char *text)
{
	uint8_t x = !strcmp(text, "true") || !strcmp(text, "1");

	if (!x && strcmp(text, "false") != 0 && strcmp(text, "0") != 0)
		return false;
	vector_set_fixed(v, row, &x);
	return true;
}

/* As the clock of 1970's first day. */
static bool value_set_time(struct vector *v, size_t row, const char *text)
{
	static const char midnight[] = "24:00:00";
	int64_t us = INT64_C(86400000000);
	struct strbuf moment = STRBUF_INIT;
	bool known = !strcmp(text, midnight);

	strbuf_addf(&moment, "1970-01-01 %s", text);
	if (!known)
		known = value_parse_timestamp(moment.data, &us);
	strbuf_release(&moment);
	if (known)
		vector_set_fixed(v, row, &us);
	return known;
}

static bool value_set_day(struct vector *v, size_t row, const char *text)
{
	int32_t days;

	if (!value_parse_date(text, &days))
		return false;
	vector_set_fixed(v, row, &days);
	return true;
}

static bool value_set_moment(struct vector *v, size_t row, const char *text)
{
	int64_t us;

	if (!value_parse_timestamp(text, &us))
		return false;
	vector_set_fixed(v, row, &us);
	return true;
}

static int value_hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Pairs of hex digits, with hyphens between them where `hyphens`. Returns how
 * many bytes, or -1. */
static long value_hex(const char *text, bool hyphens, uint8_t *out, size_t room)
{
	size_t n = 0;

	while (*text) {
		int high, low;

		if (hyphens && *text == '-') {
			text++;
			continue;
		}
		high = value_hex_digit(text[0]);
		low = high < 0 ? -1 : value_hex_digit(text[1]);
		if (low < 0 || n == room)
			return -1;
		out[n++] = (uint8_t)(high << 4 | low);
		text += 2;
	}
	return (long)n;
}

static bool value_set_uuid(struct vector *v, size_t row, const char *text)
{
	uint8_t bytes[16];

	if (value_hex(text, true, bytes, sizeof(bytes)) != sizeof(bytes))
		return false;
	vector_set_fixed(v, row, bytes);
	return true;
}

static bool value_set_hex(struct vector *v, size_t row, const char *text)
{
	uint8_t *room;
	size_t most = strlen(text) / 2;
	long n;

	if (strncmp(text, "\\x", 2) != 0 ||
	    vector_reserve(v, row, most, &room, NULL))
		return false;
	n = value_hex(text + 2, false, room, most);
	if (n >= 0)
		vector_commit(v, row, (size_t)n);
	return n >= 0;
}

/* "04:05:06.7" behind its sign, to the end of the text. */
static bool value_take_time(const char *text, bool minus, int64_t *us)
{
	static const int64_t units[] = { INT64_C(3600000000), 60000000,
					 1000000 };
	int64_t unit = 100000;
	char *end = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		int64_t n = strtoll(text, &end, 10);

		if (end == text || *text < '0' || *text > '9' ||
		    __builtin_mul_overflow(n, minus ? -units[i] : units[i],
					   &n) ||
		    __builtin_add_overflow(*us, n, us) ||
		    (i + 1 < ARRAY_SIZE(units) && *end++ != ':'))
			return false;
		text = end;
	}
	for (text += *text == '.'; *text >= '0' && *text <= '9'; unit /= 10)
		if (__builtin_add_overflow(
			    *us, (*text++ - '0') * (minus ? -unit : unit), us))
			return false;
	return !*text;
}

/* Read "2 mons", add it, and return the text behind it; NULL if it is no such
 * field. */
static const char *value_take_field(const char *text, struct interval_value *x)
{
	static const struct {
		const char *name;
		int64_t months, days;
	} units[] = { { "year", 12, 0 }, { "mon", 1, 0 }, { "day", 0, 1 } };
	char *end;
	int64_t n = strtoll(text, &end, 10);

	if (end == text || *end++ != ' ')
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		size_t length = strlen(units[i].name);

		if (strncmp(end, units[i].name, length) != 0)
			continue;
		if (n > INT32_MAX || n < INT32_MIN)
			return NULL;
		x->months = (int32_t)(x->months + n * units[i].months);
		x->days = (int32_t)(x->days + n * units[i].days);
		end += length;
		return end + (*end == 's');
	}
	return NULL;
}

/* A text that differs from how the interval would be printed is no value. */
static bool value_set_interval(struct vector *v, size_t row, const char *text)
{
	struct interval_value x = { 0, 0, 0 };
	struct strbuf printed = STRBUF_INIT;
	const char *at = text;
	bool fits = true;

	while (fits && *at) {
		const char *colon = strchr(at, ':');

		if (colon && !memchr(at, ' ', (size_t)(colon - at))) {
			fits = value_take_time(at + (*at == '-' || *at == '+'),
					       *at == '-', &x.microseconds);
			break;
		}
		at = value_take_field(at, &x);
		fits = at != NULL;
		if (fits && *at == ' ')
			at++;
	}
	value_print_interval(&printed, &x);
	fits = fits && !strcmp(printed.data, text);
	strbuf_release(&printed);
	if (fits)
		vector_set_fixed(v, row, &x);
	return fits;
}

bool value_set(struct vector *v, size_t row, const char *text)
{
	switch (v->kind) {
	case TYPE_BOOL:
		return value_set_bool(v, row, text);
	case TYPE_INT16:
	case TYPE_INT32:
	case TYPE_INT64:
		return value_set_signed(v, row, text);
	case TYPE_UINT64:
		return value_set_unsigned(v, row, text);
	case TYPE_FLOAT32:
	case TYPE_FLOAT64:
		return value_set_float(v, row, text);
	case TYPE_DATE:
		return value_set_day(v, row, text);
	case TYPE_TIME:
		return value_set_time(v, row, text);
	case TYPE_TIMESTAMP:
	case TYPE_TIMESTAMPTZ:
		return value_set_moment(v, row, text);
	case TYPE_UUID:
		return value_set_uuid(v, row, text);
	case TYPE_BYTES:
		return value_set_hex(v, row, text);
	case TYPE_INTERVAL:
		return value_set_interval(v, row, text);
	default:
		return !vector_set_bytes(v, row, text, strlen(text), NULL);
	}
}

int value_set_decimal(struct vector *v, size_t row, const void *text, size_t n,
		      struct error *err)
{
	struct decimal ignored;

	if (!decimal_parse(&ignored, text, n) &&
	    (n != 3 || memcmp(text, "NaN", 3) != 0))
		return error_set(err, ERROR_DATA, "'%.*s' is no number",
				 n < 60 ? (int)n : 60, (const char *)text);
	return vector_set_bytes(v, row, text, n, err);
}
