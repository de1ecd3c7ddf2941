#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"
#include "destinations/duckdb/internal.h"

#define DECIMAL_MAX 38

struct type_row {
	const char *text;
	enum duck_kind kind;
	enum mapping mapping;
};

/* One for each type that travels; DECIMAL and JSON have more to say. */
static const struct type_row type_rows[TYPE_KINDS] = {
	[TYPE_BOOL] = { "BOOLEAN", DUCK_BOOL, MAPPING_EXACT },
	[TYPE_INT16] = { "SMALLINT", DUCK_INT16, MAPPING_EXACT },
	[TYPE_INT32] = { "INTEGER", DUCK_INT32, MAPPING_EXACT },
	[TYPE_INT64] = { "BIGINT", DUCK_INT64, MAPPING_EXACT },
	[TYPE_UINT64] = { "UBIGINT", DUCK_UINT64, MAPPING_EXACT },
	[TYPE_FLOAT32] = { "FLOAT", DUCK_FLOAT32, MAPPING_EXACT },
	[TYPE_FLOAT64] = { "DOUBLE", DUCK_FLOAT64, MAPPING_EXACT },
	[TYPE_DECIMAL] = { "VARCHAR", DUCK_TEXT, MAPPING_WIDENED },
	[TYPE_TEXT] = { "VARCHAR", DUCK_TEXT, MAPPING_EXACT },
	[TYPE_BYTES] = { "BLOB", DUCK_BYTES, MAPPING_EXACT },
	[TYPE_DATE] = { "DATE", DUCK_DATE, MAPPING_EXACT },
	[TYPE_TIME] = { "TIME", DUCK_TIME, MAPPING_EXACT },
	[TYPE_TIMESTAMP] = { "TIMESTAMP", DUCK_TIMESTAMP, MAPPING_EXACT },
	[TYPE_TIMESTAMPTZ] = { "TIMESTAMP WITH TIME ZONE", DUCK_TIMESTAMPTZ,
			       MAPPING_EXACT },
	[TYPE_INTERVAL] = { "INTERVAL", DUCK_INTERVAL, MAPPING_EXACT },
	[TYPE_UUID] = { "UUID", DUCK_UUID, MAPPING_EXACT },
	[TYPE_JSON] = { "VARCHAR", DUCK_TEXT, MAPPING_WIDENED },
	[TYPE_NATIVE] = { "VARCHAR", DUCK_TEXT, MAPPING_WIDENED },
};

/* Digits of the whole part that each integer type holds surely, and that it
 * may need. */
struct type_integer {
	const char *text;
	int holds, needs;
};

static const struct type_integer type_integers[] = {
	{ "TINYINT", 2, 3 },  { "SMALLINT", 4, 5 },  { "INTEGER", 9, 10 },
	{ "BIGINT", 18, 19 }, { "HUGEINT", 38, 39 },
};

/* PostgreSQL allows scales below 0 and above the precision; DuckDB does
 * not. False: no DECIMAL holds it. */
static bool type_decimal(const struct type *source, int *precision, int *scale)
{
	*precision = source->precision;
	*scale = source->scale;
	if (source->precision <= 0)
		return false;
	if (*scale < 0) {
		*precision -= *scale;
		*scale = 0;
	}
	if (*scale > *precision)
		*precision = *scale;
	return *precision <= DECIMAL_MAX;
}

void duckdb_target_type_of(struct duckdb_type *out, const struct type *source,
			   bool is_json)
{
	const struct type_row *row = &type_rows[source->kind];
	int precision, scale;

	memset(out, 0, sizeof(*out));
	out->fill.kind = row->kind;
	out->mapping = row->mapping;
	snprintf(out->text, sizeof(out->text), "%s", row->text);
	if (source->kind == TYPE_JSON && is_json) {
		snprintf(out->text, sizeof(out->text), "JSON");
		out->mapping = MAPPING_EXACT;
	}
	if (source->kind == TYPE_DECIMAL &&
	    type_decimal(source, &precision, &scale)) {
		snprintf(out->text, sizeof(out->text), "DECIMAL(%d,%d)",
			 precision, scale);
		out->fill.kind = DUCK_DECIMAL;
		out->fill.precision = (uint8_t)precision;
		out->fill.scale = (uint8_t)scale;
		out->mapping = MAPPING_EXACT;
	}
}

