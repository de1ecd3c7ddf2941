/* --from and --to: what is a value, and which comes first. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/sync/backfill/backfill.h"
#include "core/sync/parts/range_value.h"

struct value_case {
	enum range_kind kind;
	const char *a, *b;
	int order; /* order of a and b; 9: a is no value */
};

static const struct value_case cases[] = {
	{ RANGE_NUMBER, "7", "10", -1 },
	{ RANGE_NUMBER, "-7", "-10", 1 },
	{ RANGE_NUMBER, "-1", "0", -1 },
	{ RANGE_NUMBER, "007", "7", 0 },
	{ RANGE_NUMBER, "0", "0", 0 },
	{ RANGE_NUMBER, "99999999999999999999", "100000000000000000000", -1 },
	{ RANGE_NUMBER, "7.5", "", 9 },
	{ RANGE_NUMBER, "-", "", 9 },
	{ RANGE_NUMBER, "", "", 9 },
	{ RANGE_NUMBER, "7 ", "", 9 },
	{ RANGE_TIME, "2026-01-31", "2026-01-31 00:00:00", 0 },
	{ RANGE_TIME, "2026-01-31", "2026-01-30T23:59:59Z", 1 },
	{ RANGE_TIME, "2026-01-31 12:00:00+02", "2026-01-31 10:00:00.000001",
	  -1 },
	{ RANGE_TIME, "0044-03-15 BC", "0001-01-01", -1 },
	{ RANGE_TIME, "2026-02-30", "", 9 },
	{ RANGE_TIME, "now", "", 9 },
	{ RANGE_TEXT, "a", "b", -1 },
	{ RANGE_TEXT, "Z", "a", -1 },
	{ RANGE_OTHER, "b", "a", 0 },
};

static int sign(int x)
{
	return (x > 0) - (x < 0);
}

static void test_values(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct value_case *c = &cases[i];
		struct error err = ERROR_INIT;
		char *out = NULL;
		int rc = range_value_read(c->kind, "id", "--from", c->a, &out,
					  &err);

		if (c->order == 9) {
			if (rc != -ERROR_CONFIG || !strstr(err.message, "id"))
				fail_msg("\"%s\": %d %s", c->a, rc,
					 err.message);
			continue;
		}
		assert_int_equal(rc, 0);
		assert_string_equal(out, c->a);
		free(out);
		if (sign(range_value_compare(c->kind, c->a, c->b)) !=
			    c->order ||
		    sign(range_value_compare(c->kind, c->b, c->a)) != -c->order)
			fail_msg("\"%s\" and \"%s\"", c->a, c->b);
	}
}

static void test_open_end(void **state)
{
	char *out = (char *)"";

	(void)state;
	assert_int_equal(
		range_value_read(RANGE_TIME, "id", "--to", NULL, &out, NULL),
		0);
	assert_null(out);
}

struct time_case {
	enum type_kind type;
	bool mysql;
	const char *from;
	const char *expected; /* NULL: an open end; "!...": what is said */
};

static const struct time_case times[] = {
	{ TYPE_TIMESTAMPTZ, false, "2026-01-31T05:30:00+05:30",
	  "2026-01-31 00:00:00+00" },
	{ TYPE_TIMESTAMPTZ, true, "2026-01-31", "2026-01-31 00:00:00+00" },
	{ TYPE_TIMESTAMP, true, "2026-01-31T01:00:00Z", "2026-01-31 01:00:00" },
	{ TYPE_TIMESTAMP, false, "2026-01-31 01:00:00+00:00",
	  "2026-01-31 01:00:00" },
	{ TYPE_TIMESTAMP, false, "2026-01-31 01:00:00-02", "!no time zone" },
	{ TYPE_TIMESTAMP, false, "0044-03-15 BC", "0044-03-15 00:00:00 BC" },
	{ TYPE_TIMESTAMP, true, "0044-03-15 BC", "!1 to 9999" },
	{ TYPE_TIMESTAMP, true, "10000-01-01", "!1 to 9999" },
	{ TYPE_TIMESTAMP, true, "9999-12-31 23:59:59.999999",
	  "9999-12-31 23:59:59.999999" },
	{ TYPE_TIMESTAMPTZ, true, "infinity", "!1 to 9999" },
	{ TYPE_TIMESTAMPTZ, false, "infinity", "infinity" },
	{ TYPE_TIMESTAMPTZ, true, "-infinity", NULL },
	{ TYPE_DATE, false, "2026-01-31 00:00:00", "2026-01-31" },
	{ TYPE_DATE, false, "2026-01-31 12:00:00", "!holds days" },
};

