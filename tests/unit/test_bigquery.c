/* Requests of BigQuery's destination, and its client's reading of answers. */
#include "clients/bigquery_reply.h"
#include "destinations/bigquery/encode.h"
#include "destinations/bigquery/internal.h"
#include "destinations/bigquery/json.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

static const struct {
	const char *plain, *packed;
} base64_cases[] = {
	/* RFC 4648, 10 */
	{ "", "" },
	{ "f", "Zg==" },
	{ "fo", "Zm8=" },
	{ "foo", "Zm9v" },
	{ "foob", "Zm9vYg==" },
	{ "fooba", "Zm9vYmE=" },
	{ "foobar", "Zm9vYmFy" },
	{ "\xff\xfe\xfd", "//79" },
};

static void test_base64(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(base64_cases); i++) {
		struct strbuf sb = STRBUF_INIT;

		bigquery_encode_base64(&sb,
				       (const uint8_t *)base64_cases[i].plain,
				       strlen(base64_cases[i].plain));
		assert_string_equal(sb.data, base64_cases[i].packed);
		strbuf_release(&sb);
	}
}

static void test_text(void **state)
{
	static const char plain[] = "a\"b\\c\n\x01\xc3\xbc\0d";
	struct strbuf sb = STRBUF_INIT;

	(void)state;
	bigquery_encode_text(&sb, (const uint8_t *)plain, sizeof(plain) - 1);
	assert_string_equal(sb.data,
			    "\"a\\\"b\\\\c\\u000a\\u0001\xc3\xbc\\u0000d\"");
	strbuf_release(&sb);
}

static const struct {
	const char *text, *refused; /* NULL: nothing */
} json_cases[] = {
	{ "{\"b\": 1, \"a\": [2.50, null, \"1e999 \\\"\"]}", NULL },
	{ "\"\\u0000\"", NULL },
	{ "{\"a\": {\"x\": 1}, \"b\": {\"x\": 2}}", NULL },
	{ "{\"a\": 1, \"b\": 2, \"a\": 1}", "two members" },
	{ "[{\"a\": 1, \"\\u0061\": 2}]", "two members" },
	{ "18446744073709551615", NULL },
	{ "18446744073709551616", "no double" },
	{ "-9223372036854775808", NULL },
	{ "-9223372036854775809", "no double" },
	{ "10000000000000000000000000000000000000000", NULL },
	{ "[0.1, 1.50e1, 5e-324, -0, 1.7976931348623157e308]", NULL },
	{ "[0.12345678901234567890]", "no double" },
	{ "1e400", "no double" },
	{ "1e-400", "no double" },
	{ "-1e400", "no double" },
	{ "", "no JSON" },
	{ "{", "no JSON" },
	{ "NaN", "no JSON" },
};

static void test_json(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(json_cases); i++) {
		const char *text = json_cases[i].text;
		const char *found = bigquery_json_refused(text, strlen(text));

		if (!json_cases[i].refused)
			assert_null(found);
		else if (!found || !strstr(found, json_cases[i].refused))
			fail_msg("%s: %s", text, found ? found : "taken");
	}
}

