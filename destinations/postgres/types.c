#include "destinations/postgres/types.h"

#include <stdlib.h>

#include "core/base/alloc.h"

/* Offset that the server adds to lengths and precisions: VARHDRSZ. */
#define MODIFIER_HEADER 4
#define NUMERIC_LIMIT	1000

struct kind_type {
	const char *name;
	enum type_oid oid;
};

static const struct kind_type kind_types[TYPE_KINDS] = {
	[TYPE_BOOL] = { "boolean", OID_BOOL },
	[TYPE_INT16] = { "smallint", OID_INT2 },
	[TYPE_INT32] = { "integer", OID_INT4 },
	[TYPE_INT64] = { "bigint", OID_INT8 },
	[TYPE_UINT64] = { "numeric", OID_NUMERIC },
	[TYPE_FLOAT32] = { "real", OID_FLOAT4 },
	[TYPE_FLOAT64] = { "double precision", OID_FLOAT8 },
	[TYPE_DECIMAL] = { "numeric", OID_NUMERIC },
	[TYPE_TEXT] = { "text", OID_TEXT },
	[TYPE_BYTES] = { "bytea", OID_BYTEA },
	[TYPE_DATE] = { "date", OID_DATE },
	[TYPE_TIME] = { "time without time zone", OID_TIME },
	[TYPE_TIMESTAMP] = { "timestamp without time zone", OID_TIMESTAMP },
	[TYPE_TIMESTAMPTZ] = { "timestamp with time zone", OID_TIMESTAMPTZ },
	[TYPE_INTERVAL] = { "interval", OID_INTERVAL },
	[TYPE_UUID] = { "uuid", OID_UUID },
	[TYPE_JSON] = { "json", OID_JSON },
	[TYPE_NATIVE] = { "text", OID_TEXT },
};

static int32_t numeric_modifier(int precision, int scale)
{
	return (int32_t)(((uint32_t)precision << 16) |
			 ((uint32_t)scale & 0x7ff)) +
	       MODIFIER_HEADER;
}

static int numeric_precision(int32_t modifier)
{
	return (modifier - MODIFIER_HEADER) >> 16 & 0xffff;
}

/* Eleven bits with a sign since 15; older servers only write positive ones. */
static int numeric_scale(int32_t modifier)
{
	return (((modifier - MODIFIER_HEADER) & 0x7ff) ^ 1024) - 1024;
}

static void type_set_numeric(struct sql_type *out, int precision, int scale)
{
	free(out->name);
	out->name = xstrfmt("numeric(%d,%d)", precision, scale);
	out->modifier = numeric_modifier(precision, scale);
}

enum mapping postgres_type_by_kind(const struct type *type,
				   struct sql_type *out)
{
	const struct kind_type *k = &kind_types[type->kind];

	*out = (struct sql_type){ .name = xstrdup(k->name),
				  .oid = k->oid,
				  .base = k->oid,
				  .modifier = -1,
				  .kind = 'b' };
	if (type->kind == TYPE_UINT64) {
		type_set_numeric(out, 20, 0);
		return MAPPING_WIDENED;
	}
	if (type->kind == TYPE_DECIMAL && type->precision > 0 &&
	    type->precision <= NUMERIC_LIMIT && type->scale >= 0)
		type_set_numeric(out, type->precision, type->scale);
	if (type->kind == TYPE_TEXT && type->precision > 0) {
		free(out->name);
		out->name = xstrfmt("character varying(%d)", type->precision);
		out->oid = out->base = OID_VARCHAR;
		out->modifier = type->precision + MODIFIER_HEADER;
	}
	return type->kind == TYPE_NATIVE ? MAPPING_WIDENED : MAPPING_EXACT;
}

/* Decimal digits that an integer type may need; 0: not an integer type. */
static int type_integer_digits(uint32_t oid)
{
	switch (oid) {
	case OID_INT2:
		return 5;
	case OID_INT4:
		return 10;
	case OID_INT8:
		return 19;
	default:
		return 0;
	}
}

static enum fit fit_grows(const struct sql_type *wanted, char **grown)
{
	*grown = xstrdup(wanted->name);
	return FIT_GROWS;
}

