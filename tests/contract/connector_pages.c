/* Paging: order, ties, resumption, bounds; the same for every engine. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "connector_world.h"

#include "core/base/alloc.h"

/* 23 rows with 4 marks, shared by 7, 9, 1 and 6 of them. They are stored
 * neither in the order of the mark nor of the key. */
static void pages_ties(struct world *w)
{
	world_exec(w,
		   "CREATE TABLE %st (id int PRIMARY KEY, stamp %s NOT NULL)",
		   w->quirks->prefix, w->quirks->mark_type);
	for (int i = 0; i < 23; i++) {
		int id = (i * 7) % 23;
		int second = id < 7 ? 1 : id < 16 ? 2 : id < 17 ? 3 : 4;
		world_exec(w,
			   "INSERT INTO %st VALUES (%d, "
			   "'2024-01-01 00:00:%02d.123456+00')",
			   w->quirks->prefix, id, second);
	}
}

static char *pages_ties_rows(int from)
{
	struct strbuf sb = STRBUF_INIT;

	for (int id = from; id < 23; id++)
		strbuf_addf(&sb, "%d|2024-01-01 00:00:%02d.123456+00\n", id,
			    id < 7    ? 1
			    : id < 16 ? 2
			    : id < 17 ? 3
				      : 4);
	return strbuf_detach(&sb);
}

static void pages_empty_table(void **state)
{
	struct world *w = suite_world(state);

	world_exec(w,
		   "CREATE TABLE %st (id int PRIMARY KEY, stamp %s NOT NULL)",
		   w->quirks->prefix, w->quirks->mark_type);
	world_pipeline(w, "t", STRATEGY_TIMESTAMP, "stamp");
	world_expect(w, 10, "");
	assert_null(w->from.value);
}

static void pages_order(void **state)
{
	struct world *w = suite_world(state);

	pages_ties(w);
	world_pipeline(w, "t", STRATEGY_TIMESTAMP, "stamp");
	for (size_t rows = 1; rows <= 25; rows++) {
		char *all = pages_ties_rows(0);
		world_reset(w);
		world_expect(w, rows, all);
		assert_string_equal(w->from.value,
				    "2024-01-01 00:00:04.123456+00");
		assert_string_equal(w->from.key.items[0], "22");
		free(all);
	}
	world_expect(w, 10, "");
}

/* Killed after every number of batches: what comes next is what is missing,
 * neither more nor less, in the middle of a tie too. */
static void pages_resume_in_tie(void **state)
{
	struct world *w = suite_world(state);

	pages_ties(w);
	for (size_t rows = 1; rows <= 7; rows++) {
		for (int batches = 1; (int)rows * batches < 23; batches++) {
			char *rest = pages_ties_rows((int)rows * batches);
			world_pipeline(w, "t", STRATEGY_TIMESTAMP, "stamp");
			assert_int_equal(world_begin(w), 0);
			for (int i = 0; i < batches; i++)
				assert_int_equal(world_step(w, rows), 1);
			watermark_release(&w->from);
			watermark_copy(&w->from, &w->batch.watermark);
			world_expect(w, rows + 1, rest);
			free(rest);
		}
	}
}

/* Left in the midst of a page after every row: it goes on behind it, with a key
 * that no index vouches for as well. */
static void pages_paused(void **state)
{
	struct world *w = suite_world(state);
	char *all = pages_ties_rows(0);

	pages_ties(w);
	w->pauses = true;
	world_pipeline(w, "t", STRATEGY_TIMESTAMP, "stamp");
	world_expect(w, 10, all);
	assert_in_range(w->n_batches, 23, 24);
	world_exec(w, "CREATE TABLE %su (id int NOT NULL, stamp %s NOT NULL)",
		   w->quirks->prefix, w->quirks->mark_type);
	world_exec(w, "INSERT INTO %su SELECT id, stamp FROM %st",
		   w->quirks->prefix, w->quirks->prefix);
	world_pipeline(w, "u", STRATEGY_TIMESTAMP, "stamp");
	world_key(w, "id", NULL);
	world_expect(w, 10, all);
	if (!strcmp(w->quirks->engine, "postgres")) {
		world_pipeline(w, "t", STRATEGY_XMIN, NULL);
		world_expect_count(w, 10, 23);
	}
	free(all);
}

