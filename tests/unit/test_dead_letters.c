/* Bad rows of a run, over engines in memory. */
#include "unit.h"

#include <stdio.h>

#include "core/base/log.h"
#include "core/store/letters.h"
#include "core/sync/run/pipeline.h"
#include "core/sync/tasks/letters.h"
#include "core/sync/tasks/sync.h"
#include "tests/unit/fake_engines.h"
#include "tests/unit/faulty_store.h"

static struct connection test_end = {
	.name = (char *)"fake",
	.url = { .engine = (char *)"fake", .shown = (char *)"fake:" },
};

static struct pipeline_settings test_pipeline;

static void test_begin(int64_t rows, const char *limit)
{
	fake_reset(rows);
	test_pipeline = fake_settings(&test_end);
	test_pipeline.bad_rows.keep = true;
	assert_true(row_limit_parse(&test_pipeline.bad_rows.limit, limit));
}

static int test_run_with(struct store *store, struct run_result *out,
			 const struct run_options *options)
{
	struct error err = ERROR_INIT;

	return pipeline_run(&test_pipeline, store, options, out, &err);
}

static int test_run(struct run_result *out)
{
	const struct run_options options = { .task = &sync_task };

	return test_run_with(faulty_store(), out, &options);
}

/* How often the row was refused, by its letter; 0: it has none. */
static int64_t letter_attempts(int64_t id)
{
	char sql[128];

	snprintf(sql, sizeof(sql),
		 "SELECT attempts FROM dead_letters\n"
		 "WHERE row_key = '{\"id\":%d}'",
		 (int)id);
	return faulty_store_number(sql);
}

static int64_t letters_n(void)
{
	return faulty_store_number(LETTERS);
}

/* Every row is at the destination or a letter, none is both. */
static void check_rows(int64_t n)
{
	for (int64_t id = 1; id <= n; id++) {
		if (!fake.arrived[id] != fake.bad[id])
			fail_msg("row %d arrived %d times", (int)id,
				 fake.arrived[id]);
		if (fake.bad[id] != (letter_attempts(id) > 0))
			fail_msg("row %d: letter missing or wrong", (int)id);
	}
}

static void test_bad_rows_are_kept(void **state)
{
	static const int64_t bad[] = { 1, 100, 101, 555, 999, 1000 };
	struct run_result r;

	(void)state;
	test_begin(1000, "6");
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		fake.bad[bad[i]] = true;
	assert_int_equal(test_run(&r), 0);
	assert_int_equal(r.outcome, OUTCOME_CAUGHT_UP);
	assert_int_equal(r.rows_read, 1000);
	assert_int_equal(r.rows_inserted, 994);
	assert_int_equal(r.rows_dead_lettered, 6);
	assert_int_equal(faulty_store_number(
				 "SELECT sum(rows_dead_lettered) FROM batches"),
			 6);
	check_rows(1000);
	assert_int_equal(letters_n(), 6);
	assert_non_null(strstr(fake.watermark, "\"value\":\"1000\""));
	assert_int_equal(fake.rows_total, 994);
	run_result_release(&r);
}

static void test_limit(void **state)
{
	static const struct {
		const char *limit;
		int64_t bad, rows;
		bool passes;
	} cases[] = {
		{ "3", 3, 100, true },	    { "3", 4, 100, false },
		{ "0", 1, 100, false },	    { "3%", 3, 100, true },
		{ "3%", 4, 100, false },    { "2.5%", 2, 100, true },
		{ "2.5%", 3, 100, false },  { "100%", 100, 100, true },
		{ "0.1%", 1, 999, false },  { "0%", 1, 100, false },
		{ "100", 400, 400, false },
	};
	struct run_result r;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		test_begin(cases[i].rows, cases[i].limit);
		test_pipeline.batch_rows = 1000;
		for (int64_t id = 1; id <= cases[i].bad; id++)
			fake.bad[id] = true;
		assert_int_equal(test_run(&r),
				 cases[i].passes ? 0 : -ERROR_DATA);
		if (cases[i].passes) {
			assert_int_equal(r.rows_dead_lettered, cases[i].bad);
		} else {
			/* The letters found are kept, the mark is not moved;
			 * what went in before the limit was known counts. */
			assert_true(letters_n() > 0);
			assert_int_equal(r.rows_dead_lettered, letters_n());
			assert_int_equal(r.rows_read,
					 r.rows_inserted + letters_n());
			assert_int_equal(r.batches, 1);
			assert_null(strstr(fake.watermark ? fake.watermark : "",
					   "\"value\""));
			assert_non_null(
				strstr(r.error.message, cases[i].limit));
			assert_non_null(strstr(r.error.message, "id=1: "));
		}
		run_result_release(&r);
	}
}

/* Over batches, a count is of the run. */
static void test_limit_is_of_the_run(void **state)
{
	struct run_result r;

	(void)state;
	test_begin(1000, "2");
	fake.bad[10] = fake.bad[310] = fake.bad[610] = true;
	assert_int_equal(test_run(&r), -ERROR_DATA);
	assert_int_equal(r.rows_dead_lettered, 3);
	assert_true(r.rows_read >= 610);
	assert_int_equal(r.rows_read, r.rows_inserted + 3);
	run_result_release(&r);
	/* The next run begins before the third, and may have two more. */
	assert_int_equal(test_run(&r), 0);
	assert_int_equal(r.rows_dead_lettered, 1);
	assert_int_equal(letters_n(), 3);
	assert_int_equal(letter_attempts(610), 2);
	check_rows(1000);
	run_result_release(&r);
}

