/* MySQL and MariaDB: pages, by which plan, in which order, of which snapshot.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "connector_world.h"

#include "clients/mysql.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"

/* Each collation pages every key once; a key without an index by its bytes. */
static void keyset_text_keys(void **state)
{
	static const char *const collations[] = { "utf8mb4_bin",
						  "utf8mb4_general_ci",
						  "utf8mb4_unicode_ci",
						  "latin1_swedish_ci" };
	struct world *w = suite_world(state);

	for (size_t i = 0; i < ARRAY_SIZE(collations); i++) {
		char charset[16];
		snprintf(charset, sizeof(charset), "%.*s",
			 (int)strcspn(collations[i], "_"), collations[i]);
		world_exec(w, "DROP TABLE IF EXISTS tm_source.t");
		world_exec(w,
			   "CREATE TABLE tm_source.t (k varchar(20) CHARACTER "
			   "SET %s COLLATE %s PRIMARY KEY, at timestamp(6) "
			   "NOT NULL)",
			   charset, collations[i]);
		world_exec(w, "INSERT INTO tm_source.t (k, at) SELECT v, "
			      "'2024-01-01' FROM (SELECT 'b' v UNION SELECT "
			      "'A' UNION SELECT 'é1' UNION SELECT '' UNION "
			      "SELECT 'z%%' UNION SELECT 'C''' UNION SELECT "
			      "'aa' UNION SELECT 'Z1') x");
		world_pipeline(w, "t", STRATEGY_TIMESTAMP, "at");
		for (size_t rows = 1; rows < 4; rows++) {
			world_reset(w);
			world_expect_count(w, rows, 8);
			world_expect_count(w, rows, 0);
		}
	}
	world_exec(w, "CREATE TABLE tm_source.u (k varchar(9) COLLATE "
		      "utf8mb4_general_ci NOT NULL, at timestamp NOT NULL)");
	world_exec(w, "INSERT INTO tm_source.u VALUES ('a', '2024-01-01'), "
		      "('B', '2024-01-01'), ('A', '2024-01-01')");
	world_pipeline(w, "u", STRATEGY_TIMESTAMP, "at");
	world_key(w, "k", NULL);
	world_expect(w, 1,
		     "A|2024-01-01 00:00:00+00\nB|2024-01-01 00:00:00+00\n"
		     "a|2024-01-01 00:00:00+00\n");
	world_exec(w, "INSERT INTO tm_source.u VALUES ('B', '2024-01-02')");
	world_refuse(w, ERROR_SCHEMA, "repeats");
}

/* MySQL reads the text of a parameter as a signed number, wherever it wants a
 * number. Keys and marks from 2^63 on must stay different. */
static void keyset_beyond_signed(void **state)
{
	static const char *const types[] = { "bit(64)", "bigint unsigned" };
	struct world *w = suite_world(state);

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		world_exec(w, "DROP TABLE IF EXISTS tm_source.t");
		world_exec(w,
			   "CREATE TABLE tm_source.t (id %s PRIMARY KEY, "
			   "at timestamp NOT NULL DEFAULT '2024-01-01')",
			   types[i]);
		world_exec(w, "INSERT INTO tm_source.t (id) VALUES (0), (7), "
			      "(9223372036854775807), (9223372036854775808), "
			      "(9223372036854775809), (18446744073709551615)");
		world_pipeline(w, "t", STRATEGY_TIMESTAMP, "at");
		for (size_t rows = 1; rows < 3; rows++) {
			world_reset(w);
			world_expect_count(w, rows, 6);
			world_expect_count(w, rows, 0);
		}
	}
	world_pipeline(w, "t", STRATEGY_SEQUENCE, "id");
	world_expect_count(w, 2, 6);
	world_expect_count(w, 2, 0);
}

/* A number of 65 digits is compared whole. */
static void keyset_long_decimals(void **state)
{
	static const char *const ends[] = { "1", "2" };
	struct world *w = suite_world(state);
	char nines[65];

	memset(nines, '9', 64);
	nines[64] = '\0';
	world_exec(w, "CREATE TABLE tm_source.t (id decimal(65,0) PRIMARY KEY, "
		      "at timestamp NOT NULL DEFAULT '2024-01-01')");
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		world_exec(w,
			   "INSERT INTO tm_source.t (id) VALUES (%s), "
			   "(%s%s)",
			   ends[i], ends[i], nines);
	for (size_t rows = 1; rows < 3; rows++) {
		world_pipeline(w, "t", STRATEGY_TIMESTAMP, "at");
		world_expect_count(w, rows, 4);
		world_pipeline(w, "t", STRATEGY_SEQUENCE, "id");
		world_expect_count(w, rows, 4);
		world_expect_count(w, rows, 0);
	}
}

