/* Behaviour of MySQL and MariaDB alone: settling, rights, engines, collations,
 * cut streams. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "connector_world.h"

#include "clients/mysql.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"

static void mysql_table(struct world *w)
{
	world_exec(w, "CREATE TABLE tm_source.t (id int AUTO_INCREMENT PRIMARY "
		      "KEY, v int, at timestamp(6) DEFAULT "
		      "CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6), "
		      "INDEX (at))");
}

/* NOW() taken early, committed late: delivered, and the mark waits for it. */
static void mysql_late_commit(void **state)
{
	struct world *w = suite_world(state);

	mysql_table(w);
	world_exec(w, "INSERT INTO tm_source.t (v, at) VALUES (0, "
		      "'2024-01-01')");
	world_pipeline(w, "t", STRATEGY_TIMESTAMP, "at");
	world_expect_count(w, 10, 1);
	world_other(w, 1, "START TRANSACTION");
	world_other(w, 1, "INSERT INTO tm_source.t (v) VALUES (1)");
	clock_sleep_us(1500 * 1000);
	world_exec(w, "INSERT INTO tm_source.t (v) VALUES (2)");
	clock_sleep_us(2500 * 1000);
	world_expect_count(w, 10, 1);
	assert_int_equal(w->n_tail, 1);
	assert_non_null(strstr(w->from.value, "2024"));
	assert_int_equal(w->settled.guarantee, GUARANTEE_EXACT);
	assert_non_null(w->settled.held_by);
	/* To a first look it has no known beginning. */
	world_reset(w);
	world_expect_count(w, 10, 2);
	assert_int_equal(w->settled.guarantee, GUARANTEE_LAG);
	world_other(w, 1, "COMMIT");
	world_expect_count(w, 10, 2);
	assert_int_equal(w->n_tail, 0);
	world_expect_count(w, 10, 0);
}

/* Ids are given out in order and commit out of order. */
static void mysql_late_id(void **state)
{
	struct world *w = suite_world(state);

	mysql_table(w);
	world_exec(w, "INSERT INTO tm_source.t (v) VALUES (0)");
	world_other(w, 1, "START TRANSACTION");
	world_other(w, 1, "INSERT INTO tm_source.t (v) VALUES (1)");
	world_exec(w, "INSERT INTO tm_source.t (v) VALUES (2)");
	world_pipeline(w, "t", STRATEGY_SEQUENCE, "id");
	world_expect_count(w, 10, 2);
	assert_int_equal(w->n_tail, 2);
	world_other(w, 1, "COMMIT");
	world_expect_count(w, 10, 3);
	assert_string_equal(w->from.value, "3");
	world_expect_count(w, 10, 0);
}

static void *mysql_sleep(void *world)
{
	world_other(world, 2, "DO SLEEP(1)");
	return NULL;
}

/* A statement may hold an id before its transaction shows: one that runs
 * without a transaction is waited for. */
static void mysql_running_id(void **state)
{
	struct world *w = suite_world(state);
	pthread_t thread;

	mysql_table(w);
	world_exec(w, "INSERT INTO tm_source.t (v) VALUES (0)");
	world_other(w, 2, "DO 1");
	assert_int_equal(pthread_create(&thread, NULL, mysql_sleep, w), 0);
	clock_sleep_us(200 * 1000);
	world_pipeline(w, "t", STRATEGY_SEQUENCE, "id");
	world_expect_count(w, 10, 1);
	assert_int_equal(w->n_tail, 1);
	pthread_join(thread, NULL);
	world_expect_count(w, 10, 1);
	assert_int_equal(w->n_tail, 0);
	world_expect_count(w, 10, 0);
}

static void *mysql_insert(void *world)
{
	world_other(world, 2, "INSERT INTO tm_source.t (v) VALUES (1)");
	return NULL;
}

/* A statement that waits for a lock on the table has taken its NOW(), and no
 * transaction shows it. */
