#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/schedule.h"
#include "core/data/value.h"
#include "tests/unit/unit.h"

#define DAY    INT64_C(86400)
#define MINUTE (60 * US_PER_SECOND)

static int64_t at(const char *text)
{
	int64_t us;

	assert_true(value_parse_instant(text, &us));
	return us;
}

static struct schedule made(const char *text, const char *zone)
{
	struct schedule s = { .kind = SCHEDULE_MANUAL };
	struct error err = ERROR_INIT;

	if (schedule_parse(text, &s, &err) ||
	    (zone && schedule_set_zone(&s, zone, &err)))
		fail_msg("%s", err.message);
	return s;
}

/* One line of times: each is the next one after that before it. */
static void expect_times(const char *text, const char *zone, const char *after,
			 const char *const *times)
{
	struct schedule s = made(text, zone);
	int64_t now = at(after);

	for (; *times; times++) {
		char found[CLOCK_TEXT_SIZE];

		now = schedule_due(&s, "p", now, 0, now);
		clock_format_utc(now, found);
		if (now != at(*times))
			fail_msg("%s %s: %s, not %s", text, zone, found,
				 *times);
	}
	schedule_release(&s);
}

#define TIMES(...)                                                             \
	(const char *const[])                                                  \
	{                                                                      \
		__VA_ARGS__, NULL                                              \
	}

static void test_cron_fields(void **state)
{
	(void)state;
	expect_times("*/20 * * * *", NULL, "2026-01-31T23:30:00Z",
		     TIMES("2026-01-31T23:40:00Z", "2026-02-01T00:00:00Z",
			   "2026-02-01T00:20:00Z"));
	expect_times("5,10-12 3 * * *", NULL, "2026-01-01T03:10:30Z",
		     TIMES("2026-01-01T03:11:00Z", "2026-01-01T03:12:00Z",
			   "2026-01-02T03:05:00Z"));
	expect_times("0 0 29 2 *", NULL, "2096-03-01T00:00:00Z",
		     TIMES("2104-02-29T00:00:00Z"));
	expect_times("0 12 13 * fri", NULL, "2026-02-01T00:00:00Z",
		     TIMES("2026-02-06T12:00:00Z", "2026-02-13T12:00:00Z",
			   "2026-02-20T12:00:00Z"));
	expect_times("0 12 13 nov *", NULL, "2026-12-01T00:00:00Z",
		     TIMES("2027-11-13T12:00:00Z"));
	expect_times("0 6 * * 7", NULL, "2026-11-27T00:00:00Z",
		     TIMES("2026-11-29T06:00:00Z", "2026-12-06T06:00:00Z"));
	expect_times("0 6 */2 * mon", NULL, "2026-11-27T00:00:00Z",
		     TIMES("2026-12-07T06:00:00Z"));
	expect_times("10/20 * * * *", NULL, "2026-11-27T00:00:00Z",
		     TIMES("2026-11-27T00:10:00Z", "2026-11-27T00:30:00Z",
			   "2026-11-27T00:50:00Z", "2026-11-27T01:10:00Z"));
	expect_times("@monthly", NULL, "2026-11-27T00:00:00Z",
		     TIMES("2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z"));
	expect_times("@weekly", NULL, "1969-12-31T23:59:59Z",
		     TIMES("1970-01-04T00:00:00Z"));
}

/* Clocks in Rome go from 2:00 to 3:00 at 1:00 UTC on 2026-03-29, and from 3:00
 * to 2:00 at 1:00 UTC on 2026-10-25. */
static void test_clocks_are_put(void **state)
{
	static const char rome[] = "Europe/Rome";

	(void)state;
	expect_times("30 2 * * *", rome, "2026-03-28T00:00:00Z",
		     TIMES("2026-03-28T01:30:00Z", "2026-03-29T01:00:00Z",
			   "2026-03-30T00:30:00Z"));
	expect_times("*/30 2 * * *", rome, "2026-03-28T12:00:00Z",
		     TIMES("2026-03-29T01:00:00Z", "2026-03-30T00:00:00Z"));
	expect_times("0 3 * * *", rome, "2026-03-28T12:00:00Z",
		     TIMES("2026-03-29T01:00:00Z", "2026-03-30T01:00:00Z"));
	expect_times("30 * * * *", rome, "2026-03-29T00:00:00Z",
		     TIMES("2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z"));
	expect_times("0 2 * * *", rome, "2026-10-24T12:00:00Z",
		     TIMES("2026-10-25T00:00:00Z", "2026-10-26T01:00:00Z"));
	expect_times("30 2 * * *", rome, "2026-10-24T12:00:00Z",
		     TIMES("2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"));
	expect_times("0 3 * * *", rome, "2026-10-24T12:00:00Z",
		     TIMES("2026-10-25T02:00:00Z", "2026-10-26T02:00:00Z"));
	expect_times("30 * * * *", rome, "2026-10-25T00:00:00Z",
		     TIMES("2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z",
			   "2026-10-25T02:30:00Z"));
	/* Half an hour, southern summer. */
	expect_times("15 2 * * *", "Australia/Lord_Howe",
		     "2026-10-03T00:00:00Z",
		     TIMES("2026-10-03T15:30:00Z", "2026-10-04T15:15:00Z"));
	/* Far behind the end of the database's own list. */
	expect_times("30 2 * * *", rome, "2090-03-25T12:00:00Z",
		     TIMES("2090-03-26T01:00:00Z", "2090-03-27T00:30:00Z"));
}