static const struct type_integer *type_find_integer(const char *text)
{
	for (size_t i = 0; i < ARRAY_SIZE(type_integers); i++)
		if (!strcasecmp(text, type_integers[i].text))
			return &type_integers[i];
	return NULL;
}

static bool type_parse_decimal(const char *text, int *precision, int *scale)
{
	char *end;

	if (strncmp(text, "DECIMAL(", 8) != 0)
		return false;
	*precision = (int)strtol(text + 8, &end, 10);
	if (*end != ',')
		return false;
	*scale = (int)strtol(end + 1, &end, 10);
	return !strcmp(end, ")");
}

/* Whole digits and scale that the values of a number type may need. */
static bool type_needs(const char *text, int *whole, int *scale)
{
	const struct type_integer *i = type_find_integer(text);
	int precision;

	*scale = 0;
	if (i)
		*whole = i->needs;
	else if (!strcmp(text, "UBIGINT"))
		*whole = 20;
	else if (type_parse_decimal(text, &precision, scale))
		*whole = precision - *scale;
	else
		return false;
	return true;
}

static bool type_number_fits(const char *wanted, const char *actual)
{
	const struct type_integer *from = type_find_integer(wanted);
	const struct type_integer *to = type_find_integer(actual);
	int whole, scale, to_precision, to_scale;

	if (!type_needs(wanted, &whole, &scale))
		return !strcmp(wanted, "FLOAT") && !strcmp(actual, "DOUBLE");
	if (from && to)
		return to->holds >= from->holds;
	if (to)
		return scale == 0 && to->holds >= whole;
	if (!strcmp(actual, "DOUBLE"))
		return scale == 0 && whole <= 10;
	return type_parse_decimal(actual, &to_precision, &to_scale) &&
	       to_scale >= scale && to_precision - to_scale >= whole;
}

/* The smallest type that holds both, for two numbers. */
static bool type_grow_number(const char *wanted, const char *actual,
			     char grown[DUCKDB_TYPE_SIZE])
{
	int a, b, scale_a, scale_b;

	if (type_number_fits(actual, wanted)) {
		snprintf(grown, DUCKDB_TYPE_SIZE, "%s", wanted);
		return true;
	}
	if (!type_needs(wanted, &a, &scale_a) ||
	    !type_needs(actual, &b, &scale_b))
		return false;
	a = a > b ? a : b;
	scale_a = scale_a > scale_b ? scale_a : scale_b;
	if (a + scale_a > DECIMAL_MAX)
		return false;
	snprintf(grown, DUCKDB_TYPE_SIZE, "DECIMAL(%d,%d)", a + scale_a,
		 scale_a);
	return true;
}

/* Does its cast to VARCHAR print the value itself? */
static bool type_prints(const char *text)
{
	return strcmp(text, "BLOB") != 0;
}

enum fit duckdb_target_type_fit(const struct duckdb_type *wanted,
				const char *actual,
				char grown[DUCKDB_TYPE_SIZE])
{
	if (!strcmp(wanted->text, actual))
		return FIT_EXACT;
	if (type_prints(wanted->text) && !strcmp(actual, "VARCHAR"))
		return FIT_WIDER;
	if (type_number_fits(wanted->text, actual))
		return FIT_WIDER;
	if (type_grow_number(wanted->text, actual, grown))
		return FIT_GROWS;
	if (strcmp(wanted->text, "VARCHAR") != 0 || !type_prints(actual))
		return FIT_NARROW;
	snprintf(grown, DUCKDB_TYPE_SIZE, "VARCHAR");
	return FIT_GROWS;
}

enum duckdb_target_compare duckdb_target_type_compare(const char *actual)
{
	if (!strcmp(actual, "VARCHAR"))
		return COMPARE_BYTES;
	if (!strcmp(actual, "INTERVAL"))
		return COMPARE_TEXT;
	return COMPARE_EQUAL;
}
