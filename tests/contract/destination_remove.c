/* Rows leave a target by their keys. */
#include "destination_suite.h"

#include "core/base/alloc.h"

#define ALL "SELECT id, name FROM orders ORDER BY id;"

static struct world *remove_world(void **state, enum load_mode mode)
{
	struct world *w = suite_world(state);

	world_schema(w, "id:int64! name:text");
	w->target.table = "orders";
	w->target.mode = mode;
	w->target.writer.fence = 5;
	world_sync(w, "1|a\n2|b\n3|c\n4|d", "{\"value\":\"1\"}");
	return w;
}

/* Another handle goes on where this one was. */
static void remove_some(struct world *w)
{
	assert_int_equal(world_begin(w), 0);
	assert_int_equal(
		world_remove(w, "2|NULL\n9|NULL\n4|x", "{\"value\":\"1\"}"), 2);
	assert_int_equal(world_load(w, "5|e", "{\"value\":\"2\"}"), 0);
	assert_int_equal(world_remove(w, "5|e", "{\"value\":\"2\"}"), 1);
	assert_int_equal(world_load(w, "2|again", "{\"value\":\"3\"}"), 0);
	world_close(w);
	assert_string_equal(world_query(w, ALL), "1|a\n2|again\n3|c");
	assert_string_equal(world_mark(w), "{\"value\":\"3\"}");
}

static void test_remove_upsert(void **state)
{
	remove_some(remove_world(state, LOAD_UPSERT));
}

static void test_remove_delete_insert(void **state)
{
	remove_some(remove_world(state, LOAD_DELETE_INSERT));
}

/* All versions of each key go, and those of other keys stay. */
static void test_remove_append(void **state)
{
	struct world *w = remove_world(state, LOAD_APPEND);

	world_sync(w, "2|B\n3|C", "{\"value\":\"1\"}");
	assert_int_equal(world_begin(w), 0);
	assert_int_equal(world_remove(w, "2|NULL", "{\"value\":\"1\"}"), 2);
	world_close(w);
	assert_string_equal(world_query(w, ALL), "1|a\n3|C\n4|d");
	assert_string_equal(world_query(w, "SELECT count(*) FROM orders_raw;"),
			    "4");
	world_sync(w, "2|back", "{\"value\":\"1\"}");
	assert_string_equal(world_query(w, ALL), "1|a\n2|back\n3|C\n4|d");
}

/* A target without rows is not refused as one that somebody has emptied. */
static void test_remove_all(void **state)
{
	struct world *w = remove_world(state, LOAD_UPSERT);

	assert_int_equal(world_begin(w), 0);
	assert_int_equal(
		world_remove(w, "1|a\n2|b\n3|c\n4|d", "{\"value\":\"1\"}"), 4);
	world_close(w);
	assert_string_equal(world_query(w, ALL), "");
	world_sync(w, "5|e", "{\"value\":\"2\"}");
	assert_string_equal(world_query(w, ALL), "5|e");
}

/* Keys of several columns and types, as they were loaded. */
static void test_remove_types(void **state)
{
	struct world *w = suite_world(state);

	world_schema(w, "code:text(20)! at:timestamptz! n:decimal(10,2)! "
			"name:text");
	w->target.table = "orders";
	world_sync(w,
		   "a|2024-01-01 00:00:00.5+00|1.50|x\n"
		   "a|2024-01-01 00:00:00.5+00|1.51|y\n"
		   "A|2024-01-01 00:00:00.5+00|1.50|z",
		   "{}");
	assert_int_equal(world_begin(w), 0);
	assert_int_equal(
		world_remove(w, "a|2024-01-01 00:00:00.5+00|1.50|NULL", "{}"),
		1);
	world_close(w);
	assert_string_equal(
		world_query(w, "SELECT name FROM orders ORDER BY name;"),
		"y\nz");
}

/* Nobody removes whose lease is another's, or whose mark has been moved. */
static void test_remove_is_fenced(void **state)
{
	struct world *w = remove_world(state, LOAD_UPSERT);

	assert_int_equal(world_begin(w), 0);
	w->target.writer.fence = 4;
	assert_int_equal(world_remove(w, "2|b", "{}"), -ERROR_STATE);
	world_close(w);
	assert_string_equal(world_query(w, ALL), "1|a\n2|b\n3|c\n4|d");
	assert_string_equal(world_mark(w), "{\"value\":\"1\"}");
}

#define MARKED "SELECT id FROM orders WHERE gone IS NULL ORDER BY id;"

/* A row that is marked stays, once, and loses the mark when it comes again. */
static void remove_softly(void **state, enum load_mode mode)
{
	struct world *w = remove_world(state, mode);

	world_exec(w, "ALTER TABLE orders ADD COLUMN gone timestamp NULL;");
	w->target.soft_delete = "gone";
	assert_int_equal(world_begin(w), 0);
	assert_int_equal(world_remove(w, "2|NULL\n4|NULL", "{}"), 2);
	assert_int_equal(world_remove(w, "2|NULL", "{}"), 0);
	world_close(w);
	assert_string_equal(world_query(w, MARKED), "1\n3");
	assert_string_equal(world_query(w, ALL), "1|a\n2|b\n3|c\n4|d");
	world_sync(w, "2|b\n3|c", "{}");
	world_expect_counts(w, 0, 1, 1);
	assert_string_equal(world_query(w, MARKED), "1\n2\n3");
	w->target.soft_delete = "missing";
	assert_int_equal(world_begin(w), 0);
	assert_int_equal(world_remove(w, "2|NULL", "{}"), -ERROR_SCHEMA);
	world_close(w);
}

static void test_remove_softly(void **state)
{
	remove_softly(state, LOAD_UPSERT);
}

static void test_remove_softly_delete_insert(void **state)
{
	remove_softly(state, LOAD_DELETE_INSERT);
}

const struct CMUnitTest suite_remove[] = {
	SUITE_TEST(test_remove_upsert),
	SUITE_TEST(test_remove_delete_insert),
	SUITE_TEST(test_remove_all),
	SUITE_TEST(test_remove_append),
	SUITE_TEST(test_remove_types),
	SUITE_TEST(test_remove_is_fenced),
	SUITE_TEST(test_remove_softly),
	SUITE_TEST(test_remove_softly_delete_insert),
};
const size_t suite_remove_n = ARRAY_SIZE(suite_remove);
