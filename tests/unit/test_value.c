#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/data/value.h"

#define DAY INT64_C(86400000000)

/* The texts below are what PostgreSQL 15 printed for these values. */
static const struct {
	double value;
	const char *text;
} doubles[] = {
	{ 0.0, "0" },
	{ -0.0, "-0" },
	{ 1, "1" },
	{ -1.5, "-1.5" },
	{ 0.1, "0.1" },
	{ 0.30000000000000004, "0.30000000000000004" },
	{ 0.0001, "0.0001" },
	{ 0.00012345, "0.00012345" },
	{ 0.00001, "1e-05" },
	{ 123456.789, "123456.789" },
	{ 100000000000000, "100000000000000" },
	{ 999999999999999, "999999999999999" },
	{ 1000000000000000, "1e+15" },
	{ 9007199254740991, "9.007199254740991e+15" },
	{ 123456789012345680, "1.2345678901234568e+17" },
	{ 1e22, "1e+22" },
	{ 1e23, "9.999999999999999e+22" },
	{ 62140660135311424, "6.2140660135311424e+16" }, /* 16 digits tie */
	{ 0x1p345, "7.167183174968974e+103" }, /* nearest 16 digits miss */
	{ 0x1p-1074, "5e-324" },
	{ 2.225073858507201e-308, "2.225073858507201e-308" },
	{ 1.7976931348623157e308, "1.7976931348623157e+308" },
	{ (double)INFINITY, "Infinity" },
	{ -(double)INFINITY, "-Infinity" },
	{ (double)NAN, "NaN" },
	{ -(double)NAN, "NaN" },
};

static const struct {
	float value;
	const char *text;
} floats[] = {
	{ 0.0f, "0" },
	{ -0.0f, "-0" },
	{ 0.1f, "0.1" },
	{ 3.4028235e38f, "3.4028235e+38" },
	{ 100000, "100000" },
	{ 999999, "999999" },
	{ 1000000, "1e+06" },
	{ 0.0001f, "0.0001" },
	{ 0.00001f, "1e-05" },
	{ 439375616, "4.3937562e+08" }, /* 7 digits tie */
	{ 0x1p90f, "1.2379401e+27" }, /* nearest 8 digits miss */
	{ 0x1p-149f, "1e-45" },
	{ INFINITY, "Infinity" },
	{ NAN, "NaN" },
};

static void test_floats(void **state)
{
	struct strbuf sb = STRBUF_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(doubles); i++) {
		strbuf_reset(&sb);
		value_print_float64(&sb, doubles[i].value);
		assert_string_equal(sb.data, doubles[i].text);
	}
	for (size_t i = 0; i < ARRAY_SIZE(floats); i++) {
		strbuf_reset(&sb);
		value_print_float32(&sb, floats[i].value);
		assert_string_equal(sb.data, floats[i].text);
	}
	strbuf_release(&sb);
}

/* µs, text without zone */
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

/* What begins beyond all instants does not come round to one of them. */
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

static const struct {
	int64_t us;
	const char *text;
} times[] = {
	{ 0, "00:00:00" },
	{ 1, "00:00:00.000001" },
	{ 45296789000, "12:34:56.789" },
	{ DAY - 1, "23:59:59.999999" },
	{ DAY, "24:00:00" },
};

