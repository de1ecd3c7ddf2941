/* SQLite's own behaviour: open writers, notations of dates, values that do not
 * fit their column's type, ids that come again. */
#include <stdlib.h>
#include <string.h>

#include "connector_world.h"

#include "core/base/alloc.h"
#include "core/base/clock.h"

static void sqlite_table(struct world *w, const char *mark)
{
	world_exec(w,
		   "CREATE TABLE t (id INTEGER PRIMARY KEY, at %s);"
		   "CREATE INDEX t_at ON t (at, id)",
		   mark);
	world_pipeline(w, "t", STRATEGY_TIMESTAMP, "at");
}

/* A writer has stamped row 3 in the same second as row 5, and commits after the
 * run has read row 5. The mark waits for it. */
static void sqlite_late_commit_in(struct world *w)
{
	sqlite_table(w, "timestamptz");
	world_exec(w, "INSERT INTO t VALUES (1, '2024-01-01 00:00:00+00'),"
		      "(3, '2024-01-01 00:00:01+00'),"
		      "(5, '2024-01-01 00:05:00+00')");
	world_other(w, 1,
		    "BEGIN IMMEDIATE; UPDATE t SET at = "
		    "'2024-01-01 00:05:00+00' WHERE id = 3");
	world_expect_count(w, 10, 3);
	assert_int_equal(w->n_tail, 3);
	assert_null(w->from.value);
	assert_int_equal(w->settled.guarantee, GUARANTEE_EXACT);
	assert_non_null(w->settled.held_by);
	world_other(w, 1, "COMMIT");
	world_expect(w, 10,
		     "1|2024-01-01 00:00:00+00\n3|2024-01-01 00:05:00+00\n"
		     "5|2024-01-01 00:05:00+00\n");
	assert_int_equal(w->n_tail, 0);
	assert_null(w->settled.held_by);
	world_expect_count(w, 10, 0);
}

static void sqlite_late_commit(void **state)
{
	sqlite_late_commit_in(suite_world(state));
}

static void sqlite_late_commit_wal(void **state)
{
	struct world *w = suite_world(state);

	world_exec(w, "PRAGMA journal_mode = WAL");
	sqlite_late_commit_in(w);
}

/* One that only reads, or has not written yet, holds nothing. */
static void sqlite_open_reader(void **state)
{
	struct world *w = suite_world(state);

	sqlite_table(w, "timestamptz");
	world_exec(w, "INSERT INTO t VALUES (1, '2024-01-01 00:00:00+00')");
	world_other(w, 1, "BEGIN; SELECT * FROM t");
	world_expect_count(w, 10, 1);
	assert_int_equal(w->n_tail, 0);
	assert_string_equal(w->from.value, "2024-01-01 00:00:00+00");
	world_other(w, 1, "ROLLBACK");
}

/* A page holds no lock once it was handed over: a rollback journal's writer
 * can commit between two batches. */
static void sqlite_writer_between_pages(void **state)
{
	struct world *w = suite_world(state);

	sqlite_table(w, "timestamptz");
	world_exec(w, "INSERT INTO t VALUES (1, '2024-01-01 00:00:01+00'),"
		      "(2, '2024-01-01 00:00:02+00'),"
		      "(3, '2024-01-01 00:00:03+00')");
	assert_int_equal(world_begin(w), 0);
	assert_int_equal(world_step(w, 1), 1);
	world_other(w, 1,
		    "PRAGMA busy_timeout = 0;"
		    "DELETE FROM t WHERE id = 2");
	assert_int_equal(world_step(w, 1), 1);
	assert_int_equal(world_step(w, 1), 0);
}

