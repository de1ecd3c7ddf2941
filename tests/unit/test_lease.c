/* The lease of a pipeline: who gets it, its heartbeat, its end. */
#include <inttypes.h>
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
#include "core/base/process.h"
#include "core/base/stop.h"
#include "core/sync/ledger/lease.h"
#include "core/sync/run/pipeline.h"
#include "core/sync/tasks/sync.h"
#include "tests/unit/fake_engines.h"
#include "tests/unit/faulty_store.h"

#define MS 1000
/* Longer than any machine takes for a test: what ends one here is a clock that
 * was moved. */
#define LEASE_US    (300 * US_PER_SECOND)
#define BEAT_US	    (LEASE_US / 3)
#define PATIENCE_MS 120000

/* The linker leads the calls of lease.c and beat.c here (-Wl,--wrap). */
int64_t __real_clock_boot_us(void);
int64_t __wrap_clock_boot_us(void);
int64_t __real_clock_monotonic_us(void);
int64_t __wrap_clock_monotonic_us(void);
static _Atomic int64_t test_boot_ahead;

/* Our clock, by which a lease runs out. */
int64_t __wrap_clock_boot_us(void)
{
	return __real_clock_boot_us() + test_boot_ahead;
}

/* By which the beats wait: nearly the time of one behind, so that a beat comes
 * at once. Differences are as ever. */
int64_t __wrap_clock_monotonic_us(void)
{
	return __real_clock_monotonic_us() - BEAT_US + 20 * MS;
}

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
	return pipeline_run(&p, faulty_store(), &options, out, &err);
}

static int test_run(struct run_result *out)
{
	return test_run_terms(out, LEASE_US, 0);
}

static void test_reset(int64_t rows)
{
	fake_reset(rows);
	test_boot_ahead = 0;
}

/* A lease of process 4711 in another container of this machine. With `until` 0
 * it was given back and is nobody's, with 1 uncleanly. */
static void test_lease(int fence, int64_t until)
{
	char *mark = process_mark();
	char *sql = xstrfmt(
		"INSERT INTO leases (name, fence, holder, host, pid, process,\n"
		"                    session, since, until)\n"
		"VALUES ('p', %d, 'other', 'somewhere', 4711,\n"
		"        '%.*s/pid:[1]/1', '', 1, %" PRId64 ")\n"
		"ON CONFLICT (name) DO UPDATE SET fence = excluded.fence,\n"
		"  holder = excluded.holder, host = excluded.host,\n"
		"  pid = excluded.pid, process = excluded.process,\n"
		"  until = excluded.until",
		fence, (int)strcspn(mark, "/"), mark, until);

	faulty_store_do(sql);
	free(sql);
	free(mark);
}

static void test_hold(int64_t for_us)
{
	test_lease(7, clock_now_us() + for_us);
}

static int64_t lease_column(const char *name)
{
	char *sql = xstrfmt("SELECT %s FROM leases WHERE name = 'p'", name);
	int64_t n = faulty_store_number(sql);

	free(sql);
	return n;
}

static int64_t test_number(const json_t *json, const char *name)
{
	return json_integer_value(json_object_get(json, name));
}

static void test_gives_it_back(void **state)
{
	struct run_result r;

	(void)state;
	test_reset(10);
	for (int i = 1; i <= 3; i++) {
		assert_int_equal(test_run(&r), 0);
		assert_int_equal(faulty_store_count(FAULTY_GIVE), i);
		assert_int_equal(lease_column("until"), 0);
		assert_int_equal(lease_column("fence"), i);
		run_result_release(&r);
	}
	assert_int_equal(fake.lease_at_load, 1);
	/* The first run has no predecessor, so only it claims the row. */
	assert_int_equal(fake.claims, 1);
}

static void test_busy(void **state)
{
	struct run_result r;

	(void)state;
	test_reset(10);
	test_hold(US_PER_DAY);
	assert_int_equal(test_run(&r), -ERROR_STATE);
	assert_int_equal(r.outcome, OUTCOME_BUSY);
	assert_int_equal(fake.opens, 0);
	assert_null(faulty_store_text(LAST_STATE));
	assert_int_equal(test_number(r.held_by, "pid"), 4711);
	assert_int_equal(test_number(r.held_by, "fence"), 7);
	assert_string_equal(
		json_string_value(json_object_get(r.held_by, "host")),
		"somewhere");
	assert_non_null(json_object_get(r.held_by, "since"));
	assert_non_null(json_object_get(r.held_by, "until"));
	assert_non_null(strstr(r.error.message, "process 4711 on somewhere"));
	assert_int_equal(faulty_store_count(FAULTY_GIVE), 0);
	run_result_release(&r);
}

