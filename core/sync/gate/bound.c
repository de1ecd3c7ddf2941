#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/data/value.h"
#include "core/sync/gate/rule.h"

typedef bool (*gate_beyond)(const struct gate_rule *rule,
			    const struct vector *v, size_t row);

/* One loop for each type: `beyond` is known where this is expanded. */
static inline __attribute__((always_inline)) int
bound_scan(const struct gate_rule *rule, const struct batch *b,
	   struct gate_found *found, gate_beyond beyond)
{
	const struct vector *v = &b->vectors[rule->column];

	for (size_t row = 0; row < b->n_rows; row++) {
		if (v->n_nulls && vector_is_null(v, row))
			continue;
		if (beyond(rule, v, row))
			gate_note(found, row);
	}
	return 0;
}

static bool bound_is_max(const struct gate_rule *rule)
{
	return rule->kind == GATE_MAX;
}

static bool bound_beyond_i64(const struct gate_rule *rule, int64_t x)
{
	return bound_is_max(rule) ? x > rule->integer : x < rule->integer;
}

static bool beyond_int16(const struct gate_rule *rule, const struct vector *v,
			 size_t row)
{
	int16_t x;

	memcpy(&x, v->data + row * sizeof(x), sizeof(x));
	return bound_beyond_i64(rule, x);
}

static bool beyond_int32(const struct gate_rule *rule, const struct vector *v,
			 size_t row)
{
	return bound_beyond_i64(rule, vector_i32(v, row));
}

static bool beyond_int64(const struct gate_rule *rule, const struct vector *v,
			 size_t row)
{
	return bound_beyond_i64(rule, vector_i64(v, row));
}

static bool beyond_uint64(const struct gate_rule *rule, const struct vector *v,
			  size_t row)
{
	uint64_t x = (uint64_t)vector_i64(v, row);

	return bound_is_max(rule) ? x > rule->natural : x < rule->natural;
}

/* So written that NaN is beyond either bound. */
static bool bound_beyond_real(const struct gate_rule *rule, double x)
{
	return bound_is_max(rule) ? !(x <= rule->real) : !(x >= rule->real);
}

static bool beyond_float32(const struct gate_rule *rule, const struct vector *v,
			   size_t row)
{
	float x;

	memcpy(&x, v->data + row * sizeof(x), sizeof(x));
	return bound_beyond_real(rule, (double)x);
}

static bool beyond_float64(const struct gate_rule *rule, const struct vector *v,
			   size_t row)
{
	double x;

	memcpy(&x, v->data + row * sizeof(x), sizeof(x));
	return bound_beyond_real(rule, x);
}

static bool beyond_decimal(const struct gate_rule *rule, const struct vector *v,
			   size_t row)
{
	struct decimal x;
	size_t n;
	const char *text = (const char *)vector_bytes(v, row, &n);
	int order;

	if (!decimal_parse(&x, text, n))
		return true; /* NaN */
	order = decimal_compare(&x, &rule->decimal);
	return bound_is_max(rule) ? order > 0 : order < 0;
}

static bool beyond_text(const struct gate_rule *rule, const struct vector *v,
			size_t row)
{
	size_t n, shared;
	const uint8_t *text = vector_bytes(v, row, &n);
	int order;

	shared = n < rule->text_size ? n : rule->text_size;
	order = shared ? memcmp(text, rule->text, shared) : 0;
	if (!order)
		order = n < rule->text_size ? -1 : n > rule->text_size;
	return bound_is_max(rule) ? order > 0 : order < 0;
}

static int bound_scan_any(struct gate_rule *rule, const struct batch *b,
			  struct gate_found *found, struct error *err)
{
	(void)err;
	switch (b->vectors[rule->column].kind) {
	case TYPE_INT16:
		return bound_scan(rule, b, found, beyond_int16);
	case TYPE_INT32:
	case TYPE_DATE:
		return bound_scan(rule, b, found, beyond_int32);
	case TYPE_UINT64:
		return bound_scan(rule, b, found, beyond_uint64);
	case TYPE_FLOAT32:
		return bound_scan(rule, b, found, beyond_float32);
	case TYPE_FLOAT64:
		return bound_scan(rule, b, found, beyond_float64);
	case TYPE_DECIMAL:
		return bound_scan(rule, b, found, beyond_decimal);
	case TYPE_TEXT:
		return bound_scan(rule, b, found, beyond_text);
	default:
		return bound_scan(rule, b, found, beyond_int64);
	}
}

static bool bound_integer(struct gate_rule *rule, int64_t least, int64_t most)
{
	long long value;
	char *end;

	if (strspn(rule->text, "+-0123456789") != strlen(rule->text))
		return false;
	errno = 0;
	value = strtoll(rule->text, &end, 10);
	rule->integer = value;
	return end != rule->text && !*end && !errno && value >= least &&
	       value <= most;
}