static const struct {
	struct interval_value value;
	const char *text;
} intervals[] = {
	{ { 0, 0, 0 }, "00:00:00" },
	{ { 1, 0, 0 }, "00:00:00.000001" },
	{ { -1500000, 0, 0 }, "-00:00:01.5" },
	{ { 0, 1, 0 }, "1 day" },
	{ { 0, -1, 0 }, "-1 days" },
	{ { 0, 0, 1 }, "1 mon" },
	{ { 0, 0, 12 }, "1 year" },
	{ { 0, 0, -13 }, "-1 years -1 mons" },
	{ { 3723000000, 4, 14 }, "1 year 2 mons 4 days 01:02:03" },
	{ { 1000000, -1, 1 }, "1 mon -1 days +00:00:01" },
	{ { -1000000, 1, -1 }, "-1 mons +1 day -00:00:01" },
	{ { 0, 2, -13 }, "-1 years -1 mons +2 days" },
	{ { 100 * 3600 * INT64_C(1000000), 0, 0 }, "100:00:00" },
	{ { INT64_MAX, INT32_MAX, INT32_MAX },
	  "178956970 years 7 mons 2147483647 days "
	  "2562047788:00:54.775807" },
	/* PostgreSQL 15 prints this one and cannot read it back. */
	{ { INT64_MIN, INT32_MIN, INT32_MIN },
	  "-178956970 years -8 mons -2147483648 days "
	  "-2562047788:00:54.775808" },
};

static void test_times_and_intervals(void **state)
{
	struct strbuf sb = STRBUF_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		strbuf_reset(&sb);
		value_print_time(&sb, times[i].us);
		assert_string_equal(sb.data, times[i].text);
	}
	for (size_t i = 0; i < ARRAY_SIZE(intervals); i++) {
		strbuf_reset(&sb);
		value_print_interval(&sb, &intervals[i].value);
		assert_string_equal(sb.data, intervals[i].text);
	}
	strbuf_release(&sb);
}

/* One row of any value. */
struct fixture {
	struct schema schema;
	struct batch batch;
};

static void fixture_add(struct fixture *f, const char *name,
			enum type_kind kind)
{
	struct type type = { .kind = kind };

	schema_add(&f->schema, name, &type, true);
}

static void fixture_begin(struct fixture *f)
{
	batch_init(&f->batch, &f->schema);
	batch_reserve_row(&f->batch);
}

static void fixture_release(struct fixture *f)
{
	batch_release(&f->batch);
	schema_release(&f->schema);
}

/* kind, the value's bytes, text, JSON in a key */
static const int64_t i64_exact = INT64_C(1) << 53;
static const int64_t i64_min = INT64_MIN;
static const uint64_t u64_max = UINT64_MAX;
static const int32_t i32 = -7;
static const int16_t i16 = INT16_MIN;
static const uint8_t yes = 1, no = 0;
static const double f64 = 1.5, f64_nan = (double)NAN;
static const float f32 = 0.5f;
static const int64_t us = 1769860800123456, half_day = DAY / 2;
static const struct interval_value month = { 0, 0, 1 };
static const uint8_t uuid[16] = { 0x12, 0x3e, 0x45, 0x67, 0xe8, 0x9b,
				  0x12, 0xd3, 0xa4, 0x56, 0x42, 0x66,
				  0x14, 0x17, 0x40, 0x00 };
