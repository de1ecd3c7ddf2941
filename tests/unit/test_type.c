#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/data/type.h"

/* kind, name, width (0: variable) */
static const struct {
	enum type_kind kind;
	const char *name;
	size_t width;
} cases[] = {
	{ TYPE_BOOL, "bool", 1 },
	{ TYPE_INT16, "int16", 2 },
	{ TYPE_INT32, "int32", 4 },
	{ TYPE_INT64, "int64", 8 },
	{ TYPE_UINT64, "uint64", 8 },
	{ TYPE_FLOAT32, "float32", 4 },
	{ TYPE_FLOAT64, "float64", 8 },
	{ TYPE_DECIMAL, "decimal", 0 },
	{ TYPE_TEXT, "text", 0 },
	{ TYPE_BYTES, "bytes", 0 },
	{ TYPE_DATE, "date", 4 },
	{ TYPE_TIME, "time", 8 },
	{ TYPE_TIMESTAMP, "timestamp", 8 },
	{ TYPE_TIMESTAMPTZ, "timestamptz", 8 },
	{ TYPE_INTERVAL, "interval", 16 },
	{ TYPE_UUID, "uuid", 16 },
	{ TYPE_JSON, "json", 0 },
	{ TYPE_NATIVE, "native", 0 },
};

static void test_every_kind(void **state)
{
	(void)state;
	assert_int_equal(ARRAY_SIZE(cases), TYPE_KINDS);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(cases[i].kind, i);
		assert_string_equal(type_kind_name(cases[i].kind),
				    cases[i].name);
		assert_int_equal(type_width(cases[i].kind), cases[i].width);
		assert_int_equal(type_is_variable(cases[i].kind),
				 cases[i].width == 0);
	}
}

static void test_out_of_range(void **state)
{
	(void)state;
	assert_string_equal(type_kind_name(TYPE_KINDS), "unknown");
	assert_int_equal(type_width((enum type_kind) - 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_kind),
		cmocka_unit_test(test_out_of_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
