/* DuckDB's own behaviour: its exact types, keys of each type, nested values. */
#include <stdlib.h>
#include <string.h>

#include "connector_world.h"

#include "core/base/alloc.h"

static const struct {
	const char *type, *value, *expected;
	enum type_kind kind;
} values[] = {
	{ "BOOLEAN", "true", "true", TYPE_BOOL },
	{ "TINYINT", "-128", "-128", TYPE_INT16 },
	{ "UTINYINT", "255", "255", TYPE_INT16 },
	{ "SMALLINT", "-32768", "-32768", TYPE_INT16 },
	{ "USMALLINT", "65535", "65535", TYPE_INT32 },
	{ "INTEGER", "-2147483648", "-2147483648", TYPE_INT32 },
	{ "UINTEGER", "4294967295", "4294967295", TYPE_INT64 },
	{ "BIGINT", "-9223372036854775808", "-9223372036854775808",
	  TYPE_INT64 },
	{ "UBIGINT", "18446744073709551615", "18446744073709551615",
	  TYPE_UINT64 },
	{ "HUGEINT", "-170141183460469231731687303715884105728",
	  "-170141183460469231731687303715884105728", TYPE_DECIMAL },
	{ "UHUGEINT", "340282366920938463463374607431768211455",
	  "340282366920938463463374607431768211455", TYPE_DECIMAL },
	{ "FLOAT", "0.1", "0.1", TYPE_FLOAT32 },
	{ "DOUBLE", "'-inf'", "-Infinity", TYPE_FLOAT64 },
	{ "DOUBLE", "'nan'", "NaN", TYPE_FLOAT64 },
	{ "DECIMAL(4,2)", "-99.99", "-99.99", TYPE_DECIMAL },
	{ "DECIMAL(9,9)", "0.000000001", "0.000000001", TYPE_DECIMAL },
	{ "DECIMAL(18,0)", "-5", "-5", TYPE_DECIMAL },
	{ "DECIMAL(38,38)", "'-0.12345678901234567890123456789012345678'",
	  "-0.12345678901234567890123456789012345678", TYPE_DECIMAL },
	{ "DECIMAL(38,0)", "-99999999999999999999999999999999999999",
	  "-99999999999999999999999999999999999999", TYPE_DECIMAL },
	{ "VARCHAR", "''", "", TYPE_TEXT },
	{ "VARCHAR", "'Łukasz, twelve and more'", "Łukasz, twelve and more",
	  TYPE_TEXT },
	{ "BLOB", "'\\x00\\xFF'", "\\x00ff", TYPE_BYTES },
	{ "BIT", "'0101'", "0101", TYPE_NATIVE },
	{ "DATE", "'0044-03-15 (BC)'", "0044-03-15 BC", TYPE_DATE },
	{ "DATE", "'-infinity'", "-infinity", TYPE_DATE },
	{ "TIME", "'24:00:00'", "24:00:00", TYPE_TIME },
	{ "TIMETZ", "'12:00:00+05:30'", "12:00:00+05:30", TYPE_NATIVE },
	{ "TIMESTAMP", "'2024-01-01 00:00:00.123456'",
	  "2024-01-01 00:00:00.123456", TYPE_TIMESTAMP },
	{ "TIMESTAMP", "'-infinity'", "-infinity", TYPE_TIMESTAMP },
	{ "TIMESTAMP_S", "'1969-12-31 23:59:59'", "1969-12-31 23:59:59",
	  TYPE_TIMESTAMP },
	{ "TIMESTAMP_S", "'infinity'", "infinity", TYPE_TIMESTAMP },
	{ "TIMESTAMP_MS", "'2024-01-01 00:00:00.123'",
	  "2024-01-01 00:00:00.123", TYPE_TIMESTAMP },
	{ "TIMESTAMP_NS", "'2024-01-01 00:00:00.123456789'",
	  "2024-01-01 00:00:00.123456789", TYPE_NATIVE },
	{ "TIMESTAMPTZ", "'0044-03-15 (BC) 00:00:00+00'",
	  "0044-03-15 00:00:00+00 BC", TYPE_TIMESTAMPTZ },
	{ "INTERVAL", "'1 month -2 days 3.5 seconds'",
	  "1 mon -2 days +00:00:03.5", TYPE_INTERVAL },
	{ "UUID", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'",
	  "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", TYPE_UUID },
	{ "UUID", "'00000000-0000-0000-0000-000000000001'",
	  "00000000-0000-0000-0000-000000000001", TYPE_UUID },
	{ "ENUM('b', 'a')", "'a'", "a", TYPE_TEXT },
	{ "JSON", "'{\"a\": 1}'", "{\"a\": 1}", TYPE_JSON },
	{ "INTEGER[]", "[1, NULL]", "[1, NULL]", TYPE_NATIVE },
	{ "DECIMAL(4,2)[]", "[1.5]", "[1.50]", TYPE_NATIVE },
	{ "INTEGER[2]", "[1, 2]", "[1, 2]", TYPE_NATIVE },
	{ "STRUCT(a INTEGER, b VARCHAR)", "{'a': 1, 'b': 'x, y'}",
	  "{'a': 1, 'b': 'x, y'}", TYPE_NATIVE },
	{ "MAP(INTEGER, VARCHAR)", "MAP {1: 'q'}", "{1=q}", TYPE_NATIVE },
};

