#include "destinations/clickhouse/types.h"

#include <stdlib.h>
#include <string.h>

#include "clients/clickhouse.h"
#include "clients/clickhouse_decimal.h"
#include "core/base/alloc.h"
#include "core/data/type_text.h"

static const struct {
	const char *name;
	enum mapping mapping;
	bool noted;
} types_table[] = {
	[TYPE_BOOL] = { "Bool", MAPPING_EXACT, false },
	[TYPE_INT16] = { "Int16", MAPPING_EXACT, false },
	[TYPE_INT32] = { "Int32", MAPPING_EXACT, false },
	[TYPE_INT64] = { "Int64", MAPPING_EXACT, false },
	[TYPE_UINT64] = { "UInt64", MAPPING_EXACT, false },
	[TYPE_FLOAT32] = { "Float32", MAPPING_EXACT, false },
	[TYPE_FLOAT64] = { "Float64", MAPPING_EXACT, false },
	[TYPE_DECIMAL] = { "String", MAPPING_WIDENED, true },
	[TYPE_TEXT] = { "String", MAPPING_EXACT, false },
	[TYPE_BYTES] = { "String", MAPPING_EXACT, true },
	[TYPE_DATE] = { "Date32", MAPPING_EXACT, false },
	[TYPE_TIME] = { "String", MAPPING_WIDENED, true },
	[TYPE_TIMESTAMP] = { "DateTime64(6, 'UTC')", MAPPING_EXACT, true },
	[TYPE_TIMESTAMPTZ] = { "DateTime64(6, 'UTC')", MAPPING_EXACT, false },
	[TYPE_INTERVAL] = { "String", MAPPING_WIDENED, true },
	[TYPE_UUID] = { "UUID", MAPPING_EXACT, false },
	[TYPE_JSON] = { "String", MAPPING_WIDENED, true },
	[TYPE_NATIVE] = { "String", MAPPING_WIDENED, false },
};

bool clickhouse_target_type_decimal(const struct type *t, int *precision,
				    int *scale)
{
	*scale = t->scale > 0 ? t->scale : 0;
	*precision = t->scale < 0	       ? t->precision - t->scale
		     : t->scale > t->precision ? t->scale
					       : t->precision;
	return t->kind == TYPE_DECIMAL && t->precision > 0 &&
	       *precision <= CLICKHOUSE_DECIMAL_DIGITS;
}

static bool types_is_decimal(const struct type *t)
{
	int precision, scale;

	return clickhouse_target_type_decimal(t, &precision, &scale);
}

/* Rows come as text, and the server makes no map, tuple or variant of that. */
static bool types_has_cast(const char *plain)
{
	static const char *const none[] = { "Map(",    "Tuple(",
					    "Nested(", "Variant",
					    "Dynamic", "JSON",
					    "Object(", "AggregateFunction(" };

	for (size_t i = 0; i < ARRAY_SIZE(none); i++)
		if (strstr(plain, none[i]))
			return false;
	return !strncmp(plain, "IPv", 3) || !strncmp(plain, "Enum", 4) ||
	       !strncmp(plain, "Array(", 6);
}

/* Enums, addresses, arrays of another ClickHouse stay what they are. */
static char *types_own(const struct type *t, const char *engine)
{
	char *plain, *own;

	if (!t->native || !engine || strcmp(engine, "clickhouse") != 0 ||
	    (t->kind != TYPE_NATIVE && t->kind != TYPE_TEXT))
		return NULL;
	plain = clickhouse_plain_type(t->native, NULL);
	own = types_has_cast(plain)
		      ? type_text_print(plain, &type_text_clickhouse)
		      : NULL;
	free(plain);
	return own;
}

void clickhouse_target_type_write(struct strbuf *sb, const struct type *t,
				  const char *engine)
{
	char *own = types_own(t, engine);

	if (own)
		strbuf_addstr(sb, own);
	else
		clickhouse_target_type_write_sent(sb, t);
	free(own);
}

void clickhouse_target_type_write_sent(struct strbuf *sb, const struct type *t)
{
	int precision, scale;

	if (clickhouse_target_type_decimal(t, &precision, &scale))
		strbuf_addf(sb, "Decimal(%d, %d)", precision, scale);
	else
		strbuf_addstr(sb, types_table[t->kind].name);
}

