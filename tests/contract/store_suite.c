/*
 * One suite over every state store, and the first part of it: attempts, marks
 * and paces. TIDEMARK_TEST_POSTGRES names a database that may be written to;
 * without it that engine is skipped.
 */
#include "core/store/history.h"
#include "core/store/pipelines.h"
#include "core/store/session.h"
#include "store_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chosen.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/secret.h"

struct part {
	const struct CMUnitTest *tests;
	size_t n;
};

static void check_ended(const struct attempt *got, const struct attempt *a)
{
	assert_string_equal(got->attempt_id, "a1");
	assert_string_equal(got->run_id, "r1");
	assert_string_equal(got->pipeline, "orders");
	assert_string_equal(got->state, "FAILED");
	assert_string_equal(got->outcome, "failed");
	assert_string_equal(got->host, "somewhere-else");
	assert_int_equal(got->pid, 4711);
	assert_int_equal(got->logic_version, 3);
	assert_int_equal(got->started_at, 1000);
	assert_int_equal(got->ended_at, INT64_MAX);
	assert_int_equal(got->heartbeat_at, 2);
	assert_int_equal(got->batches, 3);
	assert_int_equal(got->rows_read, 4);
	assert_int_equal(got->rows_inserted, 5);
	assert_int_equal(got->rows_updated, 6);
	assert_int_equal(got->rows_unchanged, 7);
	assert_int_equal(got->rows_deleted, 8);
	assert_int_equal(got->rows_dead_lettered, 9);
	assert_string_equal(got->watermark_before, a->watermark_before);
	assert_string_equal(got->watermark_after, a->watermark_after);
	assert_string_equal(got->guarantee, "lag");
	assert_string_equal(got->guarantee_reason, "no rights");
	assert_string_equal(got->error_code, "access");
	assert_string_equal(got->error_message, a->error_message);
	assert_string_equal(got->paused, a->paused);
}

/* An attempt comes back as it was written, every member. */
static void keeps_attempts(void **state)
{
	struct place *p = *state;
	struct store *s = place_open(p);
	struct attempt a = attempt_of("a1", "r1");
	struct attempt_list got;

	place_save(s, &a);
	got = place_list(s, "orders", 10);
	assert_int_equal(got.n, 1);
	assert_null(got.items[0].watermark_before);
	assert_null(got.items[0].error_code);
	assert_null(got.items[0].paused);
	attempt_list_release(&got);

	a.state = (char *)"FAILED";
	a.outcome = (char *)"failed";
	a.tenant = (char *)"";
	a.ended_at = INT64_MAX;
	a.heartbeat_at = 2;
	a.batches = 3;
	a.rows_read = 4;
	a.rows_inserted = 5;
	a.rows_updated = 6;
	a.rows_unchanged = 7;
	a.rows_deleted = 8;
	a.rows_dead_lettered = 9;
	a.watermark_before = (char *)"{\"value\":\"it's \\\"ü\\\"\"}";
	a.watermark_after = (char *)"{\"value\":\"9007199254740993\"}";
	a.guarantee = (char *)"lag";
	a.guarantee_reason = (char *)"no rights";
	a.error_code = (char *)"access";
	a.error_message = (char *)"disk full; DROP TABLE runs";
	a.paused = (char *)"{\"by\":\"pause_file\"}";
	place_save(s, &a);
	store_close(s);

	s = place_open(p);
	got = place_list(s, NULL, 10);
	assert_int_equal(got.n, 1);
	check_ended(&got.items[0], &a);
	attempt_list_release(&got);
	store_close(s);
}

/* The attempt of a pipeline that was saved last comes first, whatever the
 * clocks of the processes that began them said. */
static void lists_newest_first(void **state)
{
	struct place *p = *state;
	struct store *s = place_open(p);
	struct attempt a;
	struct attempt_list got;
	char id[24];

	for (int i = 0; i < 5; i++) {
		snprintf(id, sizeof(id), "a%d", i);
		a = attempt_of(id, "r");
		a.started_at = 100 * (i == 0 ? 9 : i);
		a.pipeline = (char *)(i == 4 ? "other" : "orders");
		place_save(s, &a);
	}
	got = place_list(s, "orders", 3);
	assert_int_equal(got.n, 3);
	assert_string_equal(got.items[0].attempt_id, "a3");
	assert_string_equal(got.items[1].attempt_id, "a2");
	assert_string_equal(got.items[2].attempt_id, "a1");
	attempt_list_release(&got);
	got = place_list(s, NULL, 2);
	assert_int_equal(got.n, 2);
	assert_string_equal(got.items[1].attempt_id, "a4");
	attempt_list_release(&got);
	got = place_list(s, "nobody", 2);
	assert_int_equal(got.n, 0);
	attempt_list_release(&got);
	store_close(s);
}