static enum fit fit_numeric(const struct sql_type *wanted,
			    const struct sql_type *actual, char **grown)
{
	int whole, scale, actual_scale, actual_whole;

	if (wanted->modifier < 0)
		return fit_grows(wanted, grown);
	scale = numeric_scale(wanted->modifier);
	whole = numeric_precision(wanted->modifier) - scale;
	actual_scale = numeric_scale(actual->modifier);
	actual_whole = numeric_precision(actual->modifier) - actual_scale;
	if (actual_scale >= scale && actual_whole >= whole)
		return FIT_WIDER;
	if (actual_scale > scale)
		scale = actual_scale;
	if (actual_whole > whole)
		whole = actual_whole;
	*grown = xstrfmt("numeric(%d,%d)", whole + scale, scale);
	return FIT_GROWS;
}

/* Fraction digits; none given means six. */
static int type_fraction(int32_t modifier)
{
	return modifier < 0 ? 6 : modifier;
}

/* The same type with another modifier. */
static enum fit fit_modifier(const struct sql_type *wanted,
			     const struct sql_type *actual, char **grown)
{
	if (wanted->oid == actual->oid && wanted->modifier == actual->modifier)
		return FIT_EXACT;
	if (actual->modifier < 0 || wanted->modifier == actual->modifier)
		return FIT_WIDER;
	switch (wanted->base) {
	case OID_NUMERIC:
		return fit_numeric(wanted, actual, grown);
	case OID_TIME:
	case OID_TIMETZ:
	case OID_TIMESTAMP:
	case OID_TIMESTAMPTZ:
		if (type_fraction(actual->modifier) >=
		    type_fraction(wanted->modifier))
			return FIT_WIDER;
		return fit_grows(wanted, grown);
	case OID_VARCHAR:
	case OID_BPCHAR:
	case OID_VARBIT:
		if (wanted->modifier >= 0 &&
		    actual->modifier >= wanted->modifier)
			return FIT_WIDER;
		return fit_grows(wanted, grown);
	default:
		return FIT_NARROW;
	}
}

static enum fit fit_number(const struct sql_type *wanted,
			   const struct sql_type *actual, char **grown)
{
	int from = type_integer_digits(wanted->base);
	int to = type_integer_digits(actual->base);

	if (wanted->base == OID_FLOAT4 && actual->base == OID_FLOAT8)
		return FIT_WIDER;
	if (wanted->base == OID_FLOAT8 && actual->base == OID_FLOAT4)
		return fit_grows(wanted, grown);
	if (from && to)
		return to > from ? FIT_WIDER : fit_grows(wanted, grown);
	if (from && actual->base == OID_NUMERIC) {
		struct sql_type digits = {
			.base = OID_NUMERIC,
			.modifier = numeric_modifier(from, 0),
		};
		return actual->modifier < 0
			       ? FIT_WIDER
			       : fit_numeric(&digits, actual, grown);
	}
	if (to && wanted->base == OID_NUMERIC)
		return fit_grows(wanted, grown);
	return FIT_NARROW;
}

static bool type_is_string(uint32_t oid)
{
	return oid == OID_TEXT || oid == OID_VARCHAR;
}

static enum fit fit_varchar(const struct sql_type *wanted,
			    const struct sql_type *actual, char **grown)
{
	if (wanted->base == OID_BPCHAR && wanted->modifier >= 0 &&
	    wanted->modifier <= actual->modifier)
		return FIT_WIDER;
	if (wanted->base == OID_TEXT)
		return fit_grows(wanted, grown);
	return FIT_NARROW;
}

enum fit postgres_type_fit(const struct sql_type *wanted,
			   const struct sql_type *actual, bool postgres,
			   char **grown)
{
	*grown = NULL;
	if (wanted->base == actual->base)
		return fit_modifier(wanted, actual, grown);
	if (type_is_string(actual->base) && actual->modifier < 0)
		return FIT_WIDER;
	if (actual->base == OID_VARCHAR)
		return fit_varchar(wanted, actual, grown);
	if (wanted->base == OID_JSONB && actual->base == OID_JSON)
		return FIT_WIDER;
	/* jsonb drops repeated members and spelling; json of other engines is
	 * normalised already. */
	if (wanted->base == OID_JSON && actual->base == OID_JSONB)
		return postgres ? FIT_NARROW : FIT_WIDER;
	return fit_number(wanted, actual, grown);
}