/* A source's type, and how BigQuery keeps it. */
static const struct {
	enum type_kind kind;
	int precision, scale;
	const char *native, *kept;
	enum mapping mapping;
} type_cases[] = {
	{ TYPE_BOOL, 0, 0, "boolean", "BOOL", MAPPING_EXACT },
	{ TYPE_INT16, 0, 0, "smallint", "INT64", MAPPING_EXACT },
	{ TYPE_UINT64, 0, 0, "bigint unsigned", "NUMERIC(20,0)",
	  MAPPING_WIDENED },
	{ TYPE_FLOAT32, 0, 0, "real", "FLOAT64", MAPPING_WIDENED },
	{ TYPE_DECIMAL, 38, 9, "numeric(38,9)", "NUMERIC(38,9)",
	  MAPPING_EXACT },
	{ TYPE_DECIMAL, 38, 8, "numeric(38,8)", "BIGNUMERIC(38,8)",
	  MAPPING_EXACT },
	{ TYPE_DECIMAL, 12, 10, "numeric(12,10)", "BIGNUMERIC(12,10)",
	  MAPPING_EXACT },
	{ TYPE_DECIMAL, 76, 38, "numeric(76,38)", "BIGNUMERIC(76,38)",
	  MAPPING_EXACT },
	{ TYPE_DECIMAL, 77, 38, "numeric(77,38)", "STRING", MAPPING_WIDENED },
	{ TYPE_DECIMAL, 40, 39, "numeric(40,39)", "STRING", MAPPING_WIDENED },
	{ TYPE_DECIMAL, 5, -2, "numeric(5,-2)", "NUMERIC(7,0)", MAPPING_EXACT },
	{ TYPE_DECIMAL, 2, 5, "numeric(2,5)", "NUMERIC(5,5)", MAPPING_EXACT },
	{ TYPE_DECIMAL, 0, 0, "numeric", "STRING", MAPPING_WIDENED },
	{ TYPE_TIMESTAMP, 0, 0, "timestamp", "DATETIME", MAPPING_EXACT },
	{ TYPE_TIMESTAMPTZ, 0, 0, "timestamptz", "TIMESTAMP", MAPPING_EXACT },
	{ TYPE_JSON, 0, 0, "jsonb", "JSON", MAPPING_EXACT },
	{ TYPE_NATIVE, 0, 0, "GEOGRAPHY", "GEOGRAPHY", MAPPING_EXACT },
	{ TYPE_NATIVE, 0, 0, "ARRAY<INT64>", "ARRAY<INT64>", MAPPING_EXACT },
	{ TYPE_NATIVE, 0, 0, "ARRAY<STRUCT>", "STRING", MAPPING_WIDENED },
	{ TYPE_NATIVE, 0, 0, "int4range", "STRING", MAPPING_WIDENED },
};

static void test_types(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(type_cases); i++) {
		const struct type source = {
			.kind = type_cases[i].kind,
			.precision = type_cases[i].precision,
			.scale = type_cases[i].scale,
			.native = (char *)type_cases[i].native,
		};
		struct bigquery_type t;

		bigquery_type_of(&t, &source, "bigquery");
		assert_string_equal(t.text, type_cases[i].kept);
		assert_int_equal(t.mapping, type_cases[i].mapping);
		if (source.kind != TYPE_NATIVE)
			continue;
		/* The name means that in BigQuery alone. */
		bigquery_type_of(&t, &source, "postgres");
		assert_string_equal(t.text, "STRING");
	}
}

static const struct {
	enum type_kind kind;
	int precision, scale;
	const char *actual;
	enum fit fit;
	const char *grown;
} fit_cases[] = {
	{ TYPE_INT32, 0, 0, "INT64", FIT_EXACT, NULL },
	{ TYPE_INT32, 0, 0, "NUMERIC", FIT_WIDER, NULL },
	{ TYPE_INT32, 0, 0, "NUMERIC(19,0)", FIT_WIDER, NULL },
	{ TYPE_INT32, 0, 0, "NUMERIC(12,2)", FIT_GROWS, "NUMERIC(21,2)" },
	{ TYPE_INT32, 0, 0, "STRING", FIT_WIDER, NULL },
	{ TYPE_INT32, 0, 0, "BOOL", FIT_NARROW, NULL },
	{ TYPE_DECIMAL, 12, 4, "NUMERIC(5,2)", FIT_GROWS, "NUMERIC(12,4)" },
	{ TYPE_DECIMAL, 12, 4, "BIGNUMERIC", FIT_WIDER, NULL },
	{ TYPE_DECIMAL, 19, 0, "INT64", FIT_GROWS, "NUMERIC(19,0)" },
	{ TYPE_DECIMAL, 18, 0, "INT64", FIT_WIDER, NULL },
	{ TYPE_DECIMAL, 76, 38, "NUMERIC(38,0)", FIT_GROWS,
	  "BIGNUMERIC(76,38)" },
	{ TYPE_TEXT, 0, 0, "STRING(5)", FIT_GROWS, "STRING" },
	{ TYPE_TEXT, 0, 0, "INT64", FIT_NARROW, NULL },
	{ TYPE_BYTES, 0, 0, "STRING", FIT_NARROW, NULL },
	{ TYPE_BYTES, 0, 0, "BYTES(5)", FIT_GROWS, "BYTES" },
	{ TYPE_TIMESTAMPTZ, 0, 0, "DATETIME", FIT_NARROW, NULL },
	{ TYPE_DATE, 0, 0, "STRING", FIT_WIDER, NULL },
};

