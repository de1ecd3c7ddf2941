/* The larger one of two decimals, and texts that are no decimal. */
#include "core/data/decimal.h"
#include "tests/unit/unit.h"

static const struct {
	const char *a, *b;
	int order; /* 2: one of them is no number */
} decimals[] = {
	{ "0", "-0.000", 0 },
	{ "1.10", "1.1", 0 },
	{ "007", "7.0", 0 },
	{ "+7", "7", 0 },
	{ ".5", "0.50", 0 },
	{ "5.", "5", 0 },
	{ "9.99", "10", -1 },
	{ "-9.99", "-10", 1 },
	{ "-1", "1", -1 },
	{ "0", "0.0000000000000000000000000000000000000001", -1 },
	{ "0", "-0.0000000000000000000000000000000000000001", 1 },
	{ "99999999999999999999999999999999999999.1",
	  "99999999999999999999999999999999999999.09", 1 },
	{ "9007199254740993", "9007199254740992", 1 }, /* doubles are equal */
	{ "0.1", "0.1000000000000000055511151231257827", -1 },
	{ "Infinity", "999999999999999999999999", 1 },
	{ "-Infinity", "-999999999999999999999999", -1 },
	{ "Infinity", "Infinity", 0 },
	{ "-Infinity", "Infinity", -1 },
	{ "NaN", "1", 2 },
	{ "1", "", 2 },
	{ "1", "-", 2 },
	{ "1", ".", 2 },
	{ "1", "1e3", 2 },
	{ "1", "1.2.3", 2 },
	{ "1", " 1", 2 },
	{ "1", "inf", 2 },
};

static int test_order(const char *a, const char *b)
{
	struct decimal x, y;
	int order;

	if (!decimal_parse(&x, a, strlen(a)) ||
	    !decimal_parse(&y, b, strlen(b)))
		return 2;
	order = decimal_compare(&x, &y);
	return order < 0 ? -1 : order > 0;
}

static void test_decimals(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(decimals); i++) {
		int order = decimals[i].order;

		if (test_order(decimals[i].a, decimals[i].b) != order ||
		    test_order(decimals[i].b, decimals[i].a) !=
			    (order == 2 ? 2 : -order))
			fail_msg("%s and %s", decimals[i].a, decimals[i].b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decimals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
