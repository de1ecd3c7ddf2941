/* Somebody changes the target by hand between two runs. */
#include "destination_suite.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/log.h"

#define MARK "{\"value\":\"1\"}"

static struct world *hand_world(void **state)
{
	struct world *w = suite_world(state);

	world_schema(w, "id:int64! v:int64");
	w->target.table = "orders";
	w->target.mode = LOAD_UPSERT;
	return w;
}

static int hand_lines;

static void hand_count_line(void)
{
	hand_lines++;
}

static void hand_ignore(void)
{
}

/* A run begins: its error's code, and how many lines the log has got. */
static int hand_begin(struct world *w)
{
	int rc;

	hand_lines = 0;
	log_set_hooks(hand_count_line, hand_ignore);
	rc = world_begin(w);
	log_set_hooks(NULL, NULL);
	world_close(w);
	return rc;
}

static void hand_set_mark(struct world *w, const char *mark)
{
	world_open(w);
	assert_int_equal(w->ops->set_watermark(w->destination, &w->target, mark,
					       &w->err),
			 0);
	world_close(w);
}

static bool hand_inspect(struct world *w)
{
	struct inspection found;
	int rc;

	world_open(w);
	inspection_init(&found);
	assert_int_equal(
		w->ops->inspect(w->destination, &w->target, &found, &w->err),
		0);
	rc = problems_to_error(&found.problems, NULL);
	inspection_release(&found);
	world_close(w);
	return rc == 0;
}

/* It stops until somebody has said how to go on, each way once. */
static void hand_emptied(struct world *w, const char *empty)
{
	assert_int_equal(hand_begin(w), 0);
	world_sync(w, "1|1\n2|2", MARK);
	assert_int_equal(hand_begin(w), 0);
	world_exec(w, empty);
	assert_false(hand_inspect(w));
	assert_int_equal(hand_begin(w), ERROR_SCHEMA);
	assert_non_null(strstr(w->err.message, "run --full-refresh contract"));
	assert_non_null(strstr(w->err.message, "watermark reset contract"));
	assert_string_equal(world_mark(w), MARK);
	hand_set_mark(w, NULL);
	assert_int_equal(hand_begin(w), 0);
	world_sync(w, "1|1", MARK);
	world_expect_counts(w, 1, 0, 0);
	world_exec(w, empty);
	assert_int_equal(hand_begin(w), ERROR_SCHEMA);
	hand_set_mark(w, MARK);
	assert_int_equal(hand_begin(w), 0);
	assert_string_equal(w->seen.watermark, MARK);
	/* A source without rows: the mark moves, and all is well. */
	world_sync(w, "", "{\"value\":\"2\"}");
	assert_int_equal(hand_begin(w), 0);
	assert_int_equal(hand_lines, 0);
}

static void test_emptied(void **state)
{
	hand_emptied(hand_world(state), "DELETE FROM orders;");
}

static void test_raw_table_emptied(void **state)
{
	struct world *w = hand_world(state);

	w->target.mode = LOAD_APPEND;
	hand_emptied(w, "DELETE FROM orders_raw;");
}

static void test_emptied_after_refresh(void **state)
{
	struct world *w = hand_world(state);

	w->target.refresh = true;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(world_begin(w), 0);
		assert_int_equal(world_load(w, "1|1", MARK), 0);
		assert_int_equal(world_finish(w, MARK), 0);
		world_close(w);
		world_exec(w, "DELETE FROM orders;");
		w->target.refresh = false;
		assert_int_equal(hand_begin(w), ERROR_SCHEMA);
		w->target.refresh = true;
	}
}

/* As ever: made anew and filled; but the log has a word on it. */
static void test_dropped(void **state)
{
	struct world *w = hand_world(state);

	world_sync(w, "1|1", MARK);
	world_exec(w, "DROP TABLE orders;");
	assert_int_equal(hand_begin(w), 0);
	assert_null(w->seen.watermark);
	assert_int_equal(hand_lines, 1);
	assert_int_equal(hand_begin(w), 0);
	assert_int_equal(hand_lines, 0);
}

/* No index keeps a hand from that, nor a key that is narrowed later. */
static void hand_repeats(struct world *w)
{
	if (w->quirks->key_index || w->quirks->views)
		skip();
	world_sync(w, "1|1\n2|2", MARK);
	world_exec(w, "INSERT INTO orders VALUES (1, 1);");
	assert_int_equal(world_begin(w), 0);
	assert_int_equal(world_load(w, "1|7", MARK), ERROR_DATA);
	/* Rows that stay as they are do not make up for it. */
	assert_int_equal(world_load(w, "1|7\n2|2\n3|3", MARK), ERROR_DATA);
	assert_non_null(strstr(w->err.message, "more than once"));
	assert_non_null(strstr(w->err.message, "run --full-refresh contract"));
	assert_non_null(strstr(w->err.message, "verify --repair contract"));
	world_close(w);
	assert_string_equal(
		world_query(w, "SELECT id, v FROM orders ORDER BY id;"),
		"1|1\n1|1\n2|2");
}

