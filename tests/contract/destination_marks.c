/* Batches and their marks: one after the other, refused whole, and found again
 * by the next run. */
#include "destination_load.h"

#include <string.h>

#include "core/base/alloc.h"

/* Several batches of one session; new, then seen, then mixed. */
static void test_batches(void **state)
{
	struct world *w = load_world(state, LOAD_UPSERT);

	assert_int_equal(world_begin(w), 0);
	assert_int_equal(world_load(w, "3|c|1|" DAY("01"), "{}"), 0);
	assert_int_equal(world_load(w, "1|a|1|" DAY("01"), "{}"), 0);
	world_expect_counts(w, 1, 0, 0);
	assert_int_equal(
		world_load(w, "4|d|1|" DAY("01") "\n1|A|1|" DAY("02"), "{}"),
		0);
	world_expect_counts(w, 1, 1, 0);
	assert_int_equal(world_load(w, "5|e|1|" DAY("03"), "{}"), 0);
	world_expect_counts(w, 1, 0, 0);
	assert_int_equal(world_load(w, "6|f|1|" DAY("03") "\n5|e|1|" DAY("03"),
				    "{\"value\":\"9\"}"),
			 0);
	world_expect_counts(w, 1, 0, 1);
	world_close(w);
	assert_string_equal(world_query(w, ALL), "1|A\n3|c\n4|d\n5|e\n6|f");
	assert_string_equal(world_mark(w), "{\"value\":\"9\"}");
}

static void test_empty_batch(void **state)
{
	struct world *w = load_world(state, LOAD_UPSERT);

	world_sync(w, "", "{\"value\":\"7\"}");
	world_expect_counts(w, 0, 0, 0);
	assert_string_equal(world_mark(w), "{\"value\":\"7\"}");
	assert_string_equal(world_query(w, "SELECT count(*) FROM orders;"),
			    "0");
}

/* NULL in the key: refused with the column's name, and nothing is left. */
static void test_null_key(void **state)
{
	struct world *w = load_world(state, LOAD_UPSERT);

	assert_int_equal(world_begin(w), 0);
	assert_int_equal(world_load(w, "1|a|1|" DAY("01"), "{\"value\":\"1\"}"),
			 0);
	assert_int_equal(world_load(w,
				    "2|b|1|" DAY("02") "\nNULL|c|1|" DAY("02"),
				    "{\"value\":\"2\"}"),
			 ERROR_DATA);
	assert_non_null(strstr(w->err.message, "id"));
	world_close(w);
	assert_string_equal(world_query(w, ALL), "1|a");
	assert_string_equal(world_mark(w), "{\"value\":\"1\"}");
}

/* A batch that was refused leaves a session that can go on. */
static void test_goes_on_after_refusal(void **state)
{
	struct world *w = load_world(state, LOAD_UPSERT);

	assert_int_equal(world_begin(w), 0);
	assert_int_equal(world_load(w, "NULL|c|1|" DAY("02"), "{}"),
			 ERROR_DATA);
	assert_int_equal(world_load(w, "1|a|1|" DAY("01"), "{}"), 0);
	world_close(w);
	assert_string_equal(world_query(w, ALL), "1|a");
}

/* Somebody else has loaded meanwhile: nothing of ours may be left. */
static void load_intruder(struct world *w)
{
	if (!w->quirks->other_writers)
		skip();
	assert_int_equal(world_begin(w), 0);
	assert_int_equal(world_load(w, "1|a|1|" DAY("01"), "{\"value\":\"1\"}"),
			 0);
	world_exec(w, "UPDATE _tidemark_watermark SET batch_id = 'theirs';");
	assert_int_equal(world_load(w, "1|z|1|" DAY("09") "\n2|b|1|" DAY("02"),
				    "{\"value\":\"2\"}"),
			 ERROR_STATE);
	world_close(w);
	assert_string_equal(world_query(w, ALL), "1|a");
	assert_string_equal(world_mark(w), "{\"value\":\"1\"}");
}

static void test_upsert_intruder(void **state)
{
	load_intruder(load_world(state, LOAD_UPSERT));
}

static void test_append_intruder(void **state)
{
	load_intruder(load_world(state, LOAD_APPEND));
}

/* The mark cannot be written (a trigger or check of the test's refuses it):
 * then the rows are not there either. This goes red when the mark has a
 * transaction of its own. */
static void test_mark_and_rows_together(void **state)
{
	struct world *w = load_world(state, LOAD_UPSERT);

	if (!w->quirks->refuse_mark)
		skip();
	world_sync(w, "1|a|1|" DAY("01"), "{\"value\":\"1\"}");
	world_exec(w, w->quirks->refuse_mark);
	assert_int_equal(world_begin(w), 0);
	assert_int_not_equal(
		world_load(w, "2|b|1|" DAY("02"), "{\"value\":\"refused\"}"),
		0);
	world_close(w);
	assert_string_equal(world_query(w, ALL), "1|a");
	assert_string_equal(world_mark(w), "{\"value\":\"1\"}");
}

static void test_recover(void **state)
{
	struct world *w = load_world(state, LOAD_UPSERT);
	struct checkpoint c;

	world_sync(w, "1|a|1|" DAY("01") "\n2|b|1|" DAY("01"),
		   "{\"value\":\"1\"}");
	world_open(w);
	checkpoint_init(&c);
	assert_int_equal(
		w->ops->recover(w->destination, &w->target, &c, &w->err), 0);
	assert_true(c.found);
	assert_string_equal(c.watermark, "{\"value\":\"1\"}");
	assert_int_equal(c.rows_total, 2);
	checkpoint_release(&c);
}

static void test_recover_of_nothing(void **state)
{
	struct world *w = load_world(state, LOAD_UPSERT);
	struct checkpoint c;

	world_open(w);
	checkpoint_init(&c);
	assert_int_equal(
		w->ops->recover(w->destination, &w->target, &c, &w->err), 0);
	assert_false(c.found);
	assert_null(c.watermark);
	checkpoint_release(&c);
}

static void test_set_watermark(void **state)
{
	struct world *w = load_world(state, LOAD_UPSERT);

	world_open(w);
	assert_int_equal(w->ops->set_watermark(w->destination, &w->target,
					       "{\"value\":\"5\"}", &w->err),
			 -ERROR_SCHEMA);
	world_close(w);
	world_sync(w, "1|a|1|" DAY("01"), "{\"value\":\"1\"}");
	world_open(w);
	assert_int_equal(w->ops->set_watermark(w->destination, &w->target,
					       "{\"value\":\"5\"}", &w->err),
			 0);
	world_close(w);
	assert_string_equal(world_mark(w), "{\"value\":\"5\"}");
	world_open(w);
	assert_int_equal(w->ops->set_watermark(w->destination, &w->target, NULL,
					       &w->err),
			 0);
	world_close(w);
	assert_string_equal(world_mark(w), w->quirks->null);
	world_sync(w, "1|a|1|" DAY("01"), "{\"value\":\"1\"}");
	world_expect_counts(w, 0, 0, 1);
}

const struct CMUnitTest suite_marks[] = {
	SUITE_TEST(test_batches),
	SUITE_TEST(test_empty_batch),
	SUITE_TEST(test_null_key),
	SUITE_TEST(test_goes_on_after_refusal),
	SUITE_TEST(test_upsert_intruder),
	SUITE_TEST(test_append_intruder),
	SUITE_TEST(test_mark_and_rows_together),
	SUITE_TEST(test_recover),
	SUITE_TEST(test_recover_of_nothing),
	SUITE_TEST(test_set_watermark),
};
const size_t suite_marks_n = ARRAY_SIZE(suite_marks);
