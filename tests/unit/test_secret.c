#include "core/base/secret.h"
#include "core/base/url_secrets.h"
#include "tests/unit/unit.h"

static const struct {
	const char *text, *scrubbed;
} cases[] = {
	{ "nothing here", "nothing here" },
	{ "s3cret", "***" },
	{ "as3crets3cretb", "a******b" },
	{ "s3cret-longer!", "***!" }, /* the longer secret goes whole */
	{ "a%2Fb%20c and a/b c", "*** and ***" },
	{ "abc is too short", "abc is too short" },
	{ "", "" },
	/* short ones by where they stand, known or not */
	{ "a postgresql://a:a@a/a a", "a postgresql://a:*@a/a a" },
	{ "at mysql://u:x/@h, no", "at mysql://u:**@h, no" },
	{ "'postgresql://u:pq?#:@h/d?x=1&password=b&y'",
	  "'postgresql://u:***@h/d?x=1&password=*&y'" },
	{ "password=abcdef, sslpassword='q' token=\"xy\"",
	  "password=***, sslpassword='*' token=\"**\"" },
	{ "postgresql://a:${PW}@h/d?password=${file:/x y}",
	  "postgresql://a:${PW}@h/d?password=${file:/x y}" },
	{ "postgresql://a:***@h/d?password=***",
	  "postgresql://a:***@h/d?password=***" },
	{ "http://h:80/a@b, user@host: x=1",
	  "http://h:80/a@b, user@host: x=1" },
};

static void test_cases(void **state)
{
	(void)state;
	secret_add("s3cret");
	secret_add("s3cret-longer");
	secret_add("s3cret");
	secret_add("a/b c");
	secret_add("abc");
	secret_add("");
	secret_add(NULL);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *text = xstrdup(cases[i].text);

		secret_scrub(text);
		assert_string_equal(text, cases[i].scrubbed);
		free(text);
	}
	secret_forget_all();
}

static const struct {
	const char *word, *left;
} words[] = {
	{ "postgresql://a:x@h/d", "postgresql://a:*@h/d" },
	{ "postgresql://a:p?/#:@h/d", "postgresql://a:***@h/d" },
	{ "--state=postgresql://a:p q@h/d?token=abcde",
	  "--state=postgresql://a:***@h/d?token=***" },
	{ "postgresql://a:${PW}@h/d", "postgresql://a:${PW}@h/d" },
	{ "orders", "orders" },
	{ "", "" },
};

static void test_wipe(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		size_t n = strlen(words[i].word);
		char *word = xstrdup(words[i].word);

		assert_int_equal(url_wipe(word),
				 strcmp(words[i].word, words[i].left) != 0);
		assert_string_equal(word, words[i].left);
		for (size_t at = strlen(word); at < n; at++)
			assert_int_equal(word[at], 0);
		free(word);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
		cmocka_unit_test(test_wipe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