/* Each value, a NULL behind it and a value again: chunks have gaps. */
static void duckdb_values(void **state)
{
	struct world *w = suite_world(state);
	struct strbuf sql = STRBUF_INIT;

	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		strbuf_addf(&sql,
			    "CREATE TABLE t%zu (id INTEGER PRIMARY KEY, v %s);"
			    "INSERT INTO t%zu VALUES (1, %s), (2, NULL), "
			    "(3, %s);",
			    i, values[i].type, i, values[i].value,
			    values[i].value);
	world_exec(w, "%s", sql.data);
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		char *rows = xstrfmt("1|%s\n2|NULL\n3|%s\n", values[i].expected,
				     values[i].expected);
		char *table = xstrfmt("t%zu", i);
		world_pipeline(w, table, STRATEGY_SEQUENCE, "id");
		world_expect(w, 10, rows);
		assert_int_equal(w->schema.columns[1].type.kind,
				 values[i].kind);
		/* No sequence gives these ids. */
		assert_int_equal(w->settled.guarantee, GUARANTEE_LAG);
		free(table);
		free(rows);
	}
	strbuf_release(&sql);
}

/* Every kind of key is told apart, paged in one order, and found again. */
static void duckdb_keys(void **state)
{
	static const char *const keys[][4] = {
		{ "TINYINT", "-128", "0", "127" },
		{ "UBIGINT", "0", "1", "18446744073709551615" },
		{ "HUGEINT", "-170141183460469231731687303715884105728", "0",
		  "170141183460469231731687303715884105727" },
		{ "UHUGEINT", "0", "1",
		  "340282366920938463463374607431768211455" },
		{ "DECIMAL(38,10)", "-1.5", "0.0000000001",
		  "9999999999999999999999999999.9999999999" },
		{ "FLOAT", "0.1", "0.2", "'nan'" },
		{ "DOUBLE", "'-inf'", "0.1", "0.30000000000000004" },
		{ "VARCHAR COLLATE NOCASE", "'A'", "'a'", "'b'" },
		{ "BLOB", "''", "'\\x00'", "'\\x00\\xFF'" },
		{ "ENUM('c', 'b', 'a')", "'c'", "'b'", "'a'" },
		{ "DATE", "'-infinity'", "'0044-03-15 (BC)'", "'2024-01-01'" },
		{ "TIME", "'00:00:00'", "'12:00:00.000001'", "'24:00:00'" },
		{ "TIMESTAMP_S", "'-infinity'", "'2024-01-01 00:00:00'",
		  "'2024-01-01 00:00:01'" },
		{ "TIMESTAMPTZ", "'0044-03-15 (BC) 00:00:00+00'",
		  "'2024-01-01 00:00:00.000001+00'", "'infinity'" },
		{ "UUID", "'00000000-0000-0000-0000-000000000001'",
		  "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'",
		  "'ffffffff-ffff-ffff-ffff-ffffffffffff'" },
		{ "BOOLEAN", "false", "true", NULL },
	};
	struct world *w = suite_world(state);
	struct strbuf sql = STRBUF_INIT;

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		strbuf_addf(&sql,
			    "CREATE TABLE t%zu (k %s, stamp timestamptz);", i,
			    keys[i][0]);
		for (int n = 1; n < 4 && keys[i][n]; n++)
			strbuf_addf(&sql,
				    "INSERT INTO t%zu VALUES (%s, "
				    "'2024-01-01 00:00:00+00');",
				    i, keys[i][n]);
		strbuf_addf(&sql,
			    "CREATE TABLE r%zu AS FROM t%zu UNION ALL "
			    "(SELECT k, stamp + INTERVAL 1 DAY FROM t%zu LIMIT "
			    "1);",
			    i, i, i);
	}
	world_exec(w, "%s", sql.data);
	strbuf_release(&sql);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		char *table = xstrfmt("t%zu", i), *twice = xstrfmt("r%zu", i);
		world_pipeline(w, table, STRATEGY_TIMESTAMP, "stamp");
		world_key(w, "k", NULL);
		world_expect_count(w, 1, keys[i][3] ? 3 : 2);
		world_expect(w, 1, "");
		world_pipeline(w, twice, STRATEGY_TIMESTAMP, "stamp");
		world_key(w, "k", NULL);
		world_refuse(w, ERROR_SCHEMA, "repeats");
		free(table);
		free(twice);
	}
}

