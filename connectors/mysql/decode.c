#include "connectors/mysql/decode.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/row_values.h"
#include "core/base/utf8.h"
#include "core/data/value.h"

/* Bytes of a geometry before its WKB: the SRID. */
#define DECODE_SRID 4

static int decode_out_of_range(int64_t value, struct error *err)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, value);
	return error_set(err, ERROR_DATA,
			 "the number %s does not fit: the column was "
			 "altered since it was looked at",
			 row_value(text));
}

MYSQL_SOURCE_DECODE(mysql_source_decode_integer)
{
	int64_t value = cell->integer;
	int32_t small = (int32_t)value;
	int16_t tiny = (int16_t)value;

	(void)zero;
	switch (v->width) {
	case sizeof(tiny):
		if (tiny != value)
			return decode_out_of_range(value, err);
		vector_set_fixed(v, row, &tiny);
		break;
	case sizeof(small):
		if (small != value)
			return decode_out_of_range(value, err);
		vector_set_fixed(v, row, &small);
		break;
	default:
		vector_set_fixed(v, row, &value);
	}
	return 0;
}

MYSQL_SOURCE_DECODE(mysql_source_decode_float)
{
	(void)zero;
	(void)err;
	vector_set_fixed(v, row, &cell->float32);
	return 0;
}

MYSQL_SOURCE_DECODE(mysql_source_decode_double)
{
	(void)zero;
	(void)err;
	vector_set_fixed(v, row, &cell->float64);
	return 0;
}

/* ZEROFILL pads with zeros. */
MYSQL_SOURCE_DECODE(mysql_source_decode_decimal)
{
	const uint8_t *p = cell->bytes;
	size_t n = cell->n;

	(void)zero;
	while (n > 1 && p[0] == '0' && p[1] != '.') {
		p++;
		n--;
	}
	return value_set_decimal(v, row, p, n, err);
}

MYSQL_SOURCE_DECODE(mysql_source_decode_bits)
{
	uint64_t value = 0;

	(void)zero;
	if (cell->n > sizeof(value))
		return error_set(err, ERROR_DATA, "%zu bytes of bits", cell->n);
	for (size_t i = 0; i < cell->n; i++)
		value = value << 8 | cell->bytes[i];
	if (v->kind == TYPE_INT64 && value > INT64_MAX)
		return decode_out_of_range((int64_t)value, err);
	vector_set_fixed(v, row, &value);
	return 0;
}

/* The client library hands out bytes as they came over the wire. No server has
 * such times. */
static int decode_check_clock(const struct mysql_client_time *t, uint64_t hours,
			      uint64_t most_hours, struct error *err)
{
	if (hours <= most_hours && t->minute <= 59 && t->second <= 59 &&
	    t->microsecond < US_PER_SECOND)
		return 0;
	return error_set(err, ERROR_DATA,
			 "the server sent a time that no column can hold");
}

static int decode_check_day(const struct mysql_client_time *t,
			    struct error *err)
{
	if (t->year <= 9999 && t->month <= 12 && t->day <= 31)
		return decode_check_clock(t, t->hour, 23, err);
	return error_set(err, ERROR_DATA,
			 "the server sent a date that no column can hold");
}

bool mysql_source_is_day(const struct mysql_client_time *t)
{
	int64_t year;
	unsigned month, day;

	if (!t->month || !t->day)
		return false;
	if (t->day <= 28)
		return true;
	civil_from_days(civil_to_days(t->year, t->month, t->day), &year, &month,
			&day);
	return day == t->day;
}

/* No day of any calendar? 1: NULL was stored. */
static int decode_zero_date(struct vector *v, size_t row,
			    const struct mysql_client_time *t,
			    enum zero_dates zero, struct error *err)
{
	bool is_zero = !t->month || !t->day;
	char date[64], clock[40] = "";
	int rc = decode_check_day(t, err);