static void test_times(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		const struct time_case *c = &times[i];
		struct error err = ERROR_INIT;
		char *text = xstrdup(c->from);
		int rc = range_value_time(c->type, c->mysql, "at", "--from",
					  &text, &err);

		if (c->expected && *c->expected == '!') {
			if (rc != -ERROR_CONFIG ||
			    !strstr(err.message, c->expected + 1))
				fail_msg("%s: %s", c->from, err.message);
		} else if (rc || !text != !c->expected ||
			   (text && strcmp(text, c->expected) != 0)) {
			fail_msg("%s: %s", c->from, text);
		}
		free(text);
	}
}

/* Two workers in two minutes, a night, and one more minute; a chunk that was
 * set aside is nobody's to do. */
static void test_speed(void **state)
{
	struct chunk items[] = {
		{ .state = "done", .rows = 100, .ended_at = 120 },
		{ .state = "failed", .rows = 9000, .ended_at = 130 },
		{ .state = "done",
		  .rows = 50,
		  .started_at = 30000,
		  .ended_at = 30060 },
		{ .state = "done",
		  .rows = 30,
		  .started_at = 60,
		  .ended_at = 90 },
		{ .state = "running", .rows = 40, .started_at = 30060 },
		{ .state = "queued", .rows = 50 },
	};
	struct chunk_list list = { items, ARRAY_SIZE(items), 0 };
	struct backfill_sums sums;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(items); i++) {
		items[i].backfill_id = "b";
		items[i].started_at *= US_PER_SECOND;
		items[i].ended_at *= US_PER_SECOND;
	}
	backfill_sum(&list, NULL, &sums);
	assert_int_equal(sums.done + sums.running + sums.queued + sums.failed,
			 6);
	assert_int_equal((int)sums.rate, 1);
	assert_int_equal((int)(sums.eta_seconds + 0.5), 90);
	backfill_sum(&list, "another", &sums);
	assert_int_equal((int)sums.eta_seconds, -1);
}

/* Among the held chunks, the hold of the one that waits the longest is told, in
 * `status` and in the line. */
static void test_hold(void **state)
{
	struct chunk items[] = {
		{ .state = "done", .rows = 10 },
		{ .state = "running",
		  .paused = "{\"by\":\"pause_file\",\"reason\":\"it exists\","
			    "\"since\":\"2026-01-02T00:00:00.000000Z\"}" },
		{ .state = "running",
		  .paused = "{\"by\":\"probe\",\"reason\":\"9 jobs\","
			    "\"since\":\"2026-01-01T00:00:00.000000Z\"}" },
		{ .state = "running" },
	};
	struct chunk_list list = { items, ARRAY_SIZE(items), 0 };
	struct backfill_sums sums;
	json_t *json;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(items); i++)
		items[i].backfill_id = items[i].chunk_id = "b";
	backfill_sum(&list, NULL, &sums);
	assert_int_equal(sums.held, 2);
	assert_string_equal(sums.paused, items[2].paused);
	json = backfill_newest_json(&list);
	assert_string_equal(json_string_value(json_object_get(
				    json_object_get(json, "paused"), "by")),
			    "probe");
	json_decref(json);
	items[1].paused = items[2].paused = NULL;
	backfill_sum(&list, NULL, &sums);
	assert_int_equal(sums.held, 0);
	assert_null(sums.paused);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values), cmocka_unit_test(test_open_end),
		cmocka_unit_test(test_times),  cmocka_unit_test(test_speed),
		cmocka_unit_test(test_hold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