static void check_watermark(struct store *s, const char *pipeline,
			    const char *expected)
{
	struct error err = ERROR_INIT;
	char *got = NULL;

	assert_int_equal(store_mark_get(s, pipeline, &got, &err), 0);
	if (expected)
		assert_string_equal(got, expected);
	else
		assert_null(got);
	free(got);
}

static void mirrors_marks(void **state)
{
	struct place *p = *state;
	struct store *s = place_open(p);
	struct error err = ERROR_INIT;
	struct attempt a = attempt_of("a1", "r1");
	struct batch_record b = { .attempt_id = (char *)"a1",
				  .batch_id = (char *)"b1",
				  .pipeline = (char *)"orders",
				  .watermark = (char *)"{\"value\":\"1\"}",
				  .number = 1,
				  .rows = 10,
				  .inserted = 10,
				  .at = 5 };
	struct attempt_list got;

	check_watermark(s, "orders", NULL);
	a.batches = 1;
	a.rows_read = 10;
	/* Twice, as after a commit whose answer was lost. */
	assert_int_equal(store_batch_save(s, &b, &a, b.watermark, &err), 0);
	assert_int_equal(store_batch_save(s, &b, &a, b.watermark, &err), 0);
	check_watermark(s, "orders", "{\"value\":\"1\"}");
	got = place_list(s, "orders", 1);
	assert_int_equal(got.items[0].rows_read, 10);
	attempt_list_release(&got);
	assert_int_equal(store_mark_set(s, "orders", NULL, "{}", &err), 0);
	check_watermark(s, "orders", "{}");
	assert_int_equal(store_mark_set(s, "orders", NULL, NULL, &err), 0);
	check_watermark(s, "orders", NULL);
	check_watermark(s, "it's", NULL);
	assert_int_equal(store_mark_set(s, "it's", NULL, "{}", &err), 0);
	check_watermark(s, "it's", "{}");
	store_close(s);
}

static void keeps_paces(void **state)
{
	struct store *s = place_open(*state);
	struct error err = ERROR_INIT;
	struct pace_record got = { .settings = NULL };
	const char *texts[] = { "{\"a\":\"it's\"}", "{}", NULL };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		assert_int_equal(
			store_pace_set(s, "it's", texts[i], "ann", &err), 0);
		assert_int_equal(store_pace_set(s, "other", "{}", "bob", &err),
				 0);
		assert_int_equal(store_pace_get(s, "it's", &got, &err), 0);
		if (texts[i])
			assert_string_equal(got.settings, texts[i]);
		if (texts[i])
			assert_string_equal(got.changed_by, "ann");
		else
			assert_null(got.settings);
		assert_true(!texts[i] ||
			    llabs(clock_now_us() - got.changed_at) <
				    60 * US_PER_SECOND);
		pace_record_release(&got);
	}
	store_close(s);
}

/* Whoever has been overtaken records its batch, and leaves the mirror. */
static void mirrors_the_newest(void **state)
{
	struct place *p = *state;
	struct store *s = place_open(p);
	struct error err = ERROR_INIT;
	struct attempt old = attempt_of("a1", "r1"),
		       new = attempt_of("a2", "r2");
	struct batch_record b = { .attempt_id = (char *)"a1",
				  .batch_id = (char *)"b1",
				  .pipeline = (char *)"orders",
				  .number = 1 };

	place_save(s, &old);
	assert_int_equal(store_mark_set(s, "orders", "a1", "1", &err), 0);
	place_save(s, &new);
	assert_int_equal(store_batch_save(s, &b, &old, "2", &err), 0);
	assert_int_equal(store_mark_set(s, "orders", "a1", "3", &err), 0);
	check_watermark(s, "orders", "1");
	assert_int_equal(store_mark_set(s, "other", "a1", "4", &err), 0);
	check_watermark(s, "other", "4");
	assert_int_equal(store_mark_set(s, "orders", "a2", "5", &err), 0);
	check_watermark(s, "orders", "5");
	store_close(s);
}

/* A batch that cannot be saved leaves nothing of itself. */
static void saves_batches_whole(void **state)
{
	struct place *p = *state;
	struct store *s = place_open(p);
	struct error err = ERROR_INIT;
	struct attempt a = attempt_of("a1", "r1");
	struct batch_record b = { .attempt_id = (char *)"nobody",
				  .batch_id = (char *)"b1",
				  .pipeline = (char *)"orders",
				  .watermark = (char *)"{}",
				  .number = 1 };
	struct attempt_list got;

	assert_true(store_batch_save(s, &b, &a, b.watermark, &err) < 0);
	got = place_list(s, NULL, 10);
	assert_int_equal(got.n, 0);
	attempt_list_release(&got);
	check_watermark(s, "orders", NULL);
	store_close(s);
}

