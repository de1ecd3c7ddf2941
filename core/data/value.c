#include "core/data/value.h"

#include <string.h>

#include "core/base/clock.h"

#define US_PER_HOUR   (INT64_C(3600) * US_PER_SECOND)
#define US_PER_MINUTE (INT64_C(60) * US_PER_SECOND)

/* Count in eras of 400 years that begin in March. The leap day is then the last
 * of its year (Hinnant, "chrono-Compatible Low-Level Date Algorithms"). */
int64_t civil_to_days(int64_t year, unsigned month, unsigned day)
{
	int64_t y = month <= 2 ? year - 1 : year;
	unsigned from_march = month > 2 ? month - 3 : month + 9;
	int64_t era = (y >= 0 ? y : y - 399) / 400;
	int64_t year_of_era = y - era * 400;
	int64_t day_of_year = (153 * from_march + 2) / 5 + day - 1;
	int64_t day_of_era = year_of_era * 365 + year_of_era / 4 -
			     year_of_era / 100 + day_of_year;

	return era * 146097 + day_of_era - 719468;
}

void civil_from_days(int64_t days, int64_t *year, unsigned *month,
		     unsigned *day)
{
	int64_t shifted = days + 719468;
	int64_t era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
	unsigned doe = (unsigned)(shifted - era * 146097);
	unsigned yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	unsigned doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
	unsigned m = (5 * doy + 2) / 153;

	*day = doy - (153 * m + 2) / 5 + 1;
	*month = m < 10 ? m + 3 : m - 9;
	*year = (int64_t)yoe + era * 400 + (*month <= 2 ? 1 : 0);
}

static char *value_put2(char *out, unsigned n)
{
	*out++ = (char)('0' + n / 10);
	*out++ = (char)('0' + n % 10);
	return out;
}

/* At least `width` digits. */
static char *value_put_number(char *out, uint64_t n, int width)
{
	char digits[20];
	int count = 0;

	do {
		digits[count++] = (char)('0' + n % 10);
		n /= 10;
	} while (n);
	for (int i = count; i < width; i++)
		*out++ = '0';
	while (count)
		*out++ = digits[--count];
	return out;
}

/* "Y-MM-DD"; true if the year is before 1 and wants " BC" at the end. */
static bool value_put_date(char **out, int64_t days)
{
	int64_t year;
	unsigned month, day;
	char *p = *out;

	civil_from_days(days, &year, &month, &day);
	p = value_put_number(p, (uint64_t)(year > 0 ? year : 1 - year), 4);
	*p++ = '-';
	p = value_put2(p, month);
	*p++ = '-';
	*out = value_put2(p, day);
	return year <= 0;
}

/* "HH:MM:SS[.ffffff]" without trailing zeros, as PostgreSQL trims them. */
static char *value_put_time(char *p, uint64_t us)
{
	uint64_t fraction = us % US_PER_SECOND;
	int width = 6;

	p = value_put_number(p, us / US_PER_HOUR, 2);
	*p++ = ':';
	p = value_put2(p, (unsigned)(us / US_PER_MINUTE % 60));
	*p++ = ':';
	p = value_put2(p, (unsigned)(us / US_PER_SECOND % 60));
	if (!fraction)
		return p;
	while (fraction % 10 == 0) {
		fraction /= 10;
		width--;
	}
	*p++ = '.';
	return value_put_number(p, fraction, width);
}

void value_print_date(struct strbuf *sb, int32_t days)
{
	char text[40];
	char *p = text;
	bool before_christ;

	if (days == INT32_MAX || days == INT32_MIN) {
		strbuf_addstr(sb, days > 0 ? "infinity" : "-infinity");
		return;
	}
	before_christ = value_put_date(&p, days);
	strbuf_add(sb, text, (size_t)(p - text));
	if (before_christ)
		strbuf_addstr(sb, " BC");
}

void value_print_time(struct strbuf *sb, int64_t us)
{
	char text[40];
	char *p = value_put_time(text, (uint64_t)us);

	strbuf_add(sb, text, (size_t)(p - text));
}

void value_print_timestamp(struct strbuf *sb, int64_t us, bool zone)
{
	char text[64];
	char *p = text;
	int64_t days, rest;
	bool before_christ;

	if (us == INT64_MAX || us == INT64_MIN) {
		strbuf_addstr(sb, us > 0 ? "infinity" : "-infinity");
		return;
	}
	days = us / US_PER_DAY;
	rest = us % US_PER_DAY;
	if (rest < 0) {
		rest += US_PER_DAY;
		days--;
	}
	before_christ = value_put_date(&p, days);
	*p++ = ' ';
	p = value_put_time(p, (uint64_t)rest);
	strbuf_add(sb, text, (size_t)(p - text));
	if (zone)
		strbuf_addstr(sb, "+00");
	if (before_christ)
		strbuf_addstr(sb, " BC");
}

/* One field of an interval. PostgreSQL signs each field for itself, and
 * writes a plus only behind a negative one. */
