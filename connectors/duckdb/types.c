#include "connectors/duckdb/types.h"

#include <stdlib.h>
#include <string.h>

#include "connectors/duckdb/fill.h"
#include "core/base/alloc.h"

#define HUGEINT_DIGITS 39

static const struct duckdb_source_type types_table[] = {
	{ "BOOLEAN", TYPE_BOOL, DUCK_BOOL, duckdb_source_fill_same,
	  "CAST(? AS BOOLEAN)", 0 },
	{ "TINYINT", TYPE_INT16, DUCK_INT8, duckdb_source_fill_small,
	  "CAST(? AS BIGINT)", 0 },
	{ "UTINYINT", TYPE_INT16, DUCK_UINT8, duckdb_source_fill_small,
	  "CAST(? AS BIGINT)", 0 },
	{ "SMALLINT", TYPE_INT16, DUCK_INT16, duckdb_source_fill_same,
	  "CAST(? AS BIGINT)", 0 },
	{ "USMALLINT", TYPE_INT32, DUCK_UINT16, duckdb_source_fill_small,
	  "CAST(? AS BIGINT)", 0 },
	{ "INTEGER", TYPE_INT32, DUCK_INT32, duckdb_source_fill_same,
	  "CAST(? AS BIGINT)", 0 },
	{ "UINTEGER", TYPE_INT64, DUCK_UINT32, duckdb_source_fill_small,
	  "CAST(? AS BIGINT)", 0 },
	{ "BIGINT", TYPE_INT64, DUCK_INT64, duckdb_source_fill_same,
	  "CAST(? AS BIGINT)", 0 },
	{ "UBIGINT", TYPE_UINT64, DUCK_UINT64, duckdb_source_fill_same,
	  "CAST(? AS HUGEINT)", 0 },
	{ "HUGEINT", TYPE_DECIMAL, DUCK_HUGEINT, duckdb_source_fill_number,
	  "CAST(? AS HUGEINT)", 0 },
	{ "UHUGEINT", TYPE_DECIMAL, DUCK_UHUGEINT, duckdb_source_fill_number,
	  "CAST(? AS UHUGEINT)", 0 },
	{ "FLOAT", TYPE_FLOAT32, DUCK_FLOAT32, duckdb_source_fill_same,
	  "CAST(? AS FLOAT)", 0 },
	{ "DOUBLE", TYPE_FLOAT64, DUCK_FLOAT64, duckdb_source_fill_same,
	  "CAST(? AS DOUBLE)", 0 },
	{ "DECIMAL", TYPE_DECIMAL, DUCK_DECIMAL, duckdb_source_fill_number, "?",
	  0 },
	{ "VARCHAR", TYPE_TEXT, DUCK_TEXT, duckdb_source_fill_bytes, "?", 0 },
	{ "ENUM", TYPE_TEXT, DUCK_TEXT, duckdb_source_fill_bytes, "?", 0 },
	{ "JSON", TYPE_JSON, DUCK_TEXT, duckdb_source_fill_bytes, NULL, 0 },
	{ "BLOB", TYPE_BYTES, DUCK_BYTES, duckdb_source_fill_bytes, "unhex(?)",
	  0 },
	{ "DATE", TYPE_DATE, DUCK_DATE, duckdb_source_fill_date,
	  "CAST(? AS DATE)", 0 },
	{ "TIME", TYPE_TIME, DUCK_TIME, duckdb_source_fill_same,
	  "CAST(? AS TIME)", 6 },
	{ "TIMESTAMP", TYPE_TIMESTAMP, DUCK_TIMESTAMP,
	  duckdb_source_fill_timestamp, "CAST(? AS TIMESTAMP)", 6 },
	{ "TIMESTAMP_S", TYPE_TIMESTAMP, DUCK_TIMESTAMP_S,
	  duckdb_source_fill_timestamp, "CAST(? AS TIMESTAMP)", 0 },
	{ "TIMESTAMP_MS", TYPE_TIMESTAMP, DUCK_TIMESTAMP_MS,
	  duckdb_source_fill_timestamp, "CAST(? AS TIMESTAMP)", 3 },
	{ "TIMESTAMP WITH TIME ZONE", TYPE_TIMESTAMPTZ, DUCK_TIMESTAMPTZ,
	  duckdb_source_fill_timestamp, "CAST(? AS TIMESTAMP WITH TIME ZONE)",
	  6 },
	/* 30 days and a month are one interval to DuckDB. */
	{ "INTERVAL", TYPE_INTERVAL, DUCK_INTERVAL, duckdb_source_fill_interval,
	  NULL, 0 },
	{ "UUID", TYPE_UUID, DUCK_UUID, duckdb_source_fill_uuid,
	  "CAST(? AS UUID)", 0 },
	{ NULL, TYPE_NATIVE, DUCK_TEXT, duckdb_source_fill_bytes, NULL, 0 },
};

/* "DECIMAL(18,3)" and "ENUM('a', 'b')", but not "DECIMAL(18,3)[]". */
static bool types_is(const char *declared, const char *name)
{
	size_t n = strlen(name), end = strlen(declared);

	if (strncmp(declared, name, n) != 0)
		return false;
	return !declared[n] ||
	       (declared[n] == '(' && declared[end - 1] == ')' &&
		(!strcmp(name, "DECIMAL") || !strcmp(name, "ENUM")));
}

const struct duckdb_source_type *duckdb_source_type_of(const char *declared,
						       struct type *out,
						       struct duck_type *duck)
{
	const struct duckdb_source_type *how = types_table;
	char *end;

	while (how->name && !types_is(declared, how->name))
		how++;
	*out = (struct type){ .kind = how->kind,
			      .digits = how->digits,
			      .native = xstrdup(declared) };
	*duck = (struct duck_type){ .kind = how->duck };
	if (how->duck == DUCK_DECIMAL) {
		out->precision =
			(int)strtol(declared + strlen("DECIMAL("), &end, 10);
		out->scale = *end == ',' ? (int)strtol(end + 1, NULL, 10) : 0;
		duck->precision = (uint8_t)out->precision;
		duck->scale = (uint8_t)out->scale;
	} else if (how->kind == TYPE_DECIMAL) {
		out->precision = HUGEINT_DIGITS;
	}
	return how;
}
