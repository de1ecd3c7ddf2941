/* A dry run's own rules; what it counts is looked at with real engines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/base/log.h"
#include "core/sync/run/pipeline.h"
#include "core/sync/tasks/rehearsal.h"
#include "tests/unit/fake_engines.h"
#include "tests/unit/faulty_store.h"

static struct connection test_end = {
	.name = (char *)"fake",
	.url = { .engine = (char *)"fake", .shown = (char *)"fake:" },
};

static int test_run(const struct pipeline_settings *p, struct run_result *out)
{
	const struct run_options options = { .task = &rehearsal_task };
	struct error err = ERROR_INIT;

	return pipeline_run(p, NULL, &options, out, &err);
}

static void test_loads_nothing(void **state)
{
	struct pipeline_settings p = fake_settings(&test_end);
	struct run_result r;
	json_t *json;

	(void)state;
	fake_reset(1050);
	assert_int_equal(test_run(&p, &r), 0);
	assert_int_equal(r.outcome, OUTCOME_CAUGHT_UP);
	assert_int_equal(r.rows_inserted, 1050);
	assert_non_null(strstr(r.watermark_after, "\"value\":\"1050\""));
	assert_int_equal(fake.loads + fake.claims, 0);
	assert_null(fake.watermark);
	assert_int_equal(r.dry.plan.n, 2);
	json = run_result_json(&r);
	assert_true(json_is_true(json_object_get(json, "dry_run")));
	assert_true(json_is_null(json_object_get(json, "attempt_id")));
	assert_int_equal(json_array_size(json_object_get(json, "plan")), 2);
	json_decref(json);
	run_result_release(&r);
}

/* Nothing of a try lasts: the next one counts from nothing. */
static void test_tries_count_once(void **state)
{
	struct pipeline_settings p = fake_settings(&test_end);
	struct run_result r;

	(void)state;
	fake_reset(1000);
	fake.fail_preview_at = 4;
	assert_int_equal(test_run(&p, &r), 0);
	assert_int_equal(fake.opens, 2);
	assert_int_equal(r.rows_read, 1000);
	assert_int_equal(r.rows_inserted, 1000);
	assert_int_equal(r.dry.plan.n, 2);
	run_result_release(&r);
}

static void test_bad_rows_are_counted(void **state)
{
	struct pipeline_settings p = fake_settings(&test_end);
	struct run_result r;

	(void)state;
	fake_reset(300);
	fake.bad[7] = fake.bad[290] = true;
	assert_int_equal(test_run(&p, &r), -ERROR_DATA);
	run_result_release(&r);
	p.bad_rows.keep = true;
	p.bad_rows.limit = (struct row_limit){ 2, -1 };
	assert_int_equal(test_run(&p, &r), 0);
	assert_int_equal(r.rows_dead_lettered, 2);
	assert_int_equal(r.rows_inserted, 298);
	assert_int_equal(faulty_store_number(LETTERS), 0);
	run_result_release(&r);
	p.bad_rows.limit = (struct row_limit){ 1, -1 };
	assert_int_equal(test_run(&p, &r), -ERROR_DATA);
	run_result_release(&r);
	fake_reset(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loads_nothing),
		cmocka_unit_test(test_tries_count_once),
		cmocka_unit_test(test_bad_rows_are_counted),
	};

	log_set_level(LOG_SILENT);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