static void test_fits(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(fit_cases); i++) {
		const struct type source = {
			.kind = fit_cases[i].kind,
			.precision = fit_cases[i].precision,
			.scale = fit_cases[i].scale,
			.native = (char *)"",
		};
		char grown[BIGQUERY_TYPE_SIZE] = "";
		struct bigquery_type t;

		bigquery_type_of(&t, &source, "elsewhere");
		if (bigquery_type_fit(&t, fit_cases[i].actual, grown) !=
		    fit_cases[i].fit)
			fail_msg("%s in %s: not so", t.text,
				 fit_cases[i].actual);
		if (fit_cases[i].grown)
			assert_string_equal(grown, fit_cases[i].grown);
	}
}

static const struct {
	const char *name;
	bool column, table;
} name_cases[] = {
	{ "id", true, true },
	{ "with space", true, true },
	{ "gr\xc3\xb6\xc3\x9f"
	  "e",
	  true, true },
	{ "dash-ed", true, true },
	{ "a%b", true, false },
	{ "a.b", false, false },
	{ "a`b", false, false },
	{ "a\\b", false, false },
	{ "a\"b", false, false },
	{ "a\nb", false, false },
	{ "_partitiontime", false, true },
	{ "_PARTITIONDATE", false, true },
	{ "__root__x", false, true },
	{ "_tidemark_seq", false, true },
};

static void test_names(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(name_cases); i++) {
		assert_int_equal(!bigquery_column_refused(name_cases[i].name),
				 name_cases[i].column);
		assert_int_equal(!bigquery_table_refused(name_cases[i].name),
				 name_cases[i].table);
	}
	assert_non_null(bigquery_column_refused(""));
}

static const struct {
	const char *reason, *message;
	long status;
	enum error_code code;
} reason_cases[] = {
	{ "rateLimitExceeded", "x", 403, ERROR_TRANSIENT },
	{ "quotaExceeded", "x", 403, ERROR_ACCESS },
	{ "accessDenied", "x", 403, ERROR_ACCESS },
	{ "backendError", "x", 503, ERROR_TRANSIENT },
	{ "notFound", "Not found: Dataset p:d", 404, ERROR_ACCESS },
	{ "notFound", "Not found: Table p:d.t", 404, ERROR_SCHEMA },
	{ "invalidQuery", "Query error: Not found: Table p:d.t at [3:1]", 400,
	  ERROR_SCHEMA },
	{ "invalidQuery",
	  "Query error: Transaction is aborted due to concurrent update "
	  "against table p:d.t. at [2:1]",
	  400, ERROR_CONFLICT },
	{ "invalidQuery", "Assertion failed: tidemark: overtaken", 400,
	  ERROR_STATE },
	{ "invalidQuery", "Syntax error: Unexpected end", 400, ERROR_BUG },
	{ "invalid", "Error while reading data", 400, ERROR_DATA },
	{ "uploadTooLarge", "x", 413, ERROR_DATA },
	{ "", "status 500", 500, ERROR_TRANSIENT },
	{ "", "status 401", 401, ERROR_ACCESS },
	{ "somethingNew", "x", 429, ERROR_TRANSIENT },
};

static void test_reasons(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(reason_cases); i++) {
		enum error_code code = bigquery_reason_class(
			reason_cases[i].reason, reason_cases[i].message,
			reason_cases[i].status);

		if (code != reason_cases[i].code)
			fail_msg("%s, %s: %s", reason_cases[i].reason,
				 reason_cases[i].message,
				 error_code_name(code));
	}
}

