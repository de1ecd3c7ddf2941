/* The strategy that needs no column: PostgreSQL's own row versions. */
#include <stdlib.h>
#include <string.h>

#include "connector_world.h"

#include "core/base/alloc.h"

static void xmin_table(struct world *w)
{
	world_exec(w, "CREATE TABLE tm_source.t (id int PRIMARY KEY, v text);"
		      "INSERT INTO tm_source.t VALUES (1, 'a'), (2, 'b')");
	world_pipeline(w, "t", STRATEGY_XMIN, NULL);
}

/* 400 rows, two a block: a pass of many extracts. */
static void xmin_big_table(struct world *w)
{
	world_exec(w, "CREATE TABLE tm_source.t (id int PRIMARY KEY, v text,"
		      " pad char(3000));"
		      "ALTER TABLE tm_source.t ALTER pad SET STORAGE PLAIN;"
		      "INSERT INTO tm_source.t SELECT n, 'old', ''"
		      " FROM generate_series(1, 400) n; ANALYZE tm_source.t");
	world_pipeline(w, "t", STRATEGY_XMIN, NULL);
	strlist_add(&w->columns, "id");
	strlist_add(&w->columns, "v");
}

static void xmin_changes(void **state)
{
	struct world *w = suite_world(state);

	xmin_table(w);
	world_expect(w, 10, "1|a\n2|b\n");
	assert_int_equal(w->settled.guarantee, GUARANTEE_EXACT);
	assert_non_null(w->from.value);
	assert_null(w->from.pending);
	world_expect(w, 10, "");
	world_exec(w, "UPDATE tm_source.t SET v = 'c' WHERE id = 1");
	world_exec(w, "INSERT INTO tm_source.t VALUES (3, 'd')");
	world_expect(w, 10, "1|c\n3|d\n");
	world_exec(w, "VACUUM (FREEZE) tm_source.t");
	world_expect(w, 10, "");
	world_exec(w, "VACUUM FULL tm_source.t");
	world_expect(w, 10, "");
}

/* A transaction that began before the mark and commits behind it; its rows
 * carry the ids of savepoints. */
static void xmin_late_commit(void **state)
{
	struct world *w = suite_world(state);
	uint64_t before;

	xmin_table(w);
	world_other(w, 1,
		    "BEGIN; INSERT INTO tm_source.t VALUES (3, 'late');"
		    "SAVEPOINT a; INSERT INTO tm_source.t VALUES"
		    " (4, 'later'); SAVEPOINT b");
	world_exec(w, "INSERT INTO tm_source.t VALUES (5, 'early')");
	world_expect(w, 10, "1|a\n2|b\n5|early\n");
	assert_int_equal(w->n_tail, 1);
	assert_non_null(w->settled.held_by);
	before = strtoull(w->from.value, NULL, 10);
	world_expect(w, 10, "5|early\n");
	assert_int_equal(strtoull(w->from.value, NULL, 10), before);
	world_other(w, 1,
		    "INSERT INTO tm_source.t VALUES (6, 'latest');"
		    "RELEASE a; COMMIT");
	world_expect(w, 10, "3|late\n4|later\n5|early\n6|latest\n");
	assert_true(strtoull(w->from.value, NULL, 10) > before);
	world_expect(w, 10, "");
}

static void xmin_prepared(void **state)
{
	struct world *w = suite_world(state);

	xmin_table(w);
	world_expect_count(w, 10, 2);
	world_other(w, 1,
		    "BEGIN; INSERT INTO tm_source.t VALUES (3, 'x');"
		    "PREPARE TRANSACTION 'tm_source_2'");
	world_exec(w, "INSERT INTO tm_source.t VALUES (4, 'y')");
	world_expect(w, 10, "4|y\n");
	assert_int_equal(w->settled.guarantee, GUARANTEE_EXACT);
	assert_string_equal(json_string_value(json_object_get(
				    w->settled.held_by, "prepared")),
			    "tm_source_2");
	world_other(w, 1, "COMMIT PREPARED 'tm_source_2'");
	world_expect(w, 10, "3|x\n4|y\n");
	world_expect(w, 10, "");
}