static void sqlite_sequence(void **state)
{
	struct world *w = suite_world(state);

	world_exec(w, "CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, "
		      "v int); INSERT INTO t (v) VALUES (1), (2)");
	world_pipeline(w, "t", STRATEGY_SEQUENCE, "id");
	world_expect(w, 10, "1|1\n2|2\n");
	assert_int_equal(w->settled.guarantee, GUARANTEE_EXACT);
	world_other(w, 1, "BEGIN IMMEDIATE; INSERT INTO t (v) VALUES (3)");
	world_expect(w, 10, "");
	assert_non_null(w->settled.held_by);
	assert_string_equal(w->from.value, "2");
	world_other(w, 1, "COMMIT");
	w->mark.lag_count = 1;
	world_expect(w, 10, "1|1\n2|2\n3|3\n");
	w->mark.lag_count = 0;
	world_exec(w, "DELETE FROM t WHERE id = 3");
	world_expect(w, 10, "");
	world_exec(w, "DROP TABLE t; CREATE TABLE t (id INTEGER PRIMARY KEY "
		      "AUTOINCREMENT, v int); INSERT INTO t (v) VALUES (9)");
	world_refuse(w, ERROR_SCHEMA, "ahead of the last id");
}

static void sqlite_ids_come_again(void **state)
{
	struct world *w = suite_world(state);

	world_exec(w, "CREATE TABLE t (id INTEGER PRIMARY KEY, v int);"
		      "INSERT INTO t (v) VALUES (1)");
	world_pipeline(w, "t", STRATEGY_SEQUENCE, "id");
	world_expect(w, 10, "1|1\n");
	assert_int_equal(w->settled.guarantee, GUARANTEE_LAG);
	assert_non_null(strstr(w->settled.reason, "AUTOINCREMENT"));
}

/* Each way of writing dates is read by its own text, in order. */
static void sqlite_notations(void **state)
{
	static const struct {
		const char *type, *first, *second;
	} ways[] = {
		{ "TEXT", "2024-01-31 09:00:00", "2024-01-31 09:00:00.50" },
		{ "DATETIME", "2024-01-31T09:00:00", "2024-01-31T09:00:00.5" },
		{ "timestamptz", "2024-01-31T09:00:00.000Z",
		  "2024-01-31T09:00:00.500Z" },
		{ "timestamptz", "2024-01-31 09:00:00+02:00",
		  "2024-01-31 09:00:00.5+02:00" },
		{ "TEXT", "2024-01-31 09:00:00-03:00",
		  "2024-01-31 09:00:00.1-03:00" },
		{ "DATE", "2024-01-30", "2024-01-31" },
		{ "TEXT", "-infinity", "0001-01-01 00:00:00" },
	};
	struct world *w = suite_world(state);

	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		sqlite_table(w, ways[i].type);
		world_exec(w, "INSERT INTO t VALUES (2, '%s'), (1, '%s')",
			   ways[i].first, ways[i].second);
		world_expect_count(w, 1, 2);
		assert_int_equal(w->n_tail, 0);
		assert_string_equal(w->from.value, ways[i].second);
		world_expect(w, 1, "");
		world_exec(w, "INSERT INTO t VALUES (3, '%s')", ways[i].second);
		world_expect_count(w, 1, 1);
		world_exec(w, "DROP TABLE t");
	}
}

/* Rows that sort below the mark though they are later are not passed over. */
static void sqlite_hidden_notations(void **state)
{
	static const struct {
		const char *type, *mark, *hidden;
	} rows[] = {
		{ "TEXT", "'2024-01-31T09:00:00'", "'2024-01-31 13:00:00'" },
		{ "TEXT", "'2024-01-31T09:00:00'", "'2024-01-31'" },
		{ "TEXT", "'2024-01-31 09:00:00'", "'2024-01-31'" },
		{ "DATETIME", "'2024-01-31 09:00:00'", "1906721590" },
		{ "TEXT", "'2024-01-31 09:00:00'", "''" },
		{ "TEXT", "'2024-01-31 09:00:00.1Z'",
		  "'2024-01-31 09:00:00.05Z'" },
		{ "TEXT", "'2024-10-27 02:45:00+02:00'",
		  "'2024-10-27 02:30:00+01:00'" },
	};
	struct world *w = suite_world(state);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		sqlite_table(w, rows[i].type);
		world_exec(w, "INSERT INTO t VALUES (1, %s)", rows[i].mark);
		world_expect_count(w, 1, 1);
		world_exec(w, "INSERT INTO t VALUES (7, %s)", rows[i].hidden);
		world_refuse(w, ERROR_DATA, "is not written as the others");
		assert_non_null(strstr(w->err.message, "key id=7"));
		world_exec(w, "DROP TABLE t");
	}
}

