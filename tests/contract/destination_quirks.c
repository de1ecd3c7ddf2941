#include "destination_world.h"

static const struct quirks postgres_quirks = {
	.engine = "postgres",
	.variable = "TIDEMARK_TEST_POSTGRES",
	.client = "\"${TIDEMARK_TEST_PYTHON:-python3}\" "
		  "\"$TIDEMARK_TEST_DIR\"/postgres_client.py",
	.lasting = true,
	.schema = "public",
	.null = "NULL",
	.position = "ctid::text",
	/* Temporary ones go when the server gets to it, behind the session. */
	.list_tables = "SELECT relname FROM pg_class WHERE relkind = 'r' "
		       "AND relpersistence <> 't' ORDER BY relname;",
	.refresher = "SELECT 'backend ' || pid FROM pg_locks WHERE locktype = "
		     "'advisory' AND objsubid = 1 AND granted;",
	.empty_stage =
		"DO $$ BEGIN EXECUTE (SELECT 'DELETE FROM ' || "
		"oid::regclass FROM pg_class WHERE relpersistence = 'p' AND "
		"relkind = 'r' AND relname LIKE '\\_tidemark\\_stage%'); "
		"END $$;",
	.text = "text",
	.key_text = "text",
	.folding_text = "text COLLATE without_case",
	.integer = "integer",
	.bigint = "bigint",
	.narrower_decimal = "ALTER TABLE % ALTER amount TYPE numeric(12,2);",
	.clean = "DROP SCHEMA IF EXISTS public, other CASCADE;"
		 "CREATE SCHEMA public;"
		 "CREATE COLLATION without_case (provider = icu, "
		 "locale = 'und-u-ks-level2', deterministic = false);",
	.refuse_mark = "ALTER TABLE _tidemark_watermark ADD CHECK "
		       "(watermark::text NOT LIKE '%refused%');",
	.slow_fence = "BEGIN; UPDATE _tidemark_watermark SET fence = 99;"
		      "SELECT pg_sleep(1); COMMIT;",
	.strict_types = true,
	.key_index = true,
	.table_identity = true,
	.other_writers = true,
};

static const struct quirks sqlite_quirks = {
	.engine = "sqlite",
	.client = "sqlite3 -batch -bail -list -nullvalue NULL \"$TARGET\"",
	.schema = "main",
	.null = "NULL",
	.text = "TEXT",
	.key_text = "TEXT",
	.folding_text = "TEXT COLLATE NOCASE",
	.integer = "INTEGER",
	.bigint = "INTEGER",
	.narrower_decimal = "ALTER TABLE % DROP COLUMN amount;"
			    "ALTER TABLE % ADD COLUMN amount INTEGER;",
	.list_tables = "SELECT name FROM sqlite_master ORDER BY name;",
	/* A trigger would be refused before; an index can fail, too. */
	.refuse_mark = "CREATE INDEX refuse ON _tidemark_watermark (CASE WHEN "
		       "instr(watermark, 'refused') > 0 "
		       "THEN abs(-9223372036854775807 - 1) END);",
	.slow_fence = "BEGIN; UPDATE _tidemark_watermark SET fence = 99;\n"
		      ".shell sleep 1\nCOMMIT;",
	.key_index = true,
	.other_writers = true,
	.case_blind = true,
};

static const struct quirks duckdb_quirks = {
	.engine = "duckdb",
	.client = "\"${TIDEMARK_TEST_PYTHON:-python3}\" "
		  "\"$TIDEMARK_TEST_DIR\"/duckdb_client.py",
	.lasting = true,
	.schema = "main",
	.null = "NULL",
	.text = "VARCHAR",
	.key_text = "VARCHAR",
	.folding_text = "VARCHAR COLLATE NOCASE",
	.integer = "INTEGER",
	.bigint = "BIGINT",
	.list_tables = "SELECT table_name FROM duckdb_tables() ORDER BY "
		       "table_name;",
	.strict_types = true,
	.case_blind = true,
};

#define MYSQL_CLIENT                                                           \
	"\"${TIDEMARK_TEST_PYTHON:-python3}\" "                                \
	"\"$TIDEMARK_TEST_DIR\"/mysql_client.py"
