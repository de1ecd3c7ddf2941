#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/json_text.h"
#include "core/base/utf8.h"
#include "tests/unit/unit.h"

/* As a line for people, and as a JSON string. */
static const struct {
	const char *text, *flat, *json;
} shown[] = {
	{ "", "", "\"\"" },
	{ "orders", "orders", "\"orders\"" },
	{ "\u00fcn\u00efc\u00f6d\u00e9 \U0001f418",
	  "\u00fcn\u00efc\u00f6d\u00e9 \U0001f418",
	  "\"\u00fcn\u00efc\u00f6d\u00e9 \U0001f418\"" },
	{ "a\nb\x1b[2J", "a b [2J", "\"a\\nb\\u001B[2J\"" },
	{ "\x7f", " ", "\"\\u007F\"" },
	{ "\xc2\x80\xc2\x9b\xc2\x9f", "   ", "\"\\u0080\\u009B\\u009F\"" },
	{ "\u00a0", "\u00a0", "\"\u00a0\"" },
	{ "\u061b\u061c", "\u061b ", "\"\u061b\\u061C\"" },
	/* Joiners are letters' own. */
	{ "\u200c\u200d\u200e\u200f", "\u200c\u200d  ",
	  "\"\u200c\u200d\\u200E\\u200F\"" },
	{ "\u2028\u2029\u202a\u202e", "    ",
	  "\"\\u2028\\u2029\\u202A\\u202E\"" },
	{ "\u2066\u2069", "  ", "\"\\u2066\\u2069\"" },
	{ "\ufeff\ufffd\uffff", " \ufffd ", "\"\\uFEFF\ufffd\\uFFFF\"" },
};

static void test_shown(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(shown); i++) {
		struct strbuf flat = STRBUF_INIT;
		json_t *value = json_string(shown[i].text), *again;
		char *json = json_text_dump(value, JSON_ENCODE_ANY);

		utf8_add_flat(&flat, shown[i].text);
		assert_string_equal(flat.data, shown[i].flat);
		assert_string_equal(json, shown[i].json);
		again = json_text_value(json);
		assert_true(json_equal(value, again));
		json_decref(again);
		json_decref(value);
		free(json);
		strbuf_release(&flat);
	}
}

/* A byte alone, as C1 is in Latin-1, drives a terminal, too. */
static void test_bytes(void **state)
{
	struct strbuf flat = STRBUF_INIT, json = STRBUF_INIT;

	(void)state;
	utf8_add_flat(&flat, "a\x9b\xff\xe2\x80");
	assert_string_equal(flat.data, "a????");
	utf8_add_json(&json, "[\n\"\x9b\"\n]");
	assert_string_equal(json.data, "[\n\"?\"\n]");
	strbuf_release(&flat);
	strbuf_release(&json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shown),
		cmocka_unit_test(test_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
