/* Partitions and heirs that come and go under a mark by column. Under xmin:
 * see connector_postgres_xmin.c. */
#include <stdlib.h>
#include <string.h>

#include "connector_world.h"

#include "core/base/alloc.h"

static void leaves_row(struct world *w, const char *table, int id, int minute)
{
	world_exec(w,
		   "INSERT INTO tm_source.%s (id, at)"
		   " VALUES (%d, '2024-01-01 00:%02d:00+00')",
		   table, id, minute);
}

/* Rows 1 and 11 in two partitions; `later` waits with older rows. */
static void leaves_table(struct world *w)
{
	world_exec(w, "CREATE TABLE tm_source.t (id int PRIMARY KEY,"
		      " at timestamptz) PARTITION BY RANGE (id);"
		      "CREATE TABLE tm_source.t1 PARTITION OF tm_source.t"
		      " FOR VALUES FROM (0) TO (10);"
		      "CREATE TABLE tm_source.t2 PARTITION OF tm_source.t"
		      " FOR VALUES FROM (10) TO (20);"
		      "CREATE TABLE tm_source.later (id int PRIMARY KEY,"
		      " at timestamptz)");
	leaves_row(w, "t", 1, 30);
	leaves_row(w, "t", 11, 31);
	leaves_row(w, "later", 21, 5);
	leaves_row(w, "later", 22, 6);
	leaves_row(w, "later", 23, 6);
	leaves_row(w, "later", 24, 31);
	leaves_row(w, "later", 25, 40);
	world_pipeline(w, "t", STRATEGY_TIMESTAMP, "at");
}

static void leaves_attach(struct world *w)
{
	world_exec(w, "ALTER TABLE tm_source.t ATTACH PARTITION"
		      " tm_source.later FOR VALUES FROM (20) TO (30)");
}

#define LATER                                                                  \
	"21|2024-01-01 00:05:00+00\n22|2024-01-01 00:06:00+00\n"               \
	"23|2024-01-01 00:06:00+00\n24|2024-01-01 00:31:00+00\n"               \
	"25|2024-01-01 00:40:00+00\n"

static void leaves_attached(void **state)
{
	struct world *w = suite_world(state);

	leaves_table(w);
	world_expect_count(w, 10, 2);
	leaves_attach(w);
	world_expect(w, 10, LATER);
	assert_string_equal(w->from.value, "2024-01-01 00:40:00+00");
	assert_null(json_object_get(w->from.pending, "leaf"));
	world_expect(w, 10, "");
	/* One that goes away is forgotten, and new when it comes back. */
	world_exec(w, "ALTER TABLE tm_source.t DETACH PARTITION tm_source.t1");
	world_expect(w, 10, "");
	world_exec(w, "ALTER TABLE tm_source.t ATTACH PARTITION tm_source.t1"
		      " FOR VALUES FROM (0) TO (10)");
	world_expect(w, 10, "1|2024-01-01 00:30:00+00\n");
	world_expect(w, 10, "");
	/* So is one that was made anew. */
	world_exec(w, "DROP TABLE tm_source.t2;"
		      "CREATE TABLE tm_source.t2 PARTITION OF tm_source.t"
		      " FOR VALUES FROM (10) TO (20)");
	leaves_row(w, "t", 12, 10);
	world_expect(w, 10, "12|2024-01-01 00:10:00+00\n");
	world_expect(w, 10, "");
}

static void leaves_attached_by_sequence(void **state)
{
	struct world *w = suite_world(state);

	leaves_table(w);
	world_pipeline(w, "t", STRATEGY_SEQUENCE, "id");
	leaves_row(w, "t", 19, 0);
	world_exec(w, "ALTER TABLE tm_source.t DETACH PARTITION tm_source.t1");
	world_expect_count(w, 10, 2);
	world_exec(w, "ALTER TABLE tm_source.t ATTACH PARTITION tm_source.t1"
		      " FOR VALUES FROM (0) TO (10)");
	world_expect(w, 10, "1|2024-01-01 00:30:00+00\n");
	assert_string_equal(w->from.value, "19");
	world_expect(w, 10, "");
}

/* Cut short after each row: the next run goes on behind it, and loses nothing
 * though the mark itself stays where it is. */
static void leaves_resume(void **state)
{
	struct world *w = suite_world(state);

	leaves_table(w);
	world_expect_count(w, 10, 2);
	leaves_attach(w);
	world_exec(w, "CREATE TABLE tm_source.older PARTITION OF tm_source.t"
		      " FOR VALUES FROM (30) TO (40)");
	leaves_row(w, "t", 31, 1);
	strbuf_reset(&w->rows);
	for (int i = 0; i < 5; i++) {
		assert_int_equal(world_begin(w), 0);
		assert_int_equal(world_step(w, 1), 1);
		watermark_release(&w->from);
		watermark_copy(&w->from, &w->batch.watermark);
		assert_string_equal(w->from.value, "2024-01-01 00:31:00+00");
		world_reopen(w);
	}
	assert_string_equal(w->rows.data, "21|2024-01-01 00:05:00+00\n"
					  "22|2024-01-01 00:06:00+00\n"
					  "23|2024-01-01 00:06:00+00\n"
					  "31|2024-01-01 00:01:00+00\n"
					  "24|2024-01-01 00:31:00+00\n");
	world_expect(w, 1, "25|2024-01-01 00:40:00+00\n");
	world_expect(w, 1, "");
}

/* A role that may read the parent alone gets the same rows. */
static void leaves_without_rights(void **state)
{
	struct world *w = suite_world(state);

	leaves_table(w);
	world_expect_count(w, 10, 2);
	leaves_attach(w);
	world_exec(w, "REVOKE ALL ON tm_source.later FROM current_user");
	world_expect(w, 2, LATER);
	world_expect(w, 2, "");
}

static void leaves_heir(void **state)
{
	struct world *w = suite_world(state);

	world_exec(w, "CREATE TABLE tm_source.t (id int PRIMARY KEY,"
		      " at timestamptz)");
	leaves_row(w, "t", 1, 30);
	world_pipeline(w, "t", STRATEGY_TIMESTAMP, "at");
	world_expect_count(w, 10, 1);
	assert_null(w->from.pending);
	world_exec(w, "CREATE TABLE tm_source.heir (more int)"
		      " INHERITS (tm_source.t)");
	leaves_row(w, "heir", 2, 10);
	assert_int_equal(world_describe(w), 0);
	world_expect(w, 10, "2|2024-01-01 00:10:00+00\n");
	world_expect(w, 10, "");
	/* No index vouches for the key of one that is new. */
	world_exec(w, "CREATE TABLE tm_source.twin () INHERITS (tm_source.t)");
	leaves_row(w, "twin", 2, 11);
	world_refuse(w, ERROR_SCHEMA, "the key of tm_source.t repeats");
}

/* A mark from before there were lists knows all there is. */
static void leaves_of_old_mark(void **state)
{
	struct world *w = suite_world(state);

	leaves_table(w);
	world_expect_count(w, 10, 2);
	json_decref(w->from.pending);
	w->from.pending = NULL;
	world_expect(w, 10, "");
	leaves_attach(w);
	world_expect(w, 10, LATER);
}

const struct CMUnitTest suite_postgres_leaves[] = {
	SUITE_TEST(leaves_attached), SUITE_TEST(leaves_attached_by_sequence),
	SUITE_TEST(leaves_resume),   SUITE_TEST(leaves_without_rights),
	SUITE_TEST(leaves_heir),     SUITE_TEST(leaves_of_old_mark),
};
const size_t suite_postgres_leaves_n = ARRAY_SIZE(suite_postgres_leaves);
