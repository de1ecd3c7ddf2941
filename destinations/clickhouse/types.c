#include "destinations/clickhouse/types.h"

#include <stdlib.h>
#include <string.h>

#include "clients/clickhouse_decimal.h"
#include "core/base/alloc.h"

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
	[TYPE_JSON] = { "String", MAPPING_EXACT, true },
	[TYPE_NATIVE] = { "String", MAPPING_WIDENED, false },
};

static bool types_is_decimal(const struct type *t)
{
	return t->kind == TYPE_DECIMAL && t->precision > 0 &&
	       t->precision <= CLICKHOUSE_DECIMAL_DIGITS;
}

/* Without Nullable() and LowCardinality(); caller frees. */
static char *types_unwrap(const char *actual)
{
	static const char *const wraps[] = { "LowCardinality(", "Nullable(" };
	char *text = xstrdup(actual);

	for (size_t i = 0; i < ARRAY_SIZE(wraps); i++) {
		size_t n = strlen(wraps[i]), len = strlen(text);

		if (strncmp(text, wraps[i], n) != 0 || len <= n)
			continue;
		memmove(text, text + n, len - n);
		text[len - n - 1] = '\0';
	}
	return text;
}

/* Enums, addresses, arrays of another ClickHouse stay what they are. */
static char *types_own(const struct type *t, const char *engine)
{
	char *plain;

	if (!t->native || !engine || strcmp(engine, "clickhouse") != 0 ||
	    (t->kind != TYPE_NATIVE && t->kind != TYPE_TEXT))
		return NULL;
	plain = types_unwrap(t->native);
	if (t->kind == TYPE_NATIVE || !strncmp(plain, "Enum", 4))
		return plain;
	free(plain);
	return NULL;
}

void chdst_type_write(struct strbuf *sb, const struct type *t,
		      const char *engine)
{
	char *own = types_own(t, engine);

	if (own)
		strbuf_addstr(sb, own);
	else
		chdst_type_write_sent(sb, t);
	free(own);
}

void chdst_type_write_sent(struct strbuf *sb, const struct type *t)
{
	if (types_is_decimal(t))
		strbuf_addf(sb, "Decimal(%d, %d)", t->precision, t->scale);
	else
		strbuf_addstr(sb, types_table[t->kind].name);
}

enum mapping chdst_type_mapping(const struct type *t)
{
	return types_is_decimal(t) ? MAPPING_EXACT
				   : types_table[t->kind].mapping;
}

const char *chdst_type_note(const struct type *t)
{
	if (types_is_decimal(t) || !types_table[t->kind].noted)
		return NULL;
	return type_kind_name(t->kind);
}

bool chdst_type_is_nullable(const char *actual)
{
	return !strncmp(actual, "Nullable(", 9) ||
	       !strncmp(actual, "LowCardinality(Nullable(", 24);
}

bool chdst_type_is(const char *actual, const char *wanted)
{
	char *plain = types_unwrap(actual);
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

enum fit chdst_type_fit(const struct type *t, const char *wanted,
			const char *actual)
{
	char *plain = types_unwrap(actual);
	enum fit fit = FIT_NARROW;

	if (!strcmp(plain, wanted))
		fit = chdst_type_mapping(t) == MAPPING_EXACT ? FIT_EXACT
							     : FIT_WIDER;
	else if (types_holds(plain, wanted))
		fit = FIT_WIDER;
	else if (types_holds(wanted, plain) ||
		 (!strcmp(wanted, "String") && types_prints(plain)))
		fit = FIT_GROWS;
	free(plain);
	return fit;
}