/* A mark without a key (set by hand): rows at the mark itself come. */
static void pages_mark_without_key(void **state)
{
	struct world *w = suite_world(state);
	char *rest = pages_ties_rows(16);

	pages_ties(w);
	world_pipeline(w, "t", STRATEGY_TIMESTAMP, "stamp");
	w->from.value = xstrdup("2024-01-01 00:00:03.123456+00");
	world_expect(w, 3, rest);
	free(rest);
}

static void pages_sequence(void **state)
{
	struct world *w = suite_world(state);

	world_exec(w, "CREATE TABLE %st (id bigint PRIMARY KEY, v int)",
		   w->quirks->prefix);
	world_exec(w,
		   "INSERT INTO %st VALUES (3, 30), (-5, 0), (0, 1), "
		   "(9223372036854775807, 2), (-9223372036854775807, 3)",
		   w->quirks->prefix);
	world_pipeline(w, "t", STRATEGY_SEQUENCE, "id");
	for (size_t rows = 1; rows < 7; rows++) {
		world_reset(w);
		world_expect(w, rows,
			     "-9223372036854775807|3\n-5|0\n0|1\n3|30\n"
			     "9223372036854775807|2\n");
	}
	assert_string_equal(w->from.value, "9223372036854775807");
	world_expect(w, 2, "");
}

static void pages_byte_bound(void **state)
{
	struct world *w = suite_world(state);
	const size_t bound = 20000;
	int64_t n = 0;

	world_exec(w,
		   "CREATE TABLE %st (id int PRIMARY KEY, stamp %s NOT NULL, "
		   "v text)",
		   w->quirks->prefix, w->quirks->mark_type);
	world_exec(w,
		   "INSERT INTO %st SELECT n, '2024-01-01 00:00:00+00', "
		   "%s FROM %s",
		   w->quirks->prefix, w->quirks->long_text,
		   world_series(w, 1, 3000));
	world_pipeline(w, "t", STRATEGY_TIMESTAMP, "stamp");
	assert_int_equal(world_begin(w), 0);
	w->batch.max_bytes = bound;
	w->quiet = true;
	while (world_step(w, 1000) > 0) {
		assert_true(batch_bytes(&w->batch) < bound + 1100);
		n += (int64_t)w->batch.n_rows;
	}
	w->quiet = false;
	assert_int_equal(n, 3000);
	assert_int_equal(w->err.code, 0);
	assert_true(w->n_batches > 3000 * 500 / (int64_t)bound);
}

static void pages_read_only(void **state)
{
	struct world *w = suite_world(state);

	if (!w->quirks->write)
		skip();
	pages_ties(w);
	world_exec(w, "%s", w->quirks->make_writer);
	world_pipeline(w, "t", STRATEGY_TIMESTAMP, "stamp");
	w->source.where = w->quirks->write;
	world_refuse(w, ERROR_ACCESS, "read-only");
}

/* A statement that fails in the middle is no end of the rows. */
static void pages_failed_statement(void **state)
{
	struct world *w = suite_world(state);

	pages_ties(w);
	world_pipeline(w, "t", STRATEGY_TIMESTAMP, "stamp");
	w->source.where = w->quirks->fail_at_five;
	world_refuse(w, ERROR_DATA, w->quirks->fail_text);
	assert_true(w->n_rows < 23);
	w->source.where = NULL;
	assert_int_equal(world_describe(w), 0);
	world_expect_count(w, 100, 23);
}

static void pages_nasty_names(void **state)
{
	struct world *w = suite_world(state);

	world_exec(w, "%s", w->quirks->nasty);
	world_pipeline(w, w->quirks->nasty_table, STRATEGY_TIMESTAMP,
		       w->quirks->nasty_mark);
	if (w->quirks->nasty_key)
		world_key(w, w->quirks->nasty_key, NULL);
	world_expect(w, 1,
		     "1|2024-01-01 00:00:00+00|a|NULL\n"
		     "2|2024-01-01 00:00:00+00|b|c\n");
	assert_string_equal(w->from.key.items[0], "2");
	world_expect(w, 1, "");
}