static void value_put_field(struct strbuf *sb, int32_t n, const char *unit,
			    bool *after_negative, bool *first)
{
	if (n == 0)
		return;
	strbuf_addf(sb, "%s%s%d %s%s", *first ? "" : " ",
		    *after_negative && n > 0 ? "+" : "", n, unit,
		    n == 1 ? "" : "s");
	*after_negative = n < 0;
	*first = false;
}

void value_print_interval(struct strbuf *sb, const struct interval_value *v)
{
	bool after_negative = false, first = true;
	bool minus = v->microseconds < 0;
	uint64_t us = minus ? 0 - (uint64_t)v->microseconds
			    : (uint64_t)v->microseconds;
	char text[40];

	value_put_field(sb, v->months / 12, "year", &after_negative, &first);
	value_put_field(sb, v->months % 12, "mon", &after_negative, &first);
	value_put_field(sb, v->days, "day", &after_negative, &first);
	if (us == 0 && !first)
		return;
	if (!first)
		strbuf_addch(sb, ' ');
	if (minus)
		strbuf_addch(sb, '-');
	else if (after_negative)
		strbuf_addch(sb, '+');
	strbuf_add(sb, text, (size_t)(value_put_time(text, us) - text));
}

static char *value_put_hex(char *out, const uint8_t *bytes, size_t n)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		*out++ = digits[bytes[i] >> 4];
		*out++ = digits[bytes[i] & 15];
	}
	return out;
}

void value_print_uuid(struct strbuf *sb, const uint8_t bytes[16])
{
	static const size_t groups[] = { 4, 2, 2, 2, 6 };
	char text[40];
	char *p = text;
	size_t at = 0;

	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		if (i)
			*p++ = '-';
		p = value_put_hex(p, bytes + at, groups[i]);
		at += groups[i];
	}
	strbuf_add(sb, text, (size_t)(p - text));
}

static void value_print_bytes(struct strbuf *sb, const uint8_t *bytes, size_t n)
{
	char text[512];

	strbuf_addstr(sb, "\\x");
	while (n) {
		size_t some = n < sizeof(text) / 2 ? n : sizeof(text) / 2;
		value_put_hex(text, bytes, some);
		strbuf_add(sb, text, some * 2);
		bytes += some;
		n -= some;
	}
}

static void value_print_integer(struct strbuf *sb, int64_t n)
{
	char text[24];
	char *p = text;

	if (n < 0)
		*p++ = '-';
	p = value_put_number(p, n < 0 ? 0 - (uint64_t)n : (uint64_t)n, 1);
	strbuf_add(sb, text, (size_t)(p - text));
}

static void value_print_number(struct strbuf *sb, const struct vector *v,
			       size_t row)
{
	const uint8_t *at = v->data + row * v->width;
	int16_t i16;
	float f32;
	double f64;
	char text[24];

	switch (v->kind) {
	case TYPE_INT16:
		memcpy(&i16, at, sizeof(i16));
		value_print_integer(sb, i16);
		break;
	case TYPE_INT32:
		value_print_integer(sb, vector_i32(v, row));
		break;
	case TYPE_UINT64:
		strbuf_add(sb, text,
			   (size_t)(value_put_number(
					    text, (uint64_t)vector_i64(v, row),
					    1) -
				    text));
		break;
	case TYPE_FLOAT32:
		memcpy(&f32, at, sizeof(f32));
		value_print_float32(sb, f32);
		break;
	case TYPE_FLOAT64:
		memcpy(&f64, at, sizeof(f64));
		value_print_float64(sb, f64);
		break;
	default:
		value_print_integer(sb, vector_i64(v, row));
	}
}

static void value_print_variable(struct strbuf *sb, const struct vector *v,
				 size_t row)
{
	size_t n;
	const uint8_t *bytes = vector_bytes(v, row, &n);

	if (v->kind == TYPE_BYTES)
		value_print_bytes(sb, bytes, n);
	else
		strbuf_add(sb, bytes, n);
}

void value_print(struct strbuf *sb, const struct vector *v, size_t row)
{
	struct interval_value interval;

	if (!v->width) {
		value_print_variable(sb, v, row);
		return;
	}
	switch (v->kind) {
	case TYPE_BOOL:
		strbuf_addstr(sb, v->data[row] ? "true" : "false");
		break;
	case TYPE_DATE:
		value_print_date(sb, vector_i32(v, row));
		break;
	case TYPE_TIME:
		value_print_time(sb, vector_i64(v, row));
		break;
	case TYPE_TIMESTAMP:
	case TYPE_TIMESTAMPTZ:
		value_print_timestamp(sb, vector_i64(v, row),
				      v->kind == TYPE_TIMESTAMPTZ);
		break;
	case TYPE_INTERVAL:
		memcpy(&interval, v->data + row * sizeof(interval),
		       sizeof(interval));
		value_print_interval(sb, &interval);
		break;
	case TYPE_UUID:
		value_print_uuid(sb, v->data + row * 16);
		break;
	default:
		value_print_number(sb, v, row);
	}
}