static void test_waits(void **state)
{
	struct run_result r;
	int64_t begun = clock_monotonic_us();

	(void)state;
	test_reset(10);
	test_hold(300 * MS);
	assert_int_equal(test_run_terms(&r, LEASE_US, LEASE_US), 0);
	assert_true(clock_monotonic_us() - begun >= 290 * MS);
	assert_int_equal(lease_column("fence"), 8);
	assert_int_equal(r.rows_read, 10);
	run_result_release(&r);
	test_hold(US_PER_DAY);
	begun = clock_monotonic_us();
	assert_int_equal(test_run_terms(&r, LEASE_US, 300 * MS), -ERROR_STATE);
	assert_true(clock_monotonic_us() - begun >= 290 * MS);
	run_result_release(&r);
}

/* Whoever is behind an unclean end tells the destination; if it did not come
 * to that, so does the next. */
static void test_claims_until_told(void **state)
{
	struct run_result r;

	(void)state;
	test_reset(10);
	fake.stored_fence = 40;
	test_lease(45, 1);
	fake.source_rows = -1; /* no source */
	assert_int_equal(test_run(&r), -ERROR_ACCESS);
	run_result_release(&r);
	assert_int_equal(lease_column("until"), 1);
	assert_int_equal(fake.claims, 0);
	fake.source_rows = 10;
	assert_int_equal(test_run(&r), 0);
	run_result_release(&r);
	assert_int_equal(fake.claims, 1);
	assert_int_equal(lease_column("until"), 0);
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
	test_reset(10);
	fake.stored_fence = 40;
	assert_int_equal(test_run(&r), 0);
	assert_int_equal(fake.claims, 1);
	assert_int_equal(fake.lease_at_load, 41);
	assert_int_equal(lease_column("fence"), 41);
	run_result_release(&r);
}

/* Until so many more renewals were asked for; one who waits for ever is to
 * fail.
 */
static void test_wait_for_beats(int more)
{
	int wanted = faulty_store_count(FAULTY_RENEW) + more;

	for (int i = 0; i < PATIENCE_MS; i++) {
		if (faulty_store_count(FAULTY_RENEW) >= wanted)
			return;
		clock_sleep_us(MS);
	}
}

/* Until the run has been told that its lease is lost: the thread that renews
 * it has closed its handle, then. */
static void test_wait_for_the_end(void)
{
	for (int i = 0; i < PATIENCE_MS && faulty_store_handles() > 1; i++)
		clock_sleep_us(MS);
}

/* The lease lasts on: both clocks go past its first end, a piece at a time. */
static void test_outlast_by_beats(void)
{
	for (int i = 1; i <= 4; i++) {
		test_boot_ahead = i * (LEASE_US / 2);
		faulty_store_clock(test_boot_ahead);
		test_wait_for_beats(2);
	}
}

static void test_beats(void **state)
{
	struct run_result r;

	(void)state;
	test_reset(10);
	fake.in_load = test_outlast_by_beats;
	assert_int_equal(test_run(&r), 0);
	assert_int_equal(fake.arrived[10], 1);
	run_result_release(&r);
}

/* It runs out in the middle of a load, for one reason or another: nothing of
 * that load is committed. */
static void check_lost(void (*in_load)(void))
{
	struct run_result r;

	fake.in_load = in_load;
	assert_int_equal(test_run(&r), -ERROR_STATE);
	assert_int_equal(r.outcome, OUTCOME_BUSY);
	assert_int_equal(fake.arrived[1], 0);
	assert_string_equal(faulty_store_text(LAST_STATE), "FAILED");
	assert_non_null(strstr(r.error.message, "lease of this run"));
	run_result_release(&r);
}

static void test_fail_renewals(int times)
{
	faulty_store_fail(FAULTY_RENEW, ERROR_TRANSIENT, times);
	test_wait_for_beats(3);
}