static void xmin_tail_hold(void **state)
{
	struct world *w = suite_world(state);

	xmin_table(w);
	w->mark.tail = TAIL_HOLD;
	world_other(w, 1, "BEGIN; INSERT INTO tm_source.t VALUES (3, 'late')");
	world_exec(w, "INSERT INTO tm_source.t VALUES (5, 'early')");
	world_expect(w, 10, "1|a\n2|b\n");
	assert_int_equal(w->batch.n_held, 1);
	world_expect(w, 10, "");
	assert_int_equal(w->batch.n_held, 1);
	world_other(w, 1, "COMMIT");
	world_expect(w, 10, "3|late\n5|early\n");
	assert_int_equal(w->batch.n_held, 0);
	world_expect(w, 10, "");
}

/* Ids seen, over several runs. */
struct seen {
	bool id[401];
	int n;
	int64_t rows;
};

static void xmin_see(struct world *w, struct seen *seen)
{
	const char *line = w->rows.data;

	for (; *line; line = strchr(line, '\n') + 1) {
		long id = strtol(line, NULL, 10);
		assert_in_range(id, 1, 400);
		seen->n += !seen->id[id];
		seen->id[id] = true;
		seen->rows++;
	}
}

/* Read `batches` of 31 rows, then stop for good. */
static void xmin_cut_short(struct world *w, int batches, struct seen *seen)
{
	memset(seen, 0, sizeof(*seen));
	world_reset(w);
	strbuf_reset(&w->rows);
	/* A commit that waits for the log: before it is flushed, no place is
	 * kept. The pass before may have tidied up pages, and so may a look at
	 * the catalog. */
	assert_int_equal(world_begin(w), 0);
	world_exec(w, "COMMENT ON SCHEMA tm_source IS 'flushed'");
	assert_int_equal(world_begin(w), 0);
	for (int i = 0; i < batches; i++)
		assert_int_equal(world_step(w, 31), 1);
	watermark_release(&w->from);
	watermark_copy(&w->from, &w->batch.watermark);
	assert_null(w->from.value);
	assert_non_null(json_object_get(w->from.pending, "block"));
	xmin_see(w, seen);
	world_reopen(w);
}

static void xmin_finish(struct world *w, struct seen *seen)
{
	if (world_run(w, 31))
		fail_msg("%s", w->err.message);
	xmin_see(w, seen);
	assert_int_equal(seen->n, 400);
	assert_null(w->from.pending);
	world_expect_count(w, 100, 0);
}

/* Cut short after every batch: what comes next completes it, and begins
 * where the first one ended. */
static void xmin_resume(void **state)
{
	struct world *w = suite_world(state);
	struct seen seen;

	xmin_big_table(w);
	for (int batches = 1; batches <= 12; batches++) {
		xmin_cut_short(w, batches, &seen);
		assert_int_equal(seen.rows, 31 * batches);
		xmin_finish(w, &seen);
		assert_true(seen.rows <= 402);
	}
}

/* A rewrite moves rows to blocks that have been read already, with their old
 * xmin: the pass begins again. */
static void xmin_rewritten(void **state)
{
	struct world *w = suite_world(state);
	struct seen seen;

	xmin_big_table(w);
	xmin_cut_short(w, 8, &seen);
	world_exec(w, "CREATE INDEX down ON tm_source.t (id DESC);"
		      "CLUSTER tm_source.t USING down");
	xmin_finish(w, &seen);
}

/* A row that moves into a block that has been read is newer than the ceiling:
 * the second pass of the run brings it. */
static void xmin_moved(void **state)
{
	struct world *w = suite_world(state);
	struct seen seen = { .n = 0 };
	int rc = 1;

	xmin_big_table(w);
	world_exec(w, "DELETE FROM tm_source.t WHERE id <= 20");
	world_exec(w, "VACUUM (INDEX_CLEANUP ON) tm_source.t");
	assert_int_equal(world_begin(w), 0);
	assert_int_equal(world_step(w, 31), 1);
	world_exec(w, "UPDATE tm_source.t SET v = 'new' WHERE id = 400");
	world_exec(w, "DO $$BEGIN ASSERT (SELECT ctid < '(10,0)'::tid FROM"
		      " tm_source.t WHERE id = 400); END$$");
	while (rc > 0)
		rc = world_step(w, 31);
	assert_int_equal(rc, 0);
	xmin_see(w, &seen);
	assert_int_equal(seen.n, 380);
	assert_non_null(strstr(w->rows.data, "400|new\n"));
}

