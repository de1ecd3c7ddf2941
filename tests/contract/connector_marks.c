/* Marks over time: tail, lag, NULLs; the same for every engine. */
#include <stdlib.h>
#include <string.h>

#include "connector_world.h"

#include "core/base/alloc.h"
#include "core/base/clock.h"

static void marks_table(struct world *w)
{
	world_exec(w, "CREATE TABLE %st (id int PRIMARY KEY, stamp %s)",
		   w->quirks->prefix, w->quirks->mark_type);
	world_exec(w,
		   "INSERT INTO %st VALUES (1, '2024-01-01 00:00:00+00'), "
		   "(2, '2024-01-01 00:01:00+00'), "
		   "(3, '2024-01-01 00:02:00+00')",
		   w->quirks->prefix);
	world_pipeline(w, "t", STRATEGY_TIMESTAMP, "stamp");
}

/* A row from the future comes on every run and does not drag the mark. */
static void marks_future_row(void **state)
{
	struct world *w = suite_world(state);

	marks_table(w);
	world_exec(w, "INSERT INTO %st VALUES (4, '2037-01-01 00:00:00+00')",
		   w->quirks->prefix);
	world_expect_count(w, 2, 4);
	assert_int_equal(w->n_tail, 1);
	assert_string_equal(w->from.value, "2024-01-01 00:02:00+00");
	world_expect(w, 2, "4|2037-01-01 00:00:00+00\n");
	assert_string_equal(w->from.value, "2024-01-01 00:02:00+00");
	world_exec(w, "INSERT INTO %st VALUES (5, '2024-01-01 00:03:00+00')",
		   w->quirks->prefix);
	world_expect_count(w, 2, 2);
	assert_string_equal(w->from.value, "2024-01-01 00:03:00+00");
}

/* Read a row of the very moment before it is settled, a second later. A busy
 * machine needs some tries for that. */
static void marks_read_fresh(struct world *w, enum tail_policy tail,
			     size_t rows)
{
	int64_t begun;

	marks_table(w);
	w->mark.tail = tail;
	for (;;) {
		begun = clock_monotonic_us();
		world_exec(w, "INSERT INTO %st VALUES (4, %s)",
			   w->quirks->prefix, w->quirks->now);
		w->quiet = true;
		if (world_run(w, rows))
			fail_msg("%s", w->err.message);
		w->quiet = false;
		if (clock_monotonic_us() - begun < US_PER_SECOND)
			return;
		world_exec(w, "DELETE FROM %st WHERE id = 4",
			   w->quirks->prefix);
		world_reset(w);
	}
}

static void marks_tail_hold(void **state)
{
	struct world *w = suite_world(state);

	marks_read_fresh(w, TAIL_HOLD, 2);
	assert_int_equal(w->n_rows, 3);
	assert_int_equal(w->n_tail, 0);
	assert_int_equal(w->batch.n_held, 1);
	assert_non_null(w->batch.newest_held);
	clock_sleep_us(1200 * 1000);
	world_expect_count(w, 2, 1);
	assert_int_equal(w->batch.n_held, 0);
	world_expect_count(w, 2, 0);
}

/* Just written: delivered at once and again, until it is settled. */
static void marks_fresh_row(void **state)
{
	struct world *w = suite_world(state);

	marks_read_fresh(w, TAIL_DELIVER, 10);
	assert_int_equal(w->n_rows, 4);
	assert_string_equal(w->from.value, "2024-01-01 00:02:00+00");
	assert_int_equal(w->n_tail, 1);
	clock_sleep_us(1200 * 1000);
	world_expect_count(w, 10, 1);
	assert_int_equal(w->n_tail, 0);
	world_expect_count(w, 10, 0);
}

/* The mark never is a settled point where no row lies. */
static void marks_no_row_no_move(void **state)
{
	struct world *w = suite_world(state);
	char *before;

	marks_table(w);
	world_expect_count(w, 10, 3);
	before = watermark_to_text(&w->from);
	world_expect_count(w, 10, 0);
	{
		char *after = watermark_to_text(&w->from);
		assert_string_equal(before, after);
		free(after);
	}
	free(before);
}

