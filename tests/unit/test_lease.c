/* The lease of a pipeline over a store in memory: who gets it, its heartbeat,
 * its end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/stop.h"
#include "core/sync/ledger/lease.h"
#include "core/sync/run/pipeline.h"
#include "core/sync/tasks/sync.h"
#include "tests/unit/fake_engines.h"

#define MS 1000

extern const struct store_ops fake_store_ops;
static struct store test_store = { &fake_store_ops };

static struct connection test_end = {
	.name = (char *)"fake",
	.url = { .engine = (char *)"fake", .shown = (char *)"fake:" },
	.connect_timeout_us = US_PER_SECOND,
	.silence_timeout_us = US_PER_SECOND,
};

static int test_run_terms(struct run_result *out, int64_t lease_us,
			  int64_t wait_us)
{
	static struct pipeline_settings p;
	const struct run_options options = {
		.task = &sync_task,
		.lease = { .state = &test_end,
			   .lease_us = lease_us,
			   .wait_us = wait_us },
	};
	struct error err = ERROR_INIT;

	p = fake_settings(&test_end);
	p.retry.attempts = 2;
	return pipeline_run(&p, &test_store, &options, out, &err);
}

static int test_run(struct run_result *out)
{
	return test_run_terms(out, 60 * US_PER_SECOND, 0);
}

static void test_hold(int64_t for_us)
{
	snprintf(fake.lease.holder, sizeof(fake.lease.holder), "other");
	fake.lease.pid = 4711;
	fake.lease.fence = 7;
	fake.lease.until = clock_now_us() + for_us;
}

static int64_t test_number(const json_t *json, const char *name)
{
	return json_integer_value(json_object_get(json, name));
}

static void test_gives_it_back(void **state)
{
	struct run_result r;

	(void)state;
	fake_reset(10);
	for (int i = 1; i <= 3; i++) {
		assert_int_equal(test_run(&r), 0);
		assert_int_equal(fake.lease.gives, i);
		assert_int_equal(fake.lease.until, 0);
		assert_false(fake.lease.unclean);
		assert_int_equal(fake.lease.fence, i);
		run_result_release(&r);
	}
	assert_int_equal(fake.lease_at_load, 1);
	assert_int_equal(fake.claims, 0);
}

static void test_busy(void **state)
{
	struct run_result r;

	(void)state;
	fake_reset(10);
	test_hold(US_PER_DAY);
	assert_int_equal(test_run(&r), -ERROR_STATE);
	assert_int_equal(r.outcome, OUTCOME_BUSY);
	assert_int_equal(fake.opens, 0);
	assert_null(fake.last_state);
	assert_int_equal(test_number(r.held_by, "pid"), 4711);
	assert_int_equal(test_number(r.held_by, "fence"), 7);
	assert_string_equal(
		json_string_value(json_object_get(r.held_by, "host")),
		"somewhere");
	assert_non_null(json_object_get(r.held_by, "since"));
	assert_non_null(json_object_get(r.held_by, "until"));
	assert_non_null(strstr(r.error.message, "process 4711 on somewhere"));
	assert_int_equal(fake.lease.gives, 0);
	run_result_release(&r);
}

static void test_waits(void **state)
{
	struct run_result r;
	int64_t begun = clock_monotonic_us();

	(void)state;
	fake_reset(10);
	test_hold(300 * MS);
	assert_int_equal(
		test_run_terms(&r, 60 * US_PER_SECOND, 60 * US_PER_SECOND), 0);
	assert_true(clock_monotonic_us() - begun >= 290 * MS);
	assert_int_equal(fake.lease.fence, 8);
	assert_int_equal(r.rows_read, 10);
	run_result_release(&r);
	test_hold(US_PER_DAY);
	begun = clock_monotonic_us();
	assert_int_equal(test_run_terms(&r, US_PER_SECOND, 300 * MS),
			 -ERROR_STATE);
	assert_true(clock_monotonic_us() - begun >= 290 * MS);
	run_result_release(&r);
}

/* Whoever is behind an unclean end tells the destination; if it did not come
 * to that, so does the next. */
static void test_claims_until_told(void **state)
{
	struct run_result r;

	(void)state;
	fake_reset(10);
	fake.lease.unclean = true;
	fake.stored_fence = 40;
	fake.lease.fence = 45;
	fake.source_rows = -1; /* no source */
	assert_int_equal(test_run(&r), -ERROR_ACCESS);
	run_result_release(&r);
	assert_true(fake.lease.unclean);
	assert_int_equal(fake.claims, 0);
	fake.source_rows = 10;
	assert_int_equal(test_run(&r), 0);
	run_result_release(&r);
	assert_int_equal(fake.claims, 1);
	assert_false(fake.lease.unclean);
	assert_int_equal(fake.lease_at_load, 47);
	assert_int_equal(test_run(&r), 0);
	run_result_release(&r);
	assert_int_equal(fake.claims, 1);
}

/* A store that was lost: the destination's fence is the higher one. */
static void test_rises_above_the_destination(void **state)
{
	struct run_result r;

	(void)state;
	fake_reset(10);
	fake.stored_fence = 40;
	assert_int_equal(test_run(&r), 0);
	assert_int_equal(fake.claims, 1);
	assert_int_equal(fake.lease_at_load, 41);
	assert_int_equal(fake.lease.fence, 41);
	run_result_release(&r);
}

static int test_renewals(void)
{
	int n;

	pthread_mutex_lock(&fake_lock);
	n = fake.lease.renewals;
	pthread_mutex_unlock(&fake_lock);
	return n;
}

/* Of what beats meanwhile: a third of it is more than a busy machine takes. */
#define LONG_LEASE_US (3 * US_PER_SECOND)

