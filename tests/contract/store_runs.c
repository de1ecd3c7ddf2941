/* The history of runs: what is looked up, closed and forgotten. */
#include "core/store/history.h"
#include "core/store/notices.h"
#include "core/store/pipelines.h"
#include "core/store/session.h"
#include "core/store/standing.h"
#include "store_world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"

/* Whoever has the lease knows that no attempt before it can be running. */
static void closes_attempts(void **state)
{
	struct place *p = *state;
	struct store *s = place_open(p);
	struct error err = ERROR_INIT;
	struct attempt killed = attempt_of("killed", "r-killed");
	struct attempt lost = attempt_of("lost", "r-lost");
	struct attempt done = attempt_of("done", "r-done");
	struct attempt_list got;

	killed.pid = getpid();
	killed.started_at = 3;
	lost.started_at = 2;
	done.started_at = 1;
	done.state = (char *)"SUCCEEDED";
	place_save(s, &done);
	place_save(s, &lost);
	place_save(s, &killed);
	/* The number of a process that began at another time. */
	place_sql(p, "UPDATE attempts SET process_start ="
		     " process_start || '0' WHERE attempt_id = 'killed'");
	assert_int_equal(store_attempts_close(s, "another", &err), 0);
	check_run_state(p, "r-killed", "RUNNING");
	assert_int_equal(store_attempts_close(s, "orders", &err), 0);
	got = place_list(s, "orders", 10);
	assert_string_equal(got.items[0].state, "FAILED");
	assert_string_equal(got.items[0].outcome, "failed");
	assert_string_equal(got.items[0].error_code, "killed");
	assert_non_null(strstr(got.items[0].error_message, "somewhere-else"));
	assert_true(got.items[0].ended_at > 0);
	assert_string_equal(got.items[1].error_code, "lost");
	assert_non_null(strstr(got.items[1].error_message, "process 4711"));
	assert_string_equal(got.items[2].state, "SUCCEEDED");
	attempt_list_release(&got);
	check_run_state(p, "r-killed", "FAILED");
	check_run_state(p, "r-lost", "FAILED");
	check_run_state(p, "r-done", "SUCCEEDED");
	store_close(s);
}

/* A closed attempt does not run again, and tells its own end. */
static void keeps_closed_attempts(void **state)
{
	struct store *s = place_open(*state);
	struct error err = ERROR_INIT;
	struct attempt lost = attempt_of("lost", "r-lost");
	struct attempt_list got;

	place_save(s, &lost);
	assert_int_equal(store_attempts_close(s, "orders", &err), 0);
	/* It has not noticed yet. Then it does. */
	lost.rows_read = 7;
	place_save(s, &lost);
	got = place_list(s, "orders", 10);
	assert_string_equal(got.items[0].error_code, "lost");
	assert_int_equal(got.items[0].rows_read, 0);
	attempt_list_release(&got);
	lost.outcome = (char *)"failed";
	lost.state = (char *)"FAILED";
	lost.error_code = (char *)"state";
	place_save(s, &lost);
	got = place_list(s, "orders", 10);
	assert_string_equal(got.items[0].error_code, "state");
	assert_int_equal(got.items[0].rows_read, 7);
	attempt_list_release(&got);
	check_run_state(*state, "r-lost", "FAILED");
	store_close(s);
}

/* The try that was to follow never came; the earlier one's did. */
static void closes_the_last_try(void **state)
{
	struct store *s = place_open(*state);
	struct error err = ERROR_INIT;
	struct attempt tried = attempt_of("first", "r");
	struct attempt_list got;

	tried.outcome = (char *)"retried";
	tried.state = (char *)"FAILED";
	place_save(s, &tried);
	tried.attempt_id = (char *)"second";
	place_save(s, &tried);
	assert_int_equal(store_attempts_close(s, "orders", &err), 0);
	got = place_list(s, "orders", 10);
	assert_int_equal(got.n, 2);
	assert_string_equal(got.items[0].attempt_id, "second");
	assert_string_equal(got.items[0].outcome, "failed");
	assert_string_equal(got.items[1].outcome, "retried");
	attempt_list_release(&got);
	store_close(s);
}

