/* Values that a gate lets through, type by type, and its messages about the
 * others. */
#include <string.h>

#include "tests/unit/gate_world.h"
#include "tests/unit/unit.h"

static void world_limit(struct world *w, enum gate_kind kind, const char *text)
{
	w->limit = (struct gate_limit){ kind, (char *)"v", (char *)text };
	w->p.gate.limits = &w->limit;
	w->p.gate.n_limits = 1;
}

static const struct {
	enum type_kind type;
	enum gate_kind kind;
	const char *text;
	const char *good, *bad; /* rows, set apart by blanks; _ is NULL */
} limits[] = {
	{ TYPE_INT16, GATE_MIN, "-5", "-5 0 32767 _", "-6 -32768" },
	{ TYPE_INT16, GATE_MAX, "32767", "32767 -32768", "" },
	{ TYPE_INT32, GATE_MAX, "+7", "7 -1 _", "8 2147483647" },
	{ TYPE_INT64, GATE_MIN, "9007199254740993", "9007199254740993",
	  "9007199254740992" },
	{ TYPE_INT64, GATE_MAX, "-9223372036854775808", "-9223372036854775808",
	  "-9223372036854775807 0" },
	{ TYPE_UINT64, GATE_MAX, "18446744073709551614",
	  "0 9223372036854775808 18446744073709551614",
	  "18446744073709551615" },
	{ TYPE_UINT64, GATE_MIN, "9223372036854775808", "18446744073709551615",
	  "9223372036854775807 0" },
	{ TYPE_FLOAT32, GATE_MAX, "0.1", "0.1 -1 -0.0 -Infinity",
	  "0.11 Infinity NaN" },
	{ TYPE_FLOAT64, GATE_MIN, "0", "0 -0.0 1e300 Infinity _",
	  "-1e-300 -Infinity NaN" },
	{ TYPE_FLOAT64, GATE_MAX, "Infinity", "Infinity 1", "NaN" },
	{ TYPE_DECIMAL, GATE_MIN, "0.10", "0.1 0.100 12 Infinity _",
	  "0.099999999999999999999999 0 -3 -Infinity NaN" },
	{ TYPE_DECIMAL, GATE_MAX, "99999999999999999999.5",
	  "99999999999999999999.50", "99999999999999999999.51 NaN Infinity" },
	{ TYPE_TEXT, GATE_MIN, "b", "b ba c \xc3\xa4", "B a" },
	{ TYPE_TEXT, GATE_MAX, "b", "a B b", "ba c \xc3\xa4" },
	{ TYPE_DATE, GATE_MIN, "2000-01-01", "2000-01-01 infinity",
	  "1999-12-31 -infinity" },
	{ TYPE_TIME, GATE_MAX, "00:00:01.5", "1500000 0", "1500001" },
	{ TYPE_TIMESTAMP, GATE_MIN, "2000-01-01",
	  "2000-01-01T00:00:00 infinity",
	  "1999-12-31T23:59:59.999999 -infinity" },
	{ TYPE_TIMESTAMPTZ, GATE_MIN, "2000-01-01 01:00:00+01:00",
	  "2000-01-01T00:00:00Z", "1999-12-31T23:59:59.999999Z" },
	{ TYPE_TIMESTAMPTZ, GATE_MAX, "2000-01-01 00:00:00",
	  "2000-01-01T00:00:00Z", "2000-01-01T00:00:00.000001Z infinity" },
	{ TYPE_TEXT, GATE_MATCH, "^[A-Z]{3}$", "EUR _",
	  "eur EURO EU USD\n \xff\xfe" },
	{ TYPE_TEXT, GATE_MATCH, "^.$", "\xc3\xa4", "ab" },
	{ TYPE_TEXT, GATE_MATCH, "b", "abc", "xyz" },
	{ TYPE_INT32, GATE_MATCH, "^[0-9]{5}$", "12345", "1234 -1234" },
};

/* How many rows of `list` break it. */
static size_t limits_broken(struct world *w, struct gate *g, const char *list)
{
	struct error err = ERROR_INIT;
	size_t broken = 0;
	char one[64];

	for (const char *at = list; *at; at += *at == ' ') {
		size_t n = strcspn(at, " ");

		memcpy(one, at, n);
		one[n] = '\0';
		at += n;
		batch_reset(&w->batch);
		world_row(w, 7, strcmp(one, "_") != 0 ? one : "");
		broken += *world_check(w, g, &err) != '\0';
	}
	return broken;
}

static size_t limits_count(const char *list)
{
	size_t n = *list != '\0';

	for (; *list; list++)
		n += *list == ' ';
	return n;
}

static void test_limits(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		struct error err = ERROR_INIT;
		struct gate *g = NULL;
		struct world w;

		world_init(&w, limits[i].type);
		world_limit(&w, limits[i].kind, limits[i].text);
		if (gate_open(&g, &w.p, &w.schema, &err))
			fail_msg("%zu: %s", i, err.message);
		if (limits_broken(&w, g, limits[i].good))
			fail_msg("%zu: %s refuses one of %s", i, limits[i].text,
				 limits[i].good);
		if (limits_broken(&w, g, limits[i].bad) !=
		    limits_count(limits[i].bad))
			fail_msg("%zu: %s takes one of %s", i, limits[i].text,
				 limits[i].bad);
		gate_free(g);
		world_release(&w);
	}
}

