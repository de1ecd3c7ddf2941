#include "destinations/bigquery/types.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

/* cloud.google.com/bigquery/docs/reference/standard-sql/data-types */
#define NUMERIC_SCALE	 9
#define NUMERIC_WHOLE	 29
#define BIGNUMERIC_SCALE 38
#define BIGNUMERIC_WHOLE 38
#define INTEGER_WHOLE	 19
#define ARRAY_PREFIX	 "ARRAY<"

static const struct {
	const char *text;
	enum bigquery_carrier carrier;
	enum mapping mapping;
} type_rows[TYPE_KINDS] = {
	[TYPE_BOOL] = { "BOOL", CARRIER_BOOL, MAPPING_EXACT },
	[TYPE_INT16] = { "INT64", CARRIER_INTEGER, MAPPING_EXACT },
	[TYPE_INT32] = { "INT64", CARRIER_INTEGER, MAPPING_EXACT },
	[TYPE_INT64] = { "INT64", CARRIER_INTEGER, MAPPING_EXACT },
	[TYPE_UINT64] = { "NUMERIC(20,0)", CARRIER_NUMERIC, MAPPING_WIDENED },
	[TYPE_FLOAT32] = { "FLOAT64", CARRIER_FLOAT, MAPPING_WIDENED },
	[TYPE_FLOAT64] = { "FLOAT64", CARRIER_FLOAT, MAPPING_EXACT },
	[TYPE_DECIMAL] = { "STRING", CARRIER_STRING, MAPPING_WIDENED },
	[TYPE_TEXT] = { "STRING", CARRIER_STRING, MAPPING_EXACT },
	[TYPE_BYTES] = { "BYTES", CARRIER_BYTES, MAPPING_EXACT },
	[TYPE_DATE] = { "DATE", CARRIER_DATE, MAPPING_EXACT },
	[TYPE_TIME] = { "TIME", CARRIER_TIME, MAPPING_EXACT },
	[TYPE_TIMESTAMP] = { "DATETIME", CARRIER_DATETIME, MAPPING_EXACT },
	[TYPE_TIMESTAMPTZ] = { "TIMESTAMP", CARRIER_TIMESTAMP, MAPPING_EXACT },
	[TYPE_INTERVAL] = { "STRING", CARRIER_STRING, MAPPING_WIDENED },
	[TYPE_UUID] = { "STRING", CARRIER_STRING, MAPPING_WIDENED },
	[TYPE_JSON] = { "JSON", CARRIER_JSON, MAPPING_EXACT },
	[TYPE_NATIVE] = { "STRING", CARRIER_STRING, MAPPING_WIDENED },
};

/* The API's names of what an array may hold. */
static const struct {
	const char *sql, *api;
} type_elements[] = {
	{ "BOOL", "BOOLEAN" },	      { "INT64", "INTEGER" },
	{ "FLOAT64", "FLOAT" },	      { "STRING", "STRING" },
	{ "BYTES", "BYTES" },	      { "DATE", "DATE" },
	{ "TIME", "TIME" },	      { "DATETIME", "DATETIME" },
	{ "NUMERIC", "NUMERIC" },     { "BIGNUMERIC", "BIGNUMERIC" },
	{ "TIMESTAMP", "TIMESTAMP" },
};

/* NULL: an array of that is kept as text. */
static const char *type_element(const char *text)
{
	size_t n = strlen(text), prefix = strlen(ARRAY_PREFIX);

	if (strncmp(text, ARRAY_PREFIX, prefix) != 0 || text[n - 1] != '>')
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(type_elements); i++)
		if (strlen(type_elements[i].sql) == n - prefix - 1 &&
		    !strncmp(text + prefix, type_elements[i].sql,
			     n - prefix - 1))
			return type_elements[i].api;
	return NULL;
}

/* PostgreSQL allows scales below 0 and above the precision. False: no NUMERIC
 * holds it. */
static bool type_decimal(const struct type *source, struct bigquery_type *out)
{
	int precision = source->precision, scale = source->scale;
	bool big;

	if (precision <= 0)
		return false;
	if (scale < 0) {
		precision -= scale;
		scale = 0;
	}
	if (scale > precision)
		precision = scale;
	big = scale > NUMERIC_SCALE || precision - scale > NUMERIC_WHOLE;
	if (big &&
	    (scale > BIGNUMERIC_SCALE || precision - scale > BIGNUMERIC_WHOLE))
		return false;
	/* P has to be one at least and no less than the scale. */
	snprintf(out->text, sizeof(out->text), "%s(%d,%d)",
		 big ? "BIGNUMERIC" : "NUMERIC", precision, scale);
	out->carrier = CARRIER_NUMERIC;
	out->mapping = MAPPING_EXACT;
	return true;
}

