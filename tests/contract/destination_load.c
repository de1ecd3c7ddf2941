/* Loading: what a batch does to rows, and what it must never do. */
#include "destination_load.h"

#include <stdlib.h>

#include "core/base/alloc.h"

#define ORDERS "id:int64! name:text amount:decimal(12,2) at:timestamptz@"

struct world *load_world(void **state, enum load_mode mode)
{
	struct world *w = suite_world(state);

	world_schema(w, ORDERS);
	w->target.table = "orders";
	w->target.mode = mode;
	w->rehearse = true;
	return w;
}

static void load_idempotent(struct world *w)
{
	const char *rows = "1|a|1.50|" DAY("01") "\n2|NULL|NULL|" DAY("02");

	world_sync(w, rows, "{\"value\":\"1\"}");
	world_expect_counts(w, 2, 0, 0);
	world_sync(w, rows, "{\"value\":\"2\"}");
	world_expect_counts(w, 0, 0, 2);
	assert_string_equal(world_query(w, ALL), "1|a\n2|NULL");
	assert_string_equal(world_mark(w), "{\"value\":\"2\"}");
}

static void test_upsert_twice(void **state)
{
	load_idempotent(load_world(state, LOAD_UPSERT));
}

static void test_delete_insert_twice(void **state)
{
	load_idempotent(load_world(state, LOAD_DELETE_INSERT));
}

static void test_append_twice(void **state)
{
	struct world *w = load_world(state, LOAD_APPEND);

	load_idempotent(w);
	assert_string_equal(world_query(w, "SELECT count(*) FROM orders_raw;"),
			    "2");
}

static void load_changed(struct world *w)
{
	world_sync(w, "1|a|1|" DAY("01") "\n2|b|2|" DAY("02"), "{}");
	world_sync(w,
		   "1|a|1|" DAY("01") "\n2|B|2|" DAY("03") "\n3|c|3|" DAY("03"),
		   "{}");
	assert_string_equal(world_query(w, ALL), "1|a\n2|B\n3|c");
}

static void test_upsert_mixed(void **state)
{
	struct world *w = load_world(state, LOAD_UPSERT);

	load_changed(w);
	world_expect_counts(w, 1, 1, 1);
}

static void test_delete_insert_mixed(void **state)
{
	struct world *w = load_world(state, LOAD_DELETE_INSERT);

	load_changed(w);
	world_expect_counts(w, 1, 1, 1);
}

static void test_append_mixed(void **state)
{
	struct world *w = load_world(state, LOAD_APPEND);

	load_changed(w);
	assert_int_equal(w->counts.unchanged, 1);
	assert_int_equal(w->counts.inserted + w->counts.updated, 2);
	assert_string_equal(world_query(w, "SELECT count(*) FROM orders_raw;"),
			    "4");
}

/* The same version with another content: a writer that forgets the mark. */
static void load_same_version(struct world *w)
{
	world_sync(w, "1|a|1|" DAY("01"), "{}");
	world_sync(w, "1|b|1|" DAY("01"), "{}");
	assert_string_equal(world_query(w, ALL), "1|b");
	world_sync(w, "1|NULL|1|" DAY("01"), "{}");
	assert_string_equal(world_query(w, ALL), "1|NULL");
	world_sync(w, "1|a|1|" DAY("01"), "{}");
	assert_string_equal(world_query(w, ALL), "1|a");
}

static void test_upsert_same_version(void **state)
{
	load_same_version(load_world(state, LOAD_UPSERT));
}

static void test_append_same_version(void **state)
{
	load_same_version(load_world(state, LOAD_APPEND));
}

static void load_older(struct world *w)
{
	world_sync(w, "1|new|1|" DAY("05"), "{}");
	world_sync(w, "1|old|1|" DAY("04"), "{}");
	assert_string_equal(world_query(w, ALL), "1|new");
	world_sync(w, "1|newer|1|" DAY("06"), "{}");
	assert_string_equal(world_query(w, ALL), "1|newer");
}

static void test_upsert_older(void **state)
{
	load_older(load_world(state, LOAD_UPSERT));
}

static void test_delete_insert_older(void **state)
{
	load_older(load_world(state, LOAD_DELETE_INSERT));
}

/* A repair: what a hand has made newer is replaced all the same, and a table
 * that a hand has emptied is filled. */
static void load_overwrite(struct world *w)
{
	world_sync(w, "1|new|1|" DAY("05") "\n2|b|1|" DAY("01"), "{}");
	w->target.overwrite = true;
	world_sync(w, "1|old|1|" DAY("04") "\n2|b|1|" DAY("01"), "{}");
	world_expect_counts(w, 0, 1, 1);
	assert_string_equal(world_query(w, ALL), "1|old\n2|b");
	world_exec(w, "DELETE FROM orders;");
	world_sync(w, "2|b|1|" DAY("01"), "{}");
	world_expect_counts(w, 1, 0, 0);
	assert_string_equal(world_query(w, ALL), "2|b");
}

