/* Paging over what only PostgreSQL has: collations, partitions, views. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "connector_world.h"

#include "core/base/alloc.h"
#include "core/base/clock.h"

static void pages_100k_ties(void **state)
{
	struct world *w = suite_world(state);

	world_exec(w,
		   "CREATE TABLE tm_source.t (id int PRIMARY KEY,"
		   " at timestamptz NOT NULL);"
		   "INSERT INTO tm_source.t SELECT n, '2024-01-01 00:00:00+00'"
		   " FROM generate_series(1, 100000) n;"
		   "CREATE INDEX ON tm_source.t (at, id)");
	world_pipeline(w, "t", STRATEGY_TIMESTAMP, "at");
	world_expect_count(w, 9973, 100000);
	assert_int_equal(w->sum, UINT64_C(5000050000));
	assert_int_equal(w->n_batches, 12);
	world_expect_count(w, 9973, 0);
}

/* One total order whatever the collation: rows that a page boundary falls on
 * are neither lost nor read twice. */
static void pages_collation(struct world *w, const char *type)
{
	static const char *const words[] = { "a", "A",	"b",  "B",   "ä", "Ä",
					     "z", "aa", "Aa", "a-a", "",  " " };

	world_exec(w,
		   "DROP TABLE IF EXISTS tm_source.t;"
		   "CREATE TABLE tm_source.t (k %s PRIMARY KEY,"
		   " at timestamptz NOT NULL DEFAULT '2024-01-01 00:00:00+00')",
		   type);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		world_exec(w,
			   "INSERT INTO tm_source.t VALUES ('%s')"
			   " ON CONFLICT DO NOTHING",
			   words[i]);
	world_pipeline(w, "t", STRATEGY_TIMESTAMP, "at");
	/* Where case does not count, "A" is "a" and was not stored. */
	for (size_t rows = 1; rows <= 7; rows++) {
		world_reset(w);
		world_expect_count(w, rows, strstr(type, "ndet") ? 8 : 12);
		world_expect_count(w, rows, 0);
	}
}

static void pages_collations(void **state)
{
	struct world *w = suite_world(state);

	world_exec(w, "CREATE COLLATION tm_source.ndet (provider = icu,"
		      " locale = 'und-u-ks-level2', deterministic = false)");
	pages_collation(w, "text COLLATE \"C\"");
	pages_collation(w, "text");
	pages_collation(w, "varchar(20) COLLATE \"en-US-x-icu\"");
	pages_collation(w, "text COLLATE tm_source.ndet");
}

static void pages_uuid_and_others(void **state)
{
	struct world *w = suite_world(state);
	static const char *const keys[][2] = {
		{ "uuid", "md5(n::text)::uuid" },
		{ "numeric", "n / 3.0" },
		{ "numeric(10,2)", "n / 4.0" },
		{ "bytea", "decode(md5(n::text), 'hex')" },
		{ "timestamptz", "'2024-01-01'::timestamptz + n * '1 us'::"
				 "interval" },
		{ "date", "'2024-01-01'::date + n" },
		{ "interval", "n * '1 day'::interval" },
		{ "double precision", "n / 7.0" },
		{ "real", "n / 8.0" },
		{ "bigint", "-n" },
		{ "smallint", "n" },
		{ "oid", "n::oid" },
		{ "inet", "'10.0.0.0'::inet + n" },
		{ "int4range", "int4range(n, n + 2)" },
		{ "int[]", "ARRAY[n, -n]" },
		{ "bit(8)", "n::bit(8)" },
		{ "varbit", "n::bit(8)::varbit" },
		{ "money", "n::int::money" },
		{ "jsonb", "jsonb_build_object('n', n)" },
		{ "char(5)", "'x' || n" },
		{ "name", "'x' || n" },
		{ "tm_source.mood", "(ARRAY['sad','ok','happy'])"
				    "[1 + mod(n, 3)]::tm_source.mood" },
		{ "tm_source.pair", "ROW(n, 'x' || n)::tm_source.pair" },
		{ "tm_source.code", "'c' || n" },
	};

	world_exec(w, "CREATE TYPE tm_source.mood AS ENUM"
		      " ('sad', 'ok', 'happy');"
		      "CREATE TYPE tm_source.pair AS (a int, b text);"
		      "CREATE DOMAIN tm_source.code AS varchar(9)"
		      " CHECK (value <> '')");
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		world_exec(w,
			   "DROP TABLE IF EXISTS tm_source.t;"
			   "CREATE TABLE tm_source.t (k %s PRIMARY KEY,"
			   " at timestamptz NOT NULL);"
			   "INSERT INTO tm_source.t SELECT %s,"
			   " '2024-01-01 00:00:00+00'"
			   " FROM generate_series(1, 20) n"
			   " ON CONFLICT DO NOTHING",
			   keys[i][0], keys[i][1]);
		world_pipeline(w, "t", STRATEGY_TIMESTAMP, "at");
		for (size_t rows = 1; rows <= 7; rows += 2) {
			world_reset(w);
			world_expect_count(w, rows,
					   strstr(keys[i][0], "mood") ? 3 : 20);
			world_expect_count(w, rows, 0);
		}
	}
}