/* A batch ends in the middle of a chunk, a page in the middle of a tie. */
static void duckdb_chunks(void **state)
{
	static const size_t sizes[] = { 1000, 2048, 2049, 5000, 100000 };
	struct world *w = suite_world(state);

	world_exec(w,
		   "CREATE TABLE t AS SELECT n AS id, TIMESTAMPTZ "
		   "'2024-01-01 00:00:00+00' + to_seconds(n // 3000) AS stamp, "
		   "CASE WHEN n %% 3 > 0 THEN 'value ' || n END AS v "
		   "FROM range(20000) r(n) ORDER BY hash(n)");
	world_pipeline(w, "t", STRATEGY_TIMESTAMP, "stamp");
	world_key(w, "id", NULL);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		world_reset(w);
		world_expect_count(w, sizes[i], 20000);
		assert_int_equal(w->sum, 20000LL * 19999 / 2);
		world_expect_count(w, sizes[i], 0);
	}
}

/* A statement that is stopped on the way is no end of the rows. */
static void duckdb_stopped_statement(void **state)
{
	struct world *w = suite_world(state);
	int rc;

	world_exec(w, "CREATE TABLE t AS SELECT n AS id, TIMESTAMPTZ "
		      "'2024-01-01 00:00:00+00' AS stamp "
		      "FROM range(100000) r(n)");
	world_pipeline(w, "t", STRATEGY_TIMESTAMP, "stamp");
	world_key(w, "id", NULL);
	assert_int_equal(world_begin(w), 0);
	assert_int_equal(world_step(w, 1000), 1);
	assert_int_equal(world_step(w, 1000), 1);
	w->ops->interrupt(w->connector);
	while ((rc = world_step(w, 1000)) > 0)
		;
	assert_int_equal(rc, -ERROR_STOPPED);
	assert_true(w->n_rows < 100000);
}

static void duckdb_expressions(void **state)
{
	static const struct source_expression all[] = {
		{ (char *)"cents", (char *)"CAST(v * 100 AS BIGINT) -- all" },
		{ (char *)"stamp", (char *)"CAST(epoch AS TIMESTAMPTZ)" },
	};
	struct world *w = suite_world(state);

	world_exec(w, "CREATE TABLE t (id INTEGER PRIMARY KEY, v DOUBLE, epoch "
		      "VARCHAR); INSERT INTO t VALUES (1, 1.5, '2024-01-01 "
		      "00:00:00+00'), (2, 2, '2024-01-02 00:00:00+00')");
	world_pipeline(w, "t", STRATEGY_TIMESTAMP, "stamp");
	w->source.expressions = all;
	w->source.n_expressions = 2;
	w->source.where = "v > 0 -- only";
	world_expect(w, 1,
		     "1|1.5|2024-01-01 00:00:00+00|150|2024-01-01 00:00:00+00\n"
		     "2|2|2024-01-02 00:00:00+00|200|2024-01-02 "
		     "00:00:00+00\n");
	world_expect(w, 1, "");
	w->source.where = "no > 0";
	assert_int_equal(world_describe(w), -ERROR_CONFIG);
	assert_non_null(strstr(w->err.message, "source.where"));
	w->source.where = "id = ?";
	assert_int_equal(world_describe(w), -ERROR_CONFIG);
}

static void duckdb_refusals(void **state)
{
	struct world *w = suite_world(state);

	world_exec(w, "CREATE TABLE t (id INTEGER PRIMARY KEY, stamp "
		      "TIMESTAMPTZ, l INTEGER[]); CREATE SCHEMA s; CREATE "
		      "TABLE s.u (stamp TIMESTAMPTZ)");
	world_pipeline(w, "t", STRATEGY_XMIN, NULL);
	world_refuse(w, ERROR_CONFIG, "use timestamp or sequence");
	world_pipeline(w, "main.u", STRATEGY_TIMESTAMP, "stamp");
	world_refuse(w, ERROR_SCHEMA, "(did you mean s.u?)");
	world_pipeline(w, "s.u", STRATEGY_TIMESTAMP, "stamp");
	world_refuse(w, ERROR_SCHEMA, "no primary key");
	world_pipeline(w, "a.b.c", STRATEGY_TIMESTAMP, "stamp");
	world_refuse(w, ERROR_CONFIG, "schema.table");
	world_pipeline(w, "t", STRATEGY_TIMESTAMP, "l");
	world_refuse(w, ERROR_CONFIG, "TIMESTAMP WITH TIME ZONE");
	world_pipeline(w, "t", STRATEGY_TIMESTAMP, "stamp");
	world_key(w, "l", NULL);
	world_refuse(w, ERROR_SCHEMA, "no exact order");
}

const struct CMUnitTest suite_duckdb[] = {
	SUITE_TEST(duckdb_values),	SUITE_TEST(duckdb_keys),
	SUITE_TEST(duckdb_chunks),	SUITE_TEST(duckdb_stopped_statement),
	SUITE_TEST(duckdb_expressions), SUITE_TEST(duckdb_refusals),
};
const size_t suite_duckdb_n = ARRAY_SIZE(suite_duckdb);