/* Is it BigQuery's own type without digits? It holds more than any with
 * digits. */
static bool type_is_undigited(const struct type *source)
{
	return source->native && (!strcmp(source->native, "NUMERIC") ||
				  !strcmp(source->native, "BIGNUMERIC"));
}

/* BigQuery's own types that travel by their names. */
static void type_native(const struct type *source, struct bigquery_type *out)
{
	if (!strcmp(source->native, "GEOGRAPHY")) {
		snprintf(out->text, sizeof(out->text), "GEOGRAPHY");
		out->carrier = CARRIER_GEOGRAPHY;
		out->mapping = MAPPING_EXACT;
	} else if (type_element(source->native)) {
		snprintf(out->text, sizeof(out->text), "%s", source->native);
		out->carrier = CARRIER_ARRAY;
		out->mapping = MAPPING_EXACT;
	}
}

void bigquery_type_of(struct bigquery_type *out, const struct type *source,
		      const char *engine)
{
	bool own = engine && !strcmp(engine, "bigquery");

	memset(out, 0, sizeof(*out));
	snprintf(out->text, sizeof(out->text), "%s",
		 type_rows[source->kind].text);
	out->carrier = type_rows[source->kind].carrier;
	out->mapping = type_rows[source->kind].mapping;
	if (own && source->kind == TYPE_DECIMAL && type_is_undigited(source)) {
		snprintf(out->text, sizeof(out->text), "%s", source->native);
		out->carrier = CARRIER_NUMERIC;
		out->mapping = MAPPING_EXACT;
	} else if (source->kind == TYPE_DECIMAL) {
		type_decimal(source, out);
	}
	if (own && source->kind == TYPE_NATIVE && source->native)
		type_native(source, out);
	snprintf(out->column, sizeof(out->column), "%s", out->text);
}

char *bigquery_type_base(const char *text)
{
	return xstrndup(text, strcspn(text, "("));
}

/* Whole digits and scale that a number's column holds, or its values need. */
static bool type_digits(const char *text, int *whole, int *scale)
{
	bool big = !strncmp(text, "BIGNUMERIC", 10);
	const char *digits = strchr(text, '(');
	char *end;

	*scale = 0;
	if (!strcmp(text, "INT64")) {
		*whole = INTEGER_WHOLE;
		return true;
	}
	if (!big && strncmp(text, "NUMERIC", 7) != 0)
		return false;
	if (!digits) {
		*scale = big ? BIGNUMERIC_SCALE : NUMERIC_SCALE;
		*whole = big ? BIGNUMERIC_WHOLE : NUMERIC_WHOLE;
		return true;
	}
	*whole = (int)strtol(digits + 1, &end, 10);
	if (*end == ',')
		*scale = (int)strtol(end + 1, NULL, 10);
	*whole -= *scale;
	return true;
}

static enum fit type_fit_number(const char *wanted, const char *actual,
				char grown[BIGQUERY_TYPE_SIZE])
{
	int whole, scale, has_whole, has_scale;
	bool big;

	if (!type_digits(wanted, &whole, &scale) ||
	    !type_digits(actual, &has_whole, &has_scale))
		return FIT_NARROW;
	/* 19 digits do not all fit in 64 bits. */
	if (!strcmp(actual, "INT64"))
		has_whole--;
	if (has_whole >= whole && has_scale >= scale)
		return FIT_WIDER;
	if (!strcmp(actual, "INT64"))
		has_whole++;
	whole = whole > has_whole ? whole : has_whole;
	scale = scale > has_scale ? scale : has_scale;
	big = scale > NUMERIC_SCALE || whole > NUMERIC_WHOLE;
	if (big && (scale > BIGNUMERIC_SCALE || whole > BIGNUMERIC_WHOLE))
		return FIT_NARROW;
	snprintf(grown, BIGQUERY_TYPE_SIZE, "%s(%d,%d)",
		 big ? "BIGNUMERIC" : "NUMERIC", whole + scale, scale);
	return FIT_GROWS;
}

/* Does its cast to STRING print the value itself? */
static bool type_prints(enum bigquery_carrier carrier)
{
	return carrier != CARRIER_BYTES && carrier != CARRIER_ARRAY;
}