static size_t count_runs(struct store *s, const char *pipeline,
			 const char *run_id, int64_t limit)
{
	const struct run_filter filter = { pipeline, run_id, limit };
	struct run_list list = { NULL, 0, 0 };
	struct error err = ERROR_INIT;
	size_t n;

	if (store_runs_list(s, &filter, &list, &err))
		fail_msg("%s", err.message);
	n = list.n;
	run_list_release(&list);
	return n;
}

static void lists_runs(void **state)
{
	struct store *s = place_open(*state);
	struct attempt a = attempt_of("a1", "r1");
	const struct run_filter filter = { "orders", NULL, 10 };
	struct run_list list = { NULL, 0, 0 };
	struct error err = ERROR_INIT;

	a.watermark_before = (char *)"{\"value\":\"1\"}";
	place_save(s, &a);
	a.attempt_id = (char *)"a2";
	a.state = (char *)"SUCCEEDED";
	a.watermark_after = (char *)"{\"value\":\"2\"}";
	a.started_at = 1500;
	place_save(s, &a);
	a = attempt_of("b1", "r2");
	a.started_at = 2000;
	place_save(s, &a);
	a = attempt_of("c1", "r3");
	a.pipeline = (char *)"it's";
	place_save(s, &a);
	assert_int_equal(store_runs_list(s, &filter, &list, &err), 0);
	assert_int_equal(list.n, 2);
	assert_string_equal(list.items[0].run_id, "r2");
	assert_null(list.items[0].window_from);
	assert_string_equal(list.items[1].run_id, "r1");
	assert_string_equal(list.items[1].pipeline, "orders");
	assert_string_equal(list.items[1].state, "SUCCEEDED");
	assert_string_equal(list.items[1].window_from, "{\"value\":\"1\"}");
	assert_string_equal(list.items[1].window_to, "{\"value\":\"2\"}");
	assert_int_equal(list.items[1].logic_version, 3);
	assert_int_equal(list.items[1].created_at, 1000);
	run_list_release(&list);
	assert_int_equal(count_runs(s, NULL, NULL, 10), 3);
	assert_int_equal(count_runs(s, NULL, NULL, 1), 1);
	assert_int_equal(count_runs(s, "it's", NULL, 10), 1);
	assert_int_equal(count_runs(s, NULL, "r1", 10), 1);
	assert_int_equal(count_runs(s, "orders", "r3", 10), 0);
	store_close(s);
}

static void save_batch(struct store *s, const struct attempt *a, int64_t number,
		       const char *error)
{
	struct error err = ERROR_INIT;
	struct batch_record b = {
		.attempt_id = a->attempt_id,
		.batch_id = (char *)"b",
		.pipeline = (char *)"orders",
		.window_from = (char *)"{\"value\":\"1\"}",
		.watermark = (char *)"{\"value\":\"2\"}",
		.error_code = (char *)(error ? "data" : NULL),
		.error_message = (char *)error,
		.number = number,
		.rows = 9,
		.inserted = 4,
		.updated = 3,
		.unchanged = 2,
		.deleted = 1,
		.dead_lettered = 6,
		.read_us = 11,
		.load_us = 12,
		.at = 13,
	};

	if (store_batch_save(s, &b, a, NULL, &err))
		fail_msg("%s", err.message);
}