static const struct {
	enum type_kind type;
	enum gate_kind kind;
	const char *text, *says;
} wrong[] = {
	{ TYPE_INT16, GATE_MIN, "32768", "from -32768 to 32767" },
	{ TYPE_INT32, GATE_MIN, "0.5", "takes an integer" },
	{ TYPE_INT64, GATE_MIN, "9223372036854775808", "takes an integer" },
	{ TYPE_INT64, GATE_MIN, "2000-01-01", "takes an integer" },
	{ TYPE_UINT64, GATE_MIN, "-1", "from 0 to" },
	{ TYPE_UINT64, GATE_MIN, "18446744073709551616", "from 0 to" },
	{ TYPE_FLOAT64, GATE_MIN, "x", "takes a number" },
	{ TYPE_FLOAT64, GATE_MIN, "1.2.3", "takes a number" },
	{ TYPE_DECIMAL, GATE_MIN, "1e3", "without exponent" },
	{ TYPE_DATE, GATE_MIN, "2000-02-30", "takes a date" },
	{ TYPE_TIME, GATE_MIN, "25:00:00", "takes a time" },
	{ TYPE_TIME, GATE_MIN, "12:00:00+01", "takes a time" },
	{ TYPE_TIMESTAMP, GATE_MIN, "2000-01-01 00:00:00Z", "without zone" },
	{ TYPE_TIMESTAMP, GATE_MIN, "2000-01-01 00:00:00+01", "without zone" },
	{ TYPE_TIMESTAMPTZ, GATE_MIN, "0", "takes a time" },
	{ TYPE_BOOL, GATE_MIN, "true", "it has no order" },
	{ TYPE_UUID, GATE_MAX, "0", "it has no order" },
	{ TYPE_JSON, GATE_MAX, "0", "it has no order" },
	{ TYPE_BYTES, GATE_MAX, "0", "it has no order" },
};

static void test_wrong_limits(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct error err = ERROR_INIT;
		struct gate *g = NULL;
		struct world w;

		world_init(&w, wrong[i].type);
		world_limit(&w, wrong[i].kind, wrong[i].text);
		assert_int_equal(gate_open(&g, &w.p, &w.schema, &err),
				 -ERROR_SCHEMA);
		if (!strstr(err.message, wrong[i].says) ||
		    !strstr(err.message, "pipeline orders: gate.m"))
			fail_msg("%zu: %s", i, err.message);
		assert_null(g);
		world_release(&w);
	}
}

static void test_no_such_column(void **state)
{
	struct problems problems = { NULL, 0, 0 };
	struct world w;

	(void)state;
	world_init(&w, TYPE_TEXT);
	strlist_add(&w.p.gate.not_null, "vv");
	strlist_add(&w.p.gate.unique, "nothing_like_it");
	gate_free(gate_new(&w.p, &w.schema, &problems));
	assert_int_equal(problems.n, 2);
	assert_string_equal(problems.items[0].code, "gate-column");
	assert_int_equal(problems.items[0].error, ERROR_SCHEMA);
	assert_non_null(strstr(problems.items[0].message,
			       "gate.not_null names column \"vv\""));
	assert_non_null(
		strstr(problems.items[0].message, "did you mean \"v\"?"));
	problems_release(&problems);
	world_release(&w);
}

static void test_message(void **state)
{
	struct error err = ERROR_INIT;
	struct gate *g = NULL;
	struct world w;

	(void)state;
	world_init(&w, TYPE_INT32);
	world_limit(&w, GATE_MIN, "0");
	strlist_add(&w.p.gate.not_null, "v");
	assert_int_equal(gate_open(&g, &w.p, &w.schema, &err), 0);
	for (int64_t id = 1; id <= 20; id++)
		world_row(&w, id, id == 4 ? "" : id % 3 ? "1" : "-1");
	assert_string_equal(
		world_check(&w, g, &err),
		"gate: column \"v\", not_null: 1 row (id=4); column \"v\", min "
		"0: 6 rows (id=3; id=6; id=9; id=12; id=15; ...). The batch of "
		"20 rows was not loaded and the mark stays before it; mend the "
		"rows at the source, or change `gate`");
	gate_free(g);
	world_release(&w);
}

static void test_empty_gate(void **state)
{
	struct error err = ERROR_INIT;
	struct gate *g = NULL;
	struct world w;

	(void)state;
	world_init(&w, TYPE_TEXT);
	assert_int_equal(gate_open(&g, &w.p, &w.schema, &err), 0);
	world_row(&w, 1, "");
	world_row(&w, 1, "");
	assert_string_equal(world_check(&w, g, &err), "");
	gate_free(g);
	world_release(&w);
}

/* A pattern that would take for ever is an error, not a wait. */
static void test_endless_pattern(void **state)
{
	struct error err = ERROR_INIT;
	struct gate *g = NULL;
	struct world w;

	(void)state;
	world_init(&w, TYPE_TEXT);
	world_limit(&w, GATE_MATCH, "^(a|aa)+$");
	assert_int_equal(gate_open(&g, &w.p, &w.schema, &err), 0);
	world_row(&w, 7,
		  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab");
	assert_non_null(strstr(world_check(&w, g, &err),
			       "column \"v\", match ^(a|aa)+$: id=7: the "
			       "pattern gave up"));
	gate_free(g);
	world_release(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_wrong_limits),
		cmocka_unit_test(test_no_such_column),
		cmocka_unit_test(test_message),
		cmocka_unit_test(test_empty_gate),
		cmocka_unit_test(test_endless_pattern),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