#define MYSQL_QUIRKS                                                           \
	.plugin = "mysql", .case_blind = true, .client = MYSQL_CLIENT,         \
	.lasting = true, .schema = "tm_source", .null = "NULL",                \
	.position = "touched",                                                 \
	.slow_fence = "BEGIN; UPDATE _tidemark_watermark SET fence = 99;"      \
		      "SELECT SLEEP(1); COMMIT;",                              \
	.watch = "ALTER TABLE orders ADD COLUMN touched datetime(6) "          \
		 "DEFAULT CURRENT_TIMESTAMP(6) "                               \
		 "ON UPDATE CURRENT_TIMESTAMP(6);",                            \
	.text = "longtext", .key_text = "varchar(40)", .integer = "int",       \
	.bigint = "bigint",                                                    \
	.narrower_decimal = "ALTER TABLE % MODIFY amount decimal(12,2);",      \
	.refuse_mark = "ALTER TABLE _tidemark_watermark ADD CHECK "            \
		       "(watermark NOT LIKE '%refused%');",                    \
	.list_tables = "SELECT table_name FROM information_schema.tables "     \
		       "WHERE table_schema = DATABASE() ORDER BY table_name;", \
	.refresher = "SELECT CONCAT('connection ', id) "                       \
		     "FROM information_schema.processlist "                    \
		     "WHERE user = 'app' AND id <> CONNECTION_ID();",          \
	.empty_stage = "SET @q = (SELECT CONCAT('DELETE FROM ', table_name) "  \
		       "FROM information_schema.tables "                       \
		       "WHERE table_schema = DATABASE() "                      \
		       "AND table_name LIKE '!_tidemark!_stage%' ESCAPE '!');" \
		       "PREPARE p FROM @q; EXECUTE p;",                        \
	.strict_types = true, .key_index = true, .other_writers = true,        \
	.ddl_commits = true

/* A database of another character set must not matter. */
static const struct quirks mariadb_quirks = {
	.engine = "mariadb",
	.variable = "TIDEMARK_TEST_MARIADB",
	.clean = "DROP DATABASE IF EXISTS tm_source;"
		 "DROP DATABASE IF EXISTS other;"
		 "CREATE DATABASE tm_source CHARACTER SET latin1;",
	MYSQL_QUIRKS,
};

static const struct quirks mysql_quirks = {
	.engine = "mysql",
	.variable = "TIDEMARK_TEST_MYSQL",
	.clean = "DROP DATABASE IF EXISTS tm_source;"
		 "DROP DATABASE IF EXISTS other;"
		 "CREATE DATABASE tm_source CHARACTER SET utf8mb4;",
	MYSQL_QUIRKS,
};

/* The place is of a user without a password. */
static const struct quirks clickhouse_quirks = {
	.engine = "clickhouse",
	.variable = "TIDEMARK_TEST_CLICKHOUSE",
	.client = "\"${TIDEMARK_TEST_PYTHON:-python3}\" "
		  "\"$TIDEMARK_TEST_DIR\"/clickhouse_client.py",
	.lasting = true,
	.schema = "tm_target",
	.null = "NULL",
	.text = "String",
	.key_text = "String",
	.integer = "Int32",
	.bigint = "Int64",
	.clean = "DROP DATABASE IF EXISTS tm_target SYNC;"
		 "DROP DATABASE IF EXISTS other SYNC;"
		 "CREATE DATABASE tm_target;",
	.refuse_mark = "ALTER TABLE _tidemark_watermark_raw ADD CONSTRAINT "
		       "refuse CHECK NOT (watermark LIKE '%refused%');",
	.list_tables = "SHOW TABLES;",
	.strict_types = true,
	.other_writers = true,
	.views = true,
	.ddl_commits = true,
};

/* Where statements of a writer that was overtaken are refused by the service,
 * there is no session to end. */
static const struct quirks bigquery_quirks = {
	.engine = "bigquery",
	.variable = "TIDEMARK_TEST_BIGQUERY",
	.client = "\"${TIDEMARK_TEST_PYTHON:-python3}\" "
		  "\"$TIDEMARK_TEST_DIR\"/bigquery_client.py",
	.lasting = true,
	.schema = "contract",
	.null = "NULL",
	.text = "STRING",
	.key_text = "STRING",
	.integer = "INT64",
	.bigint = "INT64",
	/* No ALTER of BigQuery's makes a type narrower. */
	.narrower_decimal = "ALTER TABLE % ALTER COLUMN amount SET DATA TYPE "
			    "NUMERIC(20,6);",
	.clean = "DROP SCHEMA IF EXISTS contract CASCADE;"
		 "DROP SCHEMA IF EXISTS other CASCADE;"
		 "CREATE SCHEMA contract; CREATE SCHEMA other;",
	.list_tables = "SELECT table_name FROM INFORMATION_SCHEMA.TABLES ORDER "
		       "BY table_name;",
	/* By the name of the pipeline. */
	.empty_stage =
		"DELETE FROM _tidemark_stage_097be4d0d3ee4247 WHERE TRUE;",
	.strict_types = true,
	.other_writers = true,
	.ddl_commits = true,
	.sessionless = true,
	.plain_names = true,
	.plain_tables = true,
	.case_blind = true,
	.own_names = true,
};

const struct quirks *const world_quirks[] = {
	&postgres_quirks, &sqlite_quirks,     &duckdb_quirks,	&mariadb_quirks,
	&mysql_quirks,	  &clickhouse_quirks, &bigquery_quirks, NULL
};
