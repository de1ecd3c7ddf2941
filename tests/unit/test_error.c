#include "core/base/error.h"
#include "core/base/secret.h"
#include "core/base/strbuf.h"
#include "core/base/utf8.h"
#include "tests/unit/unit.h"

static void test_first_error_wins(void **state)
{
	struct error err = ERROR_INIT;

	(void)state;
	assert_int_equal(error_set(&err, ERROR_DATA, "row %d", 7), -ERROR_DATA);
	assert_int_equal(error_set(&err, ERROR_BUG, "later"), -ERROR_DATA);
	assert_string_equal(err.message, "row 7");
	error_prefix(&err, "table %s", "t");
	error_hint(&err, "(look %s)", "here");
	assert_string_equal(err.message, "table t: row 7 (look here)");
	error_clear(&err);
	assert_int_equal(err.code, ERROR_NONE);
	error_prefix(&err, "x");
	assert_string_equal(err.message, "");
	assert_int_equal(error_set(NULL, ERROR_STATE, "x"), -ERROR_STATE);
	error_prefix(NULL, "x");
}

static const struct {
	const char *message, *hint, *joined;
} hints[] = {
	{ "file is not a database", "Point the URL at another path.",
	  "file is not a database. Point the URL at another path." },
	{ "disk full.", "Make room.", "disk full. Make room." },
	{ "why?", "Look there.", "why? Look there." },
	{ "unknown scheme \"x\"", "known: a, b",
	  "unknown scheme \"x\"; known: a, b" },
	{ "server says\n", "Look there.", "server says. Look there." },
	{ "no such thing", "(did you mean that?)",
	  "no such thing (did you mean that?)" },
};

static void test_hint_is_a_sentence_of_its_own(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(hints); i++) {
		struct error err = ERROR_INIT;

		error_set(&err, ERROR_ACCESS, "%s", hints[i].message);
		error_hint(&err, "%s", hints[i].hint);
		assert_string_equal(err.message, hints[i].joined);
	}
}

/* Message and advice apart; the whole text has no trace of the mark. */
static void check_parts(const struct error *err, const char *whole,
			const char *what, const char *fix)
{
	char *told = error_what(err), *advice = error_fix(err);

	assert_string_equal(err->message, whole);
	assert_string_equal(told, what);
	assert_string_equal(advice, fix);
	free(told);
	free(advice);
}

static void test_what_and_fix(void **state)
{
	struct error err = ERROR_INIT;

	(void)state;
	error_set(&err, ERROR_SCHEMA, "%s has no key" ERROR_FIX ": name one",
		  "t");
	check_parts(&err, "t has no key: name one", "t has no key", "name one");
	error_prefix(&err, "source");
	error_hint(&err, "See %s", "there");
	check_parts(&err, "source: t has no key: name one. See there",
		    "source: t has no key", "name one. See there");
	error_clear(&err);
	check_parts(&err, "", "", "");
	error_set(&err, ERROR_SCHEMA, "no table x");
	check_parts(&err, "no table x", "no table x", "");
	error_hint(&err, "(did you mean %s?)", "y");
	check_parts(&err, "no table x (did you mean y?)", "no table x",
		    "did you mean y?");
	error_clear(&err);
	/* A server's or a row's words are no advice. */
	error_set(&err, ERROR_DATA, "row %s", "a" ERROR_FIX "b");
	check_parts(&err, "row ab", "row ab", "");
}

/* Advice that was cut off is none. */
static void test_fix_behind_the_cut(void **state)
{
	struct error err = ERROR_INIT;

	(void)state;
	error_set(&err, ERROR_DATA, "%2500s" ERROR_FIX ": look", "x");
	assert_int_equal(err.fix, 0);
	assert_int_equal(strlen(err.message), sizeof(err.message) - 1);
}

static void test_long_text_is_cut_whole(void **state)
{
	struct error err = ERROR_INIT;
	struct strbuf text = STRBUF_INIT;

	(void)state;
	for (int i = 0; i < 1000; i++)
		strbuf_addstr(&text, "\xe2\x82\xac");
	error_set(&err, ERROR_DATA, "%s", text.data);
	assert_true(strlen(err.message) < sizeof(err.message));
	assert_int_equal(strlen(err.message) % 3, 0);
	assert_string_equal(err.message + strlen(err.message) - 6,
			    "\xe2\x82\xac...");
	strbuf_release(&text);
}

static void test_secret_at_the_cut(void **state)
{
	struct error err = ERROR_INIT;
	char text[2100];

	(void)state;
	secret_add("hunter2hunter2");
	memset(text, 'x', sizeof(text));
	memcpy(text + 1985, "hunter2hunter2", 14);
	text[2050] = '\0';
	error_set(&err, ERROR_DATA, "%s", text);
	assert_null(strstr(err.message, "hunt"));
	secret_forget_all();
}

static const struct {
	enum error_code code;
	const char *name;
	int status;
} classes[] = {
	{ ERROR_NONE, "none", 0 },	   { ERROR_CONFIG, "config", 2 },
	{ ERROR_ACCESS, "access", 3 },	   { ERROR_TRANSIENT, "transient", 3 },
	{ ERROR_SCHEMA, "schema", 4 },	   { ERROR_DATA, "data", 5 },
	{ ERROR_STATE, "state", 6 },	   { ERROR_DIFFERENT, "different", 7 },
	{ ERROR_STOPPED, "stopped", 8 },   { ERROR_BUG, "bug", 1 },
	{ ERROR_CONFLICT, "conflict", 3 }, { ERROR_UNKNOWN, "unknown", 1 },
	{ (enum error_code)99, "bug", 1 },
};

static void test_exit_status(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(classes); i++) {
		assert_int_equal(error_exit_status(classes[i].code),
				 classes[i].status);
		assert_string_equal(error_code_name(classes[i].code),
				    classes[i].name);
	}
}

static const struct {
	const char *raw, *repaired;
} repairs[] = {
	{ "plain", "plain" },
	{ "\xc3\xa9\xf0\x9f\x98\x80", "\xc3\xa9\xf0\x9f\x98\x80" },
	{ "a\xff"
	  "b",
	  "a?b" },
	{ "\xc0\xaf", "??" }, /* overlong */
	{ "\xed\xa0\x80", "???" }, /* surrogate */
	{ "\xf4\x90\x80\x80", "????" }, /* > U+10FFFF */
	{ "\xe2\x82", "??" }, /* cut */
};

static void test_utf8(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(repairs); i++) {
		char *text = xstrdup(repairs[i].raw);

		utf8_repair(text);
		assert_string_equal(text, repairs[i].repaired);
		free(text);
	}
	assert_true(utf8_is_valid("", 0));
	assert_true(utf8_is_valid("eight of ascii\0", 15));
	assert_true(utf8_is_valid("eight of asci\xc3\xaf", 15));
	assert_false(utf8_is_valid("eight of asci\xc3", 14));
	assert_false(utf8_is_valid("\xff behind it", 11));
	assert_int_equal(utf8_cut("a\xe2\x82\xac", 3), 1);
	assert_int_equal(utf8_cut("a\xe2\x82\xac", 4), 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_error_wins),
		cmocka_unit_test(test_hint_is_a_sentence_of_its_own),
		cmocka_unit_test(test_what_and_fix),
		cmocka_unit_test(test_fix_behind_the_cut),
		cmocka_unit_test(test_long_text_is_cut_whole),
		cmocka_unit_test(test_secret_at_the_cut),
		cmocka_unit_test(test_exit_status),
		cmocka_unit_test(test_utf8),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
