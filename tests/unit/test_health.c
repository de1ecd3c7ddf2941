/* The state of a pipeline, by the facts of the state store. */
#include "tests/unit/unit.h"

#include <jansson.h>

#include "core/base/clock.h"
#include "core/settings/settings.h"
#include "core/sync/report/health.h"

#define NOW	(1000 * US_PER_SECOND)
#define AGO(s)	(NOW - (s)*US_PER_SECOND)
#define RUNNING "RUNNING", ""
#define FAILED	"FAILED", "failed"
#define RETRIED "FAILED", "retried"
#define WORKED	"SUCCEEDED", "caught_up"

static void set(struct standing *s, enum standing_role role, const char *state,
		const char *outcome, int64_t ended_at)
{
	bool failed = !strcmp(state, "FAILED");

	s->of[role] = (struct standing_attempt){
		.known = true,
		.attempt_id = (char *)"a",
		.run_id = (char *)"r",
		.state = (char *)state,
		.outcome = (char *)outcome,
		.started_at = ended_at - US_PER_SECOND,
		.ended_at = strcmp(state, "RUNNING") ? ended_at : 0,
		.heartbeat_at = ended_at,
		.error_code = (char *)(failed ? "access" : NULL),
		.error_message = (char *)(failed ? "no route" : NULL),
	};
}

/* It caught up 100 s ago, at first, and fails since 50 s. */
static void fails(struct standing *s)
{
	set(s, STANDING_FIRST, WORKED, AGO(100));
	set(s, STANDING_SUCCESS, WORKED, AGO(100));
	set(s, STANDING_BROKE, FAILED, AGO(50));
	set(s, STANDING_FAILED, FAILED, AGO(10));
	set(s, STANDING_NEWEST, FAILED, AGO(10));
}

static void works(struct standing *s)
{
	set(s, STANDING_FIRST, WORKED, AGO(500));
	set(s, STANDING_MENDED, WORKED, AGO(400));
	set(s, STANDING_SUCCESS, WORKED, AGO(100));
	set(s, STANDING_NEWEST, WORKED, AGO(100));
}

static struct health judge(const struct standing *s, struct health_facts f)
{
	struct health h;

	f.name = "orders";
	f.now_us = NOW;
	f.standing = s;
	health_judge(&f, NULL, &h);
	return h;
}

static struct health plain(const struct standing *s)
{
	return judge(s, (struct health_facts){ .lag_us = 0 });
}

/* A run that goes on is not the one that failed, or caught up. */
static void test_names_the_run_that_made_it_so(void **state)
{
	struct standing s = { .of = { { .known = false } } };
	const struct health_facts leased = { .leased = true };
	struct health h;

	(void)state;
	fails(&s);
	set(&s, STANDING_NEWEST, RUNNING, AGO(1));
	s.of[STANDING_NEWEST].attempt_id = (char *)"newest";
	assert_string_equal(judge(&s, leased).attempt_id, "a");
	/* Nobody has it any more: that one failed. */
	assert_string_equal(plain(&s).attempt_id, "newest");
	memset(&s, 0, sizeof(s));
	works(&s);
	set(&s, STANDING_NEWEST, RUNNING, AGO(1));
	s.of[STANDING_NEWEST].attempt_id = (char *)"newest";
	assert_string_equal(judge(&s, leased).attempt_id, "a");
	assert_string_equal(judge(&s, leased).run_id, "r");
	/* Nor is one that waits. */
	set(&s, STANDING_NEWEST, "SUCCEEDED", "waiting", AGO(1));
	s.of[STANDING_NEWEST].attempt_id = (char *)"newest";
	h = judge(&s, (struct health_facts){
			      .waiting = { "pre_check", "too early", 0 } });
	assert_int_equal(h.state, HEALTH_WAITING);
	assert_string_equal(h.attempt_id, "a");
}

static void test_never_run(void **state)
{
	const struct standing s = { .of = { { .known = false } } };
	struct health h =
		judge(&s, (struct health_facts){ .lag_us = -1, .late_us = 1 });

	(void)state;
	assert_int_equal(h.state, HEALTH_NEVER_RUN);
	assert_int_equal(h.since, 0);
	assert_string_equal(h.lag_reason, "never run");
	assert_false(health_is_bad(&h));
}

static void test_ok_since_it_was_mended(void **state)
{
	struct standing s = { .of = { { .known = false } } };
	struct health h;

	(void)state;
	works(&s);
	h = plain(&s);
	assert_int_equal(h.state, HEALTH_OK);
	assert_int_equal(h.since, AGO(400));
	assert_int_equal(h.last_success, AGO(100));
	assert_int_equal(h.lag_us, 0);
	assert_null(h.error_message);
	/* A first run that is under way, or was stopped before a batch. */
	memset(&s, 0, sizeof(s));
	set(&s, STANDING_FIRST, RUNNING, AGO(3));
	set(&s, STANDING_NEWEST, RUNNING, AGO(3));
	h = judge(&s, (struct health_facts){ .leased = true, .lag_us = -1 });
	assert_int_equal(h.state, HEALTH_OK);
	assert_int_equal(h.since, AGO(4));
	assert_string_equal(h.lag_reason, "not known");
}