struct bigquery_type *bigquery_types_of(const struct schema *s)
{
	struct bigquery_type *types = xcalloc(s->n_columns, sizeof(*types));

	for (size_t i = 0; i < s->n_columns; i++)
		bigquery_type_of(&types[i], &s->columns[i].type, s->engine);
	return types;
}

enum fit bigquery_type_fit(const struct bigquery_type *wanted,
			   const char *actual, char grown[BIGQUERY_TYPE_SIZE])
{
	if (!strcmp(wanted->text, actual))
		return FIT_EXACT;
	if (!strcmp(actual, "STRING") && type_prints(wanted->carrier))
		return FIT_WIDER;
	/* STRING(20) and BYTES(20). */
	if ((!strcmp(wanted->text, "STRING") ||
	     !strcmp(wanted->text, "BYTES")) &&
	    !strncmp(actual, wanted->text, strlen(wanted->text))) {
		snprintf(grown, BIGQUERY_TYPE_SIZE, "%s", wanted->text);
		return FIT_GROWS;
	}
	return type_fit_number(wanted->text, actual, grown);
}

static void type_field_digits(json_t *field, const char *text)
{
	int whole, scale;

	if (!strchr(text, '(') || !type_digits(text, &whole, &scale))
		return;
	json_object_set_new(field, "precision",
			    json_sprintf("%d", whole + scale));
	json_object_set_new(field, "scale", json_sprintf("%d", scale));
}

json_t *bigquery_type_field(const struct bigquery_type *t, const char *name)
{
	static const char *const api[] = {
		[CARRIER_BOOL] = "BOOLEAN",
		[CARRIER_INTEGER] = "INTEGER",
		[CARRIER_FLOAT] = "FLOAT",
		[CARRIER_STRING] = "STRING",
		[CARRIER_BYTES] = "BYTES",
		[CARRIER_DATE] = "DATE",
		[CARRIER_TIME] = "TIME",
		[CARRIER_DATETIME] = "DATETIME",
		[CARRIER_TIMESTAMP] = "TIMESTAMP",
		[CARRIER_JSON] = "STRING",
		[CARRIER_GEOGRAPHY] = "STRING",
	};
	json_t *field = json_pack("{s:s}", "name", name);
	char *base = bigquery_type_base(t->text);

	if (t->carrier == CARRIER_NUMERIC) {
		json_object_set_new(field, "type", json_string(base));
		type_field_digits(field, t->text);
	} else if (t->carrier == CARRIER_ARRAY) {
		json_object_set_new(field, "type",
				    json_string(type_element(t->text)));
		json_object_set_new(field, "mode", json_string("REPEATED"));
	} else {
		json_object_set_new(
			field, "type",
			json_string(t->in_base64 ? "STRING" : api[t->carrier]));
	}
	free(base);
	return field;
}

void bigquery_type_value(struct strbuf *sql, const struct bigquery_type *t,
			 const char *name)
{
	char *base = bigquery_type_base(t->column);

	if (t->in_base64)
		strbuf_addf(sql, "FROM_BASE64(%s)", name);
	else if (!strcmp(t->text, t->column) && t->carrier == CARRIER_JSON)
		strbuf_addf(sql, "PARSE_JSON(%s)", name);
	else if (!strcmp(t->text, t->column) && t->carrier == CARRIER_GEOGRAPHY)
		strbuf_addf(sql, "ST_GEOGFROMTEXT(%s)", name);
	else if (!strcmp(t->text, t->column) || t->carrier == CARRIER_JSON ||
		 t->carrier == CARRIER_GEOGRAPHY)
		strbuf_addstr(sql, name);
	else
		strbuf_addf(sql, "CAST(%s AS %s)", name, base);
	free(base);
}

void bigquery_type_comparable(struct strbuf *sql, const struct bigquery_type *t,
			      const char *value)
{
	/* NULL has a text there. */
	if (!strcmp(t->column, "JSON"))
		strbuf_addf(sql, "IF(%s IS NULL, NULL, TO_JSON_STRING(%s))",
			    value, value);
	else if (!strncmp(t->column, "ARRAY<", 6))
		strbuf_addf(sql, "TO_JSON_STRING(%s)", value);
	else if (!strcmp(t->column, "GEOGRAPHY"))
		strbuf_addf(sql, "ST_ASTEXT(%s)", value);
	else
		strbuf_addstr(sql, value);
}
