#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/stop.h"
#include "core/store/history.h"
#include "core/sync/run/pipeline.h"
#include "core/sync/tasks/sync.h"
#include "tests/unit/fake_engines.h"
#include "tests/unit/faulty_store.h"

static struct connection test_end = {
	.name = (char *)"fake",
	.url = { .engine = (char *)"fake", .shown = (char *)"fake:" },
};

static int test_run(struct run_result *out, const struct run_options *options)
{
	static struct pipeline_settings p;
	struct error err = ERROR_INIT;

	p = fake_settings(&test_end);
	return pipeline_run(&p, faulty_store(), options, out, &err);
}

static void assert_each_once(int64_t n)
{
	for (int64_t id = 1; id <= n; id++)
		if (fake.arrived[id] != 1)
			fail_msg("id %d arrived %d times", (int)id,
				 fake.arrived[id]);
	assert_int_equal(fake.arrived[n + 1], 0);
}

static void test_moves_every_row_once(void **state)
{
	struct run_options options = { .task = &sync_task };
	struct run_result r;

	(void)state;
	fake_reset(1050);
	assert_int_equal(test_run(&r, &options), 0);
	assert_int_equal(r.outcome, OUTCOME_CAUGHT_UP);
	assert_int_equal(r.rows_read, 1050);
	assert_int_equal(r.rows_inserted, 1050);
	assert_each_once(1050);
	assert_non_null(strstr(fake.watermark, "\"value\":\"1050\""));
	assert_string_equal(faulty_store_text(LAST_STATE), "SUCCEEDED");
	assert_int_equal(faulty_store_number(LOADED_BATCHES), r.batches);
	run_result_release(&r);
}

#define LEASED_SESSION "SELECT session FROM leases WHERE name = 'p'"

static void connect_again(void)
{
	if (fake.loads == 1)
		fake.session = "second session";
	else
		assert_string_equal(faulty_store_text(LEASED_SESSION),
				    "second session");
}

/* A successor ends the session that loads now, not the one that was lost. */
static void test_lease_names_the_present_session(void **state)
{
	struct run_options options = { .task = &sync_task };
	struct run_result r;

	(void)state;
	fake_reset(1050);
	fake.in_load = connect_again;
	assert_int_equal(test_run(&r, &options), 0);
	assert_true(fake.loads > 1);
	run_result_release(&r);
}

static void test_second_run_loads_nothing(void **state)
{
	struct run_options options = { .task = &sync_task };
	struct run_result r;

	(void)state;
	fake_reset(10);
	assert_int_equal(test_run(&r, &options), 0);
	run_result_release(&r);
	fake.loads = 0;
	assert_int_equal(test_run(&r, &options), 0);
	assert_int_equal(fake.loads, 0);
	assert_int_equal(r.rows_read, 0);
	assert_int_equal(r.outcome, OUTCOME_CAUGHT_UP);
	run_result_release(&r);
}

static void test_goes_on_from_the_destinations_mark(void **state)
{
	static const struct {
		int load, after, next;
	} cases[] = {
		{ 3, 0, 0 }, { 1, 0, 0 }, { 0, 3, 0 }, { 0, 1, 0 }, { 0, 0, 4 },
	};
	struct run_options options = { .task = &sync_task };
	struct run_result r;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		fake_reset(1000);
		fake.fail_load_at = cases[i].load;
		fake.fail_load_with = ERROR_TRANSIENT;
		fake.fail_after_commit_at = cases[i].after;
		fake.fail_next_at = cases[i].next;
		assert_int_equal(test_run(&r, &options), 0);
		assert_int_equal(fake.opens, 2);
		assert_each_once(1000);
		run_result_release(&r);
	}
}

