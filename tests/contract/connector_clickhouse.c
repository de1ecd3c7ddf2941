/* ClickHouse's own behaviour: its exact types, keys of each type, and
 * Tidemark's own tables, read through their views. */
#include <stdlib.h>
#include <string.h>

#include "connector_world.h"

#include "core/base/alloc.h"
#include "core/base/clock.h"

#define WIDEST                                                                 \
	"57896044618658097711785492504343953926634992332820282019728792003956" \
	"564819967"

static const struct {
	const char *type, *value, *expected;
	enum type_kind kind;
	bool never_null; /* the type has no Nullable() */
} values[] = {
	{ "Bool", "true", "true", TYPE_BOOL, false },
	{ "Int8", "-128", "-128", TYPE_INT16, false },
	{ "UInt8", "255", "255", TYPE_INT16, false },
	{ "Int16", "-32768", "-32768", TYPE_INT16, false },
	{ "UInt16", "65535", "65535", TYPE_INT32, false },
	{ "Int32", "-2147483648", "-2147483648", TYPE_INT32, false },
	{ "UInt32", "4294967295", "4294967295", TYPE_INT64, false },
	{ "Int64", "-9223372036854775808", "-9223372036854775808", TYPE_INT64,
	  false },
	{ "UInt64", "18446744073709551615", "18446744073709551615", TYPE_UINT64,
	  false },
	{ "Int128", "'-170141183460469231731687303715884105728'",
	  "-170141183460469231731687303715884105728", TYPE_DECIMAL, false },
	{ "UInt128", "'340282366920938463463374607431768211455'",
	  "340282366920938463463374607431768211455", TYPE_DECIMAL, false },
	{ "Int256", "'" WIDEST "'", WIDEST, TYPE_DECIMAL, false },
	{ "Float32", "0.1", "0.1", TYPE_FLOAT32, false },
	{ "Float64", "-inf", "-Infinity", TYPE_FLOAT64, false },
	{ "Float64", "nan", "NaN", TYPE_FLOAT64, false },
	{ "Float64", "0.30000000000000004", "0.30000000000000004", TYPE_FLOAT64,
	  false },
	{ "Decimal(4, 2)", "-99.99", "-99.99", TYPE_DECIMAL, false },
	{ "Decimal(18, 0)", "-5", "-5", TYPE_DECIMAL, false },
	{ "Decimal(38, 38)", "'-0.12345678901234567890123456789012345678'",
	  "-0.12345678901234567890123456789012345678", TYPE_DECIMAL, false },
	{ "Decimal(76, 6)",
	  "'9999999999999999999999999999999999999999999999999999999999999999"
	  "999999.999999'",
	  "9999999999999999999999999999999999999999999999999999999999999999"
	  "999999.999999",
	  TYPE_DECIMAL, false },
	{ "String", "''", "", TYPE_TEXT, false },
	{ "String", "'Łukasz\\n\\t\\\\'", "Łukasz\n\t\\", TYPE_TEXT, false },
	{ "LowCardinality(String)", "'x'", "x", TYPE_TEXT, false },
	{ "FixedString(4)", "'abcd'", "abcd", TYPE_TEXT, false },
	{ "FixedString(4)", "'ab'", "ab", TYPE_TEXT, false },
	{ "Enum8('b' = -5, 'a' = 7)", "'a'", "a", TYPE_TEXT, false },
	{ "Enum16('x y' = 1000)", "'x y'", "x y", TYPE_TEXT, false },
	{ "UUID", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'",
	  "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", TYPE_UUID, false },
	{ "IPv4", "'192.168.0.1'", "192.168.0.1", TYPE_NATIVE, false },
	{ "IPv6", "'2001:db8::1'", "2001:db8::1", TYPE_NATIVE, false },
	{ "Date", "'2149-06-06'", "2149-06-06", TYPE_DATE, false },
	{ "Date32", "'1900-01-01'", "1900-01-01", TYPE_DATE, false },
	{ "DateTime('UTC')", "'2106-02-07 06:28:15'", "2106-02-07 06:28:15+00",
	  TYPE_TIMESTAMPTZ, false },
	{ "DateTime('Europe/Rome')", "'2024-07-01 12:00:00'",
	  "2024-07-01 10:00:00+00", TYPE_TIMESTAMPTZ, false },
	{ "DateTime64(0, 'UTC')", "'2299-12-31 23:59:59'",
	  "2299-12-31 23:59:59+00", TYPE_TIMESTAMPTZ, false },
	{ "DateTime64(3, 'UTC')", "'1969-12-31 23:59:59.999'",
	  "1969-12-31 23:59:59.999+00", TYPE_TIMESTAMPTZ, false },
	{ "DateTime64(6, 'Asia/Kolkata')", "'1950-01-02 00:00:00.000001'",
	  "1950-01-01 18:30:00.000001+00", TYPE_TIMESTAMPTZ, false },
	{ "DateTime64(9, 'UTC')", "'2024-01-01 00:00:00.123456789'",
	  "2024-01-01 00:00:00.123456789", TYPE_NATIVE, false },
	{ "Array(Nullable(Int32))", "[1, NULL]", "[1,NULL]", TYPE_NATIVE,
	  true },
	{ "Array(String)", "['it''s', 'b']", "['it\\'s','b']", TYPE_NATIVE,
	  true },
	{ "Map(String, UInt8)", "{'a': 1}", "{'a':1}", TYPE_NATIVE, true },
	{ "Tuple(a Int32, b String)", "(1, 'x')", "(1,'x')", TYPE_NATIVE,
	  true },
	{ "JSON", "'{\"a\": 1}'", "{\"a\":1}", TYPE_JSON, false },
	{ "Variant(Int32, String)", "'x'", "x", TYPE_NATIVE, true },
	{ "Point", "(1.5, 2)", "(1.5,2)", TYPE_NATIVE, true },
};

