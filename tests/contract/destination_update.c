/* Mode update: columns of rows that are there, and nothing else. Each load is
 * previewed before, and has to count what that has said. */
#include "destination_suite.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

#define DAY(d) "2026-01-" d " 12:00:00+00"
#define ALL    "SELECT id, name, amount FROM orders ORDER BY id;"
/* As the engine writes them. */
#define MARKS "SELECT changed FROM orders ORDER BY id;"

/* Rows that another pipeline has loaded whole. */
static struct world *update_world(void **state)
{
	struct world *w = suite_world(state);

	world_schema(w,
		     "id:int64! name:text amount:int64 changed:timestamptz@");
	w->target.table = "orders";
	w->target.pipeline = "loader";
	w->target.mode = LOAD_UPSERT;
	world_sync(w,
		   "1|a|10|" DAY("05") "\n2|NULL|20|" DAY("05") "\n3|c|30|" DAY(
			   "05") "\n4|d|NULL|" DAY("05"),
		   "{}");
	world_schema(w, "id:int64! name:text changed:timestamptz@");
	w->target.pipeline = "contract";
	w->target.mode = LOAD_UPDATE;
	w->rehearse = true;
	return w;
}

static void update_expect(struct world *w, int updated, int unchanged,
			  int missing, const char *rows)
{
	world_expect_counts(w, 0, updated, unchanged);
	assert_int_equal(w->counts.missing, missing);
	assert_string_equal(world_query(w, ALL), rows);
}

/* A key that is not there is counted and not inserted. A row that nobody names
 * is left, and so are the other columns. A newer mark does not move. */
static void test_update_named(void **state)
{
	struct world *w = update_world(state);
	char *marks = xstrdup(world_query(w, MARKS));
	const char *rows = "1|A|" DAY("06") "\n2|b|" DAY("05") "\n4|NULL|" DAY(
		"05") "\n9|z|" DAY("05");

	world_sync(w, rows, "{\"value\":\"1\"}");
	update_expect(w, 3, 1, 1, "1|A|10\n2|b|20\n3|c|30\n4|NULL|NULL");
	assert_string_equal(world_query(w, MARKS), marks);
	assert_string_equal(world_mark(w), "{\"value\":\"1\"}");
	world_sync(w, rows, "{\"value\":\"2\"}");
	update_expect(w, 0, 4, 1, "1|A|10\n2|b|20\n3|c|30\n4|NULL|NULL");
	assert_string_equal(world_query(w, MARKS), marks);
	assert_string_equal(world_mark(w), "{\"value\":\"2\"}");
	free(marks);
}

/* Twice in one batch: the last counts, there or not. */
static void test_update_repeats(void **state)
{
	struct world *w = update_world(state);
	const char *rows = "1|x|" DAY("05") "\n9|x|" DAY("05") "\n1|y|" DAY(
		"05") "\n9|y|" DAY("05") "\n3|x|" DAY("05") "\n3|c|" DAY("05");

	world_sync(w, rows, "{}");
	update_expect(w, 1, 5, 1, "1|y|10\n2|NULL|20\n3|c|30\n4|d|NULL");
	world_sync(w, rows, "{}");
	update_expect(w, 0, 6, 1, "1|y|10\n2|NULL|20\n3|c|30\n4|d|NULL");
}

/* A newer row there belongs to others, whatever this pipeline has delivered. */
static void test_update_older(void **state)
{
	struct world *w = update_world(state);

	w->delivered = DAY("09");
	world_sync(w, "1|old|" DAY("04") "\n2|new|" DAY("06") "\n3|any|NULL",
		   "{}");
	update_expect(w, 2, 1, 0, "1|a|10\n2|new|20\n3|any|30\n4|d|NULL");
}

/* Source and destination are this table. A row that has another mark by now,
 * even an older one, was changed since it was read. It waits for the next read,
 * which brings that mark. */
static void test_update_in_place(void **state)
{
	struct world *w = update_world(state);

	w->target.in_place = true;
	world_sync(w,
		   "1|A|" DAY("04") "\n2|B|" DAY("05") "\n3|C|" DAY(
			   "06") "\n4|D|NULL\n9|Z|" DAY("05"),
		   "{}");
	update_expect(w, 1, 4, 1, "1|a|10\n2|B|20\n3|c|30\n4|d|NULL");
	world_sync(w, "1|A|" DAY("05") "\n3|C|" DAY("05") "\n4|D|" DAY("05"),
		   "{}");
	update_expect(w, 3, 0, 0, "1|A|10\n2|B|20\n3|C|30\n4|D|NULL");
}

/* An unchanged row is not even rewritten: no trigger, no WAL. */
static void test_update_position(void **state)
{
	struct world *w = update_world(state);
	char *sql, *before;

	if (!w->quirks->position)
		skip();
	if (w->quirks->watch)
		world_exec(w, w->quirks->watch);
	sql = xstrfmt("SELECT %s FROM orders WHERE id = 1;",
		      w->quirks->position);
	before = xstrdup(world_query(w, sql));
	world_sync(w, "1|a|" DAY("06") "\n2|B|" DAY("06"), "{}");
	update_expect(w, 1, 1, 0, "1|a|10\n2|B|20\n3|c|30\n4|d|NULL");
	assert_string_equal(world_query(w, sql), before);
	free(before);
	free(sql);
}

/* The table is others': it is not made; and something has to be written. */
static void test_update_makes_nothing(void **state)
{
	struct world *w = update_world(state);

	w->target.table = "absent";
	assert_int_equal(world_begin(w), ERROR_SCHEMA);
	assert_non_null(strstr(w->err.message, "mode update only changes"));
	w->target.table = "orders";
	world_schema(w, "id:int64! changed:timestamptz@");
	assert_int_equal(world_begin(w), ERROR_CONFIG);
	assert_non_null(strstr(w->err.message, "no column to write"));
	world_close(w);
	if (strstr(world_query(w, w->quirks->list_tables), "absent"))
		fail_msg("the table was made");
}

const struct CMUnitTest suite_update[] = {
	SUITE_TEST(test_update_named),	  SUITE_TEST(test_update_repeats),
	SUITE_TEST(test_update_older),	  SUITE_TEST(test_update_in_place),
	SUITE_TEST(test_update_position), SUITE_TEST(test_update_makes_nothing),
};
const size_t suite_update_n = ARRAY_SIZE(suite_update);