static void test_failing(void **state)
{
	struct standing s = { .of = { { .known = false } } };
	struct health h;

	(void)state;
	fails(&s);
	h = plain(&s);
	assert_int_equal(h.state, HEALTH_FAILING);
	assert_int_equal(h.since, AGO(50));
	assert_int_equal(h.last_success, AGO(100));
	assert_string_equal(h.error_code, "access");
	assert_string_equal(h.error_message, "no route");
	assert_true(health_is_bad(&h));
	/* Its next run is under way, and says nothing yet. */
	set(&s, STANDING_NEWEST, RUNNING, AGO(1));
	h = judge(&s, (struct health_facts){ .leased = true, .lag_us = 0 });
	assert_int_equal(h.state, HEALTH_FAILING);
	assert_int_equal(h.since, AGO(50));
}

static void test_lag_of_a_failure(void **state)
{
	struct standing s = { .of = { { .known = false } } };
	struct health h;

	(void)state;
	fails(&s);
	/* Its success began 101 s ago. */
	assert_int_equal(plain(&s).lag_us, 101 * US_PER_SECOND);
	h = judge(&s, (struct health_facts){ .lag_us = US_PER_SECOND - 1 });
	assert_int_equal(h.lag_us, 101 * US_PER_SECOND);
	h = judge(&s, (struct health_facts){ .lag_us = 7 * US_PER_SECOND });
	assert_int_equal(h.lag_us, 7 * US_PER_SECOND);
	h = judge(&s, (struct health_facts){ .lag_us = -1,
					     .lag_reason = "source failed" });
	assert_int_equal(h.lag_us, -1);
	assert_string_equal(h.lag_reason, "source failed");
	s.of[STANDING_SUCCESS].known = false;
	h = plain(&s);
	assert_int_equal(h.lag_us, -1);
	assert_string_equal(h.lag_reason, "never caught up");
}

static void test_cut_off(void **state)
{
	struct standing s = { .of = { { .known = false } } };
	struct health h;

	(void)state;
	works(&s);
	set(&s, STANDING_NEWEST, RUNNING, AGO(5));
	assert_true(health_is_cut_off(&s, false));
	assert_false(health_is_cut_off(&s, true));
	h = plain(&s);
	assert_int_equal(h.state, HEALTH_FAILING);
	assert_int_equal(h.since, AGO(5));
	assert_string_equal(h.error_code, "lost");
	h = judge(&s, (struct health_facts){ .leased = true });
	assert_int_equal(h.state, HEALTH_OK);
	/* A repair, or a replay. */
	s.of[STANDING_NEWEST].aside = true;
	assert_int_equal(plain(&s).state, HEALTH_OK);
}

static void test_another_try(void **state)
{
	struct standing s = { .of = { { .known = false } } };
	struct health h;

	(void)state;
	works(&s);
	set(&s, STANDING_NEWEST, RETRIED, AGO(5));
	h = judge(&s, (struct health_facts){ .leased = true });
	assert_int_equal(h.state, HEALTH_WAITING);
	assert_string_equal(h.waiting.reason, "retry");
	assert_string_equal(h.waiting.whom, "no route");
	assert_string_equal(h.error_code, "access");
	assert_int_equal(h.since, AGO(5));
	assert_false(health_is_bad(&h));
	/* It died while it waited. */
	h = plain(&s);
	assert_int_equal(h.state, HEALTH_FAILING);
	assert_string_equal(h.error_message, "no route");
}

static void test_late(void **state)
{
	struct standing s = { .of = { { .known = false } } };
	const struct health_facts by = { .late_us = 100 * US_PER_SECOND };
	struct health h;

	(void)state;
	works(&s);
	assert_int_equal(judge(&s, by).state, HEALTH_OK);
	set(&s, STANDING_SUCCESS, WORKED, AGO(130));
	h = judge(&s, by);
	assert_int_equal(h.state, HEALTH_LATE);
	assert_int_equal(h.since, AGO(30));
	assert_true(health_is_bad(&h));
	assert_int_equal(plain(&s).state, HEALTH_OK);
	/* One that never caught up is late by its first run. */
	s.of[STANDING_SUCCESS].known = false;
	s.of[STANDING_SUCCESS].ended_at = 0;
	h = judge(&s, by);
	assert_int_equal(h.state, HEALTH_LATE);
	assert_int_equal(h.since, AGO(401));
	/* To fail is worse. */
	fails(&s);
	h = judge(&s, (struct health_facts){ .late_us = 1 });
	assert_int_equal(h.state, HEALTH_FAILING);
}

