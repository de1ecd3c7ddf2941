/* MySQL and MariaDB: bad days at the source. Each ends with an error of its
 * class that says what and where; nothing is taken for the end of the rows. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "connector_world.h"

#include "clients/mysql.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"

static void faults_table(struct world *w)
{
	world_exec(w, "CREATE TABLE tm_source.t (id int AUTO_INCREMENT PRIMARY "
		      "KEY, v int, at timestamp(6) DEFAULT "
		      "CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6), "
		      "INDEX (at))");
}

static void faults_kill(struct world *w, const char *command)
{
	struct mysql_client_result *r = NULL;

	assert_int_equal(
		mysql_client_query(w->sessions[0], &r,
				   "SELECT id FROM "
				   "information_schema.processlist WHERE info "
				   "LIKE 'SELECT /* tidemark source%'",
				   "t", 0, NULL, &w->err),
		0);
	assert_int_equal(mysql_client_rows(r), 1);
	world_exec(w, "%s %s", command, mysql_client_value(r, 0, 0));
	mysql_client_result_free(r);
}

/* KILL in mid-stream, of the statement alone too: an error, never the end, and
 * a new connection reads it all. */
static void faults_killed_stream(void **state)
{
	static const char *const commands[] = { "KILL QUERY", "KILL" };
	struct world *w = suite_world(state);

	world_exec(w, "CREATE TABLE tm_source.t (id int PRIMARY KEY, at "
		      "timestamp(6) NOT NULL, v longtext)");
	world_exec(w,
		   "INSERT INTO tm_source.t SELECT n, '2024-01-01', "
		   "repeat('x', 60000) FROM %s",
		   world_series(w, 1, 1000));
	world_pipeline(w, "t", STRATEGY_TIMESTAMP, "at");
	w->quiet = true;
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		int rc = 1;
		world_reset(w);
		assert_int_equal(world_begin(w), 0);
		w->batch.max_bytes = 200000;
		assert_int_equal(world_step(w, 1000), 1);
		faults_kill(w, commands[i]);
		while (rc > 0)
			rc = world_step(w, 1000);
		assert_int_equal(rc, -ERROR_TRANSIENT);
		world_reopen(w);
		world_reset(w);
		world_expect_count(w, 1000, 1000);
		w->quiet = true;
	}
}

static void faults_interrupted(void **state)
{
	struct world *w = suite_world(state);

	faults_table(w);
	world_pipeline(w, "t", STRATEGY_TIMESTAMP, "at");
	assert_int_equal(world_describe(w), 0);
	w->ops->interrupt(w->connector);
	world_refuse(w, ERROR_STOPPED, "interrupted");
}

static void faults_altered(void **state)
{
	struct world *w = suite_world(state);

	faults_table(w);
	world_exec(w, "INSERT INTO tm_source.t (v) VALUES (1)");
	world_pipeline(w, "t", STRATEGY_TIMESTAMP, "at");
	assert_int_equal(world_begin(w), 0);
	world_exec(w, "ALTER TABLE tm_source.t MODIFY v varchar(10)");
	assert_int_equal(world_step(w, 10), -ERROR_TRANSIENT);
	assert_non_null(strstr(w->err.message, "altered"));
}

/* A row larger than the server may send. */
static void faults_large_row(void **state)
{
	struct world *w = suite_world(state);
	void *boss = world_boss(w);

	world_exec(w, "CREATE TABLE tm_source.t (id int PRIMARY KEY, at "
		      "timestamp(6) NOT NULL, a mediumtext, b mediumtext)");
	world_exec(w, "INSERT INTO tm_source.t VALUES (1, '2024-01-01', "
		      "'x', 'y'), (2, '2024-01-02', repeat('x', 900000), "
		      "repeat('y', 900000))");
	w->quirks->exec(boss, "SET GLOBAL max_allowed_packet = 1048576");
	world_reopen(w);
	world_pipeline(w, "t", STRATEGY_TIMESTAMP, "at");
	w->quiet = true;
	world_run(w, 10);
	w->quirks->exec(boss, "SET GLOBAL max_allowed_packet = 67108864");
	w->quirks->disconnect(boss);
	if (w->err.code) {
		assert_int_equal(w->err.code, ERROR_DATA);
		assert_non_null(strstr(w->err.message, "tm_source.t"));
		assert_null(w->from.value);
		world_reopen(w);
		world_run(w, 10);
	}
	assert_int_equal(w->err.code, 0);
	assert_int_equal(w->n_rows, 2);
}

/* Somebody locks the table: the wait ends, and says what it waited for. */
static void faults_locked_table(void **state)
{
	struct world *w = suite_world(state);

	faults_table(w);
	world_exec(w, "INSERT INTO tm_source.t (v, at) VALUES (1, "
		      "'2024-01-01')");
	w->conn.silence_timeout_us = 2 * US_PER_SECOND;
	world_reopen(w);
	world_pipeline(w, "t", STRATEGY_TIMESTAMP, "at");
	assert_int_equal(world_begin(w), 0);
	world_other(w, 1, "LOCK TABLES tm_source.t WRITE");
	assert_int_equal(world_step(w, 10), -ERROR_CONFLICT);
	world_other(w, 1, "UNLOCK TABLES");
	assert_non_null(strstr(w->err.message, "table tm_source.t"));
	assert_non_null(strstr(w->err.message, "LOCK TABLES"));
	assert_null(w->from.value);
	world_expect_count(w, 10, 1);
}

/* The catalog does not show what the user may not read: denied is not absent.
 */
static void faults_denied(void **state)
{
	struct world *w = suite_world(state);
	void *boss = world_boss(w);
	struct strlist columns = STRLIST_INIT;

	faults_table(w);
	world_exec(w, "INSERT INTO tm_source.t (v, at) VALUES (1, "
		      "'2024-01-01')");
	w->quirks->exec(boss, "DROP DATABASE IF EXISTS tm_denied");
	w->quirks->exec(boss, "CREATE DATABASE tm_denied");
	w->quirks->exec(boss, "CREATE TABLE tm_denied.t (id int PRIMARY KEY, "
			      "secret int, at timestamp(6) NOT NULL)");
	w->quirks->exec(boss, "INSERT INTO tm_denied.t VALUES (1, 2, "
			      "'2024-01-01')");
	world_pipeline(w, "tm_denied.t", STRATEGY_TIMESTAMP, "at");
	assert_int_equal(world_describe(w), -ERROR_ACCESS);
	w->quirks->exec(boss, "GRANT SELECT (id, at) ON tm_denied.t TO "
			      "app@'%'");
	world_reopen(w);
	assert_int_equal(world_describe(w), -ERROR_ACCESS);
	strlist_add(&columns, "id");
	strlist_add(&columns, "secret");
	w->source.columns = &columns;
	assert_int_equal(world_describe(w), -ERROR_ACCESS);
	assert_non_null(strstr(w->err.message, "secret"));
	strlist_release(&columns);
	strlist_add(&columns, "id");
	strlist_add(&columns, "at");
	world_expect(w, 10, "1|2024-01-01 00:00:00+00\n");
	strlist_release(&columns);
	w->quirks->exec(boss, "DROP DATABASE tm_denied");
	w->quirks->disconnect(boss);
}

const struct CMUnitTest suite_mysql_faults[] = {
	SUITE_TEST(faults_killed_stream), SUITE_TEST(faults_interrupted),
	SUITE_TEST(faults_altered),	  SUITE_TEST(faults_large_row),
	SUITE_TEST(faults_locked_table),  SUITE_TEST(faults_denied),
};
const size_t suite_mysql_faults_n = ARRAY_SIZE(suite_mysql_faults);