static void clickhouse_make_values(struct world *w, size_t i)
{
	const char *type = values[i].type, *value = values[i].value;
	bool low = !strncmp(type, "LowC", 4), never = values[i].never_null;

	world_exec(w,
		   "--CREATE TABLE tm_source.t%zu (id Int32, v %s%s%s) "
		   "ENGINE = MergeTree ORDER BY id;\n"
		   "--INSERT INTO tm_source.t%zu VALUES (1, %s), (2, %s), "
		   "(3, %s)",
		   i,
		   never ? ""
		   : low ? "LowCardinality(Nullable("
			 : "Nullable(",
		   low ? "String" : type,
		   never ? ""
		   : low ? "))"
			 : ")",
		   i, value, never ? value : "NULL", value);
}

/* Each value, a NULL behind it and a value again. */
static void clickhouse_values(void **state)
{
	struct world *w = suite_world(state);

	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		const char *expected = values[i].expected;
		char *rows = xstrfmt("1|%s\n2|%s\n3|%s\n", expected,
				     values[i].never_null ? expected : "NULL",
				     expected);
		char *table = xstrfmt("t%zu", i);

		clickhouse_make_values(w, i);
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
	{ "Int8", "-128", "0", "127" },
	{ "UInt64", "0", "1", "18446744073709551615" },
	{ "Int256", "'-" WIDEST "'", "0", "'" WIDEST "'" },
	{ "UInt128", "0", "1", "'340282366920938463463374607431768211455'" },
	{ "Decimal(38, 10)", "-1.5", "0.0000000001",
	  "'9999999999999999999999999999.9999999999'" },
	{ "Float32", "0.1", "0.2", "nan" },
	{ "Float64", "-inf", "-0.0", "nan" },
	{ "String", "'A'", "'a'", "'b\\\\\\''" },
	{ "FixedString(3)", "'a'", "'ab'", "'abc'" },
	{ "Enum8('c' = 1, 'b' = 2, 'a' = 3)", "'c'", "'b'", "'a'" },
	{ "Date", "'1970-01-01'", "'2024-01-01'", "'2149-06-06'" },
	{ "Date32", "'1900-01-01'", "'1969-12-31'", "'2299-12-31'" },
	{ "DateTime('Europe/Rome')", "'1970-01-02 00:00:00'",
	  "'2024-01-01 00:00:00'", "'2024-01-01 00:00:01'" },
	{ "DateTime64(3, 'UTC')", "'1900-01-01 00:00:00'",
	  "'2024-01-01 00:00:00.001'", "'2299-12-31 23:59:59.999'" },
	{ "UUID", "'00000000-0000-0000-0000-000000000001'",
	  "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'",
	  "'ffffffff-ffff-ffff-ffff-ffffffffffff'" },
	{ "LowCardinality(String)", "'a'", "'b'", "'c'" },
	{ "Bool", "false", "true", NULL },
};

