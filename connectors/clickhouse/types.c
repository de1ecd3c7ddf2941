#include "connectors/clickhouse/types.h"

#include <stdlib.h>
#include <string.h>

#include "clients/clickhouse.h"
#include "clients/clickhouse_decimal.h"
#include "core/base/alloc.h"

#define COMMENT_BEGINS "tidemark: "
/* As ClickHouse has them. */
#define DECIMAL_MOST 76
#define FIXED_MOST   0xffffff
#define TICKS_MOST   9

static const struct {
	const char *name; /* without what stands in parentheses */
	enum type_kind kind;
	enum clickhouse_source_wire wire;
	size_t width;
	int digits; /* precision of a number, of a time */
} types_table[] = {
	{ "Bool", TYPE_BOOL, WIRE_BOOL, 1, 0 },
	{ "Int8", TYPE_INT16, WIRE_SIGNED, 1, 0 },
	{ "Int16", TYPE_INT16, WIRE_SIGNED, 2, 0 },
	{ "Int32", TYPE_INT32, WIRE_SIGNED, 4, 0 },
	{ "Int64", TYPE_INT64, WIRE_SIGNED, 8, 0 },
	{ "Int128", TYPE_DECIMAL, WIRE_SIGNED, 16, 39 },
	{ "Int256", TYPE_DECIMAL, WIRE_SIGNED, 32, 77 },
	{ "UInt8", TYPE_INT16, WIRE_UNSIGNED, 1, 0 },
	{ "UInt16", TYPE_INT32, WIRE_UNSIGNED, 2, 0 },
	{ "UInt32", TYPE_INT64, WIRE_UNSIGNED, 4, 0 },
	{ "UInt64", TYPE_UINT64, WIRE_UNSIGNED, 8, 0 },
	{ "UInt128", TYPE_DECIMAL, WIRE_UNSIGNED, 16, 39 },
	{ "UInt256", TYPE_DECIMAL, WIRE_UNSIGNED, 32, 78 },
	{ "Float32", TYPE_FLOAT32, WIRE_FLOAT, 4, 0 },
	{ "Float64", TYPE_FLOAT64, WIRE_FLOAT, 8, 0 },
	{ "Decimal", TYPE_DECIMAL, WIRE_DECIMAL, 0, 0 },
	{ "String", TYPE_TEXT, WIRE_STRING, 0, 0 },
	{ "FixedString", TYPE_TEXT, WIRE_FIXED, 0, 0 },
	{ "Date", TYPE_DATE, WIRE_DATE, 2, 0 },
	{ "Date32", TYPE_DATE, WIRE_DATE, 4, 0 },
	{ "DateTime", TYPE_TIMESTAMPTZ, WIRE_SECONDS, 4, 0 },
	{ "DateTime64", TYPE_TIMESTAMPTZ, WIRE_TICKS, 8, 0 },
	{ "UUID", TYPE_UUID, WIRE_UUID, 16, 0 },
	{ "Enum8", TYPE_TEXT, WIRE_PRINTED, 0, 0 },
	{ "Enum16", TYPE_TEXT, WIRE_PRINTED, 0, 0 },
	{ "JSON", TYPE_JSON, WIRE_PRINTED, 0, 0 },
};

/* Read the number behind the parenthesis or comma at `*at`, and move behind it.
 * -1: there is none from 0 to `most`. */
static int types_number(const char **at, char before, long most)
{
	char *end;
	long n;

	if (!*at || **at != before)
		return -1;
	n = strtol(*at + 1, &end, 10);
	if (end == *at + 1 || n < 0 || n > most)
		return -1;
	*at = end;
	return (int)n;
}

static bool types_decimal(const char *open, struct type *out,
			  struct clickhouse_source_cell *cell)
{
	int precision = types_number(&open, '(', DECIMAL_MOST);
	int scale = types_number(&open, ',', precision);

	if (precision < 1 || scale < 0)
		return false;
	out->precision = precision;
	out->scale = cell->scale = scale;
	cell->width = clickhouse_decimal_width(precision);
	return true;
}

/* False: no such type is known, whatever its name. */
static bool types_digits(const char *plain, struct type *out,
			 struct clickhouse_source_cell *cell)
{
	const char *open = strchr(plain, '(');
	int n;

	switch (cell->wire) {
	case WIRE_DECIMAL:
		return types_decimal(open, out, cell);
	case WIRE_FIXED:
		n = types_number(&open, '(', FIXED_MOST);
		cell->width = n > 0 ? (size_t)n : 0;
		return n > 0;
	case WIRE_TICKS:
		n = open ? types_number(&open, '(', TICKS_MOST) : 3;
		out->digits = cell->scale = n;
		return n >= 0;
	default:
		return true;
	}
}

/* The destination has noted in the comment which type a String stands for, or
 * which kind of moment it is. */
static void types_note(const char *comment, struct type *out)
{
	const char *name = comment + strlen(COMMENT_BEGINS);

	if (strncmp(comment, COMMENT_BEGINS, strlen(COMMENT_BEGINS)) != 0)
		return;
	if (out->kind == TYPE_TIMESTAMPTZ && !strcmp(name, "timestamp"))
		out->kind = TYPE_TIMESTAMP;
	if (out->kind != TYPE_TEXT)
		return;
	for (int kind = 0; kind < TYPE_KINDS; kind++)
		if (!strcmp(type_kind_name((enum type_kind)kind), name))
			out->kind = (enum type_kind)kind;
	if (out->kind == TYPE_TIME)
		out->digits = 6;
}

void clickhouse_source_type_of(const char *declared, const char *comment,
			       struct type *out,
			       struct clickhouse_source_cell *cell)
{
	bool nullable;
	char *plain = clickhouse_plain_type(declared, &nullable);
	size_t n = strcspn(plain, "(");

	*out = (struct type){ .kind = TYPE_NATIVE,
			      .native = xstrdup(declared) };
	*cell = (struct clickhouse_source_cell){ .wire = WIRE_PRINTED,
						 .nullable = nullable };
	for (size_t i = 0; i < ARRAY_SIZE(types_table); i++) {
		if (strlen(types_table[i].name) != n ||
		    strncmp(types_table[i].name, plain, n) != 0)
			continue;
		out->kind = types_table[i].kind;
		out->precision = types_table[i].digits;
		cell->wire = types_table[i].wire;
		cell->width = types_table[i].width;
	}
	/* A moment that microseconds cannot tell travels as its text. */
	if (!types_digits(plain, out, cell) ||
	    (cell->wire == WIRE_TICKS && cell->scale > 6)) {
		out->kind = TYPE_NATIVE;
		out->digits = 0;
		cell->wire = WIRE_PRINTED;
	}
	if (comment)
		types_note(comment, out);
	free(plain);
}

bool clickhouse_source_is_ordered(const struct type *type,
				  const struct clickhouse_source_cell *cell)
{
	if (cell->wire == WIRE_STRING || cell->wire == WIRE_FIXED)
		return type->kind == TYPE_TEXT || type->kind == TYPE_BYTES;
	return type->kind != TYPE_NATIVE && type->kind != TYPE_JSON;
}