static void test_gives_up(void **state)
{
	static const struct {
		enum error_code code;
		int opens;
	} cases[] = {
		{ ERROR_TRANSIENT, 3 }, { ERROR_ACCESS, 1 },
		{ ERROR_SCHEMA, 1 },	{ ERROR_DATA, 1 },
		{ ERROR_STATE, 1 },	{ ERROR_BUG, 1 },
		{ ERROR_CONFLICT, 1 },	{ ERROR_UNKNOWN, 2 },
	};
	struct run_options options = { .task = &sync_task };
	struct run_result r;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		fake_reset(1000);
		fake.fail_load_every_time = true;
		fake.fail_load_with = cases[i].code;
		assert_int_equal(test_run(&r, &options), -(int)cases[i].code);
		assert_int_equal(r.error.code, cases[i].code);
		assert_int_equal(r.outcome, cases[i].code == ERROR_STATE
						    ? OUTCOME_BUSY
						    : OUTCOME_FAILED);
		assert_int_equal(fake.opens, cases[i].opens);
		assert_string_equal(faulty_store_text(LAST_STATE), "FAILED");
		assert_null(fake.watermark);
		run_result_release(&r);
	}
}

/* The batch that lost a deadlock, not the run: nothing is opened anew, and no
 * more tries than the policy has. */
static void test_conflict_is_the_same_batch_again(void **state)
{
	static const int at[] = { 1, 3 };
	struct run_options options = { .task = &sync_task };
	struct run_result r;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(at); i++) {
		fake_reset(1000);
		fake.fail_load_at = at[i];
		fake.fail_load_with = ERROR_CONFLICT;
		assert_int_equal(test_run(&r, &options), 0);
		assert_int_equal(fake.opens, 1);
		assert_each_once(1000);
		assert_int_equal(fake.loads, r.batches + 1);
		run_result_release(&r);
	}
	fake_reset(1000);
	fake.fail_load_every_time = true;
	fake.fail_load_with = ERROR_CONFLICT;
	assert_int_equal(test_run(&r, &options), -ERROR_CONFLICT);
	assert_int_equal(fake.loads, 3);
	run_result_release(&r);
}

/* A refresh that gets as far every time gets nowhere. */
static void test_refresh_gives_up(void **state)
{
	struct run_options options = { .task = &sync_task,
				       .full_refresh = true };
	struct run_result r;

	(void)state;
	fake_reset(1000);
	fake.fail_load_from = 500;
	fake.fail_load_with = ERROR_TRANSIENT;
	assert_int_equal(test_run(&r, &options), -ERROR_TRANSIENT);
	assert_int_equal(fake.opens, 3);
	assert_int_equal(fake.finishes, 0);
	run_result_release(&r);
}

static void test_keep_failure(int64_t at)
{
	static int n;
	char id[32];
	struct attempt a;
	struct error err = ERROR_INIT;

	snprintf(id, sizeof(id), "before-%d", ++n);
	attempt_init(&a);
	a.attempt_id = a.run_id = id;
	a.pipeline = (char *)"p";
	a.state = (char *)"FAILED";
	a.outcome = (char *)"failed";
	a.started_at = a.ended_at = at;
	a.error_code = (char *)"transient";
	a.error_message = (char *)"planted";
	assert_int_equal(store_attempt_save(faulty_store(), &a, &err), 0);
}

static int test_run_after(int64_t ended_us_ago, struct run_result *r)
{
	struct pipeline_settings p = fake_settings(&test_end);
	struct run_options options = { .task = &sync_task };
	struct error err = ERROR_INIT;

	p.breaker.failures = 3;
	p.breaker.cool_down_us = 30 * US_PER_SECOND;
	for (int i = 0; i < 3; i++)
		test_keep_failure(clock_now_us() - ended_us_ago);
	return pipeline_run(&p, faulty_store(), &options, r, &err);
}

static void test_open_breaker_tries_nothing(void **state)
{
	struct run_result r;

	(void)state;
	fake_reset(10);
	assert_int_equal(test_run_after(US_PER_SECOND, &r), -ERROR_ACCESS);
	assert_int_equal(r.outcome, OUTCOME_FAILED);
	assert_non_null(strstr(r.error.message, "the breaker is open until"));
	assert_int_equal(fake.opens, 0);
	/* The ledger does not hear of it. */
	assert_int_equal(faulty_store_number("SELECT count(*) FROM attempts"),
			 3);
	run_result_release(&r);
}