static void test_outlast_lease(void)
{
	clock_sleep_us(LONG_LEASE_US + 300 * MS);
}

/* Longer than the lease as it was taken. */
static void test_wait_for_beats(void)
{
	while (test_renewals() < 4)
		clock_sleep_us(MS);
}

static void test_beats(void **state)
{
	struct run_result r;

	(void)state;
	fake_reset(10);
	fake.in_load = test_wait_for_beats;
	assert_int_equal(test_run_terms(&r, LONG_LEASE_US, 0), 0);
	assert_int_equal(fake.arrived[10], 1);
	run_result_release(&r);
}

/* It runs out in the middle of a load, for one reason or another: nothing of
 * that load is committed. */
static void check_lost(int64_t lease_us, void (*in_load)(void))
{
	struct run_result r;

	fake.in_load = in_load;
	assert_int_equal(test_run_terms(&r, lease_us, 0), -ERROR_STATE);
	assert_int_equal(r.outcome, OUTCOME_BUSY);
	assert_int_equal(fake.arrived[1], 0);
	assert_string_equal(fake.last_state, "FAILED");
	assert_non_null(strstr(r.error.message, "lease of this run"));
	run_result_release(&r);
}

static void test_store_that_is_away(void **state)
{
	(void)state;
	fake_reset(10);
	fake.lease.fail_renew = true;
	check_lost(LONG_LEASE_US, test_outlast_lease);
	assert_true(fake.lease.renewals >= 3);
}

/* Until the run has been told so; it may know by its own clock before. */
static void test_steal(void)
{
	int before;

	pthread_mutex_lock(&fake_lock);
	test_hold(US_PER_DAY);
	before = fake.lease.renewals;
	pthread_mutex_unlock(&fake_lock);
	for (int i = 0; i < 2000 && test_renewals() == before; i++)
		clock_sleep_us(MS);
	clock_sleep_us(50 * MS);
}

static void test_overtaken(void **state)
{
	struct run_result r;

	(void)state;
	fake_reset(10);
	check_lost(300 * MS, test_steal);
	/* It stays the other's. */
	assert_string_equal(fake.lease.holder, "other");
	assert_true(fake.lease.until > clock_now_us());
	test_hold(US_PER_DAY);
	assert_int_equal(test_run(&r), -ERROR_STATE);
	run_result_release(&r);
}

static int test_renewals_before;

static void test_expire(void)
{
	pthread_mutex_lock(&fake_lock);
	fake.lease.until = clock_now_us() - 1;
	test_renewals_before = fake.lease.renewals;
	pthread_mutex_unlock(&fake_lock);
	clock_sleep_us(200 * MS);
}

/* The store's clock says that it is over, though nobody has taken it. */
static void test_never_renews_what_is_over(void **state)
{
	(void)state;
	fake_reset(10);
	check_lost(300 * MS, test_expire);
	assert_in_range(fake.lease.renewals, test_renewals_before,
			test_renewals_before + 1);
}

/* A store that was away for longer than the lease, and whose clock says that
 * there is time left: ours says that it is over. */
static void test_return_late(void)
{
	pthread_mutex_lock(&fake_lock);
	fake.lease.until = clock_now_us() + US_PER_DAY;
	fake.lease.fail_renew = true;
	pthread_mutex_unlock(&fake_lock);
	clock_sleep_us(400 * MS);
	pthread_mutex_lock(&fake_lock);
	fake.lease.fail_renew = false;
	pthread_mutex_unlock(&fake_lock);
	clock_sleep_us(100 * MS);
}

static void test_never_renews_late(void **state)
{
	(void)state;
	fake_reset(10);
	check_lost(300 * MS, test_return_late);
}

/* Behind the last batch there is nothing left to be kept from; but the last
 * word on how far the pipeline is may be another's. */
static void test_overtaken_at_the_end(void **state)
{
	struct run_result r;

	(void)state;
	fake_reset(10);
	fake.in_close = test_steal;
	assert_int_equal(test_run_terms(&r, LONG_LEASE_US, 0), -ERROR_STATE);
	assert_int_equal(r.outcome, OUTCOME_BUSY);
	assert_int_equal(fake.arrived[10], 1);
	assert_string_equal(fake.last_state, "FAILED");
	assert_non_null(strstr(r.error.message, "nothing is missing"));
	assert_int_equal(test_number(r.held_by, "pid"), 4711);
	run_result_release(&r);
}

static void test_each_try_is_an_attempt(void **state)
{
	struct run_result r;

	(void)state;
	fake_reset(1000);
	fake.fail_load_at = 3;
	fake.fail_load_with = ERROR_TRANSIENT;
	assert_int_equal(test_run(&r), 0);
	assert_int_equal(r.rows_read, 1000);
	assert_int_equal(fake.attempts, 2);
	assert_int_equal(fake.runs, 1);
	assert_int_equal(fake.recorded_rows, 1000);
	assert_int_equal(fake.refused, 1);
	assert_int_equal(fake.lease.takes, 1);
	run_result_release(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gives_it_back),
		cmocka_unit_test(test_busy),
		cmocka_unit_test(test_waits),
		cmocka_unit_test(test_claims_until_told),
		cmocka_unit_test(test_rises_above_the_destination),
		cmocka_unit_test(test_beats),
		cmocka_unit_test(test_store_that_is_away),
		cmocka_unit_test(test_overtaken),
		cmocka_unit_test(test_never_renews_what_is_over),
		cmocka_unit_test(test_never_renews_late),
		cmocka_unit_test(test_overtaken_at_the_end),
		cmocka_unit_test(test_each_try_is_an_attempt),
	};

	log_set_level(LOG_SILENT);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