static void lists_batches(void **state)
{
	struct store *s = place_open(*state);
	struct attempt first = attempt_of("z-first", "r1");
	struct attempt second = attempt_of("a-second", "r1");
	struct batch_list list = { NULL, 0, 0 };
	struct error err = ERROR_INIT;
	char *mark = NULL;

	second.started_at = first.started_at - 2000;
	save_batch(s, &first, 2, "no room for it");
	save_batch(s, &second, 1, NULL);
	save_batch(s, &first, 1, NULL);
	/* The mirror is left alone. */
	assert_int_equal(store_mark_get(s, "orders", &mark, &err), 0);
	assert_null(mark);
	assert_int_equal(store_batches_list(s, "r1", &list, &err), 0);
	assert_int_equal(list.n, 3);
	assert_string_equal(list.items[0].attempt_id, "z-first");
	assert_int_equal(list.items[0].number, 1);
	assert_null(list.items[0].error_code);
	assert_string_equal(list.items[0].window_from, "{\"value\":\"1\"}");
	assert_string_equal(list.items[0].watermark, "{\"value\":\"2\"}");
	assert_int_equal(list.items[0].rows, 9);
	assert_int_equal(list.items[0].inserted, 4);
	assert_int_equal(list.items[0].updated, 3);
	assert_int_equal(list.items[0].unchanged, 2);
	assert_int_equal(list.items[0].deleted, 1);
	assert_int_equal(list.items[0].dead_lettered, 6);
	assert_int_equal(list.items[0].read_us, 11);
	assert_int_equal(list.items[0].load_us, 12);
	assert_int_equal(list.items[0].at, 13);
	assert_string_equal(list.items[1].error_code, "data");
	assert_string_equal(list.items[1].error_message, "no room for it");
	assert_string_equal(list.items[2].attempt_id, "a-second");
	batch_list_release(&list);
	assert_int_equal(store_batches_list(s, "nobody", &list, &err), 0);
	assert_int_equal(list.n, 0);
	store_close(s);
}

/* Old attempts go, with their batches; the newest of a pipeline stays. */
static void prunes(void **state)
{
	struct store *s = place_open(*state);
	struct error err = ERROR_INIT;
	struct attempt a;
	struct attempt_list got;
	char id[24], run[24];

	for (int64_t day = 5; day >= 1; day--) {
		snprintf(id, sizeof(id), "a%" PRId64, day);
		snprintf(run, sizeof(run), "r%" PRId64, day);
		a = attempt_of(id, run);
		a.started_at = clock_now_us() - day * US_PER_DAY;
		save_batch(s, &a, 1, NULL);
	}
	a = attempt_of("lonely", "r-lonely");
	a.pipeline = (char *)"lonely";
	place_save(s, &a);
	assert_int_equal(store_history_prune(s, 10 * US_PER_DAY, &err), 0);
	assert_int_equal(count_runs(s, NULL, NULL, 10), 6);
	assert_int_equal(store_history_prune(s, 5 * US_PER_DAY / 2, &err), 0);
	got = place_list(s, NULL, 10);
	assert_int_equal(got.n, 3);
	assert_string_equal(got.items[1].attempt_id, "a2");
	assert_string_equal(got.items[2].attempt_id, "lonely");
	attempt_list_release(&got);
	assert_int_equal(count_runs(s, NULL, NULL, 10), 3);
	assert_int_equal(store_history_prune(s, 1, &err), 0);
	assert_int_equal(count_runs(s, NULL, NULL, 10), 2);
	place_sql(*state, "DELETE FROM attempts WHERE attempt_id = 'lonely'");
	/* One that fails does so until it has been mended, however long. */
	for (int64_t i = 0; i < 3; i++) {
		a = attempt_of((const char *[]){ "f", "w1", "w2" }[i], "waits");
		a.pipeline = (char *)"waits";
		a.state = (char *)(i ? "SUCCEEDED" : "FAILED");
		a.outcome = (char *)(i ? "waiting" : "failed");
		a.started_at = clock_now_us() - (9 - i) * US_PER_DAY;
		place_save(s, &a);
	}
	assert_int_equal(store_history_prune(s, US_PER_DAY, &err), 0);
	got = place_list(s, "waits", 10);
	assert_int_equal(got.n, 2);
	assert_string_equal(got.items[1].attempt_id, "f");
	attempt_list_release(&got);
	place_sql(*state, "DELETE FROM attempts WHERE pipeline = 'waits'");
	store_close(s);
}