static void test_half_open_breaker_tries_once(void **state)
{
	struct run_result r;

	(void)state;
	fake_reset(10);
	fake.fail_opens = 1;
	assert_int_equal(test_run_after((60 * US_PER_SECOND), &r),
			 -ERROR_TRANSIENT);
	assert_int_equal(fake.opens, 1);
	assert_string_equal(faulty_store_text(LAST_STATE), "FAILED");
	run_result_release(&r);
	/* A pipeline that works is retried as ever. */
	fake_reset(1000);
	fake.fail_load_at = 2;
	fake.fail_load_with = ERROR_TRANSIENT;
	assert_int_equal(test_run_after((60 * US_PER_SECOND), &r), 0);
	assert_int_equal(fake.opens, 2);
	assert_each_once(1000);
	run_result_release(&r);
}

static const struct {
	int64_t rows, min, max;
	bool refresh;
	int64_t grow; /* between the count and the pass */
	int fail_load_at; /* TRANSIENT */
	enum error_code code;
	int scans;
	int64_t loaded; /* at least, and less than a batch more */
} windows[] = {
	{ 1000, 0, 0, false, 0, 0, ERROR_NONE, 1, 1000 },
	{ 1000, 1000, 1000, false, 0, 0, ERROR_NONE, 2, 1000 },
	{ 1000, 1001, 0, false, 0, 0, ERROR_DATA, 1, 0 },
	{ 1000, 0, 999, false, 0, 0, ERROR_DATA, 1, 0 },
	{ 0, 0, 1, false, 0, 0, ERROR_NONE, 2, 0 },
	{ 0, 1, 0, false, 0, 0, ERROR_DATA, 1, 0 },
	{ 10, 0, 9, false, 0, 0, ERROR_DATA, 1, 0 },
	/* more than was counted, but never more than may be */
	{ 1000, 0, 1000, false, 500, 0, ERROR_DATA, 2, 1000 },
	{ 1000, 1000, 0, false, 500, 0, ERROR_NONE, 2, 1500 },
	/* a second try goes on counting */
	{ 1000, 1000, 1000, false, 0, 3, ERROR_NONE, 4, 1000 },
	/* a refresh is counted on its way */
	{ 1000, 1000, 1000, true, 0, 0, ERROR_NONE, 1, 1000 },
	{ 1000, 0, 999, true, 0, 0, ERROR_DATA, 1, 900 },
	{ 1000, 1001, 0, true, 0, 0, ERROR_DATA, 1, 1000 },
	{ 0, 1, 0, true, 0, 0, ERROR_DATA, 1, 0 },
	{ 1000, 1000, 1000, true, 0, 5, ERROR_NONE, 2, 1000 },
};

static int64_t test_arrived(void)
{
	int64_t n = 0;

	for (int64_t id = 1; id <= FAKE_MOST; id++)
		n += fake.arrived[id] > 0;
	return n;
}

static void test_rows_of_the_window(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(windows); i++) {
		struct pipeline_settings p = fake_settings(&test_end);
		struct run_options options = { .task = &sync_task,
					       .full_refresh =
						       windows[i].refresh };
		struct error err = ERROR_INIT;
		struct run_result r;
		int64_t over;

		fake_reset(windows[i].rows);
		p.gate.min_rows = windows[i].min;
		p.gate.max_rows = windows[i].max;
		fake.grow_at_scan = windows[i].grow ? 2 : 0;
		fake.grow_by = windows[i].grow;
		fake.fail_load_at = windows[i].fail_load_at;
		fake.fail_load_with = ERROR_TRANSIENT;
		pipeline_run(&p, faulty_store(), &options, &r, &err);
		over = test_arrived() - windows[i].loaded;
		if (r.error.code != windows[i].code || over < 0 || over >= 100)
			fail_msg("%zu: %s, %d rows", i, r.error.message,
				 (int)test_arrived());
		assert_int_equal(fake.scans, windows[i].scans);
		if (windows[i].refresh)
			assert_int_equal(fake.finishes, !r.error.code);
		run_result_release(&r);
	}
}