/* A look back by more than the mark ends at nothing: an unsigned number below
 * zero would be a very large one. */
static void keyset_look_back(void **state)
{
	static const char *const types[] = { "tinyint", "bigint unsigned",
					     "decimal(65,0)" };
	struct world *w = suite_world(state);

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		world_exec(w, "DROP TABLE IF EXISTS tm_source.t");
		world_exec(w, "CREATE TABLE tm_source.t (id %s PRIMARY KEY)",
			   types[i]);
		world_exec(w, "INSERT INTO tm_source.t VALUES (1), (5), (9)");
		world_pipeline(w, "t", STRATEGY_SEQUENCE, "id");
		world_expect_count(w, 2, 3);
		world_exec(w, "INSERT INTO tm_source.t VALUES (6), (2)");
		world_expect_count(w, 2, 0);
		w->mark.lag_count = 4;
		world_expect(w, 1, "5\n6\n9\n");
		assert_string_equal(w->from.value, "9");
		w->mark.lag_count = 10;
		world_expect_count(w, 2, 5);
		w->mark.lag_count = INT64_MAX;
		world_expect_count(w, 1, 5);
		w->mark.lag_count = 0;
	}
}

/* The server's plan for the pages of a table with this index: the plan of the
 * statement that our session runs, or ran last. */
static char *keyset_plan(struct world *w, const char *sql)
{
	struct strbuf explain = STRBUF_INIT, out = STRBUF_INIT;
	struct mysql_client_result *r = NULL;

	strbuf_addf(&explain, "EXPLAIN FORMAT = TRADITIONAL %s", sql);
	assert_int_equal(mysql_client_query(w->sessions[0], &r, explain.data,
					    NULL, 0, NULL, &w->err),
			 0);
	assert_int_equal(mysql_client_rows(r), 1);
	/* The columns type, key and Extra stand where they stood in 1998, but
	 * for two that MySQL added. */
	for (size_t i = 0; i < 12; i++) {
		const char *text;
		if (i >= mysql_client_columns(r))
			break;
		text = mysql_client_value(r, 0, i);
		strbuf_addf(&out, "%s|", text ? text : "");
	}
	mysql_client_result_free(r);
	strbuf_release(&explain);
	return strbuf_detach(&out);
}

/* The statement of the last page, with its values, from the general log. */
static char *keyset_last_page(struct world *w, const char *end)
{
	struct mysql_client_result *r = NULL;
	char *sql;

	assert_int_equal(
		mysql_client_query(
			w->sessions[0], &r,
			"SELECT CONVERT(argument USING utf8mb4) FROM "
			"mysql.general_log WHERE command_type = 'Execute' "
			"AND argument LIKE 'SELECT /* tidemark source */%' "
			"AND argument LIKE '%LIMIT%' "
			"ORDER BY event_time DESC LIMIT 100",
			"t", 0, NULL, &w->err),
		0);
	for (size_t i = 0; i < mysql_client_rows(r); i++) {
		if (strstr(mysql_client_value(r, i, 0), end)) {
			sql = xstrdup(mysql_client_value(r, i, 0));
			mysql_client_result_free(r);
			return sql;
		}
	}
	fail_msg("no page with %s in the log", end);
	return NULL;
}

static const struct {
	const char *columns, *key; /* the table's; NULL: its primary key */
	enum strategy strategy;
	const char *mark, *index;
} keyset_plans[] = {
	{ "a int, b varchar(20), at timestamp(6) NOT NULL, v varchar(200), "
	  "PRIMARY KEY (a, b), INDEX by_mark (at, a, b)",
	  NULL, STRATEGY_TIMESTAMP, "at", "by_mark" },
	{ "a int, b varchar(20), at datetime NOT NULL, v varchar(200), "
	  "PRIMARY KEY (b, a), INDEX by_mark (at)",
	  NULL, STRATEGY_TIMESTAMP, "at", "by_mark" },
	{ "a int, b varchar(20), at timestamp(6) NOT NULL, v varchar(200), "
	  "PRIMARY KEY (a)",
	  NULL, STRATEGY_SEQUENCE, "a", "PRIMARY" },
	{ "a int, b char(9) COLLATE utf8mb4_general_ci, at timestamp(6) NOT "
	  "NULL, v varchar(200), PRIMARY KEY (b), INDEX by_mark (at)",
	  NULL, STRATEGY_TIMESTAMP, "at", "by_mark" },
};

