#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/data/watermark.h"

/* Text that is printed exactly as it was read. */
static const char *const exact[] = {
	"{\"strategy\":\"timestamp\",\"column\":\"updated_at\"}",
	"{\"strategy\":\"timestamp\",\"column\":\"updated_at\","
	"\"value\":\"2026-01-31 12:00:00.123456+00\"}",
	"{\"strategy\":\"timestamp\",\"column\":\"updated_at\","
	"\"value\":\"2026-01-31 12:00:00.123456+00\",\"key\":[\"7\",\"\"]}",
	"{\"strategy\":\"sequence\",\"column\":\"größe \\\"x\\\"\","
	"\"value\":\"9223372036854775808\",\"key\":[\"a\\nb\"],"
	"\"pending\":{\"max\":\"9\",\"open\":[3,4]},"
	"\"identity\":{\"engine\":\"postgres\",\"cluster\":\"7\"}}",
	"{\"strategy\":\"xmin\"}",
	"{\"strategy\":\"xmin\",\"value\":\"18446744073709551615\"}",
	"{\"strategy\":\"xmin\",\"value\":\"4294967300\","
	"\"pending\":{\"z\":1,\"a\":2}}",
	"{\"strategy\":\"xmin\",\"columns\":{\"id\":1,\"größe\":0}}",
	"{\"strategy\":\"xmin\",\"identity\":{},\"mode\":\"update\"}",
	"{\"strategy\":\"xmin\",\"shape\":{\"where\":\"0\",\"types\":{}}}",
};

#define AT     "{\"strategy\":\"timestamp\",\"column\":\"at\","
#define SEQ    "{\"strategy\":\"sequence\",\"column\":\"seq\","
#define V(v)   "\"value\":\"" v "\""
#define D(d)   "\"pending\":{\"delivered\":\"" d "\"}"
#define DAY(d) "2026-01-" d " 00:00:00+00"

/* A mark, what another says is delivered, and what becomes of the first; NULL:
 * it stays. */
static const char *const raised[][3] = {
	{ NULL, AT D(DAY("05")) "}", AT D(DAY("05")) "}" },
	{ AT V(DAY("01")) "}", AT D(DAY("05")) "}",
	  AT V(DAY("01")) "," D(DAY("05")) "}" },
	{ AT V(DAY("01")) "," D(DAY("03")) "}", AT D(DAY("05")) "}",
	  AT V(DAY("01")) "," D(DAY("05")) "}" },
	{ AT V(DAY("01")) "," D(DAY("07")) "}", AT D(DAY("05")) "}", NULL },
	{ AT V(DAY("05")) "}", AT D(DAY("05")) "}", NULL },
	{ AT V("2026-01-05 01:00:00+02") "}", AT D(DAY("05")) "}",
	  AT V("2026-01-05 01:00:00+02") "," D(DAY("05")) "}" },
	{ AT V(DAY("01")) "}", AT V(DAY("02")) "}",
	  AT V(DAY("01")) "," D(DAY("02")) "}" },
	{ AT V(DAY("01")) "}", AT D("soon") "}", NULL },
	{ AT V(DAY("01")) "}", SEQ D("9") "}", NULL },
	{ AT V(DAY("01")) "}", "{", NULL },
	{ "{\"value\":\"1\"}", AT D(DAY("05")) "}", NULL },
	{ SEQ V("9") "}", SEQ D("10") "}", SEQ V("9") "," D("10") "}" },
	{ SEQ V("-9") "}", SEQ D("-10") "}", NULL },
	{ "{\"strategy\":\"xmin\",\"value\":\"7\"}",
	  "{\"strategy\":\"xmin\",\"value\":\"9\"}", NULL },
};