/* A run is in the state of its newest attempt, in whatever order they are
 * saved. */
static void derives_run_states(void **state)
{
	struct place *p = *state;
	struct store *s = place_open(p);
	struct attempt first = attempt_of("a1", "r1");
	struct attempt second = attempt_of("a2", "r1");

	second.started_at =
		first.started_at - 2000; /* a clock that went back */
	place_save(s, &first);
	check_run_state(p, "r1", "RUNNING");
	place_save(s, &second);
	second.state = (char *)"SUCCEEDED";
	place_save(s, &second);
	check_run_state(p, "r1", "SUCCEEDED");
	first.state = (char *)"FAILED";
	place_save(s, &first);
	check_run_state(p, "r1", "SUCCEEDED");
	store_close(s);
}

static void keeps_no_secret(void **state)
{
	struct place *p = *state;
	struct store *s = place_open(p);
	struct attempt a = attempt_of("a1", "r1");
	struct attempt_list got;

	secret_add("hunter2-canary");
	a.state = (char *)"FAILED";
	a.error_code = (char *)"access";
	a.error_message = (char *)"login with hunter2-canary failed";
	place_save(s, &a);
	got = place_list(s, "orders", 1);
	assert_null(strstr(got.items[0].error_message, "hunter2"));
	attempt_list_release(&got);
	secret_forget_all();
	store_close(s);
}

#define SHARED(make)                                                           \
	EACH(make, keeps_attempts), EACH(make, lists_newest_first),            \
		EACH(make, mirrors_marks), EACH(make, keeps_paces),            \
		EACH(make, mirrors_the_newest),                                \
		EACH(make, saves_batches_whole),                               \
		EACH(make, derives_run_states), EACH(make, keeps_no_secret)

static int run(const struct part *parts, size_t n_parts, const char *pattern)
{
	struct CMUnitTest *tests;
	size_t n = 0;
	int failed;

	for (size_t i = 0; i < n_parts; i++)
		n += parts[i].n;
	tests = xcalloc(n, sizeof(*tests));
	n = 0;
	for (size_t i = 0; i < n_parts; i++) {
		memcpy(tests + n, parts[i].tests, parts[i].n * sizeof(*tests));
		n += parts[i].n;
	}
	n = choose_cases(tests, n, pattern);
	failed = n ? _cmocka_run_group_tests("store", tests, n, NULL, NULL) : 2;
	free(tests);
	return failed;
}

static int run_files(const char *pattern)
{
	const struct CMUnitTest own[] = { SHARED(file) };
	const struct part parts[] = {
		{ own, ARRAY_SIZE(own) },
		{ store_places_file, store_places_n },
		{ store_files, store_files_n },
		{ store_leases_file, store_leases_n },
		{ store_runs_file, store_runs_n },
		{ store_letters_file, store_letters_n },
		{ store_chunks_file, store_chunks_n },
	};

	return run(parts, ARRAY_SIZE(parts), pattern);
}

static int run_postgres(const char *pattern)
{
	const struct CMUnitTest own[] = {
		SHARED(postgres),
		EACH(postgres, passes_by_a_locked_chunk),
		EACH(postgres, leaves_a_lease_from_afar),
		EACH(postgres, goes_past_a_chunk_with_a_lease),
		EACH(postgres, knows_a_run_to_come),
	};
	const struct part parts[] = {
		{ own, ARRAY_SIZE(own) },
		{ store_places_postgres, store_places_n },
		{ store_leases_postgres, store_leases_n },
		{ store_runs_postgres, store_runs_n },
		{ store_letters_postgres, store_letters_n },
		{ store_chunks_postgres, store_chunks_n },
	};

	return run(parts, ARRAY_SIZE(parts), pattern);
}

int main(int argc, char **argv)
{
	const char *engine = argc > 1 ? argv[1] : "";
	const char *pattern = argc > 2 ? argv[2] : NULL;

	if (!strcmp(engine, "sqlite"))
		return run_files(pattern);
	if (strcmp(engine, "postgres")) {
		fprintf(stderr,
			"usage: store_contract sqlite|postgres [PATTERN]\n");
		return 2;
	}
	if (!getenv("TIDEMARK_TEST_POSTGRES")) {
		fprintf(stderr, "# SKIP postgres: TIDEMARK_TEST_POSTGRES is "
				"not set\n");
		return 77;
	}
	return run_postgres(pattern);
}