static void test_go_away(void)
{
	test_fail_renewals(-1);
	test_boot_ahead = LEASE_US + US_PER_SECOND;
}

static void test_store_that_is_away(void **state)
{
	(void)state;
	test_reset(10);
	check_lost(test_go_away);
}

/* And then the lease is renewed as ever. */
static void test_hiccup(void)
{
	test_fail_renewals(2);
	test_outlast_by_beats();
}

static void test_store_that_comes_back(void **state)
{
	struct run_result r;

	(void)state;
	test_reset(10);
	fake.in_load = test_hiccup;
	assert_int_equal(test_run(&r), 0);
	assert_int_equal(fake.arrived[10], 1);
	run_result_release(&r);
}

static void test_steal(void)
{
	test_wait_for_beats(1);
	test_hold(US_PER_DAY);
	test_wait_for_the_end();
}

static void test_overtaken(void **state)
{
	struct run_result r;

	(void)state;
	test_reset(10);
	check_lost(test_steal);
	/* It stays the other's. */
	assert_int_equal(lease_column("holder = 'other'"), 1);
	assert_true(lease_column("until") > clock_now_us());
	assert_int_equal(test_run(&r), -ERROR_STATE);
	run_result_release(&r);
}

/* The store's clock says that it is over, though nobody has taken it. */
static void test_expire(void)
{
	test_wait_for_beats(1);
	faulty_store_clock(LEASE_US + US_PER_SECOND);
	test_wait_for_the_end();
}

static void test_never_renews_what_is_over(void **state)
{
	(void)state;
	test_reset(10);
	check_lost(test_expire);
	assert_true(lease_column("until") <=
		    clock_now_us() + LEASE_US + US_PER_SECOND);
}

/* A store that was away for longer than the lease, and whose clock says that
 * there is time left: ours says that it is over. */
static void test_return_late(void)
{
	faulty_store_do("UPDATE leases SET until = until + 86400000000");
	test_fail_renewals(-1);
	test_boot_ahead = LEASE_US + US_PER_SECOND;
	faulty_store_fail("", ERROR_NONE, 0);
	clock_sleep_us(100 * MS);
}

static void test_never_renews_late(void **state)
{
	(void)state;
	test_reset(10);
	check_lost(test_return_late);
}

/* Behind the last batch there is nothing left to be kept from; but the last
 * word on how far the pipeline is may be another's. */
static void test_overtaken_at_the_end(void **state)
{
	struct run_result r;

	(void)state;
	test_reset(10);
	fake.in_close = test_steal;
	assert_int_equal(test_run(&r), -ERROR_STATE);
	assert_int_equal(r.outcome, OUTCOME_BUSY);
	assert_int_equal(fake.arrived[10], 1);
	assert_string_equal(faulty_store_text(LAST_STATE), "FAILED");
	assert_non_null(strstr(r.error.message, "nothing is missing"));
	assert_int_equal(test_number(r.held_by, "pid"), 4711);
	run_result_release(&r);
}

static void test_each_try_is_an_attempt(void **state)
{
	struct run_result r;

	(void)state;
	test_reset(1000);
	fake.fail_load_at = 3;
	fake.fail_load_with = ERROR_TRANSIENT;
	assert_int_equal(test_run(&r), 0);
	assert_int_equal(r.rows_read, 1000);
	assert_int_equal(faulty_store_number("SELECT count(*) FROM attempts"),
			 2);
	assert_int_equal(faulty_store_number("SELECT count(*) FROM runs"), 1);
	assert_int_equal(
		faulty_store_number("SELECT sum(rows_read) FROM attempts"),
		1000);
	assert_int_equal(faulty_store_number("SELECT count(*) FROM batches\n"
					     "WHERE error_code IS NOT NULL"),
			 1);
	assert_int_equal(faulty_store_count(FAULTY_TAKE), 1);
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
		cmocka_unit_test(test_store_that_comes_back),
		cmocka_unit_test(test_overtaken),
		cmocka_unit_test(test_never_renews_what_is_over),
		cmocka_unit_test(test_never_renews_late),
		cmocka_unit_test(test_overtaken_at_the_end),
		cmocka_unit_test(test_each_try_is_an_attempt),
	};

	log_set_level(LOG_SILENT);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