/* Marks as people write them, and the same in fixed order. */
static const char *const loose[][2] = {
	{ " { \"value\" : 7, \"column\":\"id\", \"strategy\":\"sequence\" } ",
	  "{\"strategy\":\"sequence\",\"column\":\"id\",\"value\":\"7\"}" },
	{ "{\"strategy\":\"xmin\",\"value\":null,\"key\":[],"
	  "\"pending\":null,\"identity\":null,\"column\":null}",
	  "{\"strategy\":\"xmin\"}" },
	{ "{\"identity\":{},\"key\":[1,-2],\"value\":\"x\",\"column\":\"c\","
	  "\"strategy\":\"timestamp\"}",
	  "{\"strategy\":\"timestamp\",\"column\":\"c\",\"value\":\"x\","
	  "\"key\":[\"1\",\"-2\"],\"identity\":{}}" },
};

/* Text that is refused, and what the message must name. */
static const char *const bad[][2] = {
	{ "", "not JSON" },
	{ "{", "line 1" },
	{ "{} x", "not JSON" },
	{ "[]", "expected a JSON object" },
	{ "{\"strategy\":\"xmin\",\"strategy\":\"xmin\"}", "duplicate" },
	{ "{}", "\"strategy\"" },
	{ "{\"strategy\":1}", "\"strategy\"" },
	{ "{\"strategy\":\"serial\"}", "\"serial\"" },
	{ "{\"strategy\":\"timestamp\"}", "\"column\"" },
	{ "{\"strategy\":\"sequence\"}", "\"column\"" },
	{ "{\"strategy\":\"xmin\",\"column\":\"c\"}", "\"column\"" },
	{ "{\"strategy\":\"timestamp\",\"column\":\"\"}", "\"column\"" },
	{ "{\"strategy\":\"timestamp\",\"column\":[]}", "\"column\"" },
	{ "{\"strategy\":\"sequence\",\"column\":\"c\",\"value\":1.5}",
	  "\"value\"" },
	{ "{\"strategy\":\"sequence\",\"column\":\"c\",\"value\":true}",
	  "\"value\"" },
	{ "{\"strategy\":\"sequence\",\"column\":\"c\",\"value\":\"\"}",
	  "\"value\"" },
	{ "{\"strategy\":\"xmin\",\"value\":\"-1\"}", "\"-1\"" },
	{ "{\"strategy\":\"xmin\",\"value\":\"12x\"}", "\"12x\"" },
	{ "{\"strategy\":\"xmin\",\"value\":\"18446744073709551616\"}",
	  "transaction id" },
	{ "{\"strategy\":\"xmin\",\"key\":[\"1\"]}", "\"key\"" },
	{ "{\"strategy\":\"xmin\",\"value\":\"1\",\"key\":\"1\"}",
	  "\"key\" must be a list" },
	{ "{\"strategy\":\"xmin\",\"value\":\"1\",\"key\":[\"1\",null]}",
	  "part 2 of \"key\"" },
	{ "{\"strategy\":\"xmin\",\"pending\":3}", "\"pending\"" },
	{ "{\"strategy\":\"xmin\",\"identity\":\"x\"}", "\"identity\"" },
	{ "{\"strategy\":\"xmin\",\"mode\":\"upsert\"}", "\"mode\"" },
	{ "{\"strategy\":\"xmin\",\"valeu\":\"1\"}",
	  "unknown member \"valeu\"" },
	{ "{\"strategy\":\"xmin\",\"valeu\":\"1\"}", "did you mean \"value\"" },
};

static void parse(struct watermark *w, const char *text)
{
	struct error err = ERROR_INIT;
	int rc = watermark_from_text(w, text, &err);

	if (rc)
		print_message("%s: %s\n", text, err.message);
	assert_int_equal(rc, 0);
}

static void check_prints(const struct watermark *w, const char *expected)
{
	char *text = watermark_to_text(w);

	assert_string_equal(text, expected);
	free(text);
}

static void test_round_trip(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(exact); i++) {
		struct watermark w, copy, again;

		parse(&w, exact[i]);
		check_prints(&w, exact[i]);
		watermark_copy(&copy, &w);
		parse(&again, exact[i]);
		assert_true(watermark_equal(&copy, &again));
		watermark_release(&w);
		check_prints(&copy, exact[i]);
		watermark_release(&copy);
		watermark_release(&again);
	}
}

static void test_loose(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(loose); i++) {
		struct watermark w;

		parse(&w, loose[i][0]);
		check_prints(&w, loose[i][1]);
		watermark_release(&w);
	}
}