static void tell(struct store *s, const char *pipeline)
{
	const struct notice_key key = { "somebody", pipeline, "health" };
	struct error err = ERROR_INIT;
	bool mine = false;

	if (store_notice_claim(s, &key, "ok", 0, "us", US_PER_SECOND, &mine,
			       &err) ||
	    store_notice_told(s, &key, "us", "failing", &err))
		fail_msg("%s", err.message);
	assert_true(mine);
}

static size_t count_told(struct store *s, const char *pipeline)
{
	struct notice_list list = { NULL, 0, 0 };
	struct error err = ERROR_INIT;
	size_t n;

	if (store_notices_list(s, pipeline, &list, &err))
		fail_msg("%s", err.message);
	n = list.n;
	notice_list_release(&list);
	return n;
}

/* A pipeline has not run since: its notices are forgotten. */
static void prunes_notices(void **state)
{
	struct store *s = place_open(*state);
	struct error err = ERROR_INIT;
	struct attempt old = attempt_of("a-old", "r-old"),
		       now = attempt_of("a-now", "r-now");

	old.pipeline = (char *)"gone";
	old.started_at = clock_now_us() - 5 * US_PER_DAY;
	now.pipeline = (char *)"here";
	now.started_at = clock_now_us();
	place_save(s, &old);
	place_save(s, &now);
	tell(s, "gone");
	tell(s, "here");
	assert_int_equal(store_history_prune(s, US_PER_DAY, &err), 0);
	assert_int_equal(count_told(s, "gone"), 1);
	place_sql(*state, "UPDATE notices SET changed_at = 7, claim_until = 0");
	assert_int_equal(store_history_prune(s, US_PER_DAY, &err), 0);
	assert_int_equal(count_told(s, "gone"), 0);
	assert_int_equal(count_told(s, "here"), 1);
	place_sql(*state, "DELETE FROM notices");
	place_sql(*state, "DELETE FROM attempts");
	store_close(s);
}

static void save_idle(struct store *s, const char *id, int64_t at,
		      const char *outcome, int64_t batches)
{
	struct attempt a = attempt_of(id, "r");
	struct error err = ERROR_INIT;

	a.state = (char *)(strcmp(outcome, "failed") ? "SUCCEEDED" : "FAILED");
	a.outcome = (char *)outcome;
	a.started_at = at;
	a.batches = batches;
	assert_int_equal(store_attempt_save(s, &a, &err), 0);
}

/* A run each minute: those that did nothing become few, all others stay. */
static void thins(void **state)
{
	static const char *const kept[] = { "m00", "m04", "m05", "m06",
					    "m07", "m09", "m14", "m19" };
	struct store *s = place_open(*state);
	struct error err = ERROR_INIT;
	struct attempt_list got;
	int64_t step = 300 * US_PER_SECOND;
	int64_t begin = (clock_now_us() - US_PER_DAY) / step * step;

	for (int64_t i = 0; i < 20; i++) {
		char id[24];

		snprintf(id, sizeof(id), "m%02" PRId64, i);
		save_idle(s, id, begin + i * 60 * US_PER_SECOND,
			  i == 6 ? "failed" : "caught_up", 0);
	}
	assert_int_equal(
		store_history_thin(s, 2 * US_PER_DAY, US_PER_DAY, &err), 0);
	got = place_list(s, NULL, 100);
	assert_int_equal(got.n, 20);
	attempt_list_release(&got);
	assert_int_equal(
		store_history_thin(s, US_PER_DAY / 2, US_PER_DAY, &err), 0);
	got = place_list(s, NULL, 100);
	assert_int_equal(got.n, ARRAY_SIZE(kept));
	for (size_t i = 0; i < got.n; i++)
		assert_string_equal(got.items[i].attempt_id,
				    kept[ARRAY_SIZE(kept) - 1 - i]);
	attempt_list_release(&got);
	place_sql(*state, "DELETE FROM attempts");
	/* The only one that worked stays, among those that waited. */
	for (int64_t i = 0; i < 5; i++)
		save_idle(s, (const char *[]){ "f", "w1", "c", "w2", "w3" }[i],
			  begin + i,
			  (const char *[]){ "failed", "waiting", "caught_up",
					    "waiting", "waiting" }[i],
			  0);
	assert_int_equal(
		store_history_thin(s, US_PER_DAY / 2, US_PER_DAY, &err), 0);
	got = place_list(s, NULL, 100);
	assert_int_equal(got.n, 5);
	attempt_list_release(&got);
	place_sql(*state, "DELETE FROM attempts");
	store_close(s);
}

