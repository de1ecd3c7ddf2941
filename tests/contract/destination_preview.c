/* A preview counts as a load would, and leaves nothing behind. Before each load
 * of destination_load.c, destination_marks.c and destination_schema.c a preview
 * is compared with the load. */
#include "destination_suite.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/alloc.h"

#define ORDERS "id:int64! name:text at:timestamptz@"
#define DAY(d) "2026-01-" d " 12:00:00+00"
#define ALL    "SELECT id, name FROM orders ORDER BY id;"

static struct world *preview_world(void **state, enum load_mode mode)
{
	struct world *w = suite_world(state);

	world_schema(w, ORDERS);
	w->target.table = "orders";
	w->target.mode = mode;
	return w;
}

static void preview_begin(struct world *w)
{
	w->target.preview = true;
	if (world_begin(w))
		fail_msg("prepare: %s", w->err.message);
}

static void preview_end(struct world *w)
{
	world_close(w);
	w->target.preview = false;
}

static void preview_rows(struct world *w, const char *rows, int inserted,
			 int updated, int unchanged)
{
	if (world_load(w, rows, "{}"))
		fail_msg("preview: %s", w->err.message);
	world_expect_counts(w, inserted, updated, unchanged);
}

/* Before a first run there is no table; and then there is still none. */
static void preview_leaves_nothing(struct world *w)
{
	char *before = xstrdup(world_query(w, w->quirks->list_tables));

	preview_begin(w);
	preview_rows(w, "1|a|" DAY("01") "\n2|b|" DAY("01"), 2, 0, 0);
	preview_end(w);
	assert_string_equal(world_query(w, w->quirks->list_tables), before);
	free(before);
	world_sync(w, "1|a|" DAY("01"), "{}");
	before = xstrdup(world_query(w, w->quirks->list_tables));
	preview_begin(w);
	preview_rows(w, "1|A|" DAY("02") "\n2|b|" DAY("02"),
		     w->target.mode == LOAD_APPEND ? 2 : 1,
		     w->target.mode == LOAD_APPEND ? 0 : 1, 0);
	preview_end(w);
	assert_string_equal(world_query(w, w->quirks->list_tables), before);
	assert_string_equal(world_query(w, ALL), "1|a");
	free(before);
}

static void test_preview_upsert_leaves_nothing(void **state)
{
	preview_leaves_nothing(preview_world(state, LOAD_UPSERT));
}

static void test_preview_append_leaves_nothing(void **state)
{
	preview_leaves_nothing(preview_world(state, LOAD_APPEND));
}

/* Rows that an earlier batch would have written count as present. */
static void preview_remembers(struct world *w, int changed_inserts)
{
	world_sync(w, "9|z|" DAY("01") "\n1|o|" DAY("01"), "{}");
	world_sync(w, "1|a|" DAY("01"), "{}");
	preview_begin(w);
	preview_rows(w, "1|a|" DAY("01") "\n2|b|" DAY("01"), 1, 0, 1);
	preview_rows(w, "1|A|" DAY("02") "\n2|B|" DAY("02"), changed_inserts,
		     2 - changed_inserts, 0);
	preview_rows(w, "1|A|" DAY("02") "\n2|B|" DAY("02"), 0, 0, 2);
	preview_rows(w, "3|c|" DAY("03") "\n2|B|" DAY("02"), 1, 0, 1);
	preview_end(w);
	assert_string_equal(world_query(w, ALL), "1|a\n9|z");
}

static void test_preview_upsert_remembers(void **state)
{
	preview_remembers(preview_world(state, LOAD_UPSERT), 0);
}

static void test_preview_delete_insert_remembers(void **state)
{
	preview_remembers(preview_world(state, LOAD_DELETE_INSERT), 0);
}

static void test_preview_append_remembers(void **state)
{
	preview_remembers(preview_world(state, LOAD_APPEND), 2);
}

/* A refresh finds none of the old rows. */
static void test_preview_refresh(void **state)
{
	struct world *w = preview_world(state, LOAD_REPLACE);

	w->target.refresh = true;
	world_sync(w, "1|a|" DAY("01"), "{}");
	preview_begin(w);
	preview_rows(w, "1|a|" DAY("01") "\n2|b|" DAY("01"), 2, 0, 0);
	preview_rows(w, "2|b|" DAY("01"), 0, 0, 1);
	preview_end(w);
}

