/* The catalog's tables, their faults, and the choice of strategy and key. */
#include <stdlib.h>
#include <string.h>

#include "connector_world.h"

#include "clients/pg.h"
#include "core/base/alloc.h"

static void catalog_refuse(struct world *w, enum error_code code,
			   const char *text)
{
	int rc = world_describe(w);

	if (rc != -(int)code || !strstr(w->err.message, text))
		fail_msg("%d, not %d with \"%s\": %s", rc, -(int)code, text,
			 w->err.message);
}

static void catalog_table(struct world *w)
{
	world_exec(w, "CREATE TABLE tm_source.orders (id int PRIMARY KEY,"
		      " updated_at timestamptz, status text, doc json)");
	world_pipeline(w, "orders", STRATEGY_TIMESTAMP, "updated_at");
}

static void catalog_missing(void **state)
{
	struct world *w = suite_world(state);

	catalog_table(w);
	world_pipeline(w, "order", STRATEGY_TIMESTAMP, "updated_at");
	catalog_refuse(w, ERROR_SCHEMA, "did you mean tm_source.orders?");
	world_pipeline(w, "public.orders", STRATEGY_TIMESTAMP, "updated_at");
	catalog_refuse(w, ERROR_SCHEMA, "did you mean tm_source.orders?");
	world_pipeline(w, "orders", STRATEGY_TIMESTAMP, "update_at");
	catalog_refuse(w, ERROR_SCHEMA, "did you mean \"updated_at\"?");
	world_pipeline(w, "orders", STRATEGY_TIMESTAMP, "status");
	catalog_refuse(w, ERROR_CONFIG, "is of type text");
	world_pipeline(w, "orders", STRATEGY_SEQUENCE, "updated_at");
	catalog_refuse(w, ERROR_CONFIG, "is of type timestamp with time zone");
	world_pipeline(w, "orders", STRATEGY_TIMESTAMP, "updated_at");
	world_key(w, "idd", NULL);
	catalog_refuse(w, ERROR_SCHEMA, "did you mean \"id\"?");
	world_pipeline(w, "orders", STRATEGY_TIMESTAMP, "updated_at");
	strlist_add(&w->columns, "stats");
	catalog_refuse(w, ERROR_SCHEMA, "did you mean \"status\"?");
	world_pipeline(w, "orders", STRATEGY_TIMESTAMP, "updated_at");
	strlist_add(&w->columns, "status");
	catalog_refuse(w, ERROR_SCHEMA, "not among source.columns");
	world_pipeline(w, "orders", STRATEGY_TIMESTAMP, "updated_at");
	world_key(w, "doc", NULL);
	catalog_refuse(w, ERROR_SCHEMA, "which has no order");
	world_pipeline(w, "elsewhere.tm_source.orders", STRATEGY_TIMESTAMP,
		       "updated_at");
	catalog_refuse(w, ERROR_CONFIG, "PostgreSQL reads no other");
	/* Names are never folded. */
	world_pipeline(w, "Orders", STRATEGY_TIMESTAMP, "updated_at");
	catalog_refuse(w, ERROR_SCHEMA, "did you mean tm_source.orders?");
}

static void catalog_users_sql(void **state)
{
	struct world *w = suite_world(state);
	struct source_expression e = { (char *)"x", (char *)"nosuch(id)" };

	catalog_table(w);
	w->source.where = "id > ";
	catalog_refuse(w, ERROR_CONFIG, "source.where");
	w->source.where = "now_and_then(id)";
	catalog_refuse(w, ERROR_CONFIG, "source.where");
	w->source.where = "id > $1";
	catalog_refuse(w, ERROR_CONFIG, "source.where");
	w->source.where = "true); DROP TABLE tm_source.orders; --";
	catalog_refuse(w, ERROR_CONFIG, "source.where");
	w->source.where = NULL;
	w->source.expressions = &e;
	w->source.n_expressions = 1;
	catalog_refuse(w, ERROR_CONFIG, "source.expressions.x");
	assert_non_null(strstr(w->err.message, "nosuch"));
	e.sql = (char *)"id), (id";
	catalog_refuse(w, ERROR_CONFIG, "source.expressions");
	e.sql = (char *)"length(status)";
	assert_int_equal(world_describe(w), 0);
}

static bool catalog_has(const struct problems *found, const char *code,
			enum severity severity, const char *fix)
{
	for (size_t i = 0; i < found->n; i++) {
		const struct problem *p = &found->items[i];
		if (!strcmp(p->code, code) && p->severity == severity &&
		    strstr(p->fix ? p->fix : "", fix))
			return true;
	}
	return false;
}