static const struct {
	enum type_kind kind;
	const void *bytes;
	size_t n; /* of a variable value */
	const char *text, *json;
} values[] = {
	{ TYPE_BOOL, &yes, 0, "true", "true" },
	{ TYPE_BOOL, &no, 0, "false", "false" },
	{ TYPE_INT16, &i16, 0, "-32768", "-32768" },
	{ TYPE_INT32, &i32, 0, "-7", "-7" },
	{ TYPE_INT64, &i64_exact, 0, "9007199254740992", "9007199254740992" },
	{ TYPE_INT64, &i64_min, 0, "-9223372036854775808",
	  "\"-9223372036854775808\"" },
	{ TYPE_UINT64, &i64_exact, 0, "9007199254740992", "9007199254740992" },
	{ TYPE_UINT64, &u64_max, 0, "18446744073709551615",
	  "\"18446744073709551615\"" },
	{ TYPE_FLOAT32, &f32, 0, "0.5", "0.5" },
	{ TYPE_FLOAT64, &f64, 0, "1.5", "1.5" },
	{ TYPE_FLOAT64, &f64_nan, 0, "NaN", "\"NaN\"" },
	{ TYPE_DECIMAL, "1.10", 4, "1.10", "\"1.10\"" },
	{ TYPE_TEXT, "it's", 4, "it's", "\"it's\"" },
	{ TYPE_TEXT, "", 0, "", "\"\"" },
	{ TYPE_TEXT, "\xff", 1, "\xff", "\"\\\\xff\"" },
	{ TYPE_BYTES, "hi\xff", 3, "\\x6869ff", "\"\\\\x6869ff\"" },
	{ TYPE_BYTES, "", 0, "\\x", "\"\\\\x\"" },
	{ TYPE_DATE, &i32, 0, "1969-12-25", "\"1969-12-25\"" },
	{ TYPE_TIME, &half_day, 0, "12:00:00", "\"12:00:00\"" },
	{ TYPE_TIMESTAMP, &us, 0, "2026-01-31 12:00:00.123456",
	  "\"2026-01-31 12:00:00.123456\"" },
	{ TYPE_TIMESTAMPTZ, &us, 0, "2026-01-31 12:00:00.123456+00",
	  "\"2026-01-31 12:00:00.123456+00\"" },
	{ TYPE_INTERVAL, &month, 0, "1 mon", "\"1 mon\"" },
	{ TYPE_UUID, uuid, 0, "123e4567-e89b-12d3-a456-426614174000",
	  "\"123e4567-e89b-12d3-a456-426614174000\"" },
	{ TYPE_JSON, "{\"a\": 1}", 8, "{\"a\": 1}", "\"{\\\"a\\\": 1}\"" },
	{ TYPE_NATIVE, "[1,4)", 5, "[1,4)", "\"[1,4)\"" },
};

static void test_intervals_are_read(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(intervals) - 1; i++) {
		struct fixture f;
		struct vector *v;

		schema_init(&f.schema);
		fixture_add(&f, "k", TYPE_INTERVAL);
		fixture_begin(&f);
		v = &f.batch.vectors[0];
		if (!value_set(v, 0, intervals[i].text))
			fail_msg("%s", intervals[i].text);
		assert_memory_equal(v->data, &intervals[i].value, v->width);
		batch_row_undo(&f.batch);
		fixture_release(&f);
	}
}

/* The text gives the value again. */
static void check_inverse(struct fixture *f, const char *text)
{
	struct vector *v = &f->batch.vectors[0];
	struct strbuf sb = STRBUF_INIT;

	batch_reserve_row(&f->batch);
	assert_true(value_set(v, 1, text));
	batch_row_done(&f->batch);
	value_print(&sb, v, 1);
	assert_string_equal(sb.data, text);
	if (v->width)
		assert_memory_equal(v->data, v->data + v->width, v->width);
	strbuf_release(&sb);
}

static void check_value(size_t i)
{
	struct strbuf sb = STRBUF_INIT;
	struct fixture f;
	struct vector *v;
	size_t key = 0;
	json_t *json;
	char *text;

	schema_init(&f.schema);
	fixture_add(&f, "k", values[i].kind);
	schema_set_key(&f.schema, &key, 1);
	fixture_begin(&f);
	v = &f.batch.vectors[0];
	if (v->width)
		vector_set_fixed(v, 0, values[i].bytes);
	else
		vector_set_bytes(v, 0, values[i].bytes, values[i].n, NULL);
	batch_row_done(&f.batch);
	value_print(&sb, v, 0);
	assert_string_equal(sb.data, values[i].text);
	check_inverse(&f, sb.data);
	json = value_key_json(&f.batch, 0);
	text = json_dumps(json_object_get(json, "k"), JSON_ENCODE_ANY);
	assert_string_equal(text, values[i].json);
	free(text);
	json_decref(json);
	strbuf_release(&sb);
	fixture_release(&f);
}

static void test_every_kind(void **state)
{
	bool seen[TYPE_KINDS] = { false };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		check_value(i);
		seen[values[i].kind] = true;
	}
	for (size_t kind = 0; kind < TYPE_KINDS; kind++)
		assert_true(seen[kind]);
}