/* A page is one range of the mark's index, and nothing is sorted: else each
 * page of a large table reads all of it. */
static void keyset_plan_is_range(void **state)
{
	struct world *w = suite_world(state);

	for (size_t i = 0; i < ARRAY_SIZE(keyset_plans); i++) {
		char *sql, *plan;
		world_exec(w, "DROP TABLE IF EXISTS tm_source.t");
		world_exec(w, "CREATE TABLE tm_source.t (%s)",
			   keyset_plans[i].columns);
		world_exec(w,
			   "INSERT INTO tm_source.t SELECT n, concat('k', n), "
			   "'2024-01-01' + INTERVAL n DIV 10 SECOND, "
			   "repeat('x', 200) FROM %s",
			   world_series(w, 1, 9000));
		world_exec(w, "ANALYZE TABLE tm_source.t");
		world_pipeline(w, "t", keyset_plans[i].strategy,
			       keyset_plans[i].mark);
		world_keep_log(w, true);
		world_expect_count(w, 1000, 9000);
		world_keep_log(w, false);
		/* A page in the middle, beyond a position. */
		sql = keyset_last_page(w, keyset_plans[i].strategy ==
							  STRATEGY_SEQUENCE
						  ? "'4000'"
						  : "00:06:40");
		plan = keyset_plan(w, sql);
		if (!strstr(plan, "|range|") ||
		    !strstr(plan, keyset_plans[i].index) ||
		    strstr(plan, "filesort"))
			fail_msg("%s\n%s", plan, sql);
		free(sql);
		free(plan);
	}
}

static char *keyset_count_log(struct world *w, const char *pattern)
{
	struct mysql_client_result *r = NULL;
	char *count;

	assert_int_equal(mysql_client_query(
				 w->sessions[0], &r,
				 "SELECT COUNT(*) FROM mysql.general_log WHERE "
				 "command_type IN ('Query', 'Execute') AND "
				 "CONVERT(argument USING utf8mb4) LIKE ?",
				 "1t", 1, &pattern, &w->err),
			 0);
	count = xstrdup(mysql_client_value(r, 0, 0));
	mysql_client_result_free(r);
	return count;
}

/* Each page has a snapshot of its own, which ends with it. */
static void keyset_snapshots(void **state)
{
	struct world *w = suite_world(state);
	char *pages, *begun, *ended;

	world_exec(w, "CREATE TABLE tm_source.t (id int PRIMARY KEY)");
	world_exec(w, "INSERT INTO tm_source.t VALUES (1), (2), (3)");
	world_pipeline(w, "t", STRATEGY_SEQUENCE, "id");
	world_keep_log(w, true);
	world_expect_count(w, 2, 3);
	world_keep_log(w, false);
	pages = keyset_count_log(w, "SELECT /* tidemark source */%LIMIT%");
	begun = keyset_count_log(w, "/* tidemark source */ START TRANSACTION "
				    "WITH CONSISTENT SNAPSHOT, READ ONLY");
	ended = keyset_count_log(w, "/* tidemark source */ COMMIT");
	assert_string_not_equal(begun, "0");
	assert_string_equal(begun, pages);
	assert_string_equal(ended, pages);
	free(pages);
	free(begun);
	free(ended);
}

/* Equal keys stand on both sides of a page's edge. The first page's last row
 * hides the other one from the next page, so repeats are looked for
 * beforehand. */
