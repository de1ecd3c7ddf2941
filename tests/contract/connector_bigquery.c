/* BigQuery's own behaviour: its types, keys of each type, declared keys, and
 * the views over Tidemark's own tables. */
#include <stdlib.h>
#include <string.h>

#include "connector_world.h"

#include "core/base/alloc.h"

static const struct {
	const char *type, *value, *expected;
	enum type_kind kind;
} values[] = {
	{ "BOOL", "TRUE", "true", TYPE_BOOL },
	{ "INT64", "-9223372036854775808", "-9223372036854775808", TYPE_INT64 },
	{ "FLOAT64", "CAST('-inf' AS FLOAT64)", "-Infinity", TYPE_FLOAT64 },
	{ "FLOAT64", "CAST('nan' AS FLOAT64)", "NaN", TYPE_FLOAT64 },
	{ "FLOAT64", "0.30000000000000004", "0.30000000000000004",
	  TYPE_FLOAT64 },
	{ "NUMERIC", "NUMERIC '-99999999999999999999999999999.999999999'",
	  "-99999999999999999999999999999.999999999", TYPE_DECIMAL },
	{ "NUMERIC(5, 2)", "NUMERIC '-999.99'", "-999.99", TYPE_DECIMAL },
	{ "NUMERIC", "NUMERIC '1.10'", "1.1", TYPE_DECIMAL },
	{ "BIGNUMERIC", "BIGNUMERIC '0.000000000000000001'",
	  "0.000000000000000001", TYPE_DECIMAL },
	{ "STRING", "''", "", TYPE_TEXT },
	{ "STRING", "'Łukasz\\n\\t\\\\'", "Łukasz\n\t\\", TYPE_TEXT },
	{ "BYTES", "FROM_HEX('00ff5c')", "\\x00ff5c", TYPE_BYTES },
	{ "BYTES", "FROM_HEX('')", "\\x", TYPE_BYTES },
	{ "DATE", "DATE '0001-01-01'", "0001-01-01", TYPE_DATE },
	{ "DATE", "DATE '9999-12-31'", "9999-12-31", TYPE_DATE },
	{ "TIME", "TIME '23:59:59.999999'", "23:59:59.999999", TYPE_TIME },
	{ "DATETIME", "DATETIME '0001-01-01 00:00:00'", "0001-01-01 00:00:00",
	  TYPE_TIMESTAMP },
	{ "DATETIME", "DATETIME '9999-12-31 23:59:59.999999'",
	  "9999-12-31 23:59:59.999999", TYPE_TIMESTAMP },
	{ "TIMESTAMP", "TIMESTAMP '0001-01-01 00:00:00+00'",
	  "0001-01-01 00:00:00+00", TYPE_TIMESTAMPTZ },
	{ "TIMESTAMP", "TIMESTAMP '9999-12-31 23:59:59.999999+00'",
	  "9999-12-31 23:59:59.999999+00", TYPE_TIMESTAMPTZ },
	{ "TIMESTAMP", "TIMESTAMP '2024-01-01 12:00:00.000001+05:30'",
	  "2024-01-01 06:30:00.000001+00", TYPE_TIMESTAMPTZ },
	{ "JSON", "JSON '{\"a\":[1,null]}'", "{\"a\":[1,null]}", TYPE_JSON },
	{ "ARRAY<INT64>", "[1, 2]", "[1,2]", TYPE_NATIVE },
	{ "GEOGRAPHY", "ST_GEOGFROMTEXT('POINT(1 2)')", "POINT(1 2)",
	  TYPE_NATIVE },
};

/* An array that is NULL is one without elements, once it is stored. */
static char *bigquery_expected(size_t i)
{
	const char *expected = values[i].expected;

	if (strncmp(values[i].type, "ARRAY", 5) != 0)
		return xstrfmt("1|%s\n2|NULL\n", expected);
	return xstrfmt("1|%s\n2|%s\n", expected, expected);
}

