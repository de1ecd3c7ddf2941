/* Refresh: built beside, swapped in whole, the mark with it. */
#include "destination_suite.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "destinations/common/names.h"

#define ORDERS "id:int64! name:text"
#define ALL    "SELECT id, name FROM orders ORDER BY id;"

static struct world *refresh_world(void **state, enum load_mode mode)
{
	struct world *w = suite_world(state);

	world_schema(w, ORDERS);
	w->target.table = "orders";
	w->target.mode = mode;
	w->target.refresh = true;
	return w;
}

static void refresh_once(struct world *w, const char *rows, const char *more,
			 const char *mark)
{
	if (world_begin(w))
		fail_msg("begin: %s", w->err.message);
	if (world_load(w, rows, "{\"value\":\"unfinished\"}") ||
	    world_load(w, more, "{\"value\":\"unfinished\"}"))
		fail_msg("load: %s", w->err.message);
	if (world_finish(w, mark))
		fail_msg("finish: %s", w->err.message);
	world_close(w);
}

/* No table of ours but the target (and its raw) and _tidemark_watermark. */
static void refresh_no_stage(struct world *w)
{
	if (w->quirks->list_tables)
		assert_null(strstr(world_query(w, w->quirks->list_tables),
				   "_tidemark_stage"));
}

static void test_replace(void **state)
{
	struct world *w = refresh_world(state, LOAD_REPLACE);

	refresh_once(w, "2|b\n1|a", "3|c", "{\"value\":\"1\"}");
	assert_string_equal(world_query(w, ALL), "1|a\n2|b\n3|c");
	assert_string_equal(world_mark(w), "{\"value\":\"1\"}");
	refresh_once(w, "2|B\n4|d", "5|e", "{\"value\":\"2\"}");
	assert_string_equal(world_query(w, ALL), "2|B\n4|d\n5|e");
	assert_string_equal(world_mark(w), "{\"value\":\"2\"}");
	refresh_no_stage(w);
}

/* A key that comes in two batches of one refresh: the later one stays. */
static void test_replace_repeats(void **state)
{
	struct world *w = refresh_world(state, LOAD_REPLACE);

	refresh_once(w, "1|a\n2|b", "2|B\n3|c", "{}");
	assert_string_equal(world_query(w, ALL), "1|a\n2|B\n3|c");
}

/* Somebody takes a row out of the table that is to replace the other. */
static void test_replace_robbed(void **state)
{
	struct world *w = refresh_world(state, LOAD_REPLACE);
	char *stage, *sql;

	/* Elsewhere it has another name, or nobody else can write. */
	if (!w->quirks->key_index)
		skip();
	refresh_once(w, "1|a", "2|b", "{\"value\":\"1\"}");
	assert_int_equal(world_begin(w), 0);
	assert_int_equal(world_load(w, "1|A\n2|B", "{}"), 0);
	stage = name_stage(w->target.pipeline);
	sql = xstrfmt("DELETE FROM %s WHERE id = 1;", stage);
	world_exec(w, sql);
	free(sql);
	free(stage);
	assert_int_equal(world_finish(w, "{\"value\":\"2\"}"), ERROR_DATA);
	assert_non_null(strstr(w->err.message, "were put into it"));
	assert_non_null(strstr(w->err.message, "another session"));
	world_close(w);
	assert_string_equal(world_query(w, ALL), "1|a\n2|b");
	assert_string_equal(world_mark(w), "{\"value\":\"1\"}");
}

/* Until finish, readers see the old table and the old mark. */
static void test_unfinished(void **state)
{
	struct world *w = refresh_world(state, LOAD_REPLACE);

	refresh_once(w, "1|a", "2|b", "{\"value\":\"1\"}");
	assert_int_equal(world_begin(w), 0);
	assert_int_equal(world_load(w, "9|z", "{\"value\":\"2\"}"), 0);
	world_close(w);
	assert_string_equal(world_query(w, ALL), "1|a\n2|b");
	assert_string_equal(world_mark(w), "{\"value\":\"1\"}");
	w->target.refresh = false;
	w->target.mode = LOAD_UPSERT;
	assert_int_equal(world_begin(w), 0);
	world_close(w);
	refresh_no_stage(w);
}

static void test_full_refresh(void **state)
{
	struct world *w = refresh_world(state, LOAD_UPSERT);

	w->target.refresh = false;
	world_sync(w, "1|a\n2|b", "{}");
	w->target.refresh = true;
	refresh_once(w, "2|b", "3|c", "{\"value\":\"1\"}");
	assert_string_equal(world_query(w, ALL), "2|b\n3|c");
	w->target.refresh = false;
	world_sync(w, "2|b\n3|C", "{}");
	world_expect_counts(w, 0, 1, 1);
}

static void test_full_refresh_append(void **state)
{
	struct world *w = refresh_world(state, LOAD_APPEND);

	w->target.refresh = false;
	world_sync(w, "1|a\n2|b", "{}");
	world_sync(w, "1|A", "{}");
	w->target.refresh = true;
	refresh_once(w, "2|b", "3|c", "{\"value\":\"1\"}");
	assert_string_equal(world_query(w, ALL), "2|b\n3|c");
	assert_string_equal(world_query(w, "SELECT count(*) FROM orders_raw;"),
			    "2");
	w->target.refresh = false;
	world_sync(w, "2|b\n3|C", "{}");
	assert_string_equal(world_query(w, ALL), "2|b\n3|C");
	refresh_no_stage(w);
}

/* A table of somebody else's is replaced only when told to. */
static void test_not_ours(void **state)
{
	struct world *w = refresh_world(state, LOAD_REPLACE);
	char *sql = xstrfmt("CREATE TABLE orders (id %s PRIMARY KEY, name %s);"
			    "INSERT INTO orders VALUES (1, 'theirs');",
			    w->quirks->bigint, w->quirks->text);

	world_exec(w, sql);
	free(sql);
	assert_int_equal(world_begin(w), ERROR_SCHEMA);
	assert_non_null(strstr(w->err.message, "--full-refresh"));
	world_close(w);
	assert_string_equal(world_query(w, ALL), "1|theirs");
	w->target.force = true;
	refresh_once(w, "1|a", "2|b", "{}");
	assert_string_equal(world_query(w, ALL), "1|a\n2|b");
}

/* A refresh may change types in any way: the table is empty. */
static void test_refresh_changes_types(void **state)
{
	struct world *w = refresh_world(state, LOAD_UPSERT);

	w->target.refresh = false;
	world_sync(w, "1|12", "{}");
	world_schema(w, "id:int64! name:int64");
	w->target.refresh = true;
	refresh_once(w, "1|12", "2|13", "{}");
	assert_string_equal(world_query(w, ALL), "1|12\n2|13");
}

const struct CMUnitTest suite_refresh[] = {
	SUITE_TEST(test_replace),	 SUITE_TEST(test_replace_repeats),
	SUITE_TEST(test_replace_robbed), SUITE_TEST(test_unfinished),
	SUITE_TEST(test_full_refresh),	 SUITE_TEST(test_full_refresh_append),
	SUITE_TEST(test_not_ours),	 SUITE_TEST(test_refresh_changes_types),
};
const size_t suite_refresh_n = ARRAY_SIZE(suite_refresh);