	if (rc)
		return rc;
	if (mysql_source_is_day(t))
		return 0;
	if (zero == ZERO_DATES_NULL) {
		vector_set_null(v, row);
		return 1;
	}
	if (v->kind != TYPE_DATE)
		snprintf(clock, sizeof(clock), " %02u:%02u:%02u", t->hour,
			 t->minute, t->second);
	snprintf(date, sizeof(date), "%04u-%02u-%02u%s", t->year, t->month,
		 t->day, clock);
	return error_set(err, ERROR_DATA,
			 "the %sdate %s is no date elsewhere "
			 "(zero_dates: null under the pipeline's source, or "
			 "copy --zero-dates null, reads such dates as NULL)",
			 is_zero ? "zero " : "",
			 is_zero ? date : row_value(date));
}

MYSQL_SOURCE_DECODE(mysql_source_decode_date)
{
	const struct mysql_client_time *t = &cell->time;
	int rc = decode_zero_date(v, row, t, zero, err);
	int32_t days;

	if (rc)
		return rc > 0 ? 0 : rc;
	days = (int32_t)civil_to_days(t->year, t->month, t->day);
	vector_set_fixed(v, row, &days);
	return 0;
}

static int64_t decode_clock_us(const struct mysql_client_time *t)
{
	return ((int64_t)t->hour * 3600 + t->minute * 60 + t->second) *
		       US_PER_SECOND +
	       t->microsecond;
}

MYSQL_SOURCE_DECODE(mysql_source_decode_datetime)
{
	const struct mysql_client_time *t = &cell->time;
	int rc = decode_zero_date(v, row, t, zero, err);
	int64_t us;

	if (rc)
		return rc > 0 ? 0 : rc;
	us = civil_to_days(t->year, t->month, t->day) * US_PER_DAY +
	     decode_clock_us(t);
	vector_set_fixed(v, row, &us);
	return 0;
}

/* The library may hand hours beyond 24 out as days. */
MYSQL_SOURCE_DECODE(mysql_source_decode_time)
{
	const struct mysql_client_time *t = &cell->time;
	struct interval_value value = { .microseconds = 0 };
	int rc = decode_check_clock(t, (uint64_t)t->day * 24 + t->hour, 838,
				    err);

	(void)zero;
	if (rc)
		return rc;
	value.microseconds = decode_clock_us(t) + t->day * US_PER_DAY;
	if (t->negative)
		value.microseconds = -value.microseconds;
	vector_set_fixed(v, row, &value);
	return 0;
}

MYSQL_SOURCE_DECODE(mysql_source_decode_text)
{
	const char *text = (const char *)cell->bytes;

	(void)zero;
	for (size_t at = 0; at < cell->n;) {
		size_t one =
			(unsigned char)text[at] < 0x80
				? 1
				: utf8_char_length(text + at, cell->n - at);
		if (!one)
			return error_set(err, ERROR_DATA,
					 "bytes that are not valid in the "
					 "column's character set (at byte %zu)",
					 at + 1);
		at += one;
	}
	return vector_set_bytes(v, row, cell->bytes, cell->n, err);
}

MYSQL_SOURCE_DECODE(mysql_source_decode_bytes)
{
	(void)zero;
	return vector_set_bytes(v, row, cell->bytes, cell->n, err);
}

MYSQL_SOURCE_DECODE(mysql_source_decode_geometry)
{
	(void)zero;
	if (cell->n < DECODE_SRID)
		return error_set(err, ERROR_DATA, "a geometry of %zu bytes",
				 cell->n);
	return vector_set_bytes(v, row, cell->bytes + DECODE_SRID,
				cell->n - DECODE_SRID, err);
}

static int decode_hex(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

MYSQL_SOURCE_DECODE(mysql_source_decode_uuid)
{
	uint8_t bytes[16];
	size_t digits = 0;

	(void)zero;
	for (size_t i = 0; i < cell->n && digits < 32; i++) {
		int digit = decode_hex((char)cell->bytes[i]);
		if (digit < 0)
			continue;
		bytes[digits / 2] =
			(uint8_t)(digits % 2 ? bytes[digits / 2] << 4 | digit
					     : digit);
		digits++;
	}
	if (digits != 32)
		return error_set(err, ERROR_DATA, "a uuid of %zu digits",
				 digits);
	vector_set_fixed(v, row, bytes);
	return 0;
}