static void test_upsert_overwrite(void **state)
{
	load_overwrite(load_world(state, LOAD_UPSERT));
}

static void test_delete_insert_overwrite(void **state)
{
	load_overwrite(load_world(state, LOAD_DELETE_INSERT));
}

/* Rows are appended in the order they are read, by one writer at a time: what
 * is read later is newer, whatever its mark. A transaction that commits late
 * brings the newest row with an older mark, and the view has to show it. */
static void test_append_older(void **state)
{
	struct world *w = load_world(state, LOAD_APPEND);

	world_sync(w, "1|new|1|" DAY("05"), "{}");
	world_sync(w, "1|late|1|" DAY("04"), "{}");
	world_expect_counts(w, 1, 0, 0);
	assert_string_equal(world_query(w, ALL), "1|late");
	world_sync(w, "1|late|1|" DAY("04"), "{}");
	world_expect_counts(w, 0, 0, 1);
	world_sync(w, "1|new|1|" DAY("05"), "{}");
	world_expect_counts(w, 1, 0, 0);
	assert_string_equal(world_query(w, ALL), "1|new");
	world_sync(w, "1|none|1|NULL", "{}");
	assert_string_equal(world_query(w, ALL), "1|none");
	assert_string_equal(world_query(w, "SELECT count(*) FROM orders_raw;"),
			    "4");
}

/* A long transaction that commits last: its row is the newest, though its
 * mark is older than what was delivered meanwhile. */
static void load_delivered(struct world *w)
{
	w->delivered = DAY("05");
	world_sync(w, "1|v5|1|" DAY("05"), "{}");
	world_sync(w, "1|v4|1|" DAY("04"), "{}");
	world_expect_counts(w, 0, 1, 0);
	assert_string_equal(world_query(w, ALL), "1|v4");
	world_sync(w, "1|v4|1|" DAY("04"), "{}");
	world_expect_counts(w, 0, 0, 1);
}

/* Newer than anything this pipeline delivered: somebody else's, and it stays.
 * Not known what was delivered: all of it does. */
static void load_undelivered(struct world *w)
{
	world_sync(w, "1|v9|1|" DAY("09"), "{}");
	w->delivered = DAY("06");
	world_sync(w, "1|v6|1|" DAY("06"), "{}");
	world_expect_counts(w, 0, 0, 1);
	w->delivered = NULL;
	world_sync(w, "1|v8|1|" DAY("08"), "{}");
	world_expect_counts(w, 0, 0, 1);
	assert_string_equal(world_query(w, ALL), "1|v9");
}

static void test_upsert_delivered(void **state)
{
	load_delivered(load_world(state, LOAD_UPSERT));
}

static void test_delete_insert_delivered(void **state)
{
	load_delivered(load_world(state, LOAD_DELETE_INSERT));
}

static void test_upsert_undelivered(void **state)
{
	load_undelivered(load_world(state, LOAD_UPSERT));
}

static void test_delete_insert_undelivered(void **state)
{
	load_undelivered(load_world(state, LOAD_DELETE_INSERT));
}

/* Without a mark nothing says which is older: the source's word counts. */
static void load_null_version(struct world *w)
{
	world_sync(w, "1|a|1|NULL", "{}");
	world_sync(w, "1|b|1|NULL", "{}");
	world_expect_counts(w, 0, 1, 0);
	world_sync(w, "1|c|1|" DAY("01"), "{}");
	world_expect_counts(w, 0, 1, 0);
	assert_string_equal(world_query(w, ALL), "1|c");
	world_sync(w, "1|d|1|NULL", "{}");
	world_expect_counts(w, 0, 1, 0);
	assert_string_equal(world_query(w, ALL), "1|d");
	world_sync(w, "1|d|1|NULL", "{}");
	world_expect_counts(w, 0, 0, 1);
}

static void test_null_version(void **state)
{
	load_null_version(load_world(state, LOAD_UPSERT));
}

static void test_null_version_delete_insert(void **state)
{
	load_null_version(load_world(state, LOAD_DELETE_INSERT));
}

static void load_repeats(struct world *w)
{
	world_sync(w,
		   "2|x|1|" DAY("01") "\n1|a|1|" DAY("01") "\n2|y|1|" DAY("02"),
		   "{}");
	world_expect_counts(w, 2, 0, 1);
	assert_string_equal(world_query(w, ALL), "1|a\n2|y");
}