static void catalog_inspect(struct world *w, struct problems *found)
{
	problems_release(found);
	if (world_describe(w) ||
	    w->ops->inspect(w->connector, &w->source, &w->mark, &w->schema,
			    found, &w->err))
		fail_msg("%s", w->err.message);
}

static void catalog_problems(void **state)
{
	struct world *w = suite_world(state);
	struct problems found = { NULL, 0, 0 };

	catalog_table(w);
	catalog_inspect(w, &found);
	assert_true(catalog_has(&found, "mark-without-index", SEVERITY_WARNING,
				"CREATE INDEX CONCURRENTLY ON "
				"\"tm_source\".\"orders\" "
				"(\"updated_at\", \"id\")"));
	world_exec(w, "CREATE INDEX ON tm_source.orders (updated_at)");
	catalog_inspect(w, &found);
	assert_int_equal(found.n, 0);
	world_exec(w, "INSERT INTO tm_source.orders VALUES (1), (2)");
	catalog_inspect(w, &found);
	assert_true(catalog_has(&found, "null-marks", SEVERITY_ERROR,
				"watermark.nulls"));
	w->mark.nulls = NULLS_SKIP;
	catalog_inspect(w, &found);
	assert_true(catalog_has(&found, "null-marks", SEVERITY_WARNING, ""));
	world_exec(w, "DELETE FROM tm_source.orders");
	world_other(w, 1,
		    "BEGIN; INSERT INTO tm_source.orders VALUES (1);"
		    "PREPARE TRANSACTION 'tm_source_3'");
	catalog_inspect(w, &found);
	assert_true(catalog_has(&found, "prepared-transactions",
				SEVERITY_WARNING, ""));
	world_other(w, 1, "ROLLBACK PREPARED 'tm_source_3'");
	world_exec(w, "ALTER TABLE tm_source.orders ALTER updated_at"
		      " TYPE timestamp");
	catalog_inspect(w, &found);
	assert_true(catalog_has(&found, "time-zone-unknown", SEVERITY_WARNING,
				"watermark.time_zone"));
	w->mark.time_zone = "UTC";
	catalog_inspect(w, &found);
	assert_int_equal(found.n, 0);
	w->source.where = "true";
	catalog_inspect(w, &found);
	assert_true(catalog_has(&found, "sql-search-path", SEVERITY_INFO, ""));
	problems_release(&found);
}

static void catalog_problems_of_keys(void **state)
{
	struct world *w = suite_world(state);
	struct problems found = { NULL, 0, 0 };

	world_exec(w, "CREATE TABLE tm_source.t (id int NOT NULL, v int);"
		      "INSERT INTO tm_source.t VALUES (1, 1), (2, 1)");
	world_pipeline(w, "t", STRATEGY_XMIN, NULL);
	world_key(w, "id", NULL);
	catalog_inspect(w, &found);
	assert_true(catalog_has(&found, "key-without-unique-index",
				SEVERITY_WARNING,
				"CREATE UNIQUE INDEX CONCURRENTLY ON "
				"\"tm_source\".\"t\" (\"id\")"));
	world_exec(w, "INSERT INTO tm_source.t VALUES (2, 2)");
	catalog_inspect(w, &found);
	assert_true(catalog_has(&found, "key-repeats", SEVERITY_ERROR, ""));
	assert_false(catalog_has(&found, "key-without-unique-index",
				 SEVERITY_WARNING, ""));
	world_exec(w, "DELETE FROM tm_source.t WHERE v = 2;"
		      "CREATE UNIQUE INDEX ON tm_source.t (id)");
	catalog_inspect(w, &found);
	assert_int_equal(found.n, 0);
	problems_release(&found);
}

static void catalog_problems_of_sequences(void **state)
{
	struct world *w = suite_world(state);
	struct problems found = { NULL, 0, 0 };

	world_exec(w, "CREATE TABLE tm_source.t (id bigserial PRIMARY KEY)");
	world_pipeline(w, "t", STRATEGY_SEQUENCE, "id");
	catalog_inspect(w, &found);
	assert_int_equal(found.n, 0);
	world_exec(w, "ALTER SEQUENCE tm_source.t_id_seq CACHE 9 CYCLE");
	catalog_inspect(w, &found);
	assert_true(catalog_has(&found, "sequence-cache", SEVERITY_WARNING,
				"watermark.lag"));
	assert_true(
		catalog_has(&found, "sequence-cycles", SEVERITY_WARNING, ""));
	problems_release(&found);
}

