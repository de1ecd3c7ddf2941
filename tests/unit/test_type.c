#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/data/schema.h"
#include "core/data/type.h"
#include "core/data/type_text.h"

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

/* As it is printed again; NULL: refused. */
static const struct {
	const struct type_text_rules *rules;
	const char *text, *printed;
} texts[] = {
	{ &type_text_clickhouse, "Enum8('a' = 1, 'it\\'s' = -2)",
	  "Enum8('a' = 1, 'it\\'s' = -2)" },
	{ &type_text_clickhouse, "Array(Nullable(Decimal(18, 9)))",
	  "Array(Nullable(Decimal(18, 9)))" },
	{ &type_text_clickhouse, "Enum8('a' = 1) DEFAULT url('http://x')",
	  NULL },
	{ &type_text_clickhouse, "Enum8('a' = 1), x String", NULL },
	{ &type_text_clickhouse, "Enum8('a' = 1)) ENGINE = Null --", NULL },
	{ &type_text_clickhouse, "Enum8('a' = 1 /* ')", NULL },
	{ &type_text_clickhouse, "Enum8('a\\' = 1)", NULL },
	{ &type_text_clickhouse, "Enum8('a' = 1' || x || ')", NULL },
	{ &type_text_clickhouse, "Enum8('a' = 1 ' || x || ')", NULL },
	{ &type_text_clickhouse, "Enum8('a' b = 1)", NULL },
	{ &type_text_clickhouse, "DateTime64(6, 'UTC')",
	  "DateTime64(6, 'UTC')" },
	{ &type_text_clickhouse, "Array(String); DROP TABLE x", NULL },
	{ &type_text_clickhouse, "", NULL },
	{ &type_text_postgres, "timestamp(3)   without time zone[]",
	  "timestamp(3) without time zone[]" },
	{ &type_text_postgres, "numeric(3,-1)", "numeric(3,-1)" },
	{ &type_text_postgres, "app.\"my \"\"type\"(4)",
	  "app.\"my \"\"type\"(4)" },
	{ &type_text_postgres, "\"char\"", "\"char\"" },
	{ &type_text_postgres, "int4 --", NULL },
	{ &type_text_postgres, "int4 /* */", NULL },
	{ &type_text_postgres, "int4, x text", NULL },
	{ &type_text_postgres, "int4) AS (SELECT 1", NULL },
	{ &type_text_postgres, "text DEFAULT 'x'", NULL },
	{ &type_text_postgres, "\"open", NULL },
};

static void test_texts_of_types(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		char *got = type_text_print(texts[i].text, texts[i].rules);

		if (texts[i].printed)
			assert_string_equal(got ? got : "refused",
					    texts[i].printed);
		else
			assert_null(got);
		free(got);
	}
}

/* Numbers that no type has, as a lying source tells them. */
static void test_types_out_of_range(void **state)
{
	static const struct type lie = { .kind = TYPE_DECIMAL,
					 .precision = INT_MAX,
					 .scale = INT_MIN,
					 .digits = -1 };
	struct schema schema;
	const struct column *column;

	(void)state;
	schema_init(&schema);
	column = schema_add(&schema, "c", &lie, true);
	assert_int_equal(column->type.precision, 0);
	assert_int_equal(column->type.scale, 0);
	assert_int_equal(column->type.digits, 9);
	schema_release(&schema);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_kind),
		cmocka_unit_test(test_out_of_range),
		cmocka_unit_test(test_texts_of_types),
		cmocka_unit_test(test_types_out_of_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