/* Whoever asks in the hour that comes twice hears the same. */
static void test_asked_in_the_hour_that_comes_twice(void **state)
{
	struct schedule s = made("30 2 * * *", "Europe/Rome");
	int64_t now = at("2026-10-25T00:31:00Z");

	(void)state;
	for (; now < at("2026-10-25T02:00:00Z"); now += MINUTE)
		assert_int_equal(schedule_due(&s, "p", now, 0, now),
				 at("2026-10-26T01:30:00Z"));
	schedule_release(&s);
}

/* Each minute of two years is what the fields say, by another way: by hand from
 * the offset of that minute. */
static void test_every_minute_of_a_zone(void **state)
{
	struct cron c;
	struct error err = ERROR_INIT;
	struct zone *zone;
	int64_t t = at("2026-01-01T00:00:00Z") / US_PER_SECOND;
	int64_t end = t + 2 * 365 * DAY, next = 0;

	(void)state;
	assert_int_equal(cron_parse("7 * * * *", &c, &err), 0);
	assert_int_equal(zone_open("America/St_Johns", &zone, &err), 0);
	for (; t < end; t += 60) {
		int64_t clock = t + zone_offset(zone, t);

		if (t > next)
			next = cron_next(&c, zone, t - 1);
		assert_int_equal(clock / 60 % 60 == 7, t == next);
	}
	zone_free(zone);
}

static void test_due(void **state)
{
	struct schedule s = made("every 5m", NULL);
	int64_t now = at("2026-11-27T10:00:00Z");
	int64_t first = schedule_due(&s, "orders", now, 0, now), slot;

	(void)state;
	/* Never begun: at once, and not again in the same turn. */
	assert_int_equal(schedule_due(&s, "orders", 0, now, now), now);
	assert_true(first > now && first <= now + 5 * MINUTE);
	/* It keeps its times, whenever it was begun. */
	for (int64_t late = 0; late < 5 * MINUTE; late += 7 * US_PER_SECOND) {
		slot = schedule_due(&s, "orders", first + late, 0,
				    first + late);
		assert_int_equal(slot, first + 5 * MINUTE);
	}
	/* Missed for a day: once, for the time in the past is one. */
	slot = schedule_due(&s, "orders", now, 0, now + DAY * US_PER_SECOND);
	assert_int_equal(slot, first);
	slot = schedule_due(&s, "orders", now + DAY * US_PER_SECOND, 0,
			    now + DAY * US_PER_SECOND);
	assert_true(slot > now + DAY * US_PER_SECOND);
	/* The clock was set back by an hour: no hour without a run. */
	slot = schedule_due(&s, "orders", now + 60 * MINUTE, 0, now);
	assert_int_equal(slot, first);
	schedule_release(&s);
}

static void test_cron_waits_for_its_time(void **state)
{
	struct schedule s = made("0 3 * * *", NULL);
	int64_t now = at("2026-11-27T10:00:00Z");

	(void)state;
	assert_int_equal(schedule_due(&s, "p", 0, now, now),
			 at("2026-11-28T03:00:00Z"));
	/* Asked later, with nothing begun, it is the same: late, not lost. */
	assert_int_equal(schedule_due(&s, "p", 0, now, now + 3 * DAY * 1000000),
			 at("2026-11-28T03:00:00Z"));
	assert_int_equal(
		schedule_due(&s, "p", at("2026-11-20T03:00:01Z"), now, now),
		at("2026-11-21T03:00:00Z"));
	schedule_release(&s);
	s = made("manual", NULL);
	assert_int_equal(schedule_due(&s, "p", now, now, now), SCHEDULE_NEVER);
	assert_int_equal(schedule_interval(&s, now), 0);
	schedule_release(&s);
}