static void test_bad(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct error err = ERROR_INIT;
		struct watermark w;
		int rc = watermark_from_text(&w, bad[i][0], &err);

		assert_int_equal(rc, -ERROR_DATA);
		if (!strstr(err.message, bad[i][1]))
			fail_msg("%s: \"%s\" is not in: %s", bad[i][0],
				 bad[i][1], err.message);
		assert_int_equal(watermark_from_text(&w, bad[i][0], NULL),
				 -ERROR_DATA);
	}
}

/* No two of the exact texts are the same mark. */
static void test_difference(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(exact); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(exact); k++) {
			struct watermark a, b;

			parse(&a, exact[i]);
			parse(&b, exact[k]);
			assert_int_equal(watermark_equal(&a, &b), i == k);
			watermark_release(&a);
			watermark_release(&b);
		}
	}
}

/* A key that JSON cannot hold is left out: its rows come again, none is
 * skipped. */
static void test_key_not_utf8(void **state)
{
	struct watermark w;

	(void)state;
	watermark_init(&w);
	w.strategy = STRATEGY_SEQUENCE;
	w.column = xstrdup("c");
	w.value = xstrdup("1");
	strlist_add(&w.key, "ok");
	strlist_add(&w.key, "\xff\xfe");
	check_prints(&w, "{\"strategy\":\"sequence\",\"column\":\"c\","
			 "\"value\":\"1\"}");
	watermark_release(&w);
	watermark_release(NULL);
}

/* remembered, now, what the message must say ("": they agree) */
static const char *const identities[][3] = {
	{ "{\"cluster\":\"7\",\"table\":16384}",
	  "{\"table\":16384,\"cluster\":\"7\"}", "" },
	{ "{\"cluster\":\"7\"}", "{\"cluster\":\"7\",\"timeline\":1}", "" },
	{ "{\"cluster\":\"7\",\"table\":16384}",
	  "{\"cluster\":\"7\",\"table\":16390}",
	  "table was 16384, now it is 16390" },
	{ "{\"cluster\":\"7\"}", "{\"cluster\":\"8\"}",
	  "cluster was 7, now it is 8" },
	{ "{\"cluster\":\"7\",\"table\":1}", "{\"cluster\":\"7\"}",
	  "table was 1, now it is nothing" },
	{ "{\"table\":\"public.t\",\"table_oid\":19946}",
	  "{\"table\":\"public.t\",\"table_oid\":20011}",
	  "the table public.t was dropped and created again since the mark was "
	  "taken (oid 19946, now 20011)" },
	{ "{\"system_identifier\":\"7\"}", "{\"system_identifier\":\"8\"}",
	  "another cluster answers" },
	{ "{\"timeline\":1}", "{\"timeline\":2}",
	  "timeline was 1, now it is 2" },
	{ "{\"mark_meaning\":\"instant\"}", "{\"mark_meaning\":\"day\"}",
	  "mark_meaning was instant, now it is day" },
	{ "{\"table_oid\":9,\"mark_type\":\"integer\"}", "{\"table_oid\":9}",
	  "" },
	{ "{\"mark_type\":\"integer\"}", "{\"mark_type\":\"bigint\"}", "" },
};

static void test_raise(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(raised); i++) {
		char *text = watermark_raise_text(raised[i][0], raised[i][1]);

		if (!raised[i][2])
			assert_null(text);
		else if (!text || strcmp(text, raised[i][2]) != 0)
			fail_msg("raised %zu: %s", i, text ? text : "nothing");
		free(text);
	}
	assert_null(watermark_raise_text(AT V(DAY("01")) "}", NULL));
}

