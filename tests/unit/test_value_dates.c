/* Instants and days as text and back, and the calendar they are counted by. */
#include "core/data/value.h"
#include "tests/unit/unit.h"

/* The texts below are what PostgreSQL 15 printed for these values: µs, text
 * without zone. */
static const struct {
	int64_t us;
	const char *text;
} timestamps[] = {
	{ 0, "1970-01-01 00:00:00" },
	{ -1, "1969-12-31 23:59:59.999999" },
	{ 1769860800123456, "2026-01-31 12:00:00.123456" },
	{ 1769860800120000, "2026-01-31 12:00:00.12" },
	{ 1769860800000001, "2026-01-31 12:00:00.000001" },
	{ 951782400000000, "2000-02-29 00:00:00" },
	{ 253402300799999999, "9999-12-31 23:59:59.999999" },
	{ 253402300800000000, "10000-01-01 00:00:00" },
	{ 9223371331199999999, "294247-01-01 23:59:59.999999" },
	{ -62135596800000000, "0001-01-01 00:00:00" },
	{ -62135596800000001, "0001-12-31 23:59:59.999999 BC" },
	{ -62167219200000000, "0001-01-01 00:00:00 BC" },
	{ -210866803200000000, "4714-11-24 00:00:00 BC" },
	{ INT64_MAX, "infinity" },
	{ INT64_MIN, "-infinity" },
	/* Beyond PostgreSQL, but not beyond int64. */
	{ INT64_MAX - 1, "294247-01-10 04:00:54.775806" },
	{ INT64_MIN + 1, "290309-12-21 19:59:05.224193 BC" },
};

static void check_zone(struct strbuf *sb, int64_t us)
{
	const char *era = " BC";
	size_t n = sb->len;
	char *plain = xstrdup(sb->data);
	char *expected;
	bool has_era = n > 3 && !strcmp(plain + n - 3, era);

	if (has_era)
		plain[n - 3] = '\0';
	if (strstr(plain, "infinity"))
		expected = xstrdup(plain);
	else
		expected = xstrfmt("%s+00%s", plain, has_era ? era : "");
	strbuf_reset(sb);
	value_print_timestamp(sb, us, true);
	assert_string_equal(sb->data, expected);
	free(expected);
	free(plain);
}

static void test_timestamps(void **state)
{
	struct strbuf sb = STRBUF_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(timestamps); i++) {
		int64_t back = 42;

		strbuf_reset(&sb);
		value_print_timestamp(&sb, timestamps[i].us, false);
		assert_string_equal(sb.data, timestamps[i].text);
		assert_true(value_parse_timestamp(sb.data, &back));
		assert_true(back == timestamps[i].us);
		check_zone(&sb, timestamps[i].us);
		assert_true(value_parse_timestamp(sb.data, &back));
		assert_true(back == timestamps[i].us);
	}
	strbuf_release(&sb);
}

/* text, µs */
static const struct {
	const char *text;
	int64_t us;
} parsed[] = {
	{ "1970-01-01T00:00:01Z", 1000000 },
	{ "1970-01-01T00:00:01.5Z", 1500000 },
	{ "1970-01-01 00:00:00.100000", 100000 },
	{ "1970-01-01 05:30:00+05:30", 0 },
	{ "1970-01-01 00:00:00-01", 3600000000 },
	{ "1969-12-31 19:15:00-04:45", 0 },
	{ "2026-01-31 12:00:00.123456+00", 1769860800123456 },
};

static const char *const unparsable[] = {
	"",
	"now",
	"Infinity",
	"2026-01-31",
	"2026-01-31 ",
	"2026-01-31 12:00",
	"2026-01-31 12:00:00 ",
	" 2026-01-31 12:00:00",
	"2026-01-31 12:00:00.",
	"2026-01-31 12:00:00.1234567",
	"2026-01-31 24:00:00",
	"2026-01-31 12:60:00",
	"2026-01-31 12:00:60",
	"2026-01-31_12:00:00",
	"2026-1-31 12:00:00",
	"2026-13-01 12:00:00",
	"2026-00-01 12:00:00",
	"2026-01-00 12:00:00",
	"2026-02-29 12:00:00",
	"2026-04-31 12:00:00",
	"1900-02-29 12:00:00",
	"0000-01-01 12:00:00",
	"226-01-31 12:00:00",
	"-2026-01-31 12:00:00",
	"2026-01-31 12:00:00+",
	"2026-01-31 12:00:00+1",
	"2026-01-31 12:00:00+99",
	"2026-01-31 12:00:00+05:",
	"2026-01-31 12:00:00+05:61",
	"2026-01-31 12:00:00z",
	"2026-01-31 12:00:00 AD",
	"2026-01-31 12:00:00 BCE",
	"294247-01-10 04:00:54.775807", /* would read as infinity */
	"294247-01-10 04:00:54.775808",
	"290309-12-21 19:59:05.224192 BC", /* -infinity */
	"9999999-01-01 00:00:00",
	"99999999999999999999-01-01 00:00:00",
};