static void test_no_values(void **state)
{
	static const struct {
		enum type_kind kind;
		const char *text;
	} cases[] = {
		{ TYPE_BOOL, "yes" },
		{ TYPE_INT16, "32768" },
		{ TYPE_INT32, "-2147483649" },
		{ TYPE_INT64, "9223372036854775808" },
		{ TYPE_INT64, "7x" },
		{ TYPE_INT64, "" },
		{ TYPE_UINT64, "-1" },
		{ TYPE_UINT64, "18446744073709551616" },
		{ TYPE_FLOAT64, "1.5.1" },
		{ TYPE_DATE, "2023-02-29" },
		{ TYPE_TIME, "25:00:00" },
		{ TYPE_TIME, "24:00:01" },
		{ TYPE_TIMESTAMPTZ, "yesterday" },
		{ TYPE_UUID, "00000000-0000-0000-0000-0000000000" },
		{ TYPE_UUID, "00000000-0000-0000-0000-00000000000g" },
		{ TYPE_BYTES, "00ff" },
		{ TYPE_BYTES, "\\x0" },
		{ TYPE_INTERVAL, "" },
		{ TYPE_INTERVAL, "1 mons" },
		{ TYPE_INTERVAL, "1 day " },
		{ TYPE_INTERVAL, "1 week" },
		{ TYPE_INTERVAL, "1:2:3" },
		{ TYPE_INTERVAL, "00:00:00.0000001" },
		{ TYPE_INTERVAL, "2562047788:00:54.775808" },
		{ TYPE_INTERVAL, "178956970 years 8 mons" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fixture f;

		schema_init(&f.schema);
		fixture_add(&f, "k", cases[i].kind);
		fixture_begin(&f);
		if (value_set(&f.batch.vectors[0], 0, cases[i].text))
			fail_msg("%s", cases[i].text);
		batch_row_undo(&f.batch);
		fixture_release(&f);
	}
}

static void test_keys(void **state)
{
	const size_t key[] = { 1, 0, 2 };
	struct strbuf sb = STRBUF_INIT;
	int64_t id = 7;
	struct fixture f;
	char name[100];
	json_t *json;
	char *text;

	(void)state;
	/* 63 letters, then an é that the cut at 64 would split. */
	memset(name, 'x', sizeof(name));
	memcpy(name + 63, "\xc3\xa9", 2);
	memcpy(name, "\x1b[1m", 4);
	schema_init(&f.schema);
	fixture_add(&f, "name", TYPE_TEXT);
	fixture_add(&f, "id", TYPE_INT64);
	fixture_add(&f, "part", TYPE_DATE);
	schema_set_key(&f.schema, key, 3);
	fixture_begin(&f);
	vector_set_bytes(&f.batch.vectors[0], 0, name, sizeof(name), NULL);
	vector_set_fixed(&f.batch.vectors[1], 0, &id);
	vector_set_null(&f.batch.vectors[2], 0);
	batch_row_done(&f.batch);

	value_print_key(&sb, &f.batch, 0);
	assert_string_equal(sb.data,
			    "id=7, name=\\x1b[1m"
			    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
			    "xxxxxxxxx..., part=NULL");
	json = value_key_json(&f.batch, 0);
	assert_int_equal(json_string_length(json_object_get(json, "name")),
			 sizeof(name));
	json_object_del(json, "name");
	text = json_dumps(json, JSON_COMPACT);
	assert_string_equal(text, "{\"id\":7,\"part\":null}");
	free(text);
	json_decref(json);
	strbuf_release(&sb);
	fixture_release(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_floats),
		cmocka_unit_test(test_timestamps),
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_begins_of_dates),
		cmocka_unit_test(test_dates),
		cmocka_unit_test(test_calendar),
		cmocka_unit_test(test_times_and_intervals),
		cmocka_unit_test(test_intervals_are_read),
		cmocka_unit_test(test_every_kind),
		cmocka_unit_test(test_no_values),
		cmocka_unit_test(test_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