static void pages_composite_key(void **state)
{
	struct world *w = suite_world(state);

	world_exec(w,
		   "CREATE TABLE %st (b int, a varchar(9), stamp %s NOT NULL, "
		   "PRIMARY KEY (a, b))",
		   w->quirks->prefix, w->quirks->mark_type);
	world_exec(w,
		   "INSERT INTO %st SELECT n %% 3, %s, "
		   "'2024-01-01 00:00:00+00' FROM %s",
		   w->quirks->prefix, w->quirks->third, world_series(w, 0, 8));
	world_pipeline(w, "t", STRATEGY_TIMESTAMP, "stamp");
	for (size_t rows = 1; rows <= 7; rows++) {
		world_reset(w);
		strlist_release(&w->columns);
		strlist_add(&w->columns, "b");
		strlist_add(&w->columns, "a");
		assert_int_equal(world_describe(w), 0);
		world_expect(w, rows,
			     "0|k0\n1|k0\n2|k0\n0|k1\n1|k1\n2|k1\n0|k2\n1|k2\n"
			     "2|k2\n");
		assert_string_equal(w->from.key.items[0], "k2");
		assert_string_equal(w->from.key.items[1], "2");
		assert_int_equal(w->schema.mark, -1);
		assert_string_equal(w->from.value, "2024-01-01 00:00:00+00");
	}
}

/* "END rows", as the engine cuts it. */
static void ranges_expect_cut(struct world *w, const char *from, const char *to,
			      int64_t rows, const char *end, int64_t counted)
{
	const struct range range = { from, to, false };
	struct range_cut cut = { NULL, 0 };

	if (w->ops->cut(w->connector, &w->source, &w->mark, &range, rows, &cut,
			&w->err))
		fail_msg("%s", w->err.message);
	if (end)
		assert_string_equal(cut.end, end);
	else
		assert_null(cut.end);
	assert_int_equal(cut.rows, counted);
	free(cut.end);
}

#define STAMP(n) "2024-01-01 00:00:0" #n ".123456+00"

/* Rows of one mark stay together, and none is in two pieces or in none. */
static void pages_cuts(void **state)
{
	struct world *w = suite_world(state);

	pages_ties(w);
	world_pipeline(w, "t", STRATEGY_TIMESTAMP, "stamp");
	assert_int_equal(world_begin(w), 0); /* SQLite looks at its notation */
	ranges_expect_cut(w, NULL, NULL, 1, STAMP(2), 7);
	ranges_expect_cut(w, NULL, NULL, 7, STAMP(2), 7);
	ranges_expect_cut(w, NULL, NULL, 8, STAMP(3), 16);
	ranges_expect_cut(w, STAMP(2), NULL, 5, STAMP(3), 9);
	ranges_expect_cut(w, STAMP(3), NULL, 2, NULL, 7);
	ranges_expect_cut(w, STAMP(2), STAMP(4), 9, STAMP(3), 9);
	ranges_expect_cut(w, STAMP(2), STAMP(4), 10, NULL, 10);
	ranges_expect_cut(w, STAMP(2), STAMP(2), 10, NULL, 0);
}

/* From inclusive, to exclusive; cut off after every number of batches, it goes
 * on behind the last row, in the middle of a tie too. */
static void pages_ranges(void **state)
{
	const struct range range = { STAMP(2), STAMP(4), false };
	struct world *w = suite_world(state);

	pages_ties(w);
	world_pipeline(w, "t", STRATEGY_TIMESTAMP, "stamp");
	w->range = &range;
	for (size_t rows = 1; rows <= 11; rows += 3) {
		for (size_t batches = 0; rows * batches < 10; batches++) {
			char *rest = pages_ties_rows(7 + (int)(rows * batches));

			*strstr(rest, "17|") = '\0';
			world_reset(w);
			assert_int_equal(world_begin(w), 0);
			for (size_t i = 0; i < batches; i++)
				assert_int_equal(world_step(w, rows), 1);
			if (batches) {
				watermark_release(&w->from);
				watermark_copy(&w->from, &w->batch.watermark);
			}
			world_expect(w, rows + 1, rest);
			free(rest);
		}
	}
	w->range = NULL;
}

