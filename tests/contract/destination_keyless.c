/* Rows without a key: equal ones stay as many as they are. */
#include "destination_suite.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/engine.h"

#define BAG  "t:text n:int64"
#define ROWS "SELECT t, n FROM bag ORDER BY n, t;"
#define RAW  "SELECT t, n FROM bag_raw ORDER BY n, t;"
#define MARK "{\"value\":\"1\"}"

static struct world *keyless_world(void **state, enum load_mode mode)
{
	struct world *w = suite_world(state);

	if (w->quirks->plain_tables ||
	    engine_has(w->quirks->engine, ENGINE_KEYED))
		skip();
	world_schema(w, BAG);
	w->target.table = "bag";
	w->target.mode = mode;
	w->target.refresh = mode == LOAD_REPLACE;
	return w;
}

static void keyless_load(struct world *w, const char *rows, int inserted)
{
	if (world_load(w, rows, MARK))
		fail_msg("load: %s", w->err.message);
	world_expect_counts(w, inserted, 0, 0);
}

static void keyless_expect(struct world *w, const char *sql,
			   const char *pattern)
{
	char *all = xstrdup(pattern);
	struct strbuf want = STRBUF_INIT;

	for (char *at = all, *end; *at; at = end) {
		end = at + strcspn(at, "~");
		strbuf_add(&want, at, (size_t)(end - at));
		if (*end++)
			strbuf_addstr(&want, w->quirks->null);
		else
			break;
	}
	assert_string_equal(world_query(w, sql), want.data);
	strbuf_release(&want);
	free(all);
}

static void test_keyless_replace(void **state)
{
	struct world *w = keyless_world(state, LOAD_REPLACE);

	for (int i = 0; i < 2; i++) {
		assert_int_equal(world_begin(w), 0);
		keyless_load(w, "a|1\na|1\nNULL|2", 3);
		keyless_load(w, "a|1\nNULL|2\nNaN|3", 3);
		assert_int_equal(world_finish(w, MARK), 0);
		world_close(w);
		keyless_expect(w, ROWS, "a|1\na|1\na|1\n~|2\n~|2\nNaN|3");
	}
}

static void test_keyless_append(void **state)
{
	struct world *w = keyless_world(state, LOAD_APPEND);

	assert_int_equal(world_begin(w), 0);
	keyless_load(w, "a|1\na|1\nNULL|2", 3);
	keyless_load(w, "a|1\nNULL|2", 2);
	world_close(w);
	keyless_expect(w, ROWS, "a|1\na|1\na|1\n~|2\n~|2");
	keyless_expect(w, RAW, "a|1\na|1\na|1\n~|2\n~|2");
	/* Nothing is to be done for the same table. */
	assert_int_equal(world_begin(w), 0);
	keyless_load(w, "a|1", 1);
	world_close(w);
	keyless_expect(w, ROWS, "a|1\na|1\na|1\na|1\n~|2\n~|2");
}

/* The last rows go in the transaction of a batch, also of one without rows. */
static void test_keyless_cut(void **state)
{
	struct world *w = keyless_world(state, LOAD_APPEND);

	assert_int_equal(world_begin(w), 0);
	keyless_load(w, "a|1\nb|2", 2);
	keyless_load(w, "c|3\nc|3\nd|4", 3);
	w->cut = 3;
	keyless_load(w, "e|5", 1);
	world_close(w);
	keyless_expect(w, RAW, "a|1\nb|2\ne|5");
	/* A later run knows the rows by their number alone. */
	assert_int_equal(world_begin(w), 0);
	w->cut = 1;
	keyless_load(w, "", 0);
	w->cut = 0;
	keyless_load(w, "f|6\nf|6", 2);
	world_close(w);
	keyless_expect(w, RAW, "a|1\nb|2\nf|6\nf|6");
	assert_int_equal(world_begin(w), 0);
	w->cut = 2;
	keyless_load(w, "g|7", 1);
	world_close(w);
	keyless_expect(w, RAW, "a|1\nb|2\ng|7");
	keyless_expect(w, ROWS, "a|1\nb|2\ng|7");
}

/* Rows that somebody took away are not counted on. Nothing is written then. */
static void test_keyless_cut_of_others(void **state)
{
	struct world *w = keyless_world(state, LOAD_APPEND);

	assert_int_equal(world_begin(w), 0);
	keyless_load(w, "a|1\nb|2\nc|3", 3);
	world_close(w);
	world_exec(w, "DELETE FROM bag_raw WHERE n = 3;");
	assert_int_equal(world_begin(w), 0);
	w->cut = 2;
	assert_int_equal(world_load(w, "d|4", MARK), ERROR_SCHEMA);
	assert_non_null(strstr(w->err.message, "1 of them are there"));
	world_close(w);
	keyless_expect(w, RAW, "a|1\nb|2");
}

const struct CMUnitTest suite_keyless[] = {
	SUITE_TEST(test_keyless_replace),
	SUITE_TEST(test_keyless_append),
	SUITE_TEST(test_keyless_cut),
	SUITE_TEST(test_keyless_cut_of_others),
};
const size_t suite_keyless_n = ARRAY_SIZE(suite_keyless);