static void bigquery_values(void **state)
{
	struct world *w = suite_world(state);

	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		bool array = !strncmp(values[i].type, "ARRAY", 5);
		char *rows = bigquery_expected(i), *table = xstrfmt("t%zu", i);

		world_exec(w,
			   "--CREATE TABLE tm_source.%s (id INT64 NOT NULL, v "
			   "%s);\n"
			   "--INSERT INTO tm_source.%s VALUES (1, %s), (2, %s)",
			   table, values[i].type, table, values[i].value,
			   array ? values[i].value : "NULL");
		world_pipeline(w, table, STRATEGY_SEQUENCE, "id");
		world_key(w, "id", NULL);
		world_expect(w, 10, rows);
		if (w->schema.columns[1].type.kind != values[i].kind)
			fail_msg("%s is of kind %d", values[i].type,
				 (int)w->schema.columns[1].type.kind);
		assert_int_equal(w->settled.guarantee, GUARANTEE_LAG);
		free(table);
		free(rows);
	}
}

static const char *const keys[][4] = {
	{ "INT64", "-9223372036854775808", "0", "9223372036854775807" },
	{ "FLOAT64", "CAST('nan' AS FLOAT64)", "-0.0", "1e300" },
	{ "NUMERIC", "NUMERIC '-1.5'", "NUMERIC '0.000000001'",
	  "NUMERIC '99999999999999999999999999999'" },
	{ "BIGNUMERIC", "BIGNUMERIC '-1'", "BIGNUMERIC '0.000000000000000001'",
	  "BIGNUMERIC '1'" },
	{ "STRING", "'A'", "'a'", "'b\\\\\\\"'" },
	{ "BYTES", "FROM_HEX('')", "FROM_HEX('00')", "FROM_HEX('00ff')" },
	{ "DATE", "DATE '0001-01-01'", "DATE '1969-12-31'",
	  "DATE '9999-12-31'" },
	{ "TIME", "TIME '00:00:00'", "TIME '12:00:00.000001'",
	  "TIME '23:59:59.999999'" },
	{ "DATETIME", "DATETIME '0001-01-01 00:00:00'",
	  "DATETIME '2024-01-01 00:00:00.000001'",
	  "DATETIME '9999-12-31 23:59:59.999999'" },
	{ "TIMESTAMP", "TIMESTAMP '0001-01-01 00:00:00+00'",
	  "TIMESTAMP '2024-01-01 00:00:00.000001+00'",
	  "TIMESTAMP '9999-12-31 23:59:59.999999+00'" },
	{ "BOOL", "FALSE", "TRUE", NULL },
};

static void bigquery_make_keys(struct world *w, size_t i)
{
	world_exec(w, "--CREATE TABLE tm_source.t%zu (k %s, stamp TIMESTAMP)",
		   i, keys[i][0]);
	for (int n = 1; n < 4 && keys[i][n]; n++)
		world_exec(w,
			   "--INSERT INTO tm_source.t%zu VALUES (%s, "
			   "TIMESTAMP '2024-01-01 00:00:00+00')",
			   i, keys[i][n]);
}

/* Every kind of key is told apart, paged in one order, and found again. */
static void bigquery_keys(void **state)
{
	struct world *w = suite_world(state);

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		char *table = xstrfmt("t%zu", i);
		int n = keys[i][3] ? 3 : 2;

		bigquery_make_keys(w, i);
		world_pipeline(w, table, STRATEGY_TIMESTAMP, "stamp");
		world_key(w, "k", NULL);
		w->pauses = true;
		world_expect_count(w, 1, n);
		w->pauses = false;
		world_expect(w, 1, "");
		world_reset(w);
		lookup_again(w);
		assert_int_equal(w->n_rows, n);
		world_exec(w,
			   "--INSERT INTO tm_source.%s VALUES (%s, TIMESTAMP "
			   "'2024-01-02 00:00:00+00')",
			   table, keys[i][1]);
		world_reset(w);
		world_refuse(w, ERROR_SCHEMA, "repeats");
		free(table);
	}
}