static void test_upsert_repeats(void **state)
{
	load_repeats(load_world(state, LOAD_UPSERT));
}

static void test_append_repeats(void **state)
{
	load_repeats(load_world(state, LOAD_APPEND));
}

static void load_keeps_position(struct world *w)
{
	char *before, *sql;

	if (!w->quirks->position)
		skip();
	sql = xstrfmt("SELECT %s FROM orders WHERE id = 1;",
		      w->quirks->position);
	world_sync(w, "1|a|1|" DAY("01") "\n2|b|1|" DAY("01"), "{}");
	if (w->quirks->watch)
		world_exec(w, w->quirks->watch);
	before = xstrdup(world_query(w, sql));
	world_sync(w, "1|a|1|" DAY("01") "\n2|B|1|" DAY("02"), "{}");
	world_expect_counts(w, 0, 1, 1);
	assert_string_equal(world_query(w, sql), before);
	free(before);
	free(sql);
}

static void test_upsert_position(void **state)
{
	load_keeps_position(load_world(state, LOAD_UPSERT));
}

static void test_delete_insert_position(void **state)
{
	load_keeps_position(load_world(state, LOAD_DELETE_INSERT));
}

/* Names and values that mean something to SQL. */
static void test_quoting(void **state)
{
	struct world *w = suite_world(state);

	if (w->quirks->plain_names)
		skip();
	world_schema(w, "select:int64! it's:text a\"b:text");
	w->target.table = "\"we ird.\"\"t\"";
	w->target.mode = LOAD_UPSERT;
	world_sync(w, "1|o'clock|back\\slash", "{\"v\":\"it's\"}");
	world_sync(w, "1|o'clock|\ttab; DROP TABLE x; --", "{\"v\":\"it's\"}");
	world_expect_counts(w, 0, 1, 0);
	assert_string_equal(
		world_query(w, "SELECT \"select\", \"it's\", \"a\"\"b\" "
			       "FROM \"we ird.\"\"t\";"),
		"1|o'clock|\ttab; DROP TABLE x; --");
	assert_string_equal(world_mark(w), "{\"v\":\"it's\"}");
}

static void test_composite_key(void **state)
{
	struct world *w = suite_world(state);

	world_schema(w, "b:text! a:int32! v:text");
	w->target.table = "pairs";
	w->target.mode = LOAD_UPSERT;
	world_sync(w, "x|2|p\ny|1|q\nx|1|r", "{}");
	world_sync(w, "x|2|P\ny|2|n\nx|1|r", "{}");
	world_expect_counts(w, 1, 1, 1);
	assert_string_equal(
		world_query(w, "SELECT b, a, v FROM pairs ORDER BY b, a;"),
		"x|1|r\nx|2|P\ny|1|q\ny|2|n");
}

static void test_key_only(void **state)
{
	struct world *w = suite_world(state);

	world_schema(w, "id:int64!");
	w->target.table = "key_only";
	w->target.mode = LOAD_UPSERT;
	world_sync(w, "1\n2", "{}");
	world_sync(w, "2\n3", "{}");
	world_expect_counts(w, 1, 0, 1);
	assert_string_equal(
		world_query(w, "SELECT id FROM key_only ORDER BY id;"),
		"1\n2\n3");
}

const struct CMUnitTest suite_load[] = {
	SUITE_TEST(test_upsert_twice),
	SUITE_TEST(test_delete_insert_twice),
	SUITE_TEST(test_append_twice),
	SUITE_TEST(test_upsert_mixed),
	SUITE_TEST(test_delete_insert_mixed),
	SUITE_TEST(test_append_mixed),
	SUITE_TEST(test_upsert_same_version),
	SUITE_TEST(test_append_same_version),
	SUITE_TEST(test_upsert_older),
	SUITE_TEST(test_delete_insert_older),
	SUITE_TEST(test_upsert_overwrite),
	SUITE_TEST(test_delete_insert_overwrite),
	SUITE_TEST(test_append_older),
	SUITE_TEST(test_upsert_delivered),
	SUITE_TEST(test_delete_insert_delivered),
	SUITE_TEST(test_upsert_undelivered),
	SUITE_TEST(test_delete_insert_undelivered),
	SUITE_TEST(test_null_version),
	SUITE_TEST(test_null_version_delete_insert),
	SUITE_TEST(test_upsert_repeats),
	SUITE_TEST(test_append_repeats),
	SUITE_TEST(test_upsert_position),
	SUITE_TEST(test_delete_insert_position),
	SUITE_TEST(test_quoting),
	SUITE_TEST(test_composite_key),
	SUITE_TEST(test_key_only),
};
const size_t suite_load_n = ARRAY_SIZE(suite_load);