static void pages_partitions(void **state)
{
	struct world *w = suite_world(state);

	world_exec(
		w,
		"CREATE TABLE tm_source.t (id int, at timestamptz NOT"
		" NULL, PRIMARY KEY (id)) PARTITION BY RANGE (id);"
		"CREATE TABLE tm_source.t1 PARTITION OF tm_source.t"
		" FOR VALUES FROM (0) TO (10);"
		"CREATE TABLE tm_source.t2 PARTITION OF tm_source.t"
		" FOR VALUES FROM (10) TO (20);"
		"INSERT INTO tm_source.t SELECT n,"
		" timestamptz '2024-01-01 00:00:00+00'"
		" + mod(n, 3) * '1 s'::interval FROM generate_series(0, 19) n");
	for (size_t rows = 1; rows <= 7; rows++) {
		world_pipeline(w, "t", STRATEGY_TIMESTAMP, "at");
		world_expect_count(w, rows, 20);
		assert_int_equal(w->sum, 190);
		world_expect_count(w, rows, 0);
	}
}

static void pages_view(void **state)
{
	struct world *w = suite_world(state);

	world_exec(w, "CREATE TABLE tm_source.t (id int PRIMARY KEY,"
		      " at timestamptz);"
		      "INSERT INTO tm_source.t SELECT n,"
		      " '2024-01-01 00:00:00+00' FROM generate_series(1, 9) n;"
		      "CREATE VIEW tm_source.v AS SELECT id, id / 2 AS half,"
		      " at FROM tm_source.t");
	world_pipeline(w, "v", STRATEGY_TIMESTAMP, "at");
	world_refuse(w, ERROR_SCHEMA, "no primary key");
	world_key(w, "id", NULL);
	for (size_t rows = 1; rows <= 7; rows++) {
		world_reset(w);
		world_expect_count(w, rows, 9);
		assert_int_equal(w->sum, 45);
		world_expect_count(w, rows, 0);
	}
	world_pipeline(w, "v", STRATEGY_TIMESTAMP, "at");
	world_key(w, "half", NULL);
	world_refuse(w, ERROR_SCHEMA, "half=");
	world_pipeline(w, "v", STRATEGY_XMIN, NULL);
	world_key(w, "id", NULL);
	world_refuse(w, ERROR_CONFIG, "a view has no xmin");
}

/* Without an index that vouches for the key, a row that repeats it is found
 * wherever the page ends. */