static void clickhouse_make_keys(struct world *w, size_t i)
{
	world_exec(w,
		   "--CREATE TABLE tm_source.t%zu (k %s, stamp "
		   "DateTime64(6, 'UTC')) ENGINE = MergeTree ORDER BY k "
		   "SETTINGS allow_suspicious_low_cardinality_types = 1",
		   i, keys[i][0]);
	for (int n = 1; n < 4 && keys[i][n]; n++)
		world_exec(w,
			   "--INSERT INTO tm_source.t%zu VALUES (%s, "
			   "'2024-01-01 00:00:00')",
			   i, keys[i][n]);
	world_exec(w,
		   "--CREATE TABLE tm_source.r%zu ENGINE = MergeTree ORDER BY "
		   "k AS SELECT * FROM tm_source.t%zu UNION ALL "
		   "(SELECT k, stamp + INTERVAL 1 DAY FROM tm_source.t%zu "
		   "ORDER BY k DESC LIMIT 1)",
		   i, i, i);
}

/* Every kind of key is told apart, paged in one order, and found again. */
static void clickhouse_keys(void **state)
{
	struct world *w = suite_world(state);

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		char *table = xstrfmt("t%zu", i), *twice = xstrfmt("r%zu", i);
		int n = keys[i][3] ? 3 : 2;

		clickhouse_make_keys(w, i);
		world_pipeline(w, table, STRATEGY_TIMESTAMP, "stamp");
		world_key(w, "k", NULL);
		w->pauses = true;
		world_expect_count(w, 1, n);
		w->pauses = false;
		world_expect(w, 1, "");
		world_reset(w);
		lookup_again(w);
		assert_int_equal(w->n_rows, n);
		world_pipeline(w, twice, STRATEGY_TIMESTAMP, "stamp");
		world_key(w, "k", NULL);
		world_refuse(w, ERROR_SCHEMA, "repeats");
		free(table);
		free(twice);
	}
}

/* A moment of another zone, or of fewer digits: the mark is in UTC. */
static void clickhouse_marks_of_zones(void **state)
{
	static const struct {
		const char *type, *mark, *cut;
	} marks[] = {
		{ "DateTime('Europe/Rome')", "2024-07-01 10:00:01+00",
		  "2024-07-01 10:00:01+00" },
		{ "DateTime64(3, 'Asia/Kolkata')", "2024-07-01 06:30:01+00",
		  "2024-07-01 06:30:01+00" },
		{ "DateTime('UTC')", "2024-07-01 12:00:01+00",
		  "2024-07-01 12:00:01+00" },
		{ "Date32", "2024-07-01", NULL },
	};
	const struct range all = { NULL, NULL, false };
	struct world *w = suite_world(state);

	for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
		struct range_cut cut = { NULL, 0 };

		world_exec(w,
			   "DROP TABLE IF EXISTS tm_source.t;\n"
			   "--CREATE TABLE tm_source.t (id Int32, stamp %s) "
			   "ENGINE = MergeTree ORDER BY id;\n"
			   "--INSERT INTO tm_source.t VALUES "
			   "(1, '2024-07-01 12:00:00'), "
			   "(2, '2024-07-01 12:00:01')",
			   marks[i].type);
		world_pipeline(w, "t", STRATEGY_TIMESTAMP, "stamp");
		world_key(w, "id", NULL);
		world_expect_count(w, 1, 2);
		assert_string_equal(w->from.value, marks[i].mark);
		world_expect(w, 1, "");
		if (w->ops->cut(w->connector, &w->source, &w->mark, &all, 1,
				&cut, &w->err))
			fail_msg("%s", w->err.message);
		if (marks[i].cut)
			assert_string_equal(cut.end, marks[i].cut);
		else
			assert_null(cut.end);
		assert_int_equal(cut.rows, marks[i].cut ? 1 : 2);
		free(cut.end);
	}
}