static void keyset_repeat_across_pages(void **state)
{
	struct world *w = suite_world(state);

	world_exec(w, "CREATE TABLE tm_source.t (k int NOT NULL, v int, at "
		      "timestamp(6) NOT NULL, INDEX (k), INDEX (at))");
	world_exec(w, "INSERT INTO tm_source.t VALUES (1, 1, '2024-01-01'), "
		      "(2, 1, '2024-01-01'), (3, 1, '2024-01-02')");
	for (size_t rows = 1; rows < 4; rows++) {
		world_pipeline(w, "t", STRATEGY_TIMESTAMP, "at");
		world_key(w, "k", NULL);
		world_expect_count(w, rows, 3);
		world_exec(w, "INSERT INTO tm_source.t VALUES (2, 2, "
			      "'2024-01-01'), (5, 1, '2024-02-01')");
		/* The next run reads these rows alone. */
		world_expect_count(w, rows, 1);
		world_reset(w);
		assert_int_equal(world_run(w, rows), -ERROR_SCHEMA);
		assert_non_null(strstr(w->err.message, "repeats"));
		assert_non_null(strstr(w->err.message, "k=2"));
		assert_int_equal(w->n_rows, 0);
		/* And one of a row that was read earlier. */
		world_exec(w, "DELETE FROM tm_source.t WHERE v = 2 OR k = 5");
		world_expect_count(w, rows, 3);
		world_exec(w, "INSERT INTO tm_source.t VALUES (1, 3, "
			      "'2024-03-01')");
		assert_int_equal(world_run(w, rows), -ERROR_SCHEMA);
		assert_non_null(strstr(w->err.message, "k=1"));
		world_exec(w, "DELETE FROM tm_source.t WHERE v = 3");
	}
}

static size_t keyset_open_transactions(struct world *w)
{
	struct mysql_client_result *r = NULL;
	size_t n;

	/* Nobody looks meanwhile, so that the list is fresh. */
	clock_sleep_us(150 * 1000);
	assert_int_equal(
		mysql_client_query(w->sessions[0], &r,
				   "SELECT 1 FROM "
				   "information_schema.innodb_trx WHERE "
				   "trx_mysql_thread_id <> CONNECTION_ID()",
				   "t", 0, NULL, &w->err),
		0);
	n = mysql_client_rows(r);
	mysql_client_result_free(r);
	return n;
}

/* A page is a snapshot of its own, later than the settled point. No snapshot is
 * held while a batch is loaded. A row that commits between pages comes in a
 * later page, or again. It never moves the mark beyond the earlier settled
 * point. */
static void keyset_snapshot_a_page(void **state)
{
	struct world *w = suite_world(state);
	int64_t rows = 0;

	world_exec(w, "CREATE TABLE tm_source.t (id int PRIMARY KEY, at "
		      "timestamp(6) NOT NULL DEFAULT NOW(6), INDEX (at))");
	world_exec(w, "INSERT INTO tm_source.t VALUES (1, '2024-01-01'), (2, "
		      "'2024-01-02'), (3, '2024-01-03')");
	world_other(w, 1, "START TRANSACTION");
	world_other(w, 1, "INSERT INTO tm_source.t (id) VALUES (5)");
	clock_sleep_us(1200 * 1000);
	world_pipeline(w, "t", STRATEGY_TIMESTAMP, "at");
	assert_int_equal(world_begin(w), 0);
	assert_int_equal(world_step(w, 2), 1);
	assert_int_equal(keyset_open_transactions(w), 1);
	world_other(w, 1, "COMMIT");
	assert_int_equal(keyset_open_transactions(w), 0);
	world_exec(w, "INSERT INTO tm_source.t (id) VALUES (6)");
	while (world_step(w, 2) > 0)
		rows += (int64_t)w->batch.n_rows;
	assert_int_equal(w->err.code, 0);
	/* 3, 5 and 6: what came in between is the tail. */
	assert_int_equal(rows, 3);
	assert_int_equal(w->n_tail, 2);
	assert_string_equal(w->batch.watermark.value, "2024-01-03 00:00:00+00");
	watermark_release(&w->from);
	watermark_copy(&w->from, &w->batch.watermark);
	clock_sleep_us(1200 * 1000);
	world_expect_count(w, 2, 2);
	assert_int_equal(w->n_tail, 0);
	world_expect_count(w, 2, 0);
}

const struct CMUnitTest suite_mysql_keyset[] = {
	SUITE_TEST(keyset_text_keys),
	SUITE_TEST(keyset_beyond_signed),
	SUITE_TEST(keyset_long_decimals),
	SUITE_TEST(keyset_look_back),
	SUITE_TEST(keyset_plan_is_range),
	SUITE_TEST(keyset_snapshots),
	SUITE_TEST(keyset_repeat_across_pages),
	SUITE_TEST(keyset_snapshot_a_page),
};
const size_t suite_mysql_keyset_n = ARRAY_SIZE(suite_mysql_keyset);
