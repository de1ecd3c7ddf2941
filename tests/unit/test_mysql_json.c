/* JSON that MySQL's own type holds without rounding a number. */
#include "core/base/row_values.h"
#include "destinations/mysql/json.h"
#include "tests/unit/unit.h"

#include <string.h>

static const struct {
	const char *json;
	const char *number; /* the number that would be rounded; NULL: none */
} cases[] = {
	{ "0", NULL },
	{ "null", NULL },
	{ "", NULL },
	{ "[1, -2, 3.25, 1e3, -0.0, 0.00]", NULL },
	{ "18446744073709551615", NULL },
	{ "-9223372036854775808", NULL },
	{ "18446744073709551616", "18446744073709551616" },
	{ "-9223372036854775809", "-9223372036854775809" },
	{ "100000000000000000000", NULL },
	{ "1.50", NULL },
	{ "0.30000000000000004", NULL },
	{ "0.12345678901234567", "0.12345678901234567" },
	{ "5e-324", NULL },
	{ "1.7976931348623157e308", NULL },
	{ "1e400", "1e400" },
	{ "[12345678901234567890123.4500]", "12345678901234567890123.4500" },
	{ "{\"12345678901234567.5\": 1}", NULL },
	{ "\"a\\\" 12345678901234567.5\"", NULL },
	{ "{\"a\": \"\\\\\", \"b\": 12345678901234567.5}",
	  "12345678901234567.5" },
	{ "\"open 12345678901234567.5", NULL },
};

static void test_cases(void **state)
{
	(void)state;
	row_values_show(true);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct error err = ERROR_INIT;
		int rc = mysql_target_json_check(cases[i].json,
						 strlen(cases[i].json), &err);

		if (!rc != !cases[i].number)
			fail_msg("%s: %s", cases[i].json,
				 rc ? err.message : "taken");
		if (rc && !strstr(err.message, cases[i].number))
			fail_msg("%s: %s", cases[i].json, err.message);
		if (rc)
			assert_int_equal(err.code, ERROR_DATA);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_cases) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