/* Lag reads again what lies behind the mark; the mark stays. */
static void marks_lag(void **state)
{
	struct world *w = suite_world(state);

	marks_table(w);
	world_expect_count(w, 10, 3);
	world_exec(w, "INSERT INTO %st VALUES (9, '2024-01-01 00:01:30+00')",
		   w->quirks->prefix);
	world_expect_count(w, 10, 0);
	w->mark.lag_us = 60 * US_PER_SECOND;
	for (size_t rows = 1; rows < 4; rows++) {
		world_expect(w, rows,
			     "2|2024-01-01 00:01:00+00\n"
			     "9|2024-01-01 00:01:30+00\n"
			     "3|2024-01-01 00:02:00+00\n");
		assert_string_equal(w->from.value, "2024-01-01 00:02:00+00");
		assert_string_equal(w->from.key.items[0], "3");
	}
	world_exec(w, "INSERT INTO %st VALUES (10, '2024-01-01 00:02:00+00')",
		   w->quirks->prefix);
	world_expect_count(w, 1, 4);
	assert_string_equal(w->from.key.items[0], "10");
	w->from.key.n--;
	free(w->from.key.items[0]);
	world_expect_count(w, 1, 4);
	assert_string_equal(w->from.key.items[0], "10");
}

static void marks_nulls(void **state)
{
	struct world *w = suite_world(state);

	marks_table(w);
	world_exec(w, "INSERT INTO %st VALUES (7, NULL), (5, NULL), (6, NULL)",
		   w->quirks->prefix);
	world_refuse(w, ERROR_DATA, "3 rows");
	assert_non_null(strstr(w->err.message, "id="));
	assert_int_equal(w->n_rows, 0);
	w->mark.nulls = NULLS_SKIP;
	world_expect_count(w, 10, 3);
	w->mark.nulls = NULLS_INCLUDE;
	for (size_t rows = 1; rows < 5; rows++) {
		world_expect(w, rows, "5|NULL\n6|NULL\n7|NULL\n");
		assert_string_equal(w->from.value, "2024-01-01 00:02:00+00");
		assert_string_equal(w->from.key.items[0], "3");
	}
}

/* A mark that the source cannot have produced. */
static void marks_from_the_future(void **state)
{
	struct world *w = suite_world(state);

	marks_table(w);
	w->from.value = xstrdup("2037-01-01 00:00:00+00");
	world_refuse(w, ERROR_SCHEMA, "ahead of the source's clock");
}

static void marks_settle_off(void **state)
{
	struct world *w = suite_world(state);

	marks_table(w);
	world_exec(w, "INSERT INTO %st VALUES (4, %s)", w->quirks->prefix,
		   w->quirks->now);
	world_exec(w, "INSERT INTO %st VALUES (5, '2037-01-01 00:00:00+00')",
		   w->quirks->prefix);
	w->mark.settle = false;
	world_expect_count(w, 2, 5);
	assert_int_equal(w->settled.guarantee, GUARANTEE_NONE);
	world_expect_count(w, 2, 1);
	assert_string_equal(w->from.key.items[0], "4");
}

/* A table made anew, or another table, is another source. */
static void marks_identity(void **state)
{
	struct world *w = suite_world(state);
	struct watermark from;
	int rc;

	marks_table(w);
	world_expect_count(w, 10, 3);
	assert_non_null(w->from.identity);
	assert_int_equal(world_begin(w), 0);
	assert_int_equal(watermark_check_identity(&w->from, w->identity, "run",
						  "p", &w->err),
			 0);
	if (w->quirks->table_unnamed)
		return;
	world_exec(w, "DROP TABLE %st", w->quirks->prefix);
	watermark_copy(&from, &w->from);
	marks_table(w);
	world_exec(w, "DELETE FROM %st WHERE id = 3", w->quirks->prefix);
	watermark_release(&w->from);
	watermark_copy(&w->from, &from);
	rc = world_begin(w);
	if (!rc)
		rc = watermark_check_identity(&from, w->identity, "run", "p",
					      &w->err);
	watermark_release(&from);
	assert_int_equal(rc, -ERROR_SCHEMA);
	assert_non_null(strstr(w->err.message, "created again"));
}

const struct CMUnitTest suite_marks[] = {
	SUITE_TEST(marks_future_row),
	SUITE_TEST(marks_tail_hold),
	SUITE_TEST(marks_fresh_row),
	SUITE_TEST(marks_no_row_no_move),
	SUITE_TEST(marks_lag),
	SUITE_TEST(marks_nulls),
	SUITE_TEST(marks_from_the_future),
	SUITE_TEST(marks_settle_off),
	SUITE_TEST(marks_identity),
};
const size_t suite_marks_n = ARRAY_SIZE(suite_marks);