/* Answers that are not the service's, and the errors about them. */
static const struct {
	const char *type, *text;
	long status;
	enum error_code code; /* 0: an answer */
	const char *words[2];
} reply_cases[] = {
	{ "text/html",
	  "<h1>Hello</h1>",
	  200,
	  ERROR_TRANSIENT,
	  { "HTTP 200, text/html", "<h1>Hello</h1>" } },
	{ NULL, "{}", 200, ERROR_TRANSIENT, { "of no type", "{}" } },
	{ "text/plain", "go away", 401, ERROR_ACCESS, { "401", "go away" } },
	{ "text/plain", "", 302, ERROR_ACCESS, { "302 (a redirect", "" } },
	{ "text/plain", "no", 400, ERROR_ACCESS, { "HTTP 400", "no" } },
	{ "text/html", "later", 502, ERROR_TRANSIENT, { "502", "later" } },
	{ "text/html", "?", 999, ERROR_ACCESS, { "999", "?" } },
	{ "application/json",
	  "{\"a\": [1,",
	  200,
	  ERROR_TRANSIENT,
	  { "not whole", "" } },
	{ "application/json", "", 200, ERROR_TRANSIENT, { "not whole", "" } },
	{ "application/json",
	  "[1]",
	  200,
	  ERROR_TRANSIENT,
	  { "no object", "" } },
	{ "application/json; charset=UTF-8", "{\"a\": 1}", 200, 0, { NULL } },
};

static void test_replies(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(reply_cases); i++) {
		struct error err = ERROR_INIT;
		json_t *reply = NULL;
		int rc = bigquery_reply_parse(
			&reply, reply_cases[i].text,
			strlen(reply_cases[i].text), reply_cases[i].type,
			reply_cases[i].status, "BigQuery", &err);

		assert_int_equal(rc, -(int)reply_cases[i].code);
		for (size_t k = 0; rc && k < 2; k++)
			if (!strstr(err.message, reply_cases[i].words[k]))
				fail_msg("%s", err.message);
		json_decref(reply);
	}
}

/* JSON, and yet none of the answers that the service gives. */
static void test_answers_of_others(void **state)
{
	json_t *none = json_object(), *wrong, *table, *error;
	bool done = true;

	(void)state;
	wrong = json_pack("{s:s, s:i}", "jobComplete", "true", "type", 7);
	table = json_pack("{s:{s:s}, s:s}", "tableReference", "tableId", "t",
			  "type", "TABLE");
	error = json_pack("{s:i}", "error", 7);
	assert_int_equal(bigquery_reply_complete(none, &done, "x", NULL),
			 -ERROR_TRANSIENT);
	assert_int_equal(bigquery_reply_complete(wrong, &done, "x", NULL),
			 -ERROR_TRANSIENT);
	assert_int_equal(bigquery_reply_table(none, "x", NULL),
			 -ERROR_TRANSIENT);
	assert_int_equal(bigquery_reply_table(wrong, "x", NULL),
			 -ERROR_TRANSIENT);
	assert_int_equal(bigquery_reply_table(table, "x", NULL), 0);
	assert_int_equal(bigquery_reply_refused(none, 400, "x", NULL),
			 -ERROR_ACCESS);
	assert_int_equal(bigquery_reply_refused(error, 503, "x", NULL),
			 -ERROR_TRANSIENT);
	json_decref(none);
	json_decref(wrong);
	json_decref(table);
	json_decref(error);
}

static void check_job(const char *text, int code, bool done, const char *word)
{
	struct error err = ERROR_INIT;
	json_t *job = json_loads(text, 0, NULL);
	bool is_done = false;

	assert_non_null(job);
	assert_int_equal(bigquery_reply_job(job, &is_done, "BigQuery", &err),
			 -code);
	assert_int_equal(is_done, done);
	if (word && !strstr(err.message, word))
		fail_msg("%s", err.message);
	json_decref(job);
}

static void test_jobs(void **state)
{
	(void)state;
	check_job("{}", ERROR_TRANSIENT, false, "no job's state");
	check_job("{\"status\": {\"state\": \"RUNNING\"}}", 0, false, NULL);
	check_job("{\"status\": {\"state\": \"DONE\"}}", 0, true, NULL);
	check_job("{\"status\": {\"state\": \"DONE\", \"errorResult\": "
		  "{\"reason\": \"invalid\", \"message\": \"too many "
		  "errors\"}, \"errors\": [{\"message\": \"too many errors\"}, "
		  "{\"message\": \"Could not parse 'x' as INT64 for field "
		  "c1\"}]}}",
		  ERROR_DATA, true, "for field c1");
	check_job("{\"status\": {\"state\": \"DONE\", \"errorResult\": 7}}", 0,
		  true, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_base64),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_fits),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_reasons),
		cmocka_unit_test(test_replies),
		cmocka_unit_test(test_jobs),
		cmocka_unit_test(test_answers_of_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