static void test_identity(void **state)
{
	struct watermark w;

	(void)state;
	watermark_init(&w);
	for (size_t i = 0; i < ARRAY_SIZE(identities); i++) {
		struct error err = ERROR_INIT;
		json_t *now = json_loads(identities[i][1], 0, NULL);
		int rc;

		w.identity = json_loads(identities[i][0], 0, NULL);
		rc = watermark_check_identity(&w, now, "run", "orders", &err);
		if (*identities[i][2]) {
			assert_int_equal(rc, -ERROR_SCHEMA);
			assert_non_null(strstr(err.message, identities[i][2]));
			assert_non_null(
				strstr(err.message, "watermark reset orders"));
			assert_non_null(
				strstr(err.message, "--full-refresh orders"));
		} else {
			assert_int_equal(rc, 0);
		}
		json_decref(now);
		json_decref(w.identity);
		w.identity = NULL;
	}
	assert_int_equal(
		watermark_check_identity(&w, NULL, "run", "orders", NULL), 0);
}

/* remembered columns of id, which is number 1 now, and an expression; which of
 * them is new ("": none) */
static const char *const columns[][2] = {
	{ "{\"strategy\":\"xmin\"}", "" },
	{ "{\"strategy\":\"xmin\",\"columns\":{\"id\":1,\"e\":0}}", "" },
	{ "{\"strategy\":\"xmin\",\"columns\":{\"x\":2,\"e\":0,\"id\":1}}",
	  "" },
	{ "{\"strategy\":\"xmin\",\"columns\":{\"id\":7,\"e\":0}}", "id" },
	{ "{\"strategy\":\"xmin\",\"columns\":{\"id\":1,\"e\":2}}", "e" },
	{ "{\"strategy\":\"xmin\",\"columns\":{\"id\":1}}", "e" },
};

static void test_columns(void **state)
{
	struct type type = { .kind = TYPE_INT64 };
	struct schema s;
	const struct strlist none = STRLIST_INIT;

	(void)state;
	schema_init(&s);
	schema_add(&s, "id", &type, false)->number = 1;
	schema_add(&s, "e", &type, false);
	schema_add(&s, "\xff", &type, false)->number = 3;
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
		struct watermark w;
		char *found;

		parse(&w, columns[i][0]);
		found = watermark_new_column(&w, &s);
		assert_string_equal(found ? found : "", columns[i][1]);
		free(found);
		watermark_set_columns(&w, &s, &none);
		assert_null(watermark_new_column(&w, &s));
		watermark_release(&w);
	}
	schema_release(&s);
}

/* a mark, and what is left of it */
static const char *const forgotten[][2] = {
	{ "{\"strategy\":\"xmin\",\"value\":\"7\",\"pending\":{\"a\":1}}",
	  "{\"strategy\":\"xmin\"}" },
	{ "{\"strategy\":\"timestamp\",\"column\":\"c\",\"columns\":{}}",
	  "{\"strategy\":\"timestamp\",\"column\":\"c\"}" },
	{ "{\"strategy\":\"timestamp\",\"column\":\"c\",\"value\":\"7\","
	  "\"key\":[\"1\"],\"identity\":{}}",
	  "{\"strategy\":\"timestamp\",\"column\":\"c\","
	  "\"pending\":{\"delivered\":\"7\"}}" },
	{ "{\"strategy\":\"sequence\",\"column\":\"c\",\"value\":\"7\","
	  "\"pending\":{\"max\":\"8\",\"delivered\":\"9\"}}",
	  "{\"strategy\":\"sequence\",\"column\":\"c\","
	  "\"pending\":{\"delivered\":\"9\"}}" },
};

static void test_forget(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(forgotten); i++) {
		struct watermark w;

		parse(&w, forgotten[i][0]);
		watermark_forget(&w);
		check_prints(&w, forgotten[i][1]);
		watermark_release(&w);
	}
}

static void test_strategies(void **state)
{
	static const char *const names[] = { "timestamp", "xmin", "sequence" };
	enum strategy strategy;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		assert_true(strategy_parse(names[i], &strategy));
		assert_string_equal(strategy_name(strategy), names[i]);
	}
	assert_false(strategy_parse("Timestamp", &strategy));
	assert_false(strategy_parse("", &strategy));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_loose),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_difference),
		cmocka_unit_test(test_key_not_utf8),
		cmocka_unit_test(test_raise),
		cmocka_unit_test(test_identity),
		cmocka_unit_test(test_columns),
		cmocka_unit_test(test_forget),
		cmocka_unit_test(test_strategies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