static void save_end(struct store *s, const char *id, const char *outcome,
		     int64_t batches, const char *mark)
{
	struct attempt a = attempt_of(id, "r");
	bool failed = !strcmp(outcome, "failed");

	a.state = (char *)(*outcome ? failed ? "FAILED" : "SUCCEEDED"
				    : "RUNNING");
	a.outcome = (char *)outcome;
	a.batches = batches;
	a.watermark_before = (char *)"{}";
	a.watermark_after = (char *)mark;
	a.aside = !mark;
	a.error_code = (char *)(failed ? "access" : NULL);
	a.error_message = (char *)(failed ? id : NULL);
	place_save(s, &a);
}

static void check_standing(struct store *s, const char *const *expected)
{
	struct standing standing;
	struct error err = ERROR_INIT;

	if (store_standing_get(s, "orders", &standing, &err))
		fail_msg("%s", err.message);
	for (size_t i = 0; i < STANDING_ROLES; i++) {
		const struct standing_attempt *a = &standing.of[i];

		assert_string_equal(a->known ? a->attempt_id : "", expected[i]);
	}
	standing_release(&standing);
}

/* First, newest, success, mended, broke, failed. */
static void tells_the_standing(void **state)
{
	struct store *s = place_open(*state);
	struct attempt other = attempt_of("other", "o");

	other.pipeline = (char *)"others";
	other.outcome = (char *)"failed";
	place_save(s, &other);
	check_standing(s, (const char *[]){ "", "", "", "", "", "" });
	save_end(s, "a", "caught_up", 1, "{}");
	save_end(s, "b", "caught_up", 0, "{}");
	check_standing(s, (const char *[]){ "a", "b", "b", "a", "", "" });
	save_end(s, "c", "failed", 0, "{}");
	save_end(s, "d", "retried", 0, "{}");
	save_end(s, "e", "failed", 3, "{}");
	check_standing(s, (const char *[]){ "a", "e", "b", "", "c", "e" });
	/* Rows by their keys, a stop before any batch, a lease that was lost:
	 * they mend nothing. */
	save_end(s, "f", "caught_up", 1, NULL);
	save_end(s, "g", "stopped", 0, "{}");
	save_end(s, "h", "busy", 2, "{}");
	check_standing(s, (const char *[]){ "a", "h", "b", "", "c", "e" });
	save_end(s, "i", "stopped", 2, "{}");
	check_standing(s, (const char *[]){ "a", "i", "b", "i", "", "" });
	save_end(s, "j", "failed", 1, NULL);
	save_end(s, "k", "", 0, "{}");
	check_standing(s, (const char *[]){ "a", "k", "b", "i", "", "" });
	store_close(s);
}

#define SHARED(make)                                                           \
	EACH(make, closes_attempts), EACH(make, keeps_closed_attempts),        \
		EACH(make, closes_the_last_try), EACH(make, lists_runs),       \
		EACH(make, lists_batches), EACH(make, prunes),                 \
		EACH(make, prunes_notices), EACH(make, thins),                 \
		EACH(make, tells_the_standing)

const struct CMUnitTest store_runs_file[] = { SHARED(file) };
const struct CMUnitTest store_runs_postgres[] = { SHARED(postgres) };
const size_t store_runs_n = ARRAY_SIZE(store_runs_file);