/* As the destination makes them: versions of a row, one that is deleted, and a
 * type that the comment tells of. */
static void clickhouse_make_view(struct world *w)
{
	world_exec(w, "--CREATE TABLE tm_source.t_raw (id Int32, stamp "
		      "DateTime64(6, 'UTC') COMMENT 'tidemark: timestamp', v "
		      "Nullable(String) COMMENT 'tidemark: json', "
		      "_tidemark_version UInt64, _tidemark_deleted UInt8) "
		      "ENGINE = ReplacingMergeTree(_tidemark_version, "
		      "_tidemark_deleted) ORDER BY id;\n"
		      "--SYSTEM STOP MERGES tm_source.t_raw;\n"
		      "--CREATE VIEW tm_source.t AS SELECT id, stamp, v FROM "
		      "tm_source.t_raw FINAL");
	for (int version = 1; version < 4; version++)
		world_exec(w,
			   "--INSERT INTO tm_source.t_raw SELECT number, "
			   "toDateTime64('2024-01-01 00:00:0%d', 6, 'UTC'), "
			   "'{}', %d, number = 4 AND %d = 3 FROM numbers(10)",
			   version, version, version);
	world_pipeline(w, "t", STRATEGY_TIMESTAMP, "stamp");
	world_key(w, "id", NULL);
}

static void clickhouse_view(void **state)
{
	struct world *w = suite_world(state);

	clickhouse_make_view(w);
	w->mark.time_zone = "UTC";
	world_expect_count(w, 2, 9);
	assert_int_equal(w->sum, 45 - 4);
	assert_int_equal(w->schema.columns[1].type.kind, TYPE_TIMESTAMP);
	assert_int_equal(w->schema.columns[2].type.kind, TYPE_JSON);
	assert_string_equal(w->from.value, "2024-01-01 00:00:03");
	world_expect(w, 2, "");
	strlist_add(&w->asked, "3");
	strlist_add(&w->asked, "4");
	world_reset(w);
	world_expect(w, 9, "3|2024-01-01 00:00:03|{}\n");
	strlist_release(&w->asked);
}

/* A view that was made anew is the same; a table is another. */
static void clickhouse_identity(void **state)
{
	struct world *w = suite_world(state);

	clickhouse_make_view(w);
	world_expect_count(w, 10, 9);
	world_exec(w, "--DROP VIEW tm_source.t;\n"
		      "--CREATE VIEW tm_source.t AS SELECT id, stamp, v FROM "
		      "tm_source.t_raw FINAL");
	assert_int_equal(world_describe(w), 0);
	assert_int_equal(world_begin(w), 0);
	assert_int_equal(watermark_check_identity(&w->from, w->identity, "run",
						  "p", &w->err),
			 0);
}

static void clickhouse_settle(void **state)
{
	struct world *w = suite_world(state);

	clickhouse_make_view(w);
	world_expect_count(w, 10, 9);
	assert_int_equal(w->settled.guarantee, GUARANTEE_LAG);
	assert_non_null(strstr(w->settled.reason, "inserts are under way"));
	assert_non_null(strstr(w->settled.reason, "no time zone"));
	w->mark.time_zone = "UTC";
	world_reset(w);
	world_expect_count(w, 10, 9);
	assert_null(strstr(w->settled.reason, "no time zone"));
	w->mark.time_zone = "Europe/Rom";
	world_refuse(w, ERROR_CONFIG, "Europe/Rom");
}