enum compare postgres_type_compare(const struct sql_type *type)
{
	if (type->kind == 'e')
		return COMPARE_EQUAL;
	switch (type->base) {
	case OID_NUMERIC:
		return type->modifier < 0 ? COMPARE_SCALE : COMPARE_EQUAL;
	case OID_FLOAT4:
	case OID_FLOAT8:
		return COMPARE_ZERO;
	case OID_BPCHAR:
		return type->modifier < 0 ? COMPARE_LENGTH : COMPARE_EQUAL;
	case OID_BOOL:
	case OID_BYTEA:
	case OID_CHAR:
	case OID_NAME:
	case OID_INT8:
	case OID_INT2:
	case OID_INT4:
	case OID_TEXT:
	case OID_OID:
	case OID_CIDR:
	case OID_MACADDR8:
	case OID_MACADDR:
	case OID_INET:
	case OID_VARCHAR:
	case OID_DATE:
	case OID_TIME:
	case OID_TIMESTAMP:
	case OID_TIMESTAMPTZ:
	case OID_TIMETZ:
	case OID_BIT:
	case OID_VARBIT:
	case OID_UUID:
	case OID_PG_LSN:
		return COMPARE_EQUAL;
	default:
		/* Geometric = compares areas, interval = takes a month for
		 * thirty days, jsonb = takes 1.0 for 1.00, json and xml have
		 * none. */
		return COMPARE_TEXT;
	}
}

bool postgres_type_same_order(const struct sql_type *wanted,
			      const struct sql_type *actual)
{
	return !type_is_string(actual->base) || type_is_string(wanted->base) ||
	       wanted->base == OID_BPCHAR;
}

static enum wire wire_integer(enum type_kind kind, uint32_t base)
{
	switch (base) {
	case OID_INT2:
		return kind == TYPE_INT16 ? WIRE_INT16 : WIRE_NONE;
	case OID_INT4:
		return kind == TYPE_UINT64 || kind == TYPE_INT64 ? WIRE_NONE
								 : WIRE_INT32;
	case OID_INT8:
		return kind == TYPE_UINT64 ? WIRE_NONE : WIRE_INT64;
	case OID_NUMERIC:
		return WIRE_NUMERIC;
	default:
		return WIRE_NONE;
	}
}

static enum wire wire_json(uint32_t base)
{
	if (base == OID_JSONB)
		return WIRE_JSONB;
	return base == OID_JSON ? WIRE_BYTES : WIRE_NONE;
}

static enum wire wire_same(enum type_kind kind, uint32_t base)
{
	static const enum wire fixed[TYPE_KINDS] = {
		[TYPE_BOOL] = WIRE_BOOL,
		[TYPE_FLOAT32] = WIRE_FLOAT32,
		[TYPE_FLOAT64] = WIRE_FLOAT64,
		[TYPE_DECIMAL] = WIRE_NUMERIC,
		[TYPE_BYTES] = WIRE_BYTES,
		[TYPE_DATE] = WIRE_DATE,
		[TYPE_TIME] = WIRE_TIME,
		[TYPE_TIMESTAMP] = WIRE_TIMESTAMP,
		[TYPE_TIMESTAMPTZ] = WIRE_TIMESTAMP,
		[TYPE_INTERVAL] = WIRE_INTERVAL,
		[TYPE_UUID] = WIRE_UUID,
	};

	return kind_types[kind].oid == base ? fixed[kind] : WIRE_NONE;
}

enum wire postgres_type_wire(enum type_kind kind, const struct sql_type *type)
{
	bool text = kind == TYPE_TEXT || kind == TYPE_JSON ||
		    kind == TYPE_NATIVE || kind == TYPE_DECIMAL;

	if (type_is_string(type->base))
		return text ? WIRE_BYTES : WIRE_PRINTED;
	if (type->kind == 'e')
		return text ? WIRE_BYTES : WIRE_NONE;
	switch (kind) {
	case TYPE_INT16:
	case TYPE_INT32:
	case TYPE_INT64:
	case TYPE_UINT64:
		return wire_integer(kind, type->base);
	case TYPE_TEXT:
		return type->base == OID_BPCHAR ? WIRE_BYTES : WIRE_NONE;
	case TYPE_JSON:
		return wire_json(type->base);
	case TYPE_FLOAT32:
		if (type->base == OID_FLOAT8)
			return WIRE_FLOAT64;
		return wire_same(kind, type->base);
	default:
		return wire_same(kind, type->base);
	}
}
