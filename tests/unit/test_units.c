#include "core/base/clock.h"
#include "core/base/units.h"
#include "tests/unit/unit.h"

/* text, value; -1: refused */
static const struct unit_case {
	const char *text;
	int64_t value;
} durations[] = {
	{ "0", 0 },
	{ "0s", 0 },
	{ "500ms", 500000 },
	{ "7us", 7 },
	{ "10m", 600000000 },
	{ "1h30m", 5400000000 },
	{ "30d", 2592000000000 },
	{ "1d2h3m4s5ms6us", 93784005006 },
	{ "", -1 },
	{ "5", -1 },
	{ "-1s", -1 },
	{ "1.5h", -1 },
	{ "30m1h", -1 },
	{ "1m1m", -1 },
	{ "10 m", -1 },
	{ "10mm", -1 },
	{ "m", -1 },
	{ "1w", -1 },
	{ "1s ", -1 },
	{ "106751991d", INT64_C(106751991) * 86400 * 1000000 },
	{ "106751992d", -1 },
	{ "99999999999999999999s", -1 },
}, sizes[] = {
	{ "0", 0 },
	{ "20000", 20000 },
	{ "1B", 1 },
	{ "1KB", 1000 },
	{ "1KiB", 1024 },
	{ "32MiB", 33554432 },
	{ "1MB", 1000000 },
	{ "2GiB", INT64_C(2) << 30 },
	{ "3TB", INT64_C(3000000000000) },
	{ "8388607TiB", INT64_C(8388607) << 40 },
	{ "8388608TiB", -1 },
	{ "1mib", -1 },
	{ "1M", -1 },
	{ "MiB", -1 },
	{ "-1", -1 },
	{ "1.5MiB", -1 },
	{ "1 MiB", -1 },
}, counts[] = {
	{ "0", 0 },
	{ "20000", 20000 },
	{ "20_000", 20000 },
	{ "9223372036854775807", INT64_MAX },
	{ "9223372036854775808", -1 },
	{ "_1", -1 },
	{ "1_", -1 },
	{ "1__0", -1 },
	{ "-1", -1 },
	{ "+1", -1 },
	{ "1e3", -1 },
	{ "", -1 },
	{ "0x10", -1 },
};

static void check_parse(const struct unit_case *cases, size_t n,
			bool (*parse)(const char *, int64_t *))
{
	for (size_t i = 0; i < n; i++) {
		int64_t out = -1;
		bool ok = parse(cases[i].text, &out);

		if (out != cases[i].value || ok != (cases[i].value >= 0))
			fail_msg("%s: %lld", cases[i].text, (long long)out);
	}
}

static void test_parse(void **state)
{
	(void)state;
	check_parse(durations, ARRAY_SIZE(durations), units_parse_duration);
	check_parse(sizes, ARRAY_SIZE(sizes), units_parse_size);
	check_parse(counts, ARRAY_SIZE(counts), units_parse_count);
}

static void check_print(const char *expected, int64_t value,
			void (*print)(struct strbuf *, int64_t),
			bool (*parse)(const char *, int64_t *))
{
	struct strbuf sb = STRBUF_INIT;
	int64_t back = -1;

	print(&sb, value);
	assert_string_equal(sb.data, expected);
	assert_true(parse(sb.data, &back));
	assert_true(back == value);
	strbuf_release(&sb);
}

static void test_print_is_the_inverse(void **state)
{
	(void)state;
	check_print("0s", 0, units_print_duration, units_parse_duration);
	check_print("1h30m", 5400000000, units_print_duration,
		    units_parse_duration);
	check_print("1d1us", 86400000001, units_print_duration,
		    units_parse_duration);
	check_print("106751991d4h54s775ms807us", INT64_MAX,
		    units_print_duration, units_parse_duration);
	check_print("0B", 0, units_print_size, units_parse_size);
	check_print("32MiB", 33554432, units_print_size, units_parse_size);
	check_print("1MB", 1000000, units_print_size, units_parse_size);
	check_print("1025B", 1025, units_print_size, units_parse_size);
	check_print("9223372036854775807B", INT64_MAX, units_print_size,
		    units_parse_size);
}

static const struct {
	double n;
	const char *text;
} shorts[] = {
	{ 0, "0" },
	{ 987, "987" },
	{ 999.4, "999" },
	{ 999.6, "1.0k" },
	{ 4500, "4.5k" },
	{ 999960, "1.0M" },
	{ 12345678, "12.3M" },
	{ 5e9, "5.0G" },
	{ 7e15, "7000.0T" },
};

static void test_short(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(shorts); i++) {
		struct strbuf sb = STRBUF_INIT;

		units_print_short(&sb, shorts[i].n);
		assert_string_equal(sb.data, shorts[i].text);
		strbuf_release(&sb);
	}
}

static const struct {
	int64_t us;
	const char *text;
} times[] = {
	{ 0, "1970-01-01T00:00:00.000000Z" },
	{ -1, "1969-12-31T23:59:59.999999Z" },
	{ 1769860800000000, "2026-01-31T12:00:00.000000Z" },
	{ 951782400000001, "2000-02-29T00:00:00.000001Z" },
	{ 253402300799999999, "9999-12-31T23:59:59.999999Z" },
	{ 253402300800000000, "+10000-01-01T00:00:00.000000Z" },
	{ -62135596800000000, "0001-01-01T00:00:00.000000Z" },
	{ -62135596800000001, "+0000-12-31T23:59:59.999999Z" },
	{ -62167219200000001, "-0001-12-31T23:59:59.999999Z" },
	{ INT64_MAX, "+294247-01-10T04:00:54.775807Z" },
	{ INT64_MIN, "-290308-12-21T19:59:05.224192Z" },
};

static void test_time(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		char text[CLOCK_TEXT_SIZE];

		clock_format_utc(times[i].us, text);
		assert_string_equal(text, times[i].text);
	}
}

static void test_bounded(void **state)
{
	(void)state;
	assert_int_equal(units_bounded("12", 100), 12);
	assert_int_equal(units_bounded("-12", 100), -12);
	assert_int_equal(units_bounded("101", 100), 100);
	assert_int_equal(units_bounded("-99999999999999999999(", 100), -100);
	assert_int_equal(units_bounded("99999999999999999999", INT64_MAX),
			 INT64_MAX);
	assert_int_equal(units_bounded("none", 100), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_print_is_the_inverse),
		cmocka_unit_test(test_short),
		cmocka_unit_test(test_time),
		cmocka_unit_test(test_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