static void test_max_batches(void **state)
{
	struct run_options options = { .task = &sync_task, .max_batches = 2 };
	struct run_result r;

	(void)state;
	fake_reset(1000);
	assert_int_equal(test_run(&r, &options), 0);
	assert_int_equal(r.outcome, OUTCOME_STOPPED);
	assert_int_equal(r.batches, 2);
	assert_int_equal(r.error.code, 0);
	run_result_release(&r);
}

static void test_counts_must_add_up(void **state)
{
	struct run_options options = { .task = &sync_task };
	struct run_result r;

	(void)state;
	fake_reset(1000);
	fake.miscount_at = 2;
	assert_int_equal(test_run(&r, &options), -ERROR_BUG);
	run_result_release(&r);
}

static void test_store_failure_is_a_failure(void **state)
{
	struct run_options options = { .task = &sync_task };
	struct run_result r;

	(void)state;
	fake_reset(1000);
	faulty_store_fail(FAULTY_BATCH, ERROR_ACCESS, -1);
	assert_int_equal(test_run(&r, &options), -ERROR_ACCESS);
	assert_int_equal(r.outcome, OUTCOME_FAILED);
	run_result_release(&r);
}

static void test_refuses_a_foreign_mark(void **state)
{
	static const char *const marks[] = {
		"{\"strategy\":\"timestamp\",\"column\":\"id\",\"value\":"
		"\"7\"}",
		"{\"strategy\":\"sequence\",\"column\":\"x\",\"value\":\"7\"}",
		"{\"strategy\":\"sequence\",\"column\":\"id\",\"value\":\"7\","
		"\"identity\":{\"engine\":\"other\"}}",
	};
	struct run_options options = { .task = &sync_task };
	struct run_result r;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
		fake_reset(10);
		fake.watermark = xstrdup(marks[i]);
		assert_int_equal(test_run(&r, &options), -ERROR_SCHEMA);
		assert_int_equal(fake.loads, 0);
		assert_non_null(strstr(r.error.message, "watermark reset"));
		run_result_release(&r);
	}
}

static void test_refresh_finishes_once(void **state)
{
	struct run_options options = { .task = &sync_task,
				       .full_refresh = true };
	struct run_result r;

	(void)state;
	fake_reset(500);
	fake.watermark = xstrdup("{\"strategy\":\"sequence\",\"column\":\"id\","
				 "\"value\":\"400\"}");
	assert_int_equal(test_run(&r, &options), 0);
	assert_int_equal(r.rows_read, 500);
	assert_int_equal(fake.finishes, 1);
	run_result_release(&r);
}

static void test_refresh_is_not_cut(void **state)
{
	struct run_options options = { .task = &sync_task,
				       .full_refresh = true,
				       .max_batches = 1 };
	struct run_result r;

	(void)state;
	fake_reset(500);
	assert_int_equal(test_run(&r, &options), -ERROR_CONFIG);
	assert_int_equal(fake.loads, 0);
	run_result_release(&r);
}

/* The first question fails, the second finds too many: the third lets go. */
static void *test_relieve(void *arg)
{
	(void)arg;
	for (int i = 0; i < 500 && fake.asked < 2; i++)
		clock_sleep_us(10 * 1000);
	fake.active = 3;
	return NULL;
}

static void test_pressure_holds(void **state)
{
	struct pipeline_settings p = fake_settings(&test_end);
	struct run_options options = { .task = &sync_task };
	struct run_result r;
	struct error err = ERROR_INIT;
	pthread_t relief;

	(void)state;
	p.pace.limits.max_active = 3;
	fake_reset(1000);
	fake.fail_asked = 1;
	fake.active = 4;
	assert_int_equal(pthread_create(&relief, NULL, test_relieve, NULL), 0);
	assert_int_equal(pipeline_run(&p, faulty_store(), &options, &r, &err),
			 0);
	pthread_join(relief, NULL);
	assert_int_equal(fake.asked, 3);
	assert_true(r.elapsed_us >= 2 * US_PER_SECOND);
	assert_each_once(1000);
	run_result_release(&r);
}