enum mapping clickhouse_target_type_mapping(const struct type *t,
					    const char *engine)
{
	char *own = types_own(t, engine);
	bool exact = own || types_is_decimal(t);

	free(own);
	return exact ? MAPPING_EXACT : types_table[t->kind].mapping;
}

const char *clickhouse_target_type_note(const struct type *t)
{
	if (types_is_decimal(t) || !types_table[t->kind].noted)
		return NULL;
	return type_kind_name(t->kind);
}

bool clickhouse_target_type_can_be_null(const char *plain)
{
	return strncmp(plain, "Array(", 6) != 0;
}

bool clickhouse_target_type_is_nullable(const char *actual)
{
	return !strncmp(actual, "Nullable(", 9) ||
	       !strncmp(actual, "LowCardinality(Nullable(", 24);
}

char *clickhouse_target_type_set_nullable(const char *actual, bool nullable)
{
	char *plain = clickhouse_plain_type(actual, NULL), *out;
	bool low = !strncmp(actual, "LowCardinality(", 15);

	nullable &= clickhouse_target_type_can_be_null(plain);
	out = xstrfmt("%s%s%s%s%s", low ? "LowCardinality(" : "",
		      nullable ? "Nullable(" : "", plain, nullable ? ")" : "",
		      low ? ")" : "");
	free(plain);
	return out;
}

bool clickhouse_target_type_is(const char *actual, const char *wanted)
{
	char *plain = clickhouse_plain_type(actual, NULL);
	bool same = !strcmp(plain, wanted);

	free(plain);
	return same;
}

/* The number of bits behind a name; 0: it is another type. */
static int types_bits(const char *type, const char *name)
{
	size_t n = strlen(name);

	return strncmp(type, name, n) != 0 ? 0
					   : (int)strtol(type + n, NULL, 10);
}

static bool types_read_decimal(const char *type, int *precision, int *scale)
{
	char *end;

	if (strncmp(type, "Decimal(", 8) != 0)
		return false;
	*precision = (int)strtol(type + 8, &end, 10);
	*scale = *end == ',' ? (int)strtol(end + 1, NULL, 10) : 0;
	return true;
}

/* Does `a` hold every value of `b`? Both plain. */
static bool types_holds(const char *a, const char *b)
{
	int p, s, q, r, bits = types_bits(b, "Int");

	if (bits && types_bits(a, "Int") >= bits)
		return true;
	bits = types_bits(b, "UInt");
	if (bits &&
	    (types_bits(a, "UInt") >= bits || types_bits(a, "Int") > bits))
		return true;
	bits = types_bits(b, "Float");
	if (bits && types_bits(a, "Float") >= bits)
		return true;
	if (types_read_decimal(a, &p, &s) && types_read_decimal(b, &q, &r))
		return s >= r && p - s >= q - r;
	bits = types_bits(b, "Int");
	if (bits && types_read_decimal(a, &p, &s))
		return p - s >= (bits == 16 ? 5 : bits == 32 ? 10 : 19);
	return !strncmp(b, "DateTime64(6", 12) &&
	       !strncmp(a, "DateTime64(6", 12);
}

/* A column of this type can be altered to text without a loss. */
static bool types_prints(const char *type)
{
	return types_bits(type, "Int") || types_bits(type, "UInt") ||
	       !strncmp(type, "Decimal(", 8) || !strncmp(type, "Date32", 6);
}

enum fit clickhouse_target_type_fit(enum mapping mapping, const char *wanted,
				    const char *actual)
{
	char *plain = clickhouse_plain_type(actual, NULL);
	enum fit fit = FIT_NARROW;

	if (!strcmp(plain, wanted))
		fit = mapping == MAPPING_EXACT ? FIT_EXACT : FIT_WIDER;
	else if (types_holds(plain, wanted))
		fit = FIT_WIDER;
	else if (types_holds(wanted, plain) ||
		 (!strcmp(wanted, "String") && types_prints(plain)))
		fit = FIT_GROWS;
	free(plain);
	return fit;
}