static void test_key_put_there_twice(void **state)
{
	hand_repeats(hand_world(state));
}

static void test_key_put_there_twice_delete_insert(void **state)
{
	struct world *w = hand_world(state);

	w->target.mode = LOAD_DELETE_INSERT;
	hand_repeats(w);
}

static void hand_replace_table(struct world *w, const char *row)
{
	char *sql = xstrfmt("DROP TABLE orders; CREATE TABLE orders (id %s "
			    "PRIMARY KEY, v %s);%s",
			    w->quirks->bigint, w->quirks->bigint, row);

	world_exec(w, sql);
	free(sql);
}

/* Another table under the old name. Where tables have no identity, one that
 * has no row is found out all the same. */
static void test_made_anew(void **state)
{
	struct world *w = hand_world(state);

	world_sync(w, "1|1\n2|2", MARK);
	hand_replace_table(w, "");
	if (!w->quirks->table_identity) {
		assert_int_equal(hand_begin(w), ERROR_SCHEMA);
		return;
	}
	hand_replace_table(w, " INSERT INTO orders VALUES (2, 0), (3, 3);");
	assert_int_equal(hand_begin(w), 0);
	assert_null(w->seen.watermark);
	assert_int_equal(hand_lines, 1);
	world_sync(w, "1|1\n2|2", MARK);
	world_expect_counts(w, 1, 1, 0);
	assert_int_equal(hand_begin(w), 0);
	assert_string_equal(w->seen.watermark, MARK);
	/* It is not Tidemark's, so it is not replaced without a word. */
	w->target.refresh = true;
	assert_int_equal(hand_begin(w), ERROR_SCHEMA);
	w->target.force = true;
	assert_int_equal(hand_begin(w), 0);
}

static void hand_refused(struct world *w)
{
	assert_false(hand_inspect(w));
	assert_int_equal(hand_begin(w), ERROR_SCHEMA);
	assert_non_null(strstr(w->err.message, "key"));
	w->target.preview = true;
	assert_int_equal(hand_begin(w), ERROR_SCHEMA);
	w->target.preview = false;
}

/* Two keys of the source would be one row: the table is refused before any row
 * is read. */
static void test_key_that_folds(void **state)
{
	static const enum load_mode modes[] = { LOAD_UPSERT, LOAD_DELETE_INSERT,
						LOAD_UPDATE };
	struct world *w = hand_world(state);
	char *sql = xstrfmt("CREATE TABLE orders (id %s PRIMARY KEY, v %s);",
			    w->quirks->folding_text, w->quirks->bigint);

	world_schema(w, "id:text! v:int64");
	world_exec(w, sql);
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		w->target.mode = modes[i];
		hand_refused(w);
	}
	free(sql);
}

/* And so would they be to the view's readers. */
static void test_raw_key_that_folds(void **state)
{
	struct world *w = hand_world(state);
	char *sql = xstrfmt("CREATE TABLE orders_raw (id %s NOT NULL, v %s, "
			    "_tidemark_batch %s, _tidemark_seq %s, "
			    "_tidemark_loaded_at timestamp with time zone);",
			    w->quirks->folding_text, w->quirks->bigint,
			    w->quirks->text, w->quirks->bigint);

	world_schema(w, "id:text! v:int64");
	w->target.mode = LOAD_APPEND;
	world_exec(w, sql);
	hand_refused(w);
	free(sql);
}

const struct CMUnitTest suite_by_hand[] = {
	SUITE_TEST(test_key_put_there_twice),
	SUITE_TEST(test_key_put_there_twice_delete_insert),
	SUITE_TEST(test_emptied),
	SUITE_TEST(test_raw_table_emptied),
	SUITE_TEST(test_emptied_after_refresh),
	SUITE_TEST(test_dropped),
	SUITE_TEST(test_made_anew),
};
const size_t suite_by_hand_n = ARRAY_SIZE(suite_by_hand);

/* For those with a quirk `folding_text`. */
const struct CMUnitTest suite_folding[] = {
	SUITE_TEST(test_key_that_folds),
	SUITE_TEST(test_raw_key_that_folds),
};
const size_t suite_folding_n = ARRAY_SIZE(suite_folding);