static void mysql_waiting_statement(void **state)
{
	struct world *w = suite_world(state);
	pthread_t thread;

	mysql_table(w);
	world_exec(w, "INSERT INTO tm_source.t (v) VALUES (0)");
	world_pipeline(w, "t", STRATEGY_TIMESTAMP, "at");
	assert_int_equal(world_describe(w), 0);
	world_other(w, 2, "DO 1");
	world_other(w, 1, "LOCK TABLES tm_source.t WRITE");
	assert_int_equal(pthread_create(&thread, NULL, mysql_insert, w), 0);
	clock_sleep_us(2500 * 1000);
	assert_int_equal(w->ops->settle(w->connector, &w->source, &w->schema,
					&w->mark, &w->from, &w->settled,
					&w->err),
			 0);
	world_other(w, 1, "UNLOCK TABLES");
	pthread_join(thread, NULL);
	assert_non_null(w->settled.held_by);
	assert_true(w->settled.lag_us > 2 * US_PER_SECOND);
	assert_int_equal(w->settled.guarantee, GUARANTEE_EXACT);
}

/* Neither does its transaction's start: it begins after the wait, and the
 * statement is over. Told by the look that did not see it. */
static void mysql_waited(void **state)
{
	struct world *w = suite_world(state);
	pthread_t thread;

	mysql_table(w);
	world_exec(w, "INSERT INTO tm_source.t (v) VALUES (0)");
	clock_sleep_us(2200 * 1000);
	world_pipeline(w, "t", STRATEGY_TIMESTAMP, "at");
	world_expect_count(w, 10, 1);
	assert_string_equal(w->from.key.items[0], "1");
	world_other(w, 2, "START TRANSACTION");
	world_other(w, 1, "LOCK TABLES tm_source.t WRITE");
	assert_int_equal(pthread_create(&thread, NULL, mysql_insert, w), 0);
	clock_sleep_us(4500 * 1000);
	world_other(w, 1, "UNLOCK TABLES");
	pthread_join(thread, NULL);
	world_exec(w, "INSERT INTO tm_source.t (v, at) VALUES (2, NOW(6) - "
		      "INTERVAL 3 SECOND)");
	for (int run = 0; run < 2; run++) {
		world_expect_count(w, 10, 1);
		assert_int_equal(w->n_tail, 1);
		assert_int_equal(w->settled.guarantee, GUARANTEE_EXACT);
	}
	world_other(w, 2, "COMMIT");
	world_expect_count(w, 10, 2);
	world_expect_count(w, 10, 0);
}

static void mysql_xa(void **state)
{
	struct world *w = suite_world(state);

	mysql_table(w);
	world_other(w, 1, "XA START 'tm'");
	world_other(w, 1, "INSERT INTO tm_source.t (v) VALUES (1)");
	world_other(w, 1, "XA END 'tm'");
	world_other(w, 1, "XA PREPARE 'tm'");
	clock_sleep_us(2200 * 1000);
	world_exec(w, "INSERT INTO tm_source.t (v) VALUES (2)");
	world_pipeline(w, "t", STRATEGY_TIMESTAMP, "at");
	world_expect_count(w, 10, 1);
	assert_null(w->from.value);
	assert_int_equal(w->settled.guarantee, GUARANTEE_LAG);
	assert_non_null(strstr(w->settled.reason, "XA"));
	world_pipeline(w, "t", STRATEGY_SEQUENCE, "id");
	world_expect_count(w, 10, 1);
	assert_null(w->from.value);
	world_other(w, 1, "XA COMMIT 'tm'");
	world_expect_count(w, 10, 2);
	assert_string_equal(w->from.value, "2");
}

static void mysql_xmin(void **state)
{
	struct world *w = suite_world(state);

	mysql_table(w);
	world_pipeline(w, "t", STRATEGY_XMIN, NULL);
	assert_int_equal(world_describe(w), -ERROR_CONFIG);
	assert_non_null(strstr(w->err.message, "use timestamp or sequence"));
}

