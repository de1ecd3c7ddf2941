#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clients/mysql.h"
#include "clients/pg.h"
#include "clients/sqlite.h"
#include "connector_world.h"
#include "core/base/alloc.h"
#include "lasting_client.h"

static void *postgres_session(const struct connection *conn)
{
	const struct pg_options options = { .application = "contract" };
	struct error err = ERROR_INIT;
	struct pg *pg = NULL;

	if (pg_open(&pg, conn, &options, &err)) {
		fprintf(stderr, "%s\n", err.message);
		return NULL;
	}
	return pg;
}

static void postgres_leave(void *session)
{
	pg_close(session);
}

static void postgres_run(void *session, const char *sql)
{
	struct error err = ERROR_INIT;

	if (pg_exec(session, sql, &err))
		fail_msg("%s\n%s", err.message, sql);
}

static const struct quirks postgres_quirks = {
	.engine = "postgres",
	.connector = "postgres",
	.variable = "TIDEMARK_TEST_POSTGRES",
	.clean = "SET client_min_messages = warning;"
		 "DROP SCHEMA IF EXISTS tm_source CASCADE;"
		 "CREATE SCHEMA tm_source",
	.prefix = "tm_source.",
	.mark_type = "timestamptz",
	.now = "clock_timestamp()",
	.series = "generate_series(%d, %d) n",
	.third = "concat('k', floor(n / 3))",
	.long_text = "repeat('x', n % 1000)",
	.make_writer = "CREATE SEQUENCE tm_source.writes",
	.write = "nextval('tm_source.writes') > 0",
	.fail_at_five = "1 / (id - 5) < 100",
	.fail_text = "division by zero",
	.nasty = "CREATE TABLE tm_source.\"a \"\"b\"\".c;%s--\" ("
		 "\"id\"\"; drop\" int PRIMARY KEY, \"mark 'x'.\\\" "
		 "timestamptz, \"ünï $1\" text, \"select\" text);"
		 "INSERT INTO tm_source.\"a \"\"b\"\".c;%s--\" VALUES"
		 " (1, '2024-01-01 00:00:00+00', 'a', NULL),"
		 " (2, '2024-01-01 00:00:00+00', 'b', 'c')",
	.nasty_table = "tm_source.\"a \"\"b\"\".c;%s--\"",
	.nasty_mark = "mark 'x'.\\",
	.connect = postgres_session,
	.disconnect = postgres_leave,
	.exec = postgres_run,
};

static void *mysql_session(const struct connection *conn)
{
	const struct mysql_client_options options = { .application =
							      "contract" };
	struct error err = ERROR_INIT;
	struct mysql_client *db = NULL;

	if (mysql_client_open(&db, conn, &options, &err)) {
		fprintf(stderr, "%s\n", err.message);
		return NULL;
	}
	return db;
}

static void mysql_leave(void *session)
{
	mysql_client_close(session);
}

/* One statement a line's end behind ";". The suite's instants carry "+00",
 * which these servers do not read: the session's zone is UTC. */
static void mysql_run(void *session, const char *sql)
{
	struct error err = ERROR_INIT;
	struct strbuf one = STRBUF_INIT;

	for (const char *at = sql; *at;) {
		const char *end = strstr(at, ";\n");
		size_t n = end ? (size_t)(end - at) : strlen(at);
		strbuf_reset(&one);
		for (size_t i = 0; i < n; i++) {
			if (!strncmp(at + i, "+00'", 4))
				i += 3;
			strbuf_addch(&one, at[i]);
		}
		if (mysql_client_exec(session, one.data, &err))
			fail_msg("%s\n%s", err.message, one.data);
		at = end ? end + 2 : at + n;
	}
	strbuf_release(&one);
}

#define MYSQL_DIGITS                                                           \
	"(SELECT 0 d UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 "            \
	"UNION SELECT 4 UNION SELECT 5 UNION SELECT 6 UNION SELECT 7 "         \
	"UNION SELECT 8 UNION SELECT 9) "