/* Written otherwise, and above the mark: found when it is read. */
static void sqlite_mixed_notations(void **state)
{
	struct world *w = suite_world(state);

	sqlite_table(w, "TEXT");
	world_exec(w, "INSERT INTO t VALUES (1, '2024-01-01 00:00:00'),"
		      "(2, '2024-01-01T00:00:00'), (3, '2025-01-01 00:00:00')");
	world_refuse(w, ERROR_DATA, "column \"at\", key id=2");
	world_exec(w, "UPDATE t SET at = 'yesterday' WHERE id = 2");
	world_refuse(w, ERROR_DATA, "'yesterday' is not written as");
}

/* A number of seconds is read by an expression, which says what it means. */
static void sqlite_epoch(void **state)
{
	static const struct source_expression changed = {
		(char *)"changed", (char *)"datetime(at, 'unixepoch')"
	};
	struct world *w = suite_world(state);

	sqlite_table(w, "INTEGER");
	world_exec(w, "INSERT INTO t VALUES (1, 1704067200), (2, 1704067201)");
	world_refuse(w, ERROR_CONFIG, "unixepoch");
	w->source.expressions = &changed;
	w->source.n_expressions = 1;
	w->mark.column = "changed";
	world_expect(w, 1,
		     "1|1704067200|2024-01-01 00:00:00\n"
		     "2|1704067201|2024-01-01 00:00:01\n");
	world_expect(w, 1, "");
	world_exec(w, "UPDATE t SET at = 1704067202 WHERE id = 1");
	world_expect(w, 1, "1|1704067202|2024-01-01 00:00:02\n");
}

/* A value that does not fit names table, column and row. */
static void sqlite_misfits(void **state)
{
	static const struct {
		const char *type, *value;
	} misfits[] = {
		{ "INTEGER", "'abc'" },
		{ "INTEGER", "1.5" },
		{ "INTEGER", "x'00'" },
		{ "TEXT", "x'00'" },
		{ "BLOB", "'text'" },
		{ "REAL", "'abc'" },
		{ "BOOLEAN", "2" },
		{ "BOOLEAN", "'true'" },
		{ "DATE", "'2024-13-01'" },
		{ "DATE", "20240101" },
		{ "DATETIME", "'now'" },
		{ "DATETIME", "1704067200" },
		{ "TIME", "'25:00:00'" },
		{ "UUID", "'abc'" },
		{ "DECIMAL(4,2)", "0.125" },
		{ "DECIMAL(4,2)", "100" },
		{ "DECIMAL(4,2)", "'x'" },
		{ "DATETIME", "'2024-01-01 00:00:00+01:00'" },
		{ "TIMESTAMPTZ", "'2024-01-01 00:00:00'" },
		{ "TEXT", "CAST(x'ff41' AS TEXT)" },
		{ "", "x'00'" },
	};
	struct world *w = suite_world(state);

	for (size_t i = 0; i < ARRAY_SIZE(misfits); i++) {
		world_exec(w,
			   "DROP TABLE IF EXISTS t; CREATE TABLE t (id INTEGER "
			   "PRIMARY KEY, v %s)",
			   misfits[i].type);
		world_exec(w, "INSERT INTO t VALUES (1, NULL), (7, %s)",
			   misfits[i].value);
		world_pipeline(w, "t", STRATEGY_SEQUENCE, "id");
		world_refuse(w, ERROR_DATA, "table t, column \"v\", key id=7");
	}
}

