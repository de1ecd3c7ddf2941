/* Another writer delivers rows past a pipeline's mark. The mark learns of them
 * beforehand, and this counts in the very next batch of a run that is under
 * way. */
#include "destination_load.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

#define MARK(more)   "{\"strategy\":\"timestamp\",\"column\":\"at\"," more "}"
#define VALUE(d)     "\"value\":\"" DAY(d) "\""
#define DELIVERED(d) "\"pending\":{\"delivered\":\"" DAY(d) "\"}"

static void raise_expect(struct world *w, const char *value,
			 const char *delivered)
{
	struct watermark mark;

	watermark_init(&mark);
	assert_int_equal(watermark_from_text(&mark, world_mark(w), &w->err), 0);
	if (value)
		assert_string_equal(mark.value, value);
	else
		assert_null(mark.value);
	assert_string_equal(watermark_delivered(&mark), delivered);
	watermark_release(&mark);
}

static int raise_mark(struct world *w, const char *mark)
{
	error_clear(&w->err);
	return w->ops->raise(w->destination, &w->target, mark, &w->err);
}

/* A destination may find out only when it writes. */
static int raise_load(struct world *w, const char *rows, const char *mark)
{
	int rc = world_load(w, rows, mark);

	return rc == ERROR_CONFLICT ? world_load(w, rows, mark) : rc;
}

static void raise_beside_a_run(struct world *w)
{
	world_sync(w, "1|v1|1|" DAY("01"), MARK(VALUE("01")));
	w->rehearse = false;
	assert_int_equal(world_begin(w), 0);
	assert_int_equal(raise_mark(w, MARK(DELIVERED("05"))), 0);
	/* The chunk's row: nobody says that it is the pipeline's. */
	assert_int_equal(raise_load(w, "1|v5|1|" DAY("05"), MARK(VALUE("01"))),
			 0);
	w->delivered = DAY("04");
	assert_int_equal(raise_load(w,
				    "1|v4|1|" DAY("04") "\n"
							"2|new|1|" DAY("02"),
				    MARK(VALUE("04"))),
			 0);
	world_close(w);
	assert_string_equal(world_query(w, ALL), "1|v4\n2|new");
	raise_expect(w, DAY("04"), DAY("05"));
	/* Once the mark is past it, it is of no use any more. */
	world_sync(w, "", MARK(VALUE("06")));
	raise_expect(w, DAY("06"), DAY("06"));
}

static void test_raise_upsert(void **state)
{
	raise_beside_a_run(load_world(state, LOAD_UPSERT));
}

static void test_raise_delete_insert(void **state)
{
	raise_beside_a_run(load_world(state, LOAD_DELETE_INSERT));
}

/* Keys that go leave what was told. */
static void test_raise_remove(void **state)
{
	struct world *w = load_world(state, LOAD_UPSERT);
	int64_t removed;

	world_sync(w, "1|a|1|" DAY("01") "\n2|b|1|" DAY("01"),
		   MARK(VALUE("01")));
	assert_int_equal(world_begin(w), 0);
	assert_int_equal(raise_mark(w, MARK(DELIVERED("05"))), 0);
	removed = world_remove(w, "1|a|1|" DAY("01"), MARK(VALUE("01")));
	if (removed == -ERROR_CONFLICT)
		removed =
			world_remove(w, "1|a|1|" DAY("01"), MARK(VALUE("01")));
	assert_int_equal(removed, 1);
	world_close(w);
	assert_string_equal(world_query(w, ALL), "2|b");
	raise_expect(w, DAY("01"), DAY("05"));
}

/* It never goes down, and says nothing that the mark says already. */
static void test_raise_only_up(void **state)
{
	struct world *w = load_world(state, LOAD_UPSERT);
	char *before;

	world_sync(w, "1|a|1|" DAY("03"), MARK(VALUE("03")));
	before = xstrdup(world_mark(w));
	assert_int_equal(world_begin(w), 0);
	assert_int_equal(raise_mark(w, MARK(DELIVERED("03"))), 0);
	world_close(w);
	assert_string_equal(world_mark(w), before);
	free(before);
	assert_int_equal(world_begin(w), 0);
	assert_int_equal(raise_mark(w, MARK(DELIVERED("07"))), 0);
	assert_int_equal(raise_mark(w, MARK(DELIVERED("05"))), 0);
	world_close(w);
	raise_expect(w, DAY("03"), DAY("07"));
}

/* A mark that was reset, or a pipeline that has not run: its first run knows
 * all the same. */
static void test_raise_without_a_mark(void **state)
{
	struct world *w = load_world(state, LOAD_UPSERT);

	world_sync(w, "1|a|1|" DAY("03"), MARK(VALUE("03")));
	world_open(w);
	assert_int_equal(w->ops->set_watermark(w->destination, &w->target, NULL,
					       &w->err),
			 0);
	assert_int_equal(raise_mark(w, MARK(DELIVERED("05"))), 0);
	assert_int_equal(w->ops->forget(w->destination, &w->target, &w->err),
			 0);
	world_close(w);
	assert_int_equal(world_begin(w), 0);
	w->target.pipeline = "contract/chunk";
	assert_int_equal(w->ops->prepare(w->destination, &w->target, &w->err),
			 0);
	w->target.pipeline = "contract";
	assert_int_equal(raise_mark(w, MARK(DELIVERED("06"))), 0);
	world_close(w);
	raise_expect(w, NULL, DAY("06"));
	assert_int_equal(world_begin(w), 0);
	assert_non_null(w->seen.watermark);
	assert_int_equal(raise_load(w, "1|b|1|" DAY("04"), MARK(VALUE("04"))),
			 0);
	world_close(w);
	raise_expect(w, DAY("04"), DAY("06"));
}

const struct CMUnitTest suite_raise[] = {
	SUITE_TEST(test_raise_upsert),
	SUITE_TEST(test_raise_delete_insert),
	SUITE_TEST(test_raise_remove),
	SUITE_TEST(test_raise_only_up),
	SUITE_TEST(test_raise_without_a_mark),
};
const size_t suite_raise_n = ARRAY_SIZE(suite_raise);