#define MYSQL_QUIRKS(name_of, variable_of)                                     \
	{                                                                      \
		.engine = name_of, .connector = "mysql",                       \
		.variable = variable_of, .admin = variable_of "_ADMIN",        \
		.clean = "DROP DATABASE IF EXISTS tm_source;\n"                \
			 "CREATE DATABASE tm_source CHARACTER SET utf8mb4;\n"  \
			 "USE tm_source;\n"                                    \
			 "CREATE TABLE series (n int PRIMARY KEY);\n"          \
			 "INSERT INTO series SELECT a.d + 10 * b.d + "         \
			 "100 * c.d + 1000 * e.d FROM " MYSQL_DIGITS           \
			 "a, " MYSQL_DIGITS "b, " MYSQL_DIGITS                 \
			 "c, " MYSQL_DIGITS "e",                               \
		.prefix = "tm_source.", .mark_type = "timestamp(6)",           \
		.now = "NOW(6)",                                               \
		.series = "(SELECT n FROM tm_source.series "                   \
			  "WHERE n BETWEEN %d AND %d) s",                      \
		.third = "concat('k', floor(n / 3))",                          \
		.long_text = "repeat('x', n % 1000)",                          \
		.make_writer = "CREATE TABLE tm_source.w (n int);\n"           \
			       "CREATE FUNCTION tm_source.writes() "           \
			       "RETURNS int MODIFIES SQL DATA BEGIN INSERT "   \
			       "INTO tm_source.w VALUES (1); RETURN 1; END",   \
		.write = "tm_source.writes() > 0",                             \
		.fail_at_five = "1 = (SELECT 1 FROM (SELECT 1 AS x UNION "     \
				"SELECT 2) two WHERE x = 1 OR id = 5)",        \
		.fail_text = "more than 1 row",                                \
		.nasty = "CREATE TABLE tm_source.`a \"b``.c;%s--` ("           \
			 "`id\"; drop` int PRIMARY KEY, `mark 'x'.\\` "        \
			 "timestamp(6), `ünï $1 ?` text, `select` text);\n"  \
			 "INSERT INTO tm_source.`a \"b``.c;%s--` VALUES "      \
			 "(1, '2024-01-01 00:00:00', 'a', NULL), "             \
			 "(2, '2024-01-01 00:00:00', 'b', 'c')",               \
		.nasty_table = "tm_source.\"a \"\"b`.c;%s--\"",                \
		.nasty_mark = "mark 'x'.\\", .connect = mysql_session,         \
		.disconnect = mysql_leave, .exec = mysql_run,                  \
	}

static const struct quirks mariadb_quirks =
	MYSQL_QUIRKS("mariadb", "TIDEMARK_TEST_MARIADB");
static const struct quirks mysql_quirks =
	MYSQL_QUIRKS("mysql", "TIDEMARK_TEST_MYSQL");

static void *sqlite_session(const struct connection *conn)
{
	const struct sqlite_options options = {
		.create = true,
		.busy_timeout_us = 10 * US_PER_SECOND,
	};
	struct error err = ERROR_INIT;
	struct sqlite *db = NULL;

	if (sqlite_open(&db, conn->url.path, &options, &err)) {
		fprintf(stderr, "%s\n", err.message);
		return NULL;
	}
	return db;
}

static void sqlite_leave(void *session)
{
	sqlite_close(session);
}

static void sqlite_run(void *session, const char *sql)
{
	struct error err = ERROR_INIT;

	if (sqlite_exec(session, sql, &err))
		fail_msg("%s\n%s", err.message, sql);
}