/* A run that fails until the time is up has failed, and was not stopped. The
 * second try begins in time, and has no time left when both ends are open. */
static void test_time_is_up_in_a_failure(void **state)
{
	struct pipeline_settings p = fake_settings(&test_end);
	struct run_options options = { .task = &sync_task,
				       .max_us = US_PER_SECOND / 5 };
	struct run_result r;
	struct error err = ERROR_INIT;

	(void)state;
	p.retry.attempts = 1000;
	p.retry.backoff_us = p.retry.max_backoff_us = 20 * 1000;
	fake_reset(1000);
	fake.open_us = 120 * 1000;
	fake.fail_load_at = 1;
	fake.fail_load_with = ERROR_TRANSIENT;
	fake.fail_load_every_time = true;
	assert_int_equal(pipeline_run(&p, faulty_store(), &options, &r, &err),
			 -ERROR_TRANSIENT);
	assert_int_equal(r.outcome, OUTCOME_FAILED);
	assert_non_null(strstr(r.error.message, "planted"));
	assert_true(r.elapsed_us < 5 * US_PER_SECOND);
	run_result_release(&r);
}

/* And what goes well until then was, behind a whole batch. */
static void test_time_is_up(void **state)
{
	struct pipeline_settings p = fake_settings(&test_end);
	struct run_options options = { .task = &sync_task,
				       .max_us = US_PER_SECOND / 5 };
	struct run_result r;
	struct error err = ERROR_INIT;

	(void)state;
	p.pace.limits.rows_per_second = 1000;
	fake_reset(1000);
	assert_int_equal(pipeline_run(&p, faulty_store(), &options, &r, &err),
			 0);
	assert_int_equal(r.outcome, OUTCOME_STOPPED);
	assert_in_range(r.rows_read, 200, 600);
	run_result_release(&r);
}

/* Last: a stop cannot be taken back. */
static void test_stop_ends_after_the_batch(void **state)
{
	struct run_options options = { .task = &sync_task };
	struct run_result r;

	(void)state;
	fake_reset(1000);
	fake.stop_at_load = 2;
	assert_int_equal(test_run(&r, &options), -ERROR_STOPPED);
	assert_int_equal(r.outcome, OUTCOME_STOPPED);
	assert_true(r.batches >= 2);
	assert_true(r.batches < 10);
	assert_each_once(r.rows_read);
	assert_string_equal(faulty_store_text(LAST_STATE), "SUCCEEDED");
	run_result_release(&r);
	fake_reset(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_moves_every_row_once),
		cmocka_unit_test(test_lease_names_the_present_session),
		cmocka_unit_test(test_second_run_loads_nothing),
		cmocka_unit_test(test_goes_on_from_the_destinations_mark),
		cmocka_unit_test(test_gives_up),
		cmocka_unit_test(test_conflict_is_the_same_batch_again),
		cmocka_unit_test(test_refresh_gives_up),
		cmocka_unit_test(test_open_breaker_tries_nothing),
		cmocka_unit_test(test_half_open_breaker_tries_once),
		cmocka_unit_test(test_rows_of_the_window),
		cmocka_unit_test(test_max_batches),
		cmocka_unit_test(test_counts_must_add_up),
		cmocka_unit_test(test_store_failure_is_a_failure),
		cmocka_unit_test(test_refuses_a_foreign_mark),
		cmocka_unit_test(test_refresh_finishes_once),
		cmocka_unit_test(test_refresh_is_not_cut),
		cmocka_unit_test(test_pressure_holds),
		cmocka_unit_test(test_time_is_up_in_a_failure),
		cmocka_unit_test(test_time_is_up),
		cmocka_unit_test(test_stop_ends_after_the_batch),
	};

	log_set_level(LOG_SILENT);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