static bool bound_int16(struct gate_rule *rule)
{
	return bound_integer(rule, INT16_MIN, INT16_MAX);
}

static bool bound_int32(struct gate_rule *rule)
{
	return bound_integer(rule, INT32_MIN, INT32_MAX);
}

static bool bound_int64(struct gate_rule *rule)
{
	return bound_integer(rule, INT64_MIN, INT64_MAX);
}

static bool bound_uint64(struct gate_rule *rule)
{
	char *end;

	if (strspn(rule->text, "0123456789") != strlen(rule->text))
		return false;
	errno = 0;
	rule->natural = strtoull(rule->text, &end, 10);
	return end != rule->text && !errno;
}

/* Rounded as a value of the column would be: 0.1 is within a bound of 0.1. */
static bool bound_real(struct gate_rule *rule, bool single)
{
	const char *text = rule->text;
	char *end;

	text += *text == '-' || *text == '+';
	if (strcmp(text, "Infinity") != 0 &&
	    strspn(text, "0123456789.eE+-") != strlen(text))
		return false;
	rule->real = single ? (double)strtof(rule->text, &end)
			    : strtod(rule->text, &end);
	return end != rule->text && !*end;
}

static bool bound_float32(struct gate_rule *rule)
{
	return bound_real(rule, true);
}

static bool bound_float64(struct gate_rule *rule)
{
	return bound_real(rule, false);
}

static bool bound_decimal(struct gate_rule *rule)
{
	return decimal_parse(&rule->decimal, rule->text, strlen(rule->text));
}

static bool bound_text(struct gate_rule *rule)
{
	rule->text_size = strlen(rule->text);
	return true;
}

static bool bound_date(struct gate_rule *rule)
{
	int32_t days;
	bool good = value_parse_date(rule->text, &days);

	rule->integer = good ? days : 0;
	return good;
}

static bool bound_time(struct gate_rule *rule)
{
	struct strbuf text = STRBUF_INIT;
	bool good;

	strbuf_addf(&text, "1970-01-01 %s", rule->text);
	good = strlen(rule->text) == strspn(rule->text, "0123456789:.") &&
	       value_parse_timestamp(text.data, &rule->integer);
	strbuf_release(&text);
	return good;
}

static bool bound_timestamptz(struct gate_rule *rule)
{
	int32_t days;

	if (value_parse_timestamp(rule->text, &rule->integer))
		return true;
	if (!value_parse_date(rule->text, &days))
		return false;
	return !__builtin_mul_overflow((int64_t)days, US_PER_DAY,
				       &rule->integer);
}

/* A wall clock has no zone: a bound with one means an instant. */
static bool bound_timestamp(struct gate_rule *rule)
{
	const char *time = strchr(rule->text, ':');

	return bound_timestamptz(rule) && !(time && strpbrk(time, "Z+-"));
}

static const struct {
	bool (*set)(struct gate_rule *rule);
	const char *takes;
} bounds[TYPE_KINDS] = {
	[TYPE_INT16] = { bound_int16, "an integer from -32768 to 32767" },
	[TYPE_INT32] = { bound_int32,
			 "an integer from -2147483648 to 2147483647" },
	[TYPE_INT64] = { bound_int64, "an integer from -9223372036854775808 to "
				      "9223372036854775807" },
	[TYPE_UINT64] = { bound_uint64,
			  "an integer from 0 to 18446744073709551615" },
	[TYPE_FLOAT32] = { bound_float32, "a number" },
	[TYPE_FLOAT64] = { bound_float64, "a number" },
	[TYPE_DECIMAL] = { bound_decimal,
			   "a number without exponent, such as -12.50" },
	[TYPE_TEXT] = { bound_text, "a text" },
	[TYPE_DATE] = { bound_date, "a date such as 2026-01-31" },
	[TYPE_TIME] = { bound_time, "a time such as 12:30:00" },
	[TYPE_TIMESTAMP] = { bound_timestamp,
			     "a time without zone, such as \"2026-01-31 "
			     "12:30:00\", or a date" },
	[TYPE_TIMESTAMPTZ] = { bound_timestamptz,
			       "a time such as \"2026-01-31 12:30:00+01:00\" "
			       "(UTC if it has no zone), or a date" },
};

const char *gate_bound_set(struct gate_rule *rule, const struct type *type)
{
	if (!bounds[type->kind].set)
		return "no bound: it has no order";
	rule->scan = bound_scan_any;
	return bounds[type->kind].set(rule) ? NULL : bounds[type->kind].takes;
}