static void sqlite_values(void **state)
{
	static const struct {
		const char *type, *value, *expected;
	} values[] = {
		{ "INT", "-9223372036854775808", "-9223372036854775808" },
		{ "TINYINT(1)", "1", "1" },
		{ "BOOLEAN", "1", "true" },
		{ "VARCHAR(3)", "'Łukasz'", "Łukasz" },
		{ "TEXT", "''", "" },
		{ "TEXT", "5", "5" },
		{ "BLOB", "x'00ff'", "\\x00ff" },
		{ "BLOB", "x''", "\\x" },
		{ "REAL", "0.1", "0.1" },
		{ "DOUBLE PRECISION", "5", "5" },
		{ "FLOAT", "'NaN'", "NaN" },
		{ "REAL", "-9e999", "-Infinity" },
		{ "DECIMAL(10,2)", "1.50", "1.5" },
		{ "NUMERIC", "1e20", "100000000000000000000" },
		{ "NUMERIC", "1.5e-7", "0.00000015" },
		{ "NUMERIC", "-0.1", "-0.1" },
		{ "DATE", "'2024-02-29'", "2024-02-29" },
		{ "DATE", "'0044-03-15 BC'", "0044-03-15 BC" },
		{ "DATE", "'infinity'", "infinity" },
		{ "TIME", "'24:00:00'", "24:00:00" },
		{ "TIME", "'23:59:59.999999'", "23:59:59.999999" },
		{ "DATETIME", "'2024-01-01T00:00:00.5'",
		  "2024-01-01 00:00:00.5" },
		{ "TIMESTAMPTZ", "'2024-01-01 00:00:00.123456+05:30'",
		  "2023-12-31 18:30:00.123456+00" },
		{ "TIMESTAMPTZ", "'0044-03-15 00:00:00+00:00 BC'",
		  "0044-03-15 00:00:00+00 BC" },
		{ "UUID", "'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'",
		  "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11" },
		{ "UUID", "x'a0eebc999c0b4ef8bb6d6bb9bd380a11'",
		  "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11" },
		{ "JSON", "'{\"a\":1}'", "{\"a\":1}" },
		{ "JSON", "5", "5" },
		{ "", "'x'", "x" },
		{ "", "5", "5" },
		{ "", "0.1", "0.1" },
	};
	struct world *w = suite_world(state);

	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		char *row = xstrfmt("1|%s\n", values[i].expected);
		world_exec(w,
			   "DROP TABLE IF EXISTS t; CREATE TABLE t (id INTEGER "
			   "PRIMARY KEY, v %s)",
			   values[i].type);
		world_exec(w, "INSERT INTO t VALUES (1, %s)", values[i].value);
		world_pipeline(w, "t", STRATEGY_SEQUENCE, "id");
		world_expect(w, 1, row);
		free(row);
	}
}

/* Every kind of key is told apart and paged in one order. */
static void sqlite_keys(void **state)
{
	static const struct {
		const char *type, *a, *b, *c;
	} keys[] = {
		{ "TEXT COLLATE NOCASE", "'A'", "'a'", "'b'" },
		{ "BLOB", "x'00'", "x'0001'", "x'ff'" },
		{ "REAL", "-0.1", "0.1", "0.30000000000000004" },
		{ "NUMERIC", "-5", "0.1", "7" },
		{ "DATE", "'2024-01-01'", "'2024-01-02'", "'2024-01-03'" },
		{ "TIMESTAMPTZ", "'2024-01-01 00:00:00Z'",
		  "'2024-01-01 00:00:00.50Z'", "'2025-01-01 00:00:00+01:00'" },
		{ "UUID", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'",
		  "'b0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'",
		  "x'c0eebc999c0b4ef8bb6d6bb9bd380a11'" },
		{ "BOOLEAN", "0", "1", NULL },
	};
	struct world *w = suite_world(state);

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		world_exec(w,
			   "DROP TABLE IF EXISTS t; CREATE TABLE t (k %s, "
			   "at timestamptz, v INTEGER)",
			   keys[i].type);
		for (int n = 0; n < 3; n++) {
			const char *value = n == 0   ? keys[i].a
					    : n == 1 ? keys[i].b
						     : keys[i].c;
			if (value)
				world_exec(w,
					   "INSERT INTO t VALUES (%s, "
					   "'2024-01-01 00:00:00Z', %d)",
					   value, n);
		}
		world_pipeline(w, "t", STRATEGY_TIMESTAMP, "at");
		world_key(w, "k", NULL);
		world_expect_count(w, 1, keys[i].c ? 3 : 2);
		world_expect(w, 1, "");
		world_exec(w, "INSERT INTO t SELECT k, '2024-01-02 00:00:00Z', "
			      "9 FROM t LIMIT 1");
		world_reset(w);
		world_refuse(w, ERROR_SCHEMA, "repeats");
	}
}

