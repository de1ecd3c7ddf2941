/*
 * Single values as text: for positions, keys in error texts and JSON, and
 * destinations without a binary form. PostgreSQL prints the same text under
 * DateStyle ISO, TimeZone UTC, bytea_output hex, IntervalStyle postgres, and
 * parses it back to the same value.
 */
#ifndef TIDEMARK_CORE_DATA_VALUE_H
#define TIDEMARK_CORE_DATA_VALUE_H

#include <jansson.h>

#include "core/base/strbuf.h"
#include "core/data/batch.h"

/* Append the text of a present value. A float is the shortest text that
 * round-trips. Timestamps are "2026-01-31 12:00:00.123456" (tz: "+00" behind),
 * with years BC as Postgres writes them. Bytes are "\x6869", bool
 * "true"/"false". */
void value_print(struct strbuf *sb, const struct vector *v, size_t row);

void value_print_date(struct strbuf *sb, int32_t days);
void value_print_time(struct strbuf *sb, int64_t us);
/* `zone` adds "+00". */
void value_print_timestamp(struct strbuf *sb, int64_t us, bool zone);
void value_print_interval(struct strbuf *sb, const struct interval_value *v);
void value_print_uuid(struct strbuf *sb, const uint8_t bytes[16]);
void value_print_float64(struct strbuf *sb, double x);
void value_print_float32(struct strbuf *sb, float x);

/* Inverse of value_print_timestamp, also of "T" between, "Z" or "+hh[:mm]"
 * behind; false on anything else. */
bool value_parse_timestamp(const char *text, int64_t *out_us);
bool value_parse_date(const char *text, int32_t *out_days);
/* A timestamp, or the day that a date begins. INT64_MIN and INT64_MAX also
 * stand for times beyond what microseconds can tell. */
bool value_parse_instant(const char *text, int64_t *out_us);

/* Inverse of value_print(), into `row` of a vector that has room for it. False
 * for a text that is no value of the vector's kind. */
bool value_set(struct vector *v, size_t row, const char *text);

/* A number as text, stored as it is. DATA if it is none, since a server's
 * answer may hold anything and no later code looks at it again. */
int value_set_decimal(struct vector *v, size_t row, const void *text, size_t n,
		      struct error *err);

/* {"id": 7, "name": "x"}: the key of a row. Numbers that JSON and double hold
 * exactly are numbers, other values text, NULL null. New reference. */
json_t *value_key_json(const struct batch *b, size_t row);
/* All columns of a row. A longer text is cut to `most` bytes, rounded down to a
 * character (SIZE_MAX: never). */
json_t *value_row_json(const struct batch *b, size_t row, size_t most);
/* The same for messages: id=7, name=x (long values cut). */
void value_print_key(struct strbuf *sb, const struct batch *b, size_t row);

/* Civil calendar, proleptic Gregorian; days since 1970-01-01. */
int64_t civil_to_days(int64_t year, unsigned month, unsigned day);
void civil_from_days(int64_t days, int64_t *year, unsigned *month,
		     unsigned *day);

#endif
