#include "connector_world.h"

#include <string.h>

#include "core/base/alloc.h"

/* Columns that are unique and never NULL name a row where no primary key
 * does. */

static void unique_expect_key(struct world *w, const char *expected)
{
	struct strbuf key = STRBUF_INIT;

	assert_int_equal(world_describe(w), 0);
	for (size_t i = 0; i < w->schema.n_key; i++)
		strbuf_addf(&key, "%s%s", i ? "," : "",
			    w->schema.columns[w->schema.key[i]].name);
	assert_string_equal(key.data, expected);
	strbuf_release(&key);
}

static void unique_make(struct world *w, const char *table, const char *rest)
{
	world_exec(w,
		   "CREATE TABLE %s%s (n int, a int NOT NULL, b int NOT NULL,"
		   " stamp %s NOT NULL%s)",
		   w->quirks->prefix, table, w->quirks->mark_type, rest);
	world_pipeline(w, table, STRATEGY_TIMESTAMP, "stamp");
}

static void unique_serves(void **state)
{
	struct world *w = suite_world(state);

	if (w->quirks->unkeyed)
		skip();
	unique_make(w, "t", ", UNIQUE (n), UNIQUE (a, b)");
	unique_expect_key(w, "a,b");
	world_exec(w,
		   "INSERT INTO %st SELECT NULL, n - n %% 3, n %% 3,"
		   " '2024-01-01 00:00:00+00' FROM %s",
		   w->quirks->prefix, world_series(w, 0, 17));
	for (size_t rows = 1; rows <= 5; rows++) {
		world_reset(w);
		world_expect_count(w, rows, 18);
		world_expect_count(w, rows, 0);
	}
	/* Named columns come before any of the table's own. */
	world_key(w, "b", "a");
	unique_expect_key(w, "b,a");
}

/* The choice is the same in whatever order they were made. */
static void unique_choice(void **state)
{
	struct world *w = suite_world(state);

	if (w->quirks->unkeyed)
		skip();
	unique_make(w, "t1", ", UNIQUE (b), UNIQUE (a), UNIQUE (a, b)");
	unique_expect_key(w, "a");
	unique_make(w, "t2", ", UNIQUE (a), UNIQUE (b), UNIQUE (a, b)");
	unique_expect_key(w, "a");
	unique_make(w, "t3", ", UNIQUE (b, a), UNIQUE (b)");
	unique_expect_key(w, "b");
	unique_make(w, "t4", ", UNIQUE (a), PRIMARY KEY (b)");
	unique_expect_key(w, "b");
}

/* A column that is not read, or may be NULL, names no row. */
static void unique_unfit(void **state)
{
	struct world *w = suite_world(state);

	if (w->quirks->unkeyed)
		skip();
	unique_make(w, "t1", ", UNIQUE (n)");
	world_refuse(w, ERROR_SCHEMA, "no primary key");
	unique_make(w, "t2", ", UNIQUE (a), UNIQUE (b)");
	strlist_add(&w->columns, "b");
	strlist_add(&w->columns, "stamp");
	unique_expect_key(w, "b");
	strlist_release(&w->columns);
	strlist_add(&w->columns, "n");
	strlist_add(&w->columns, "stamp");
	assert_int_equal(world_describe(w), -ERROR_SCHEMA);
	assert_non_null(strstr(w->err.message, "no primary key"));
}

/* Indexes that say nothing of all rows, or of whole values. */
static void unique_indexes(void **state)
{
	struct world *w = suite_world(state);
	const char *engine = w->quirks->engine, *p = w->quirks->prefix;

	if (w->quirks->unkeyed)
		skip();
	unique_make(w, "t", "");
	world_exec(w, "CREATE INDEX t_a ON %st (a)", p);
	if (!strcmp(engine, "postgres") || !strcmp(engine, "sqlite"))
		world_exec(w, "CREATE UNIQUE INDEX t_p ON %st (a) WHERE b > 0",
			   p);
	if (!strcmp(engine, "postgres") || !strcmp(engine, "sqlite") ||
	    !strcmp(engine, "duckdb"))
		world_exec(w, "CREATE UNIQUE INDEX t_e ON %st ((a + b))", p);
	if (!strcmp(engine, "postgres"))
		world_exec(w,
			   "ALTER TABLE %st ADD CONSTRAINT t_d UNIQUE (a)"
			   " DEFERRABLE",
			   p);
	if (!strcmp(w->quirks->connector, "mysql"))
		world_exec(w,
			   "ALTER TABLE %st ADD s varchar(20) NOT NULL"
			   " DEFAULT '', ADD UNIQUE t_s (s(3))",
			   p);
	world_refuse(w, ERROR_SCHEMA, "no primary key");
	world_exec(w, "CREATE UNIQUE INDEX t_b ON %st (b, a)", p);
	world_pipeline(w, "t", STRATEGY_TIMESTAMP, "stamp");
	unique_expect_key(w, "b,a");
}

const struct CMUnitTest suite_unique[] = {
	SUITE_TEST(unique_serves),
	SUITE_TEST(unique_choice),
	SUITE_TEST(unique_unfit),
	SUITE_TEST(unique_indexes),
};
const size_t suite_unique_n = ARRAY_SIZE(suite_unique);