/* The letter goes when its row is loaded. */
static void test_mended_row_leaves_the_list(void **state)
{
	struct run_result r;

	(void)state;
	test_begin(300, "5");
	fake.bad[7] = fake.bad[8] = true;
	assert_int_equal(test_run(&r), 0);
	run_result_release(&r);
	assert_int_equal(letters_n(), 2);
	/* Both come again, one of them mended. */
	free(fake.watermark);
	fake.watermark = NULL;
	fake.bad[7] = false;
	assert_int_equal(test_run(&r), 0);
	assert_int_equal(r.rows_dead_lettered, 1);
	run_result_release(&r);
	assert_int_equal(letters_n(), 1);
	assert_int_equal(letter_attempts(8), 2);
}

static void test_refresh_renews_the_list(void **state)
{
	const struct run_options options = { .task = &sync_task,
					     .full_refresh = true };
	struct run_result r;

	(void)state;
	test_begin(300, "5");
	fake.bad[7] = fake.bad[8] = true;
	assert_int_equal(test_run(&r), 0);
	run_result_release(&r);
	fake.bad[8] = false;
	fake.source_rows = 5;
	fake.bad[3] = true;
	assert_int_equal(test_run_with(faulty_store(), &r, &options), 0);
	run_result_release(&r);
	assert_int_equal(letters_n(), 1);
	assert_int_equal(letter_attempts(3), 1);
	assert_int_equal(fake.finishes, 1);
}

/* Wherever it ends: the mark is before the row, or its letter is stored. */
static void test_failures_on_the_way(void **state)
{
	struct run_result r;

	(void)state;
	for (int at = 1; at < 40; at++) {
		test_begin(200, "5");
		fake.bad[60] = fake.bad[61] = fake.bad[150] = true;
		fake.fail_load_at = at;
		fake.fail_load_with = at % 2 ? ERROR_TRANSIENT : ERROR_CONFLICT;
		assert_int_equal(test_run(&r), 0);
		check_rows(200);
		assert_int_equal(r.rows_read, r.rows_inserted + 3);
		run_result_release(&r);
	}
	test_begin(200, "5");
	fake.bad[60] = true;
	faulty_store_fail(FAULTY_LETTERS, ERROR_ACCESS, -1);
	assert_int_equal(test_run(&r), -ERROR_ACCESS);
	assert_null(strstr(fake.watermark, "\"value\":\"100\""));
	run_result_release(&r);
	faulty_store_fail("", ERROR_NONE, 0);
	assert_int_equal(test_run(&r), 0);
	check_rows(200);
	run_result_release(&r);
}

/* One goes in, one is bad still, one is gone and its letter stays; a fourth is
 * not asked for. */
static void test_replay(void **state)
{
	struct dead_letter_list all = { NULL, 0, 0 }, some;
	struct dead_letter_filter any = { .names = true };
	struct letters_task task;
	const struct run_options options = { .task = &task.task };
	struct error err = ERROR_INIT;
	struct run_result r;
	char *mark;

	(void)state;
	test_begin(300, "5");
	fake.bad[7] = fake.bad[8] = fake.bad[9] = fake.bad[300] = true;
	assert_int_equal(test_run(&r), 0);
	run_result_release(&r);
	mark = xstrdup(fake.watermark);
	fake.bad[7] = fake.bad[9] = false;
	fake.source_rows = 299;
	assert_int_equal(store_letters_list(faulty_store(), &any, &all, &err),
			 0);
	/* All but that of row 9, in the order in which they were stored. */
	some = all;
	some.items = xcalloc(3, sizeof(*some.items));
	some.n = 0;
	for (size_t i = 0; i < all.n; i++)
		if (strcmp(all.items[i].key, "{\"id\":9}") != 0)
			some.items[some.n++] = all.items[i];
	assert_int_equal(some.n, 3);
	letters_task_init(&task, &some);
	assert_int_equal(test_run_with(faulty_store(), &r, &options),
			 -ERROR_DATA);
	assert_non_null(strstr(r.error.message, "1 of 2 rows again"));
	assert_int_equal(r.rows_read, 2);
	assert_int_equal(r.rows_inserted, 1);
	assert_int_equal(fake.arrived[7], 1);
	assert_int_equal(fake.arrived[9], 0);
	assert_int_equal(letters_n(), 3);
	assert_int_equal(letter_attempts(8), 2);
	assert_int_equal(letter_attempts(9), 1);
	assert_int_equal(letter_attempts(300), 1);
	assert_string_equal(fake.watermark, mark);
	run_result_release(&r);
	free(some.items);
	dead_letter_list_release(&all);
	free(mark);
}

static void test_without_a_place_for_letters(void **state)
{
	const struct run_options options = { .task = &sync_task };
	struct run_result r;

	(void)state;
	test_begin(100, "5");
	fake.bad[60] = true;
	assert_int_equal(test_run_with(NULL, &r, &options), -ERROR_DATA);
	assert_non_null(strstr(r.error.message, "no state store"));
	assert_non_null(strstr(r.error.message, "row 60 is bad"));
	run_result_release(&r);
	test_begin(100, "5");
	test_pipeline.bad_rows.keep = false;
	fake.bad[60] = true;
	assert_int_equal(test_run(&r), -ERROR_DATA);
	assert_int_equal(letters_n(), 0);
	run_result_release(&r);
	fake_reset(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bad_rows_are_kept),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_limit_is_of_the_run),
		cmocka_unit_test(test_mended_row_leaves_the_list),
		cmocka_unit_test(test_refresh_renews_the_list),
		cmocka_unit_test(test_failures_on_the_way),
		cmocka_unit_test(test_replay),
		cmocka_unit_test(test_without_a_place_for_letters),
	};

	log_set_level(LOG_SILENT);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