/* The primary key is declared and nothing more: it says which columns are
 * meant, and that they repeat is seen. */
static void bigquery_declared_key(void **state)
{
	struct world *w = suite_world(state);

	world_exec(w, "--CREATE TABLE tm_source.t (b STRING, a INT64, stamp "
		      "TIMESTAMP, PRIMARY KEY (a, b) NOT ENFORCED);\n"
		      "--INSERT INTO tm_source.t VALUES "
		      "('x', 1, TIMESTAMP '2024-01-01 00:00:00+00'), "
		      "('y', 1, TIMESTAMP '2024-01-01 00:00:00+00')");
	world_pipeline(w, "t", STRATEGY_TIMESTAMP, "stamp");
	world_expect(w, 1,
		     "x|1|2024-01-01 00:00:00+00\ny|1|2024-01-01 "
		     "00:00:00+00\n");
	assert_string_equal(w->from.key.items[0], "1");
	assert_string_equal(w->from.key.items[1], "y");
	world_exec(w, "--INSERT INTO tm_source.t VALUES "
		      "('x', 1, TIMESTAMP '2024-01-02 00:00:00+00')");
	world_refuse(w, ERROR_SCHEMA, "repeats");
}

/* As mode append has them: every version, and the newest of each key. */
static void bigquery_view(void **state)
{
	struct world *w = suite_world(state);

	world_exec(w, "--CREATE TABLE tm_source.t_raw (id INT64, stamp "
		      "TIMESTAMP, _tidemark_seq INT64);\n"
		      "--INSERT INTO tm_source.t_raw SELECT n, TIMESTAMP "
		      "'2024-01-01 00:00:00+00', v FROM "
		      "UNNEST(GENERATE_ARRAY(1, 10)) AS n, "
		      "UNNEST(GENERATE_ARRAY(1, 3)) AS v;\n"
		      "--CREATE VIEW tm_source.t AS SELECT * "
		      "EXCEPT(_tidemark_seq, newest) FROM (SELECT *, "
		      "ROW_NUMBER() OVER (PARTITION BY id ORDER BY "
		      "_tidemark_seq DESC) AS newest FROM tm_source.t_raw) "
		      "WHERE newest = 1");
	world_pipeline(w, "t", STRATEGY_TIMESTAMP, "stamp");
	world_refuse(w, ERROR_SCHEMA, "key");
	world_key(w, "id", NULL);
	assert_int_equal(world_describe(w), 0);
	world_expect_count(w, 3, 10);
	assert_int_equal(w->sum, 55);
	world_expect(w, 3, "");
	strlist_add(&w->asked, "3");
	strlist_add(&w->asked, "11");
	world_reset(w);
	world_expect(w, 9, "3|2024-01-01 00:00:00+00\n");
}

static void bigquery_settle(void **state)
{
	struct world *w = suite_world(state);

	world_exec(w, "--CREATE TABLE tm_source.t (id INT64, stamp DATETIME, "
		      "day DATE);\n"
		      "--INSERT INTO tm_source.t VALUES (1, DATETIME "
		      "'2024-01-01 00:00:00', DATE '2024-01-01')");
	world_pipeline(w, "t", STRATEGY_TIMESTAMP, "stamp");
	world_key(w, "id", NULL);
	world_expect_count(w, 1, 1);
	assert_string_equal(w->from.value, "2024-01-01 00:00:00");
	assert_non_null(strstr(w->settled.reason, "still writing"));
	assert_non_null(strstr(w->settled.reason, "no time zone"));
	w->mark.time_zone = "Europe/Rom";
	world_refuse(w, ERROR_CONFIG, "Europe/Rom");
	world_pipeline(w, "t", STRATEGY_TIMESTAMP, "day");
	world_key(w, "id", NULL);
	world_expect_count(w, 1, 1);
	assert_string_equal(w->from.value, "2024-01-01");
}