static void pages_key_repeats(void **state)
{
	struct world *w = suite_world(state);

	world_exec(w, "CREATE TABLE tm_source.t (id int NOT NULL,"
		      " at timestamptz NOT NULL);"
		      "INSERT INTO tm_source.t SELECT n / 2,"
		      " '2024-01-01 00:00:00+00' FROM generate_series(2, 9) n");
	world_pipeline(w, "t", STRATEGY_TIMESTAMP, "at");
	world_key(w, "id", NULL);
	world_refuse(w, ERROR_SCHEMA, "the key of tm_source.t repeats");
	/* Repeated while the pass reads. */
	world_exec(w, "DELETE FROM tm_source.t a USING tm_source.t b"
		      " WHERE a.id = b.id AND a.ctid < b.ctid");
	for (size_t rows = 1; rows <= 3; rows++) {
		int64_t n = 0;
		assert_int_equal(world_begin(w), 0);
		world_exec(w, "INSERT INTO tm_source.t SELECT * FROM"
			      " tm_source.t");
		while (world_step(w, rows) > 0)
			n += (int64_t)w->batch.n_rows;
		assert_true(w->err.code == ERROR_SCHEMA || n == 8);
		world_exec(w, "DELETE FROM tm_source.t a USING tm_source.t b"
			      " WHERE a.id = b.id AND a.ctid < b.ctid");
	}
}

/* A page that is left between two rows is gone on with behind the one: what
 * repeats its place by then is not passed over. */
static void pages_paused_before_repeat(void **state)
{
	struct world *w = suite_world(state);

	world_exec(w, "CREATE TABLE tm_source.t (id int NOT NULL,"
		      " at timestamptz NOT NULL);"
		      "INSERT INTO tm_source.t SELECT n,"
		      " '2024-01-01 00:00:00+00' FROM generate_series(1, 9) n");
	world_pipeline(w, "t", STRATEGY_TIMESTAMP, "at");
	world_key(w, "id", NULL);
	w->pauses = true;
	for (int id = 1; id <= 2; id++) {
		assert_int_equal(world_begin(w), 0);
		for (int i = 0; i < id; i++)
			assert_int_equal(world_step(w, 10), 1);
		world_exec(w,
			   "INSERT INTO tm_source.t VALUES"
			   " (%d, '2024-01-01 00:00:00+00')",
			   id);
		assert_int_equal(world_step(w, 10), -ERROR_SCHEMA);
		assert_non_null(
			strstr(w->err.message, id < 2 ? "id=1" : "id=2"));
		world_exec(w, "DELETE FROM tm_source.t WHERE ctid IN (SELECT"
			      " max(ctid) FROM tm_source.t GROUP BY id"
			      " HAVING count(*) > 1)");
		error_clear(&w->err);
	}
}

static void pages_refuse_repeat(struct world *w, const char *key)
{
	world_refuse(w, ERROR_SCHEMA, "the key of tm_source.t repeats");
	assert_non_null(strstr(w->err.message, key));
	assert_int_equal(w->n_rows, 0);
}

/* Rows of one key that lie far apart, under every strategy: nothing moves. */
static void pages_key_repeats_afar(void **state)
{
	static const struct {
		enum strategy strategy;
		const char *column;
	} marks[] = { { STRATEGY_TIMESTAMP, "at" },
		      { STRATEGY_SEQUENCE, "s" },
		      { STRATEGY_XMIN, NULL } };
	struct world *w = suite_world(state);

	for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
		world_exec(w, "DROP TABLE IF EXISTS tm_source.t;"
			      "CREATE TABLE tm_source.t (id int NOT NULL,"
			      " s bigserial NOT NULL, at timestamptz NOT NULL);"
			      "INSERT INTO tm_source.t (id, at) SELECT n,"
			      " '2024-01-01'::timestamptz + n * '1s'::interval"
			      " FROM generate_series(1, 9) n");
		world_pipeline(w, "t", marks[i].strategy, marks[i].column);
		world_key(w, "id", NULL);
		world_expect_count(w, 4, 9);
		world_expect_count(w, 4, 0);
		/* With a mark: the new row repeats an old one's key. */
		world_exec(w, "INSERT INTO tm_source.t (id, at)"
			      " VALUES (3, '2024-02-01')");
		pages_refuse_repeat(w, "id=3");
		/* It stays refused, and other rows do not pass either. */
		world_exec(w, "INSERT INTO tm_source.t (id, at)"
			      " VALUES (10, '2024-02-02')");
		pages_refuse_repeat(w, "id=3");
		world_reset(w);
		pages_refuse_repeat(w, "id=3");
		w->source.where = "at < '2024-02-01'";
		assert_int_equal(world_describe(w), 0);
		world_expect_count(w, 4, 9);
		w->source.where = NULL;
	}
}

