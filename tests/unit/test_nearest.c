#include "core/base/nearest.h"
#include "tests/unit/unit.h"

static const char *const keys[] = { "watermark", "load",  "key",
				    "retry",	 "state", "orders" };

static const struct {
	const char *word, *nearest; /* NULL: nothing near enough */
} cases[] = {
	{ "watermrk", "watermark" },
	{ "WaterMark", "watermark" },
	{ "waetrmark", "watermark" },
	{ "laod", "load" },
	{ "ky", "key" },
	{ "retries", "retry" },
	{ "customers", NULL },
	{ "xyz", NULL },
	{ "order", "orders" },
	{ "", NULL },
};

static void test_cases(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *found =
			nearest_name(cases[i].word, keys, ARRAY_SIZE(keys));

		if (!cases[i].nearest != !found ||
		    (found && strcmp(found, cases[i].nearest) != 0))
			fail_msg("%s: %s", cases[i].word,
				 found ? found : "nothing");
	}
	assert_null(nearest_name("x", NULL, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