/* A wall clock of unknown zone: lag, until the config says whose. */
static void mysql_zone(void **state)
{
	struct world *w = suite_world(state);

	world_exec(w, "CREATE TABLE tm_source.t (id int PRIMARY KEY, at "
		      "datetime(3))");
	world_exec(w, "INSERT INTO tm_source.t VALUES (1, UTC_TIMESTAMP(3) - "
		      "INTERVAL 3 HOUR), (2, UTC_TIMESTAMP(3) - INTERVAL 1 "
		      "HOUR)");
	world_pipeline(w, "t", STRATEGY_TIMESTAMP, "at");
	world_expect_count(w, 10, 2);
	assert_int_equal(w->settled.guarantee, GUARANTEE_LAG);
	assert_non_null(strstr(w->settled.reason, "watermark.time_zone"));
	world_reset(w);
	w->mark.time_zone = "-02:00";
	world_expect_count(w, 10, 2);
	assert_int_equal(w->settled.guarantee, GUARANTEE_EXACT);
	assert_int_equal(w->n_tail, 1);
	w->mark.time_zone = "Mars/Olympus";
	world_refuse(w, ERROR_CONFIG, "Mars/Olympus");
}

static void mysql_truncated(void **state)
{
	struct world *w = suite_world(state);

	mysql_table(w);
	world_exec(w, "INSERT INTO tm_source.t (v) VALUES (1), (2), (3)");
	world_pipeline(w, "t", STRATEGY_SEQUENCE, "id");
	world_expect_count(w, 10, 3);
	world_exec(w, "DELETE FROM tm_source.t WHERE id = 3");
	world_expect_count(w, 10, 0);
	world_exec(w, "TRUNCATE tm_source.t");
	world_refuse(w, ERROR_SCHEMA, "AUTO_INCREMENT");
}

/* OPTIMIZE and the like make another table of the same rows: the mark goes on.
 * A table that may hold others stops. */
static void mysql_rebuilt(void **state)
{
	static const char *const rebuilds[] = {
		"OPTIMIZE TABLE tm_source.t",
		"ALTER TABLE tm_source.t MODIFY v bigint, ALGORITHM = COPY",
		"ALTER TABLE tm_source.t ENGINE = InnoDB",
	};
	struct world *w = suite_world(state);

	mysql_table(w);
	world_exec(w, "INSERT INTO tm_source.t (v, at) VALUES (1, "
		      "'2024-01-01'), (2, '2024-01-02'), (3, '2024-01-03')");
	world_pipeline(w, "t", STRATEGY_TIMESTAMP, "at");
	world_expect_count(w, 10, 3);
	for (size_t i = 0; i < ARRAY_SIZE(rebuilds); i++) {
		world_exec(w, "%s", rebuilds[i]);
		world_reopen(w);
		world_expect_count(w, 10, 0);
	}
	/* The row of the mark is gone as well: nobody can tell. */
	world_exec(w, "DELETE FROM tm_source.t WHERE id = 3");
	world_expect_count(w, 10, 0);
	world_exec(w, "%s", rebuilds[0]);
	world_refuse(w, ERROR_SCHEMA, "watermark set PIPELINE '{");
	json_decref(w->from.identity);
	w->from.identity = NULL;
	world_expect_count(w, 10, 0);
	/* Whatever is in an empty table comes later. */
	world_exec(w, "TRUNCATE tm_source.t");
	world_exec(w, "INSERT INTO tm_source.t (v, at) VALUES (1, "
		      "'2024-02-01')");
	world_expect_count(w, 10, 1);
	/* Another table with the same ids. */
	world_pipeline(w, "t", STRATEGY_SEQUENCE, "id");
	world_expect_count(w, 10, 1);
	world_exec(w, "DROP TABLE tm_source.t");
	mysql_table(w);
	world_exec(w, "INSERT INTO tm_source.t (v) VALUES (5), (6), (7)");
	world_refuse(w, ERROR_SCHEMA, "created again");
}

const struct CMUnitTest suite_mysql[] = {
	SUITE_TEST(mysql_late_commit), SUITE_TEST(mysql_late_id),
	SUITE_TEST(mysql_running_id),  SUITE_TEST(mysql_waiting_statement),
	SUITE_TEST(mysql_waited),      SUITE_TEST(mysql_xa),
	SUITE_TEST(mysql_xmin),	       SUITE_TEST(mysql_zone),
	SUITE_TEST(mysql_truncated),   SUITE_TEST(mysql_rebuilt),
};
const size_t suite_mysql_n = ARRAY_SIZE(suite_mysql);