static const struct quirks sqlite_quirks = {
	.engine = "sqlite",
	.connector = "sqlite",
	.clean = "",
	.prefix = "",
	.mark_type = "timestamptz",
	.now = "strftime('%Y-%m-%d %H:%M:%f+00', 'now')",
	.series = "(WITH RECURSIVE s(n) AS (VALUES (%d) UNION ALL SELECT n + 1 "
		  "FROM s WHERE n < %d) SELECT n FROM s)",
	.third = "'k' || (n / 3)",
	.long_text = "substr(hex(zeroblob(500)), 1, n % 1000)",
	.table_unnamed = true,
	.fail_at_five = "abs(-9223372036854775803 - id) > 0",
	.fail_text = "integer overflow",
	.nasty = "CREATE TABLE \"a \"\"b\"\".c;%s--\" ("
		 "\"id\"\"; drop\" int PRIMARY KEY, \"mark 'x'.\\\" "
		 "timestamptz, \"ünï $1 ?\" text, \"select\" text);"
		 "INSERT INTO \"a \"\"b\"\".c;%s--\" VALUES"
		 " (1, '2024-01-01 00:00:00+00', 'a', NULL),"
		 " (2, '2024-01-01 00:00:00+00', 'b', 'c')",
	.nasty_table = "main.\"a \"\"b\"\".c;%s--\"",
	.nasty_mark = "mark 'x'.\\",
	.connect = sqlite_session,
	.disconnect = sqlite_leave,
	.exec = sqlite_run,
};

static void duckdb_run(void *session, const char *sql)
{
	struct strbuf said = STRBUF_INIT;

	if (lasting_ask("\"${TIDEMARK_TEST_PYTHON:-python3}\" "
			"\"$TIDEMARK_TEST_DIR\"/duckdb_client.py",
			session, sql, &said))
		fail_msg("%s\n%s", said.data, sql);
	strbuf_release(&said);
}

/* Each statement opens the file and closes it again. */
static void *duckdb_session(const struct connection *conn)
{
	char *path = xstrdup(conn->url.path);

	duckdb_run(path, "SELECT 1");
	return path;
}

static const struct quirks duckdb_quirks = {
	.engine = "duckdb",
	.connector = "duckdb",
	.clean = "SELECT 1",
	.prefix = "main.",
	.mark_type = "timestamptz",
	.now = "now()",
	.series = "range(%d, 1 + %d) r(n)",
	.third = "'k' || (n // 3)",
	.long_text = "repeat('x', n % 1000)",
	.alone = true,
	.table_unnamed = true,
	.make_writer = "CREATE SEQUENCE writes",
	.write = "nextval('writes') > 0",
	.fail_at_five = "CASE WHEN id = 5 THEN error('five') END IS NULL",
	.fail_text = "refuses it",
	.nasty = "CREATE TABLE \"a \"\"b\"\".c;%s--\" ("
		 "\"id\"\"; drop\" int PRIMARY KEY, \"mark 'x'.\\\" "
		 "timestamptz, \"ünï $1 ?\" text, \"select\" text);"
		 "INSERT INTO \"a \"\"b\"\".c;%s--\" VALUES"
		 " (1, '2024-01-01 00:00:00+00', 'a', NULL),"
		 " (2, '2024-01-01 00:00:00+00', 'b', 'c')",
	.nasty_table = "main.\"a \"\"b\"\".c;%s--\"",
	.nasty_mark = "mark 'x'.\\",
	.connect = duckdb_session,
	.disconnect = free,
	.exec = duckdb_run,
};

/* Run the suite's statements in the engine's SQL, by way of Python. */
static void foreign_run(const char *engine, const char *place, const char *sql)
{
	struct strbuf said = STRBUF_INIT;
	char *client = xstrfmt("\"${TIDEMARK_TEST_PYTHON:-python3}\" "
			       "\"$TIDEMARK_TEST_DIR\"/connector_client.py %s",
			       engine);

	if (lasting_ask(client, place, sql, &said))
		fail_msg("%s\n%s", said.data, sql);
	strbuf_release(&said);
	free(client);
}

static void clickhouse_run(void *session, const char *sql)
{
	foreign_run("clickhouse", session, sql);
}

static void *clickhouse_session(const struct connection *conn)
{
	(void)conn;
	return xstrdup(getenv("TIDEMARK_TEST_CLICKHOUSE"));
}