static void xmin_partitions(void **state)
{
	struct world *w = suite_world(state);

	world_exec(w, "CREATE TABLE tm_source.t (id int PRIMARY KEY, v text)"
		      " PARTITION BY RANGE (id);"
		      "CREATE TABLE tm_source.t1 PARTITION OF tm_source.t"
		      " FOR VALUES FROM (0) TO (10);"
		      "CREATE TABLE tm_source.t2 (v text, id int NOT NULL);"
		      "ALTER TABLE tm_source.t ATTACH PARTITION tm_source.t2"
		      " FOR VALUES FROM (10) TO (20);"
		      "CREATE TABLE tm_source.later (id int PRIMARY KEY,"
		      " v text);"
		      "INSERT INTO tm_source.later VALUES (20, 'z');"
		      "INSERT INTO tm_source.t VALUES (1, 'a'), (11, 'b')");
	world_pipeline(w, "t", STRATEGY_XMIN, NULL);
	world_expect(w, 10, "1|a\n11|b\n");
	world_expect(w, 10, "");
	world_exec(w, "UPDATE tm_source.t SET v = 'c' WHERE id = 11");
	world_expect(w, 10, "11|c\n");
	/* Its rows are older than the mark. */
	world_exec(w, "ALTER TABLE tm_source.t ATTACH PARTITION"
		      " tm_source.later FOR VALUES FROM (20) TO (30)");
	world_expect(w, 10, "20|z\n");
	world_expect(w, 10, "");
	world_exec(w, "ALTER TABLE tm_source.t DETACH PARTITION tm_source.t1");
	world_expect(w, 10, "");
	world_exec(w, "UPDATE tm_source.t1 SET v = 'd'");
	world_expect(w, 10, "");
	world_exec(w, "ALTER TABLE tm_source.t ATTACH PARTITION tm_source.t1"
		      " FOR VALUES FROM (0) TO (10)");
	world_expect(w, 10, "1|d\n");
	world_expect(w, 10, "");
}

static void xmin_heirs(void **state)
{
	struct world *w = suite_world(state);

	world_exec(w, "CREATE TABLE tm_source.t (id int PRIMARY KEY, v text);"
		      "CREATE TABLE tm_source.heir (more int)"
		      " INHERITS (tm_source.t);"
		      "INSERT INTO tm_source.t VALUES (1, 'a');"
		      "INSERT INTO tm_source.heir VALUES (2, 'b', 3)");
	world_pipeline(w, "t", STRATEGY_XMIN, NULL);
	world_expect(w, 10, "1|a\n2|b\n");
	world_exec(w, "UPDATE tm_source.t SET v = 'c' WHERE id = 2");
	world_expect(w, 10, "2|c\n");
	world_expect(w, 10, "");
}

static void xmin_refused(void **state)
{
	struct world *w = suite_world(state);

	xmin_table(w);
	world_expect_count(w, 10, 2);
	free(w->from.value);
	w->from.value = xstrdup("99999999999");
	world_refuse(w, ERROR_SCHEMA, "has not happened yet");
	world_exec(w, "CREATE VIEW tm_source.v AS SELECT * FROM tm_source.t");
	world_pipeline(w, "v", STRATEGY_XMIN, NULL);
	world_key(w, "id", NULL);
	world_refuse(w, ERROR_CONFIG, "a view has no xmin");
	world_exec(w, "CREATE MATERIALIZED VIEW tm_source.m AS"
		      " SELECT * FROM tm_source.t");
	world_pipeline(w, "m", STRATEGY_XMIN, NULL);
	world_key(w, "id", NULL);
	world_expect(w, 10, "1|a\n2|b\n");
}

/* The user's SQL sees the table under its own name, leaf by leaf too. */
static void xmin_where(void **state)
{
	struct world *w = suite_world(state);

	xmin_table(w);
	w->source.where = "t.id = 2 OR t.v = 'c'";
	world_expect(w, 10, "2|b\n");
	world_exec(w, "UPDATE tm_source.t SET v = v || '!'");
	world_expect(w, 10, "2|b!\n");
}

const struct CMUnitTest suite_postgres_xmin[] = {
	SUITE_TEST(xmin_changes),  SUITE_TEST(xmin_late_commit),
	SUITE_TEST(xmin_prepared), SUITE_TEST(xmin_tail_hold),
	SUITE_TEST(xmin_resume),   SUITE_TEST(xmin_rewritten),
	SUITE_TEST(xmin_moved),	   SUITE_TEST(xmin_partitions),
	SUITE_TEST(xmin_heirs),	   SUITE_TEST(xmin_refused),
	SUITE_TEST(xmin_where),
};
const size_t suite_postgres_xmin_n = ARRAY_SIZE(suite_postgres_xmin);