static void sqlite_wall_clock(void **state)
{
	static const struct {
		const char *zone;
		int tail;
	} zones[] = { { "UTC", 0 },	    { "auto", 0 },
		      { "+05:30", 0 },	    { "-03:00", 1 },
		      { "Europe/Rome", 0 }, { "America/New_York", 1 } };
	struct world *w = suite_world(state);

	for (size_t i = 0; i < ARRAY_SIZE(zones); i++) {
		world_exec(w, "DROP TABLE IF EXISTS t");
		sqlite_table(w, "DATETIME");
		world_exec(w, "INSERT INTO t VALUES (1, datetime('now', "
			      "'-1 hour'))");
		w->mark.time_zone = zones[i].zone;
		world_expect_count(w, 1, 1);
		assert_int_equal(w->n_tail, zones[i].tail);
		assert_int_equal(w->settled.guarantee,
				 strcmp(zones[i].zone, "auto") ? GUARANTEE_EXACT
							       : GUARANTEE_LAG);
	}
	w->mark.time_zone = "Europe/Rom";
	world_refuse(w, ERROR_CONFIG, "Europe/Rom");
}

static void sqlite_refusals(void **state)
{
	struct world *w = suite_world(state);

	sqlite_table(w, "timestamptz");
	world_pipeline(w, "t", STRATEGY_XMIN, NULL);
	world_refuse(w, ERROR_CONFIG, "use timestamp or sequence");
	world_pipeline(w, "tt", STRATEGY_TIMESTAMP, "at");
	world_refuse(w, ERROR_SCHEMA, "(did you mean t?)");
	world_pipeline(w, "other.t", STRATEGY_TIMESTAMP, "at");
	world_refuse(w, ERROR_CONFIG, "main.t");
	world_pipeline(w, "t", STRATEGY_TIMESTAMP, "att");
	world_refuse(w, ERROR_SCHEMA, "did you mean \"at\"");
	world_pipeline(w, "t", STRATEGY_TIMESTAMP, "at");
	w->source.where = "id = ?";
	world_refuse(w, ERROR_CONFIG, "source.where");
}

const struct CMUnitTest suite_sqlite[] = {
	SUITE_TEST(sqlite_late_commit),
	SUITE_TEST(sqlite_late_commit_wal),
	SUITE_TEST(sqlite_open_reader),
	SUITE_TEST(sqlite_writer_between_pages),
	SUITE_TEST(sqlite_sequence),
	SUITE_TEST(sqlite_ids_come_again),
	SUITE_TEST(sqlite_notations),
	SUITE_TEST(sqlite_hidden_notations),
	SUITE_TEST(sqlite_mixed_notations),
	SUITE_TEST(sqlite_epoch),
	SUITE_TEST(sqlite_misfits),
	SUITE_TEST(sqlite_values),
	SUITE_TEST(sqlite_keys),
	SUITE_TEST(sqlite_wall_clock),
	SUITE_TEST(sqlite_refusals),
};
const size_t suite_sqlite_n = ARRAY_SIZE(suite_sqlite);
