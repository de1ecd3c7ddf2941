/* The pure parts of status, watermark and init. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/alloc.h"
#include "core/sync/parts/marks.h"
#include "core/sync/report/propose.h"
#include "core/sync/report/status.h"

static const struct {
	int64_t mark_age, caught_up_age, held, expected;
} lags[] = {
	{ -1, -1, -1, -1 }, /* nothing is known */
	{ -1, -1, 5, -1 },
	{ 100, -1, -1, 100 }, /* never caught up: as old as the mark */
	{ 100, 7, -1, 7 }, /* a quiet table is not behind */
	{ 3, 7, -1, 3 },
	{ -1, 7, -1, 7 }, /* an xmin mark has no age */
	{ 100, 7, 50, 50 }, /* held rows make it late */
	{ 0, 0, 0, 0 },
};

static void test_lag(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lags); i++)
		assert_int_equal(status_lag(lags[i].mark_age,
					    lags[i].caught_up_age,
					    lags[i].held),
				 lags[i].expected);
}

static const struct {
	const char *url, *expected;
	bool hidden;
} urls[] = {
	{ "postgresql://app@db/shop", "postgresql://app@db/shop", false },
	{ "postgresql://app:pw@db/shop", "postgresql://app@db/shop", true },
	{ "postgresql://app:p@w:x@db/shop", "postgresql://app@db/shop", true },
	{ "postgresql://app:@db/shop", "postgresql://app:@db/shop", false },
	{ "postgresql://app:${PW}@db/shop", "postgresql://app:${PW}@db/shop",
	  false },
	{ "postgresql://db:5432/a?password=pw", "postgresql://db:5432/a",
	  true },
	{ "postgresql://db/a?user=u&password=pw&sslmode=require",
	  "postgresql://db/a?user=u&sslmode=require", true },
	{ "postgresql://db/a?password=${PW}",
	  "postgresql://db/a?password=${PW}", false },
	{ "postgresql:///a?host=/tmp", "postgresql:///a?host=/tmp", false },
	{ "postgresql://app:p?w#x@db/shop", "postgresql://app@db/shop", true },
	{ "postgresql://app:p/w@db/shop", "postgresql://app@db/shop", true },
	{ "postgresql://db/a?%70assword=pw&x=1", "postgresql://db/a?x=1",
	  true },
	{ "postgresql://db/a?x=1&sslpassword=pw&y=2",
	  "postgresql://db/a?x=1&sslpassword=${SOURCE_SSLPASSWORD}&y=2",
	  false },
	{ "postgresql://a:p@db/a?password=q&sslpassword=${S}",
	  "postgresql://a@db/a?sslpassword=${S}", true },
	{ "duckdb:w?motherduck_token=abc",
	  "duckdb:w?motherduck_token=${SOURCE_MOTHERDUCK_TOKEN}", false },
	{ "duckdb:shop.duckdb?memory_limit=1GB",
	  "duckdb:shop.duckdb?memory_limit=1GB", false },
	{ "sqlite:a:b@c.db", "sqlite:a:b@c.db", false },
};

static void test_hide(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(urls); i++) {
		struct strbuf sb = STRBUF_INIT;
		struct strlist variables = STRLIST_INIT;
		bool hidden = propose_hide_password(urls[i].url, "SOURCE", &sb,
						    &variables);

		assert_string_equal(sb.data, urls[i].expected);
		assert_int_equal(hidden, urls[i].hidden);
		assert_int_equal(variables.n,
				 strstr(sb.data, "${SOURCE_") ? 1 : 0);
		strbuf_release(&sb);
		strlist_release(&variables);
	}
}

/* `expected`: the canonical text; NULL: a null mark; "!...": the error. */
static const struct {
	enum strategy strategy;
	const char *text, *expected;
} marks[] = {
	{ STRATEGY_SEQUENCE,
	  "{\"strategy\":\"sequence\",\"column\":\"id\",\"value\":\"7\"}",
	  "{\"strategy\":\"sequence\",\"column\":\"id\",\"value\":\"7\"}" },
	{ STRATEGY_SEQUENCE,
	  "{\"pipelines\":[{\"pipeline\":\"q\",\"watermark\":null},"
	  "{\"pipeline\":\"p\",\"watermark\":{\"strategy\":\"sequence\","
	  "\"column\":\"id\",\"value\":\"-7\"},\"from\":\"destination\"}]}",
	  "{\"strategy\":\"sequence\",\"column\":\"id\",\"value\":\"-7\"}" },
	{ STRATEGY_SEQUENCE, "null", NULL },
	{ STRATEGY_SEQUENCE, "{", "!not JSON" },
	{ STRATEGY_SEQUENCE, "7", "!" },
	{ STRATEGY_SEQUENCE, "{\"strategy\":\"xmin\",\"value\":\"7\"}",
	  "!pipeline p uses sequence" },
	{ STRATEGY_SEQUENCE,
	  "{\"strategy\":\"sequence\",\"column\":\"nr\",\"value\":\"7\"}",
	  "!pipeline p uses \"id\"" },
	{ STRATEGY_SEQUENCE,
	  "{\"strategy\":\"sequence\",\"column\":\"id\",\"value\":\"x\"}",
	  "!\"x\" is no value of a sequence mark" },
	{ STRATEGY_SEQUENCE,
	  "{\"strategy\":\"sequence\",\"column\":\"id\",\"value\":\"\"}",
	  "!value" },
	{ STRATEGY_TIMESTAMP,
	  "{\"strategy\":\"timestamp\",\"column\":\"id\",\"value\":"
	  "\"2026-01-31 12:00:00.123456+00\"}",
	  "{\"strategy\":\"timestamp\",\"column\":\"id\",\"value\":"
	  "\"2026-01-31 12:00:00.123456+00\"}" },
	{ STRATEGY_TIMESTAMP,
	  "{\"strategy\":\"timestamp\",\"column\":\"id\",\"value\":\"7\"}",
	  "!\"7\" is no value of a timestamp mark" },
};

static void test_marks(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
		struct pipeline_settings p = { .name = (char *)"p",
					       .strategy = marks[i].strategy,
					       .mark_column = (char *)"id" };
		struct error err = ERROR_INIT;
		char *out = NULL;
		int code = marks_parse(&p, marks[i].text, &out, &err);

		if (!marks[i].expected) {
			assert_int_equal(code, 0);
			assert_null(out);
		} else if (*marks[i].expected != '!') {
			assert_string_equal(err.message, "");
			assert_string_equal(out, marks[i].expected);
		} else {
			assert_int_equal(code, -ERROR_CONFIG);
			assert_non_null(
				strstr(err.message, marks[i].expected + 1));
		}
		free(out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lag),
		cmocka_unit_test(test_hide),
		cmocka_unit_test(test_marks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