static void catalog_suggest(struct world *w, const char *table,
			    enum strategy strategy, const char *column)
{
	enum strategy got;
	char *name = NULL, *reason = NULL;

	if (w->ops->suggest(w->connector, table, &got, &name, &reason, &w->err))
		fail_msg("%s", w->err.message);
	assert_int_equal(got, strategy);
	assert_string_equal(name, column);
	assert_true(strlen(reason) > 10);
	free(name);
	free(reason);
}

static void catalog_suggestions(void **state)
{
	struct world *w = suite_world(state);

	catalog_table(w);
	catalog_suggest(w, "tm_source.orders", STRATEGY_XMIN, "");
	world_exec(w, "CREATE INDEX ON tm_source.orders (updated_at)");
	catalog_suggest(w, "tm_source.orders", STRATEGY_TIMESTAMP,
			"updated_at");
	world_exec(w, "CREATE VIEW tm_source.v AS SELECT * FROM"
		      " tm_source.orders");
	catalog_suggest(w, "tm_source.v", STRATEGY_TIMESTAMP, "updated_at");
	world_exec(w, "CREATE TABLE tm_source.plain (id int PRIMARY KEY)");
	catalog_suggest(w, "tm_source.plain", STRATEGY_XMIN, "");
}

static void catalog_tables(void **state)
{
	struct world *w = suite_world(state);

	world_exec(w, "CREATE TABLE tm_source.b (id int);"
		      "CREATE TABLE tm_source.\"a.b\" (id int);"
		      "CREATE VIEW tm_source.v AS SELECT 1;"
		      "CREATE TABLE tm_source._tidemark_watermark (id int);"
		      "CREATE TABLE tm_source.p (id int)"
		      " PARTITION BY RANGE (id);"
		      "CREATE TABLE tm_source.p1 PARTITION OF tm_source.p"
		      " FOR VALUES FROM (0) TO (10)");
	world_expect_tables(w, "tm_source.\"a.b\" table\n"
			       "tm_source.b table\n"
			       "tm_source.p partitioned\n"
			       "tm_source.v view\n");
}

static void catalog_estimates(void **state)
{
	struct world *w = suite_world(state);

	catalog_table(w);
	assert_int_equal(world_describe(w), 0);
	assert_int_equal(w->schema.row_estimate, -1);
	world_exec(w, "INSERT INTO tm_source.orders"
		      " SELECT n FROM generate_series(1, 1000) n;"
		      "ANALYZE tm_source.orders");
	assert_int_equal(world_describe(w), 0);
	assert_int_equal(w->schema.row_estimate, 1000);
	assert_true(w->schema.byte_estimate >= 8192);
}

static void catalog_no_key(void **state)
{
	struct world *w = suite_world(state);

	world_exec(w, "CREATE TABLE tm_source.t (a int, at timestamptz);"
		      "INSERT INTO tm_source.t VALUES (1, now())");
	world_pipeline(w, "t", STRATEGY_TIMESTAMP, "at");
	catalog_refuse(w, ERROR_SCHEMA, "`key: [id]`");
	world_pipeline(w, "t", STRATEGY_XMIN, NULL);
	world_expect_count(w, 10, 1);
	assert_int_equal(w->schema.n_key, 0);
}

/* It would be the session's answer for ever. */
static void catalog_copy_that_nobody_reads(void **state)
{
	struct world *w = suite_world(state);
	struct error err = ERROR_INIT;

	world_other(w, 2, "SELECT 1");
	assert_int_equal(
		pg_exec(w->sessions[2], "COPY (SELECT 1) TO STDOUT", &err),
		-(int)ERROR_TRANSIENT);
	assert_false(pg_alive(w->sessions[2]));
}

const struct CMUnitTest suite_postgres_catalog[] = {
	SUITE_TEST(catalog_missing),
	SUITE_TEST(catalog_users_sql),
	SUITE_TEST(catalog_problems),
	SUITE_TEST(catalog_problems_of_keys),
	SUITE_TEST(catalog_problems_of_sequences),
	SUITE_TEST(catalog_suggestions),
	SUITE_TEST(catalog_tables),
	SUITE_TEST(catalog_estimates),
	SUITE_TEST(catalog_no_key),
	SUITE_TEST(catalog_copy_that_nobody_reads),
};
const size_t suite_postgres_catalog_n = ARRAY_SIZE(suite_postgres_catalog);