/* Indexes that do not vouch: partial, invalid by deferral, of one table among
 * heirs. */
static void pages_key_unvouched(void **state)
{
	static const char *const makes[] = {
		"CREATE UNIQUE INDEX ON tm_source.t (id) WHERE id > 100",
		"CREATE UNIQUE INDEX ON tm_source.t ((id + s))",
		"CREATE UNIQUE INDEX ON tm_source.t (id, s)",
		"ALTER TABLE tm_source.t ADD UNIQUE (id)"
		" DEFERRABLE INITIALLY DEFERRED",
		"ALTER TABLE tm_source.t ADD PRIMARY KEY (id);"
		"CREATE TABLE tm_source.heir () INHERITS (tm_source.t);"
		"INSERT INTO tm_source.heir VALUES (3, 10)",
	};
	struct world *w = suite_world(state);

	for (size_t i = 0; i < ARRAY_SIZE(makes); i++) {
		world_exec(w, "DROP TABLE IF EXISTS tm_source.t CASCADE;"
			      "CREATE TABLE tm_source.t (id int NOT NULL,"
			      " s int NOT NULL);"
			      "INSERT INTO tm_source.t SELECT n, n"
			      " FROM generate_series(1, 9) n");
		world_exec(w, "%s", makes[i]);
		if (i < 3)
			world_exec(w, "INSERT INTO tm_source.t VALUES (3, 10)");
		world_pipeline(w, "t", STRATEGY_XMIN, NULL);
		world_key(w, "id", NULL);
		if (i != 3) {
			pages_refuse_repeat(w, "id=3");
			continue;
		}
		assert_int_equal(world_describe(w), 0);
		world_expect_count(w, 4, 9);
	}
}

static void pages_null_key(void **state)
{
	struct world *w = suite_world(state);

	world_exec(w, "CREATE TABLE tm_source.t (id int UNIQUE,"
		      " at timestamptz NOT NULL);"
		      "INSERT INTO tm_source.t VALUES"
		      " (1, '2024-01-01 00:00:00+00'),"
		      " (NULL, '2024-01-02 00:00:00+00')");
	world_pipeline(w, "t", STRATEGY_TIMESTAMP, "at");
	world_key(w, "id", NULL);
	world_refuse(w, ERROR_DATA, "NULL in a key column");
	assert_int_equal(w->n_rows, 0);
	world_exec(w, "DELETE FROM tm_source.t WHERE id IS NULL");
	world_expect_count(w, 10, 1);
}

static void pages_expressions(void **state)
{
	struct world *w = suite_world(state);
	struct source_expression e[] = {
		{ (char *)"cents", (char *)"round(amount * 100)::bigint -- x" },
		{ (char *)"name", (char *)"upper(name) || '!'" },
	};

	world_exec(w, "CREATE TABLE tm_source.t (id int PRIMARY KEY,"
		      " name text, amount numeric, at timestamptz NOT NULL);"
		      "INSERT INTO tm_source.t VALUES"
		      " (1, 'a', 1.5, '2024-01-01 00:00:00+00'),"
		      " (2, 'b', 2.25, '2024-01-01 00:00:00+00'),"
		      " (3, 'c', NULL, '2024-01-01 00:00:00+00')");
	world_pipeline(w, "t", STRATEGY_TIMESTAMP, "at");
	strlist_add(&w->columns, "name");
	strlist_add(&w->columns, "id");
	w->source.expressions = e;
	w->source.n_expressions = 2;
	w->source.where = "id <> 2 -- the second";
	world_expect(w, 1, "A!|1|150\nC!|3|NULL\n");
	assert_int_equal(w->schema.columns[2].type.kind, TYPE_INT64);
	assert_string_equal(w->schema.columns[2].name, "cents");
	assert_string_equal(w->schema.columns[0].expression,
			    "upper(name) || '!'");
	world_expect(w, 1, "");
}

/* The mark is an expression, and the key an expression that is no more than a
 * name. Rows come in the order of the column, not of the selected text. */