static void test_parse(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(parsed); i++) {
		int64_t us;

		assert_true(value_parse_timestamp(parsed[i].text, &us));
		assert_true(us == parsed[i].us);
	}
	for (size_t i = 0; i < ARRAY_SIZE(unparsable); i++) {
		int64_t us = 42;

		if (value_parse_timestamp(unparsable[i], &us))
			fail_msg("%s was taken as %lld", unparsable[i],
				 (long long)us);
		assert_true(us == 42);
	}
}

static const struct {
	int32_t days;
	const char *text;
} dates[] = {
	{ 0, "1970-01-01" },
	{ -1, "1969-12-31" },
	{ 11016, "2000-02-29" },
	{ 20484, "2026-01-31" },
	{ -719162, "0001-01-01" },
	{ -719163, "0001-12-31 BC" },
	{ -719528, "0001-01-01 BC" },
	{ -2440588, "4714-11-24 BC" },
	{ 2145042905, "5874897-12-31" },
	{ INT32_MAX, "infinity" },
	{ INT32_MIN, "-infinity" },
};

static const char *const no_dates[] = {
	"",
	"2026",
	"2026-01",
	"2026-01-31 ",
	"2026-01-31 00:00:00",
	"2026-02-30",
	"5881580-07-12",
	"26-01-31",
};

/* A date that begins beyond all instants does not come round to one of them. */
static void test_begins_of_dates(void **state)
{
	static const struct {
		const char *text;
		int64_t us;
	} days[] = {
		{ "1970-01-02", INT64_C(86400000000) },
		{ "1969-12-31", INT64_C(-86400000000) },
		{ "1970-01-02 00:00:00", INT64_C(86400000000) },
		{ "infinity", INT64_MAX },
		{ "-infinity", INT64_MIN },
		{ "586525-01-01", INT64_MAX }, /* 2^64 µs after 1970 */
		{ "586525-01-01 BC", INT64_MIN },
	};
	int64_t us;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(days); i++) {
		assert_true(value_parse_instant(days[i].text, &us));
		if (us != days[i].us)
			fail_msg("%s: %lld", days[i].text, (long long)us);
	}
	assert_false(value_parse_instant("2026-02-30", &us));
}

static void test_dates(void **state)
{
	struct strbuf sb = STRBUF_INIT;
	int32_t back;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(dates); i++) {
		strbuf_reset(&sb);
		value_print_date(&sb, dates[i].days);
		assert_string_equal(sb.data, dates[i].text);
		assert_true(value_parse_date(sb.data, &back));
		assert_int_equal(back, dates[i].days);
	}
	for (size_t i = 0; i < ARRAY_SIZE(no_dates); i++)
		assert_false(value_parse_date(no_dates[i], &back));
	strbuf_release(&sb);
}

/* Every day of 1600 years there and back, one after the other. */
static void test_calendar(void **state)
{
	int64_t days = civil_to_days(-400, 1, 1);
	int64_t expected_year = -400;
	unsigned month, day, day_before = 0, month_before = 0;

	(void)state;
	for (int64_t last = civil_to_days(1200, 1, 1); days < last; days++) {
		int64_t year;

		civil_from_days(days, &year, &month, &day);
		assert_true(civil_to_days(year, month, day) == days);
		if (month == 1 && month_before == 12)
			expected_year++;
		assert_true(year == expected_year);
		assert_true(day == day_before + 1 || day == 1);
		day_before = day;
		month_before = month;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_timestamps),
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_begins_of_dates),
		cmocka_unit_test(test_dates),
		cmocka_unit_test(test_calendar),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
