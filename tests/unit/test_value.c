/* Values of every kind as text, as JSON in a key, and back; instants and days
 * are in test_value_dates.c. */
#include <math.h>

#include "core/data/value.h"
#include "tests/unit/unit.h"

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
	size_t n; /* bytes of a variable value */
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
		cmocka_unit_test(test_times_and_intervals),
		cmocka_unit_test(test_intervals_are_read),
		cmocka_unit_test(test_every_kind),
		cmocka_unit_test(test_no_values),
		cmocka_unit_test(test_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