/* The table's own constraints are known; and a row that is refused is not in
 * the way of the next. */
static void test_preview_refuses(void **state)
{
	struct world *w = preview_world(state, LOAD_UPSERT);

	if (w->quirks->plain_tables)
		skip();
	world_exec(w, w->quirks->plugin
			      ? "CREATE TABLE orders (id bigint PRIMARY KEY, "
				"name longtext CHECK (name <> 'bad'), "
				"`at` datetime(6));"
		      : strcmp(w->quirks->engine, "sqlite")
			      ? "CREATE TABLE orders (id bigint PRIMARY KEY, "
				"name text CHECK (name <> 'bad'), "
				"\"at\" timestamp with time zone);"
			      : "CREATE TABLE orders (id INTEGER PRIMARY KEY, "
				"name TEXT CHECK (name <> 'bad'), at TEXT);");
	world_sync(w, "1|a|" DAY("01"), "{}");
	preview_begin(w);
	assert_int_equal(world_load(w, "1|bad|" DAY("02"), "{}"), ERROR_DATA);
	assert_int_equal(world_load(w, "2|bad|" DAY("02"), "{}"), ERROR_DATA);
	preview_rows(w, "1|b|" DAY("02") "\n2|c|" DAY("02"), 1, 1, 0);
	preview_end(w);
}

/* Servers give it to a table that is there; for a file it is made so. */
static void preview_constrain(struct world *w, bool there)
{
	bool server = w->quirks->variable != NULL;
	bool sqlite = !strcmp(w->quirks->engine, "sqlite");
	const char *time = sqlite ? "TEXT" : "timestamp with time zone";
	char *sql;

	if (there != server)
		return;
	sql = server ? xstrdup("ALTER TABLE orders_raw ADD CHECK "
			       "(name <> 'bad');")
		     : xstrfmt("CREATE TABLE orders_raw (id %s NOT NULL, "
			       "name %s CHECK (name <> 'bad'), \"at\" %s, "
			       "_tidemark_batch %s, _tidemark_seq %s, "
			       "_tidemark_loaded_at %s);",
			       w->quirks->bigint, w->quirks->text, time,
			       w->quirks->text, w->quirks->bigint, time);
	world_exec(w, sql);
	free(sql);
}

/* A raw table's constraints are known, too. */
static void test_preview_append_refuses(void **state)
{
	struct world *w = preview_world(state, LOAD_APPEND);

	if (w->quirks->plain_tables)
		skip();
	preview_constrain(w, false);
	world_sync(w, "1|a|" DAY("01") "\n3|c|" DAY("01"), "{}");
	world_sync(w, "1|b|" DAY("02"), "{}");
	preview_constrain(w, true);
	preview_begin(w);
	assert_int_equal(world_load(w, "1|bad|" DAY("03"), "{}"), ERROR_DATA);
	assert_int_equal(world_load(w, "2|bad|" DAY("03"), "{}"), ERROR_DATA);
	preview_rows(w, "1|c|" DAY("03") "\n2|c|" DAY("03"), 2, 0, 0);
	preview_rows(w, "1|c|" DAY("03") "\n2|d|" DAY("03"), 1, 0, 1);
	preview_end(w);
	assert_int_equal(world_begin(w), 0);
	assert_int_equal(world_load(w, "1|bad|" DAY("03"), "{}"), ERROR_DATA);
	world_close(w);
}

const struct CMUnitTest suite_preview[] = {
	SUITE_TEST(test_preview_upsert_leaves_nothing),
	SUITE_TEST(test_preview_append_leaves_nothing),
	SUITE_TEST(test_preview_upsert_remembers),
	SUITE_TEST(test_preview_delete_insert_remembers),
	SUITE_TEST(test_preview_append_remembers),
	SUITE_TEST(test_preview_refresh),
	SUITE_TEST(test_preview_refuses),
	SUITE_TEST(test_preview_append_refuses),
};
const size_t suite_preview_n = ARRAY_SIZE(suite_preview);
