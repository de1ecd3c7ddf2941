/* How a line of the log is written, for people and for programs. */
#include "tests/unit/unit.h"

#include "core/base/log_line.h"
#include "core/base/secret.h"

static const struct log_line plain = {
	.time = "T",
	.level = "info",
	.pipeline = "orders",
	.run_id = "r1",
	.attempt_id = "",
	.event = "run_ended",
	.code = "",
	.message = "m",
};

#define KEYS "time=T level=info pipeline=orders run_id=r1 attempt_id=\"\" "

static void check_message(const char *message, const char *expected)
{
	struct strbuf out = STRBUF_INIT;
	struct log_line line = plain;
	char *whole = xstrfmt(KEYS "event=run_ended code=\"\" message=%s\n",
			      expected);

	line.message = message;
	log_line_logfmt(&out, &line);
	assert_string_equal(out.data, whole);
	strbuf_release(&out);
	free(whole);
}

/* A value must not end before it does, nor begin another key. */
static void test_logfmt_quotes(void **state)
{
	(void)state;
	check_message("plain-1.5:/x", "plain-1.5:/x");
	check_message("", "\"\"");
	check_message("two words", "\"two words\"");
	check_message("a=b", "\"a=b\"");
	check_message("say \"no\"", "\"say \\\"no\\\"\"");
	check_message("back\\slash", "\"back\\\\slash\"");
	check_message("\"", "\"\\\"\"");
	check_message("'x'", "\"'x'\"");
	check_message("a\nlevel=error\r\t", "\"a\\nlevel=error\\r\\t\"");
	check_message("\x1b[31m\x7f", "\"\\u001b[31m\\u007f\"");
	check_message("\xc2\x85 \xe2\x80\xa8", "\"\\u0085 \\u2028\"");
	check_message("gr\xc3\xbc\xc3\x9f", "\"gr\xc3\xbc\xc3\x9f\"");
}

static void test_logfmt_fields(void **state)
{
	struct strbuf out = STRBUF_INIT;
	struct log_line line = plain;
	json_t *fields = json_pack("{s:i, s:f, s:b, s:s, s:n, s:s}", "rows", 7,
				   "seconds", 0.1, "whole", 1, "outcome",
				   "caught up", "nothing", "level", "error");

	(void)state;
	line.fields = fields;
	log_line_logfmt(&out, &line);
	assert_string_equal(out.data,
			    KEYS "event=run_ended code=\"\" message=m rows=7 "
				 "seconds=0.1 whole=true outcome=\"caught up\" "
				 "nothing=null\n");
	strbuf_release(&out);
	json_decref(fields);
}

static void test_json(void **state)
{
	struct strbuf out = STRBUF_INIT;
	struct log_line line = plain;
	json_t *fields = json_pack("{s:I, s:f}", "rows", (json_int_t)7,
				   "seconds", 0.015263);

	(void)state;
	line.fields = fields;
	line.message = "a \"b\"\n";
	log_line_json(&out, &line);
	assert_string_equal(
		out.data,
		"{\"time\":\"T\",\"level\":\"info\",\"pipeline\":\"orders\","
		"\"run_id\":\"r1\",\"attempt_id\":\"\",\"event\":"
		"\"run_ended\",\"code\":\"\",\"message\":\"a \\\"b\\\"\\n\","
		"\"rows\":7,\"seconds\":0.015263}\n");
	strbuf_release(&out);
	json_decref(fields);
}

static void test_text(void **state)
{
	struct strbuf out = STRBUF_INIT;
	struct log_line line = plain;

	(void)state;
	line.message = "two\nlines";
	log_line_text(&out, &line);
	assert_string_equal(out.data, "T info orders: two lines\n");
	strbuf_release(&out);
}

static void test_fields_hold_no_secret(void **state)
{
	struct strbuf out = STRBUF_INIT;
	struct log_line line = plain;
	json_t *fields = json_pack("{s:s}", "said", "so hunter22 said");

	(void)state;
	secret_add("hunter22");
	line.fields = fields;
	log_line_logfmt(&out, &line);
	log_line_json(&out, &line);
	assert_null(strstr(out.data, "hunter22"));
	strbuf_release(&out);
	json_decref(fields);
	secret_forget_all();
}

static void test_formats(void **state)
{
	enum log_format format = LOG_TEXT;

	(void)state;
	assert_true(log_format_parse("logfmt", &format));
	assert_int_equal(format, LOG_LOGFMT);
	assert_false(log_format_parse("xml", &format));
	assert_int_equal(format, LOG_LOGFMT);
	assert_true(log_format_parse("json", &format));
	assert_int_equal(format, LOG_JSON);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_logfmt_quotes),
		cmocka_unit_test(test_logfmt_fields),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_fields_hold_no_secret),
		cmocka_unit_test(test_formats),
	};

	return cmocka_run_group_tests_name("log_line", tests, NULL, NULL);
}