static void test_spread_and_jitter(void **state)
{
	struct schedule s = made("every 1m", NULL);
	int64_t now = at("2026-11-27T10:00:00Z");
	size_t tenths[6] = { 0 };

	(void)state;
	for (int i = 0; i < 600; i++) {
		char *name = xstrfmt("p%d", i);
		int64_t due = schedule_due(&s, name, now, 0, now);

		tenths[(due - now - 1) / (10 * US_PER_SECOND)]++;
		free(name);
	}
	for (size_t i = 0; i < ARRAY_SIZE(tenths); i++)
		assert_in_range(tenths[i], 60, 140);
	schedule_release(&s);

	s = made("0 3 * * *", NULL);
	s.jitter_us = 10 * MINUTE;
	for (int i = 0; i < 100; i++) {
		char *name = xstrfmt("p%d", i);
		int64_t base = at("2026-11-28T03:00:00Z");
		int64_t due = schedule_due(&s, name, now, 0, now);

		assert_in_range(due, base, base + 10 * MINUTE - 1);
		/* Begun by hand before it: the turn is still to come. */
		assert_int_equal(schedule_due(&s, name, due - 1, 0, due - 1),
				 due);
		assert_true(schedule_due(&s, name, due, 0, due) >=
			    base + DAY * US_PER_SECOND);
		free(name);
	}
	schedule_release(&s);
}

static void test_interval_and_text(void **state)
{
	struct strbuf sb = STRBUF_INIT;
	struct schedule s = made("0 3 * * *", "Europe/Rome");

	(void)state;
	assert_int_equal(schedule_interval(&s, at("2026-11-27T10:00:00Z")),
			 DAY * US_PER_SECOND);
	schedule_print(&s, &sb);
	assert_string_equal(sb.data, "0 3 * * * Europe/Rome");
	schedule_release(&s);
	strbuf_release(&sb);
	s = made("every 90s", NULL);
	schedule_print(&s, &sb);
	assert_string_equal(sb.data, "every 1m30s");
	assert_int_equal(schedule_interval(&s, 0), 90 * US_PER_SECOND);
	strbuf_release(&sb);
	schedule_release(&s);
}

static void test_refused(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ "every", "five fields" },
		{ "every 5", "duration" },
		{ "every 10ms", "from 1s" },
		{ "every 400d", "366d" },
		{ "0 3 * *", "five fields" },
		{ "0 3 * * * *", "five fields" },
		{ "60 3 * * *", "minute \"60\"" },
		{ "0 24 * * *", "hour \"24\"" },
		{ "0 3 0 * *", "day of month \"0\"" },
		{ "0 3 * 13 *", "month \"13\"" },
		{ "0 3 * * 8", "day of week \"8\"" },
		{ "0 3 * * mond", "day of week \"mond\"" },
		{ "5-1 * * * *", "minute \"5-1\"" },
		{ "*/0 * * * *", "minute \"*/0\"" },
		{ "1, * * * *", "minute \"1,\"" },
		{ ",1 * * * *", "minute \",1\"" },
		{ "1- * * * *", "minute \"1-\"" },
		{ "0 3 30 2 *", "never comes" },
		{ "@never", "five fields" },
		{ "0 99999999999999999999 * * *", "hour" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct schedule s = { .kind = SCHEDULE_MANUAL };
		struct error err = ERROR_INIT;

		if (!schedule_parse(cases[i].text, &s, &err))
			fail_msg("taken: %s", cases[i].text);
		if (!strstr(err.message, cases[i].says))
			fail_msg("%s: %s", cases[i].text, err.message);
		assert_int_equal(err.code, ERROR_CONFIG);
		error_clear(&err);
		schedule_release(&s);
	}
}

static void test_no_such_zone(void **state)
{
	static const char *const names[] = { "Europe/Rom", "", "../etc/passwd",
					     "/etc/localtime", "Mars/Base" };
	struct schedule s = made("0 3 * * *", NULL);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct error err = ERROR_INIT;

		if (!schedule_set_zone(&s, names[i], &err))
			fail_msg("taken: %s", names[i]);
		assert_int_equal(err.code, ERROR_CONFIG);
		error_clear(&err);
	}
	schedule_release(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cron_fields),
		cmocka_unit_test(test_clocks_are_put),
		cmocka_unit_test(test_asked_in_the_hour_that_comes_twice),
		cmocka_unit_test(test_every_minute_of_a_zone),
		cmocka_unit_test(test_due),
		cmocka_unit_test(test_cron_waits_for_its_time),
		cmocka_unit_test(test_spread_and_jitter),
		cmocka_unit_test(test_interval_and_text),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_no_such_zone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