static void bigquery_expressions(void **state)
{
	static const struct source_expression all[] = {
		{ (char *)"cents", (char *)"CAST(v * 100 AS INT64) -- all" },
		{ (char *)"stamp", (char *)"CAST(epoch AS TIMESTAMP)" },
	};
	struct world *w = suite_world(state);

	world_exec(w, "--CREATE TABLE tm_source.t (id INT64, v FLOAT64, epoch "
		      "STRING);\n"
		      "--INSERT INTO tm_source.t VALUES (1, 1.5, '2024-01-01 "
		      "00:00:00+00'), (2, 2.5, '2024-01-02 00:00:00+00')");
	world_pipeline(w, "t", STRATEGY_TIMESTAMP, "stamp");
	world_key(w, "id", NULL);
	w->source.expressions = all;
	w->source.n_expressions = 2;
	w->source.where = "v > 0 -- only";
	world_expect(w, 1,
		     "1|1.5|2024-01-01 00:00:00+00|150|2024-01-01 00:00:00+00\n"
		     "2|2.5|2024-01-02 00:00:00+00|250|2024-01-02 "
		     "00:00:00+00\n");
	world_expect(w, 1, "");
	w->source.where = "no > 0";
	assert_int_equal(world_describe(w), -ERROR_CONFIG);
	assert_non_null(strstr(w->err.message, "source.where"));
}

static void bigquery_refusals(void **state)
{
	struct world *w = suite_world(state);

	world_exec(w, "--CREATE TABLE tm_source.t (id INT64, stamp TIMESTAMP, "
		      "l ARRAY<INT64>, j JSON)");
	world_pipeline(w, "t", STRATEGY_TIMESTAMP, "stamp");
	world_refuse(w, ERROR_SCHEMA, "key");
	world_key(w, "l", NULL);
	assert_int_equal(world_describe(w), -ERROR_SCHEMA);
	assert_non_null(strstr(w->err.message, "no exact order"));
	world_pipeline(w, "t", STRATEGY_XMIN, NULL);
	world_key(w, "id", NULL);
	world_refuse(w, ERROR_CONFIG, "use timestamp or sequence");
	world_pipeline(w, "tt", STRATEGY_TIMESTAMP, "stamp");
	world_refuse(w, ERROR_SCHEMA, "did you mean");
	world_pipeline(w, "other-project.tm_source.t", STRATEGY_TIMESTAMP,
		       "stamp");
	world_refuse(w, ERROR_CONFIG, "project");
	world_pipeline(w, "tm_source.\"t`; x\"", STRATEGY_TIMESTAMP, "stamp");
	world_refuse(w, ERROR_SCHEMA, "t`; x");
	world_pipeline(w, "t", STRATEGY_TIMESTAMP, "j");
	world_key(w, "id", NULL);
	world_refuse(w, ERROR_CONFIG, "TIMESTAMP, DATETIME or DATE");
}

/* `init` gets tables and views, without Tidemark's own. */
static void bigquery_catalog(void **state)
{
	struct world *w = suite_world(state);

	world_exec(w, "--CREATE TABLE tm_source.t (id INT64);\n"
		      "--CREATE VIEW tm_source.v AS SELECT id FROM "
		      "tm_source.t;\n"
		      "--CREATE TABLE tm_source._tidemark_watermark (a INT64)");
	world_expect_tables(w, "tm_source.t table\n"
			       "tm_source.v view\n");
}

const struct CMUnitTest suite_bigquery[] = {
	SUITE_TEST(bigquery_values),	   SUITE_TEST(bigquery_keys),
	SUITE_TEST(bigquery_declared_key), SUITE_TEST(bigquery_view),
	SUITE_TEST(bigquery_settle),	   SUITE_TEST(bigquery_expressions),
	SUITE_TEST(bigquery_refusals),	   SUITE_TEST(bigquery_catalog),
};
const size_t suite_bigquery_n = ARRAY_SIZE(suite_bigquery);
