/* Values that SQLite would bend: affinities, values that are kept as they came,
 * versions kept as text. The newer one of two rows. */
#include <math.h>

#include "core/data/value.h"
#include "tests/unit/sqlite_destination_world.h"

#define SECOND INT64_C(1000000)
#define YEAR   (INT64_C(31556952) * SECOND)

static void test_fit(void **state)
{
	static const struct {
		enum type_kind kind;
		const char *declared;
		bool strict;
		enum fit fit;
	} cases[] = {
		{ TYPE_INT64, "INTEGER", false, FIT_EXACT },
		{ TYPE_INT64, "bigint", false, FIT_EXACT },
		{ TYPE_INT64, "numeric", false, FIT_WIDER },
		{ TYPE_INT64, "", false, FIT_WIDER },
		{ TYPE_INT64, "varchar(20)", false, FIT_WIDER },
		{ TYPE_INT64, "REAL", false, FIT_NARROW },
		{ TYPE_INT32, "REAL", false, FIT_WIDER },
		{ TYPE_BOOL, "BOOLEAN", false, FIT_EXACT },
		{ TYPE_FLOAT64, "DOUBLE PRECISION", false, FIT_EXACT },
		{ TYPE_FLOAT64, "INTEGER", false, FIT_NARROW },
		{ TYPE_FLOAT64, "TEXT", false, FIT_NARROW },
		{ TYPE_DECIMAL, "TEXT", false, FIT_EXACT },
		{ TYPE_DECIMAL, "NUMERIC(10,2)", false, FIT_NARROW },
		{ TYPE_DECIMAL, "DECIMAL", false, FIT_NARROW },
		{ TYPE_DECIMAL, "BLOB", false, FIT_WIDER },
		{ TYPE_UINT64, "INTEGER", false, FIT_GROWS },
		{ TYPE_DECIMAL, "INTEGER", false, FIT_GROWS },
		{ TYPE_DECIMAL, "INTEGER", true, FIT_NARROW },
		{ TYPE_TEXT, "varchar(10)", false, FIT_WIDER },
		{ TYPE_TEXT, "INTEGER", false, FIT_NARROW },
		{ TYPE_TEXT, "STRING", false, FIT_NARROW },
		{ TYPE_JSON, "JSON", false, FIT_NARROW },
		{ TYPE_TIMESTAMPTZ, "TIMESTAMP", false, FIT_WIDER },
		{ TYPE_TIMESTAMPTZ, "INTEGER", false, FIT_NARROW },
		{ TYPE_DATE, "DATE", false, FIT_WIDER },
		{ TYPE_INTERVAL, "INTERVAL", false, FIT_NARROW },
		{ TYPE_UUID, "UUID", false, FIT_WIDER },
		{ TYPE_BYTES, "BLOB", false, FIT_EXACT },
		{ TYPE_BYTES, "INTEGER", false, FIT_NARROW },
		{ TYPE_INT64, "INT", true, FIT_EXACT },
		{ TYPE_INT64, "TEXT", true, FIT_NARROW },
		{ TYPE_TEXT, "BLOB", true, FIT_NARROW },
		{ TYPE_BYTES, "TEXT", true, FIT_NARROW },
		{ TYPE_UUID, "ANY", true, FIT_WIDER },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (sqlite_target_type_fit(cases[i].kind, cases[i].declared,
					   cases[i].strict) != cases[i].fit)
			fail_msg("%s in %s", type_kind_name(cases[i].kind),
				 cases[i].declared);
}

static void test_versions(void **state)
{
	static const struct {
		enum version_order order;
		const char *older, *newer; /* equal: one is as new */
	} cases[] = {
		{ VERSION_INSTANT, "2026-01-31", "2026-02-01" },
		{ VERSION_INSTANT, "2026-01-31 12:00:00+00:00",
		  "2026-01-31 12:00:00.000001+00:00" },
		{ VERSION_INSTANT, "2026-01-31 12:00:00.12+00:00",
		  "2026-01-31 12:00:00.123+00:00" },
		{ VERSION_INSTANT, "9999-12-31 23:59:59+00:00",
		  "10000-01-01 00:00:00+00:00" },
		{ VERSION_INSTANT, "0044-03-15 12:00:00+00:00 BC",
		  "0001-01-01 00:00:00+00:00" },
		{ VERSION_INSTANT, "0045-03-15 12:00:00+00:00 BC",
		  "0044-03-15 12:00:00+00:00 BC" },
		{ VERSION_INSTANT, "-infinity", "0044-03-15 12:00:00 BC" },
		{ VERSION_INSTANT, "290000-12-31 00:00:00", "infinity" },
		{ VERSION_INSTANT, "2026-01-31 12:00:00+05:00",
		  "2026-01-31 12:00:00+00:00" },
		{ VERSION_INSTANT, "2026-01-31 12:00:00+00:00",
		  "2026-01-31 08:00:00-05:00" },
		{ VERSION_INSTANT, "2026-01-31T11:00:00Z",
		  "2026-01-31 12:00:00+00:00" },
		{ VERSION_NUMBER, "9", "10" },
		{ VERSION_NUMBER, "9999999999999999999",
		  "10000000000000000000" },
		{ VERSION_NUMBER, "-10", "-9" },
		{ VERSION_NUMBER, "-0.5", "0" },
		{ VERSION_NUMBER, "0.09", "0.1" },
		{ VERSION_NUMBER, "007.5", "7.50001" },
		{ VERSION_NUMBER, "-Infinity", "-5" },
		{ VERSION_NUMBER, "12", "Infinity" },
		{ VERSION_NUMBER, "Infinity", "NaN" },
		{ VERSION_TEXT, "a", "b" },
		{ VERSION_TEXT, "a", "aa" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *a = cases[i].older, *b = cases[i].newer;

		if (!sqlite_target_version_is_current(cases[i].order, b,
						      strlen(b), a, strlen(a)))
			fail_msg("%s is not newer than %s", b, a);
		if (sqlite_target_version_is_current(cases[i].order, a,
						     strlen(a), b, strlen(b)))
			fail_msg("%s is not older than %s", a, b);
	}
}

static void test_versions_that_are_alike(void **state)
{
	static const struct {
		enum version_order order;
		const char *texts[2];
	} same[] = {
		{ VERSION_NUMBER, { "1.5", "1.500" } },
		{ VERSION_NUMBER, { "0", "-0.00" } },
		{ VERSION_NUMBER, { "0.0", "0" } },
		{ VERSION_NUMBER, { "100", "100.0" } },
		{ VERSION_NUMBER, { "100", "none" } },
		{ VERSION_INSTANT,
		  { "2026-01-31", "2026-01-31 00:00:00+00:00" } },
		{ VERSION_INSTANT,
		  { "2026-01-31 12:00:00.5+00:00",
		    "2026-01-31T12:00:00.500Z" } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(same); i++)
		for (int k = 0; k < 2; k++)
			assert_true(sqlite_target_version_is_current(
				same[i].order, same[i].texts[k],
				strlen(same[i].texts[k]), same[i].texts[!k],
				strlen(same[i].texts[!k])));
	assert_true(sqlite_target_version_is_current(VERSION_TEXT, NULL, 0,
						     NULL, 0));
	assert_true(
		sqlite_target_version_is_current(VERSION_TEXT, "", 0, NULL, 0));
	assert_false(
		sqlite_target_version_is_current(VERSION_TEXT, NULL, 0, "", 0));
}

static void check_double(struct file *f, int64_t id, double x,
			 const char *expected)
{
	char *sql = xstrfmt("SELECT v FROM orders WHERE id = %d", (int)id);

	f->schema.mark = -1;
	file_sync(f, id, &x, 8);
	file_sync(f, id, &x, 8);
	assert_int_equal(f->counts.unchanged, 1);
	file_expect(f, sql, expected);
	free(sql);
}

/* SQLite would make NULL of NaN. */
static void test_floats(void **state)
{
	struct file *f = *state;

	file_schema(f, TYPE_INT64, TYPE_FLOAT64);
	check_double(f, 1, NAN, "NaN");
	check_double(f, 2, INFINITY, "Inf");
	check_double(f, 3, -INFINITY, "-Inf");
	check_double(f, 4, 5e-324, "4.94065645841247e-324");
	check_double(f, 5, -0.0, "0.0");
	file_expect(f, "SELECT typeof(v) FROM orders WHERE id = 2", "real");
}

static void test_uint64(void **state)
{
	struct file *f = *state;
	uint64_t big = UINT64_MAX, small = 9;

	file_schema(f, TYPE_INT64, TYPE_UINT64);
	file_sync(f, 1, &big, 8);
	file_expect(f, "SELECT v FROM orders", "18446744073709551615");
	/* 9 sorts behind 1844... as text, but is older. */
	file_sync(f, 1, &small, 8);
	assert_int_equal(f->counts.unchanged, 1);
	file_expect(f, "SELECT v FROM orders", "18446744073709551615");
}

static void test_instants(void **state)
{
	struct file *f = *state;
	int64_t bc = -2100 * YEAR, far = 9000 * YEAR, most = INT64_MAX;

	file_schema(f, TYPE_INT64, TYPE_TIMESTAMPTZ);
	file_sync(f, 1, &bc, 8);
	file_expect(f, "SELECT v FROM orders WHERE v LIKE '%+00:00 BC'",
		    "0132-12-31 18:00:00+00:00 BC");
	file_sync(f, 1, &far, 8);
	assert_int_equal(f->counts.updated, 1);
	file_sync(f, 1, &bc, 8);
	assert_int_equal(f->counts.unchanged, 1);
	file_sync(f, 1, &most, 8);
	file_expect(f, "SELECT v FROM orders", "infinity");
	file_sync(f, 1, &far, 8);
	assert_int_equal(f->counts.unchanged, 1);
}

static void test_blob_and_empty(void **state)
{
	struct file *f = *state;

	file_schema(f, TYPE_INT64, TYPE_BYTES);
	f->schema.mark = -1;
	file_sync(f, 1, "", 0);
	file_expect(f, "SELECT typeof(v) || length(v) FROM orders", "blob0");
	file_sync(f, 1, "\0x\xff", 3);
	file_expect(f, "SELECT hex(v) FROM orders", "0078FF");
	file_schema(f, TYPE_INT64, TYPE_TEXT);
	f->schema.mark = -1;
	f->target.table = "texts";
	file_sync(f, 1, "", 0);
	file_expect(f, "SELECT typeof(v) || length(v) FROM texts", "text0");
}

static void test_refuses_bending_types(void **state)
{
	struct file *f = *state;

	file_exec(f, "CREATE TABLE orders (id INTEGER PRIMARY KEY,"
		     " v NUMERIC(10,2))");
	file_schema(f, TYPE_INT64, TYPE_DECIMAL);
	assert_int_equal(file_begin(f), ERROR_SCHEMA);
	assert_non_null(strstr(f->err.message, "column v"));
	assert_non_null(strstr(f->err.message, "orders"));
}

/* Rows are read one after the other, and the last is the newest, whatever its
 * mark. A row that is like it is not appended. */
static void test_append_order(void **state)
{
	struct file *f = *state;
	static const int64_t steps[] = { 5, 4, 4, 6, 4 };
	static const char *const rows[] = { "1", "2", "2", "3", "4" };

	f->target.mode = LOAD_APPEND;
	file_schema(f, TYPE_INT64, TYPE_INT64);
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		char *expected = xstrfmt("%d", (int)steps[i]);

		file_sync(f, 1, &steps[i], 8);
		file_expect(f, "SELECT count(*) FROM orders_raw", rows[i]);
		file_expect(f, "SELECT v FROM orders", expected);
		free(expected);
	}
	file_sync(f, 1, NULL, 0);
	file_expect(f, "SELECT v FROM orders", "NULL");
}

/* Written by a version of Tidemark that put the highest mark first. */
static void test_older_view(void **state)
{
	struct file *f = *state;
	int64_t five = 5, four = 4;

	f->target.mode = LOAD_APPEND;
	file_schema(f, TYPE_INT64, TYPE_INT64);
	file_sync(f, 1, &five, 8);
	file_exec(f, "DROP VIEW orders; CREATE VIEW orders AS\n"
		     "SELECT id, v FROM orders_raw ORDER BY v DESC LIMIT 1");
	file_sync(f, 1, &four, 8);
	file_expect(f, "SELECT v FROM orders", "4");
}

/* The kind, texts of stored, new and delivered, and whether new replaces. */
static const struct delivered_case {
	enum type_kind kind;
	const char *stored, *fresh, *delivered;
	bool replaces;
} delivered_cases[] = {
	{ TYPE_INT64, "5", "4", "5", true },
	{ TYPE_INT64, "5", "4", "40", true },
	{ TYPE_INT64, "9", "6", "6", false },
	{ TYPE_INT64, "10", "6", "9", false },
	{ TYPE_INT64, "5", "4", NULL, false },
	{ TYPE_INT64, "9007199254740993", "1", "9007199254740993", true },
	{ TYPE_INT64, "9007199254740993", "1", "9007199254740992", false },
	{ TYPE_UINT64, "10", "4", "10", true },
	{ TYPE_UINT64, "10", "4", "9", false },
	{ TYPE_TIMESTAMPTZ, "2026-01-31 12:00:00.5+00",
	  "2026-01-31 11:00:00+00", "2026-01-31 12:00:00.5+00", true },
	{ TYPE_TIMESTAMPTZ, "2026-01-31 12:00:00+00", "2026-01-31 11:00:00+00",
	  "2026-01-31 12:00:00+00", true },
	{ TYPE_TIMESTAMPTZ, "2026-01-31 12:00:00.500001+00",
	  "2026-01-31 11:00:00+00", "2026-01-31 12:00:00.5+00", false },
	{ TYPE_TIMESTAMPTZ, "2026-01-31 12:00:00+00", "2026-01-31 11:00:00+00",
	  "no time", false },
	{ TYPE_TIMESTAMP, "2026-01-31 12:00:00", "2026-01-31 11:00:00",
	  "2026-01-31 12:00:00", true },
	{ TYPE_TIMESTAMP, "2026-01-31 12:00:00.000001", "2026-01-31 11:00:00",
	  "2026-01-31 12:00:00", false },
};

static void delivered_sync(struct file *f, enum type_kind kind,
			   const char *text, const char *delivered)
{
	int64_t value;

	if (kind == TYPE_INT64 || kind == TYPE_UINT64)
		value = strtoll(text, NULL, 10);
	else
		assert_true(value_parse_timestamp(text, &value));
	f->delivered = delivered;
	file_sync(f, 1, &value, 8);
	f->delivered = NULL;
}

static void check_delivered(struct file *f, enum load_mode mode)
{
	f->target.mode = mode;
	for (size_t i = 0; i < ARRAY_SIZE(delivered_cases); i++) {
		const struct delivered_case *c = &delivered_cases[i];

		file_schema(f, TYPE_INT64, c->kind);
		delivered_sync(f, c->kind, c->stored, NULL);
		delivered_sync(f, c->kind, c->fresh, c->delivered);
		if (f->counts.updated != c->replaces)
			fail_msg("%s over %s, delivered %s", c->fresh,
				 c->stored,
				 c->delivered ? c->delivered : "nothing");
		assert_int_equal(f->counts.unchanged, !c->replaces);
		file_exec(f, "DROP TABLE orders");
	}
}

static void test_delivered(void **state)
{
	check_delivered(*state, LOAD_UPSERT);
}

static void test_delivered_delete_insert(void **state)
{
	check_delivered(*state, LOAD_DELETE_INSERT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fit),
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_versions_that_are_alike),
		IN_FILE(test_floats),
		IN_FILE(test_uint64),
		IN_FILE(test_instants),
		IN_FILE(test_append_order),
		IN_FILE(test_older_view),
		IN_FILE(test_delivered),
		IN_FILE(test_delivered_delete_insert),
		IN_FILE(test_blob_and_empty),
		IN_FILE(test_refuses_bending_types),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