static void test_waiting_and_paused(void **state)
{
	json_t *hold =
		json_pack("{s:s, s:s, s:s}", "by", "max_active", "reason",
			  "9 sessions", "since", "1970-01-01T00:15:00.000000Z");
	struct standing s = { .of = { { .known = false } } };
	struct health_facts f = {
		.name = "orders", .now_us = NOW, .standing = &s, .leased = true
	};
	struct health h;

	(void)state;
	works(&s);
	set(&s, STANDING_NEWEST, RUNNING, AGO(5));
	health_judge(&f, hold, &h);
	assert_int_equal(h.state, HEALTH_WAITING);
	assert_string_equal(h.waiting.reason, "pace");
	assert_string_equal(h.waiting.whom, "9 sessions");
	assert_int_equal(h.since, 900 * US_PER_SECOND);
	json_object_set_new(hold, "by", json_string("pause_file"));
	health_judge(&f, hold, &h);
	assert_int_equal(h.state, HEALTH_PAUSED);
	assert_null(h.waiting.reason);
	/* One that an operator paused is not called failing or late. */
	fails(&s);
	f.late_us = 1;
	f.paused = (struct health_wait){ "operator", "ann", AGO(2) };
	health_judge(&f, NULL, &h);
	assert_int_equal(h.state, HEALTH_PAUSED);
	assert_string_equal(h.paused.whom, "ann");
	assert_int_equal(h.since, AGO(2));
	assert_null(h.error_message);
	json_decref(hold);
}

static void test_fault(void **state)
{
	const struct error fault = { .code = ERROR_SCHEMA,
				     .message = "no key" };
	struct standing s = { .of = { { .known = false } } };
	struct health h = judge(&s, (struct health_facts){ .fault = &fault });

	(void)state;
	assert_int_equal(h.state, HEALTH_FAILING);
	assert_string_equal(h.error_code, "schema");
	assert_string_equal(h.error_message, "no key");
	assert_string_equal(h.lag_reason, "never caught up");
}

static void test_counts(void **state)
{
	struct health_counts counts = { .all = 0 };
	struct strbuf sb = STRBUF_INIT;
	json_t *json;

	(void)state;
	for (size_t i = 0; i < 34; i++)
		health_count(&counts, &(struct health){ .state = HEALTH_OK });
	health_count(&counts, &(struct health){ .state = HEALTH_WAITING });
	health_count(&counts, &(struct health){ .state = HEALTH_FAILING });
	health_count(&counts, &(struct health){ .state = HEALTH_FAILING });
	health_counts_add(&sb, &counts);
	assert_string_equal(sb.data,
			    "37 pipelines: 34 ok, 2 failing, 1 waiting");
	strbuf_release(&sb);
	json = health_counts_json(&counts);
	assert_int_equal(json_integer_value(json_object_get(json, "ok")), 34);
	assert_int_equal(json_integer_value(json_object_get(json, "late")), 0);
	json_decref(json);
	counts = (struct health_counts){ .all = 0 };
	health_count(&counts, NULL);
	health_counts_add(&sb, &counts);
	assert_string_equal(sb.data, "1 pipeline: 1 not known");
	strbuf_release(&sb);
}

static void check_words(const char *message, size_t most, const char *expected)
{
	char *words = health_first_words(message, most);

	assert_string_equal(words, expected);
	free(words);
}

static void test_first_words(void **state)
{
	(void)state;
	check_words("as it is", 8, "as it is");
	check_words("cut between words", 14, "cut between...");
	check_words("oneverylongwordofall", 6, "onever...");
	check_words("\xc3\xa4\xc3\xa4\xc3\xa4", 5, "\xc3\xa4\xc3\xa4...");
	check_words("", 3, "");
}

static void test_late_by_schedule(void **state)
{
	const struct alert_settings three = { .late_schedules = 3 };
	const struct alert_settings hour = { .late_us = 3600 };
	const struct alert_settings huge = { .late_schedules = INT64_MAX };

	(void)state;
	assert_int_equal(alert_late_us(&three, 0), 0);
	assert_int_equal(alert_late_us(&three, 5), 15);
	assert_int_equal(alert_late_us(&hour, 0), 3600);
	assert_int_equal(alert_late_us(&hour, 5), 3600);
	assert_int_equal(alert_late_us(&huge, 5), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_the_run_that_made_it_so),
		cmocka_unit_test(test_never_run),
		cmocka_unit_test(test_ok_since_it_was_mended),
		cmocka_unit_test(test_failing),
		cmocka_unit_test(test_lag_of_a_failure),
		cmocka_unit_test(test_cut_off),
		cmocka_unit_test(test_another_try),
		cmocka_unit_test(test_late),
		cmocka_unit_test(test_waiting_and_paused),
		cmocka_unit_test(test_fault),
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_first_words),
		cmocka_unit_test(test_late_by_schedule),
	};

	return cmocka_run_group_tests_name("health", tests, NULL, NULL);
}
