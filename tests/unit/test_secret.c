#include "core/base/secret.h"
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