/* They are of no range of values, and a range of their own. */
static void pages_range_of_nulls(void **state)
{
	const struct range all = { NULL, NULL, false };
	const struct range nulls = { NULL, NULL, true };
	struct world *w = suite_world(state);

	world_exec(w, "CREATE TABLE %st (id int PRIMARY KEY, n int NULL)",
		   w->quirks->prefix);
	world_exec(w, "INSERT INTO %st VALUES (1, NULL), (2, 5), (3, NULL)",
		   w->quirks->prefix);
	world_pipeline(w, "t", STRATEGY_SEQUENCE, "n");
	w->mark.nulls = NULLS_INCLUDE;
	w->range = &all;
	world_expect(w, 10, "2|5\n");
	world_reset(w);
	w->range = &nulls;
	world_expect(w, 1, "1|NULL\n3|NULL\n");
	w->range = NULL;
}

static void pages_expect_sum(struct world *w, size_t rows, int64_t n,
			     uint64_t sum)
{
	world_reset(w);
	if (world_run(w, rows) < 0)
		fail_msg("%s", w->err.message);
	assert_int_equal(w->n_rows, n);
	assert_int_equal(w->sum, sum);
}

/* In no order, each row once: where an index has the mark, and where none has;
 * a pause in its midst changes nothing. */
static void pages_range_unordered(void **state)
{
	const struct range some = { "3", "8", false };
	const struct range rest = { "3", NULL, false };
	static const char *const keys[] = { "id", "n, id" };
	struct world *w = suite_world(state);

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		world_exec(w, "DROP TABLE IF EXISTS %st", w->quirks->prefix);
		world_exec(w,
			   "CREATE TABLE %st (id int NOT NULL, n int NOT NULL, "
			   "PRIMARY KEY (%s))",
			   w->quirks->prefix, keys[i]);
		world_exec(w,
			   "INSERT INTO %st VALUES (1, 9), (2, 3), (4, 7), "
			   "(8, 8), (16, 2), (32, 3), (64, 3), (128, 7)",
			   w->quirks->prefix);
		world_pipeline(w, "t", STRATEGY_SEQUENCE, "n");
		w->unordered = true;
		for (size_t rows = 1; rows <= 9; rows += 2) {
			w->range = &some;
			pages_expect_sum(w, rows, 5, 2 + 4 + 32 + 64 + 128);
			w->range = &rest;
			pages_expect_sum(w, rows, 7,
					 1 + 2 + 4 + 8 + 32 + 64 + 128);
		}
		w->pauses = true;
		pages_expect_sum(w, 1, 7, 1 + 2 + 4 + 8 + 32 + 64 + 128);
		w->pauses = w->unordered = false;
		w->range = NULL;
	}
}

/* The position of the step under way has no place in the statements of the
 * steps behind it. */
static void pages_explained_midway(void **state)
{
	struct world *w = suite_world(state);
	struct explanation first = { NULL, 0, 0 }, later = { NULL, 0, 0 };

	pages_ties(w);
	world_pipeline(w, "t", STRATEGY_TIMESTAMP, "stamp");
	w->mark.tail = TAIL_DELIVER;
	assert_int_equal(world_begin(w), 0);
	assert_int_equal(w->ops->explain(w->connector, 4, &first, &w->err), 0);
	assert_int_equal(world_step(w, 4), 1);
	assert_int_equal(w->ops->explain(w->connector, 4, &later, &w->err), 0);
	assert_int_equal(first.n, 2);
	assert_int_equal(later.n, 2);
	assert_string_equal(later.items[1].purpose, "read the tail");
	assert_string_not_equal(later.items[0].sql, first.items[0].sql);
	assert_string_equal(later.items[1].sql, first.items[1].sql);
	explanation_release(&first);
	explanation_release(&later);
}

const struct CMUnitTest suite_pages[] = {
	SUITE_TEST(pages_empty_table),	    SUITE_TEST(pages_order),
	SUITE_TEST(pages_resume_in_tie),    SUITE_TEST(pages_paused),
	SUITE_TEST(pages_mark_without_key), SUITE_TEST(pages_sequence),
	SUITE_TEST(pages_byte_bound),	    SUITE_TEST(pages_read_only),
	SUITE_TEST(pages_failed_statement), SUITE_TEST(pages_nasty_names),
	SUITE_TEST(pages_composite_key),    SUITE_TEST(pages_cuts),
	SUITE_TEST(pages_ranges),	    SUITE_TEST(pages_range_of_nulls),
	SUITE_TEST(pages_range_unordered),  SUITE_TEST(pages_explained_midway),
};
const size_t suite_pages_n = ARRAY_SIZE(suite_pages);