static void pages_mark_expression(void **state)
{
	struct world *w = suite_world(state);
	struct source_expression e[] = {
		{ (char *)"at", (char *)"coalesce(at, made)" },
		{ (char *)"k", (char *)"address" },
	};

	world_exec(w, "CREATE TABLE tm_source.t (address inet PRIMARY KEY,"
		      " at timestamptz, made timestamptz NOT NULL);"
		      "INSERT INTO tm_source.t SELECT '9.0.0.0'::inet"
		      " + n * 10000000, NULL, '2024-01-01 00:00:00+00'"
		      " FROM generate_series(0, 20) n");
	for (size_t rows = 1; rows < 5; rows++) {
		world_pipeline(w, "t", STRATEGY_TIMESTAMP, "at");
		world_key(w, "k", NULL);
		w->source.expressions = e;
		w->source.n_expressions = 2;
		world_expect_count(w, rows, 21);
		world_expect_count(w, rows, 0);
	}
}

static void *pages_interrupter(void *arg)
{
	struct world *w = arg;

	usleep(300 * 1000);
	w->ops->interrupt(w->connector);
	return NULL;
}

static void pages_interrupt(void **state)
{
	struct world *w = suite_world(state);
	int64_t begun = clock_monotonic_us();
	pthread_t thread;
	int rc;

	world_exec(w, "CREATE TABLE tm_source.t (id int PRIMARY KEY,"
		      " at timestamptz NOT NULL);"
		      "INSERT INTO tm_source.t SELECT n,"
		      " '2024-01-01 00:00:00+00' FROM generate_series(1, 9) n");
	world_pipeline(w, "t", STRATEGY_TIMESTAMP, "at");
	w->source.where = "pg_sleep(600) IS NOT NULL";
	assert_int_equal(pthread_create(&thread, NULL, pages_interrupter, w),
			 0);
	rc = world_run(w, 100);
	pthread_join(thread, NULL);
	assert_int_equal(rc, -ERROR_STOPPED);
	assert_true(clock_monotonic_us() - begun < 120 * US_PER_SECOND);
	world_reopen(w);
	w->source.where = NULL;
	world_expect_count(w, 100, 9);
}

/* The session dies under a pass: TRANSIENT, and a new one goes on. */
static void pages_backend_killed(void **state)
{
	struct world *w = suite_world(state);
	int rc;

	world_exec(w, "CREATE TABLE tm_source.t (id int PRIMARY KEY,"
		      " at timestamptz NOT NULL, v text);"
		      "INSERT INTO tm_source.t SELECT n,"
		      " '2024-01-01 00:00:00+00', repeat('x', 1000)"
		      " FROM generate_series(1, 20000) n");
	world_pipeline(w, "t", STRATEGY_TIMESTAMP, "at");
	w->quiet = true;
	assert_int_equal(world_begin(w), 0);
	assert_int_equal(world_step(w, 1000), 1);
	world_exec(w, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
		      " WHERE application_name = 'tidemark/source'"
		      " AND datname = current_database()");
	while ((rc = world_step(w, 1000)) > 0)
		;
	assert_int_equal(rc, -ERROR_TRANSIENT);
	watermark_release(&w->from);
	watermark_copy(&w->from, &w->batch.watermark);
	world_reopen(w);
	w->quiet = false;
	world_reset(w);
	world_expect_count(w, 1000, 20000);
}

const struct CMUnitTest suite_postgres_pages[] = {
	SUITE_TEST(pages_100k_ties),
	SUITE_TEST(pages_collations),
	SUITE_TEST(pages_uuid_and_others),
	SUITE_TEST(pages_partitions),
	SUITE_TEST(pages_view),
	SUITE_TEST(pages_key_repeats),
	SUITE_TEST(pages_paused_before_repeat),
	SUITE_TEST(pages_key_repeats_afar),
	SUITE_TEST(pages_key_unvouched),
	SUITE_TEST(pages_null_key),
	SUITE_TEST(pages_expressions),
	SUITE_TEST(pages_mark_expression),
	SUITE_TEST(pages_interrupt),
	SUITE_TEST(pages_backend_killed),
};
const size_t suite_postgres_pages_n = ARRAY_SIZE(suite_postgres_pages);