static const struct quirks clickhouse_quirks = {
	.engine = "clickhouse",
	.connector = "clickhouse",
	.variable = "TIDEMARK_TEST_CLICKHOUSE",
	.clean = "DROP DATABASE IF EXISTS tm_source;\n"
		 "CREATE DATABASE tm_source ENGINE = Atomic",
	.prefix = "tm_source.",
	.mark_type = "DateTime64(6, 'UTC')",
	.now = "now64(6)",
	.series = "(SELECT arrayJoin(range(%d, 1 + %d)) AS n) s",
	.third = "concat('k', toString(intDiv(n, 3)))",
	.long_text = "repeat('x', n % 1000)",
	.unkeyed = true,
	.fail_at_five = "throwIf(id = 5, 'five') = 0",
	.fail_text = "five",
	.nasty = "--CREATE TABLE tm_source.`a \"b``.c;%s--` ("
		 "`id\"; drop` Int32, `mark 'x'.\\\\` DateTime64(6, 'UTC'), "
		 "`ünï $1 ?` String, `select` Nullable(String)) "
		 "ENGINE = MergeTree ORDER BY `id\"; drop`;\n"
		 "--INSERT INTO tm_source.`a \"b``.c;%s--` VALUES "
		 "(1, '2024-01-01 00:00:00', 'a', NULL), "
		 "(2, '2024-01-01 00:00:00', 'b', 'c')",
	.nasty_table = "tm_source.\"a \"\"b`.c;%s--\"",
	.nasty_mark = "mark 'x'.\\",
	.nasty_key = "id\"; drop",
	.connect = clickhouse_session,
	.disconnect = free,
	.exec = clickhouse_run,
};

static void bigquery_run(void *session, const char *sql)
{
	foreign_run("bigquery", session, sql);
}

static void *bigquery_session(const struct connection *conn)
{
	(void)conn;
	return xstrdup(getenv("TIDEMARK_TEST_BIGQUERY"));
}

/* Names may hold less here: a column no quotes and backslashes, a table
 * letters, digits, spaces and hyphens. */
static const struct quirks bigquery_quirks = {
	.engine = "bigquery",
	.connector = "bigquery",
	.variable = "TIDEMARK_TEST_BIGQUERY",
	.clean = "DROP SCHEMA IF EXISTS tm_source CASCADE;\n"
		 "CREATE SCHEMA tm_source",
	.prefix = "tm_source.",
	.mark_type = "TIMESTAMP",
	.now = "CURRENT_TIMESTAMP()",
	.series = "UNNEST(GENERATE_ARRAY(%d, %d)) AS n",
	.third = "CONCAT('k', CAST(DIV(n, 3) AS STRING))",
	.long_text = "REPEAT('x', MOD(n, 1000))",
	.unkeyed = true,
	.make_writer = "--SELECT 1",
	.write = "TRUE); DELETE FROM tm_source.t WHERE (TRUE",
	.fail_at_five = "IF(id = 5, ERROR('five'), 0) = 0",
	.fail_text = "five",
	.nasty = "--CREATE TABLE tm_source.`a-b drop ünï` (`id %s'x'` INT64, "
		 "`mark <|>` TIMESTAMP, `ünï #1` STRING, `select` STRING);\n"
		 "--INSERT INTO tm_source.`a-b drop ünï` VALUES "
		 "(1, TIMESTAMP '2024-01-01 00:00:00+00', 'a', NULL), "
		 "(2, TIMESTAMP '2024-01-01 00:00:00+00', 'b', 'c')",
	.nasty_table = "tm_source.\"a-b drop ünï\"",
	.nasty_mark = "mark <|>",
	.nasty_key = "id %s'x'",
	.connect = bigquery_session,
	.disconnect = free,
	.exec = bigquery_run,
};

const struct quirks *const world_quirks[] = {
	&postgres_quirks, &mariadb_quirks,    &mysql_quirks,	&sqlite_quirks,
	&duckdb_quirks,	  &clickhouse_quirks, &bigquery_quirks, NULL
};