/* A statement that is stopped on the way is no end of the rows. */
static void clickhouse_stopped(void **state)
{
	struct world *w = suite_world(state);
	int rc;

	world_exec(w, "--CREATE TABLE tm_source.t ENGINE = MergeTree ORDER BY "
		      "id AS SELECT toInt32(number) AS id, toDateTime64("
		      "'2024-01-01 00:00:00', 6, 'UTC') AS stamp FROM "
		      "numbers(400000)");
	world_pipeline(w, "t", STRATEGY_TIMESTAMP, "stamp");
	world_key(w, "id", NULL);
	w->quiet = true;
	assert_int_equal(world_begin(w), 0);
	assert_int_equal(world_step(w, 1000), 1);
	w->ops->interrupt(w->connector);
	while ((rc = world_step(w, 1000)) > 0)
		;
	w->quiet = false;
	assert_int_equal(rc, -ERROR_STOPPED);
	assert_true(w->n_rows < 400000);
}

static void clickhouse_expressions(void **state)
{
	static const struct source_expression all[] = {
		{ (char *)"cents", (char *)"toInt64(v * 100) -- all" },
		{ (char *)"stamp", (char *)"toDateTime64(epoch, 6, 'UTC')" },
	};
	struct world *w = suite_world(state);

	world_exec(w, "--CREATE TABLE tm_source.t (id Int32, v Float64, epoch "
		      "String) ENGINE = MergeTree ORDER BY id;\n"
		      "--INSERT INTO tm_source.t VALUES (1, 1.5, '2024-01-01 "
		      "00:00:00'), (2, 2, '2024-01-02 00:00:00')");
	world_pipeline(w, "t", STRATEGY_TIMESTAMP, "stamp");
	world_key(w, "id", NULL);
	w->source.expressions = all;
	w->source.n_expressions = 2;
	w->source.where = "v > 0 -- only";
	world_expect(w, 1,
		     "1|1.5|2024-01-01 00:00:00|150|2024-01-01 00:00:00+00\n"
		     "2|2|2024-01-02 00:00:00|200|2024-01-02 00:00:00+00\n");
	world_expect(w, 1, "");
	w->source.where = "no > 0";
	assert_int_equal(world_describe(w), -ERROR_CONFIG);
	assert_non_null(strstr(w->err.message, "source.where"));
	w->source.where = "1); DROP TABLE tm_source.t; SELECT (1";
	assert_int_equal(world_describe(w), -ERROR_CONFIG);
	w->source.where = NULL;
	assert_int_equal(world_describe(w), 0);
}

static void clickhouse_refusals(void **state)
{
	struct world *w = suite_world(state);

	world_exec(w, "--CREATE TABLE tm_source.t (id Int32, stamp DateTime, "
		      "l Array(Int32), n DateTime64(9)) ENGINE = MergeTree "
		      "ORDER BY id");
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
	world_pipeline(w, "a.b.c", STRATEGY_TIMESTAMP, "stamp");
	world_refuse(w, ERROR_CONFIG, "database.table");
	world_pipeline(w, "t", STRATEGY_TIMESTAMP, "n");
	world_key(w, "id", NULL);
	world_refuse(w, ERROR_CONFIG, "DateTime64 up to 6 digits");
}

/* `init` gets tables and views, without Tidemark's own. */
static void clickhouse_catalog(void **state)
{
	struct world *w = suite_world(state);

	clickhouse_make_view(w);
	world_exec(w, "--CREATE TABLE tm_source._tidemark_watermark (a Int8) "
		      "ENGINE = MergeTree ORDER BY a");
	world_expect_tables(w, "tm_source.t view\n"
			       "tm_source.t_raw table\n");
}

const struct CMUnitTest suite_clickhouse[] = {
	SUITE_TEST(clickhouse_values),
	SUITE_TEST(clickhouse_keys),
	SUITE_TEST(clickhouse_marks_of_zones),
	SUITE_TEST(clickhouse_view),
	SUITE_TEST(clickhouse_identity),
	SUITE_TEST(clickhouse_settle),
	SUITE_TEST(clickhouse_stopped),
	SUITE_TEST(clickhouse_expressions),
	SUITE_TEST(clickhouse_refusals),
	SUITE_TEST(clickhouse_catalog),
};
const size_t suite_clickhouse_n = ARRAY_SIZE(suite_clickhouse);
