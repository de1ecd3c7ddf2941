/* Whoever else is at the tables: another run of the pipeline at the same time,
 * or somebody by hand. Against a server. */
#include "destination_suite.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/pool.h"

#define ALL "SELECT id, name FROM orders ORDER BY id;"

static struct world *rivals_world(void **state)
{
	struct world *w = suite_world(state);

	world_schema(w, "id:int64! name:text");
	w->target.table = "orders";
	w->target.mode = LOAD_UPSERT;
	return w;
}

/* A table with 1a, a refresh of it that has read 1b. */
static struct world *rivals_refresh(void **state)
{
	struct world *w = rivals_world(state);

	world_sync(w, "1|a", "{\"value\":\"1\"}");
	w->target.refresh = true;
	assert_int_equal(world_begin(w), 0);
	/* No other session is there. */
	pool_pause(INT64_MAX);
	assert_int_equal(world_load(w, "1|b", "{}"), 0);
	return w;
}

/* Another session of the same world; the one it had is given back. */
static struct destination *rivals_swap(struct world *w,
				       struct destination *other)
{
	struct destination *had = w->destination;

	w->destination = other;
	return had;
}

/* The second refresh is refused by name, and the first does not notice. */
static void test_refresh_refuses_second(void **state)
{
	struct world *w = rivals_refresh(state);
	struct destination *first;
	char *pid;

	if (!w->quirks->refresher)
		skip();
	first = rivals_swap(w, NULL);
	pid = xstrdup(world_query(w, w->quirks->refresher));
	assert_int_equal(world_begin(w), ERROR_STATE);
	if (!strstr(w->err.message, pid))
		fail_msg("no %s in: %s", pid, w->err.message);
	world_close(w);
	rivals_swap(w, first);
	assert_int_equal(world_load(w, "2|b", "{}"), 0);
	assert_int_equal(world_finish(w, "{\"value\":\"2\"}"), 0);
	assert_string_equal(world_query(w, ALL), "1|b\n2|b");
	/* Its session may live on; the way is free. */
	first = rivals_swap(w, NULL);
	assert_int_equal(world_begin(w), 0);
	world_close(w);
	rivals_swap(w, first);
	free(pid);
}

/* An ordinary run leaves the stage alone. If it loads, the refresh would
 * undo that, and is given up. */
static void test_refresh_and_run(void **state)
{
	struct world *w = rivals_refresh(state);
	struct destination *refresh, *run;

	if (!w->quirks->refresher)
		skip();
	refresh = rivals_swap(w, NULL);
	w->target.refresh = false;
	assert_int_equal(world_begin(w), 0);
	w->target.refresh = true;
	run = rivals_swap(w, refresh);
	assert_int_equal(world_load(w, "2|b", "{}"), 0);
	refresh = rivals_swap(w, run);
	w->target.refresh = false;
	assert_int_equal(world_load(w, "3|run", "{\"value\":\"3\"}"), 0);
	w->target.refresh = true;
	run = rivals_swap(w, refresh);
	assert_int_equal(world_load(w, "4|b", "{}"), ERROR_STATE);
	assert_non_null(strstr(w->err.message, "another run of contract has"));
	assert_int_equal(world_finish(w, "{}"), ERROR_STATE);
	world_close(w);
	rivals_swap(w, run);
	assert_string_equal(world_query(w, ALL), "1|a\n3|run");
	assert_string_equal(world_mark(w), "{\"value\":\"3\"}");
}

/* A run that was under way when the refresh began loads nothing. */
static void test_refresh_overtakes_run(void **state)
{
	struct world *w = rivals_world(state);
	struct target refreshing = w->target;
	struct destination *run;
	struct checkpoint c;

	world_sync(w, "1|a", "{\"value\":\"1\"}");
	assert_int_equal(world_begin(w), 0);
	run = rivals_swap(w, NULL);
	refreshing.refresh = true;
	world_open(w);
	assert_int_equal(w->ops->prepare(w->destination, &refreshing, &w->err),
			 0);
	checkpoint_init(&c);
	assert_int_equal(
		w->ops->recover(w->destination, &refreshing, &c, &w->err), 0);
	assert_string_equal(c.watermark, "{\"value\":\"1\"}");
	checkpoint_release(&c);
	world_close(w);
	rivals_swap(w, run);
	assert_int_equal(world_load(w, "2|b", "{}"), ERROR_STATE);
	world_close(w);
	assert_string_equal(world_query(w, ALL), "1|a");
	assert_string_equal(world_mark(w), "{\"value\":\"1\"}");
}

/* Rows that are not in the new table for whatever reason: the old stays. */
static void test_refresh_counts(void **state)
{
	struct world *w = rivals_refresh(state);

	world_exec(w, w->quirks->empty_stage);
	assert_int_equal(world_finish(w, "{}"), ERROR_DATA);
	world_close(w);
	assert_string_equal(world_query(w, ALL), "1|a");
	assert_string_equal(world_mark(w), "{\"value\":\"1\"}");
}

const struct CMUnitTest suite_rivals[] = {
	SUITE_TEST(test_refresh_refuses_second),
	SUITE_TEST(test_refresh_and_run),
	SUITE_TEST(test_refresh_overtakes_run),
	SUITE_TEST(test_refresh_counts),
};
const size_t suite_rivals_n = ARRAY_SIZE(suite_rivals);
