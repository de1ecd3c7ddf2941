/* connectors/mysql: every type of the table into a vector, and what is refused.
 */
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#include "connectors/mysql/types.h"
#include "core/base/alloc.h"
#include "core/data/value.h"

/* The text of the value that a type makes of a cell; NULL: refused. */
static char *decode(const char *name, bool is_unsigned,
		    const struct mysql_client_cell *cell, enum zero_dates zero,
		    struct error *err)
{
	const struct mysql_source_type *how =
		mysql_source_type_find(name, is_unsigned);
	struct type type = { .kind = how->kind };
	struct strbuf sb = STRBUF_INIT;
	struct schema schema;
	struct batch batch;
	int rc;

	schema_init(&schema);
	schema_add(&schema, "v", &type, true);
	batch_init(&batch, &schema);
	batch_reserve_row(&batch);
	rc = how->decode(&batch.vectors[0], 0, cell, zero, err);
	if (!rc && vector_is_null(&batch.vectors[0], 0))
		strbuf_addstr(&sb, "NULL");
	else if (!rc)
		value_print(&sb, &batch.vectors[0], 0);
	batch_release(&batch);
	schema_release(&schema);
	return rc ? NULL : strbuf_detach(&sb);
}

static void expect(const char *name, bool is_unsigned,
		   const struct mysql_client_cell *cell, enum zero_dates zero,
		   const char *expected)
{
	struct error err = ERROR_INIT;
	char *got = decode(name, is_unsigned, cell, zero, &err);

	if (!got != !expected || (got && strcmp(got, expected) != 0))
		fail_msg("%s: %s", name, got ? got : err.message);
	if (!expected)
		assert_int_equal(err.code, ERROR_DATA);
	free(got);
}

static const struct {
	const char *type;
	bool is_unsigned;
	int64_t value;
	const char *expected;
} integers[] = {
	{ "tinyint", false, -128, "-128" },
	{ "tinyint", true, 255, "255" },
	{ "smallint", false, 32768, NULL },
	{ "smallint", true, 65535, "65535" },
	{ "int", false, -2147483648LL, "-2147483648" },
	{ "int", false, 2147483648LL, NULL },
	{ "int", true, 4294967295LL, "4294967295" },
	{ "bigint", false, INT64_MIN, "-9223372036854775808" },
	{ "bigint", true, -1, "18446744073709551615" },
	{ "year", false, 2155, "2155" },
};

static void decode_integers(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(integers); i++) {
		const struct mysql_client_cell cell = {
			.integer = integers[i].value
		};
		expect(integers[i].type, integers[i].is_unsigned, &cell,
		       ZERO_DATES_ERROR, integers[i].expected);
	}
}

static const struct {
	const char *type;
	struct mysql_client_time time;
	enum zero_dates zero;
	const char *expected;
} times[] = {
	{ "date", { .year = 1000, .month = 1, .day = 1 }, 0, "1000-01-01" },
	{ "date", { 0 }, ZERO_DATES_ERROR, NULL },
	{ "date", { 0 }, ZERO_DATES_NULL, "NULL" },
	{ "date", { .year = 2024, .day = 5 }, ZERO_DATES_ERROR, NULL },
	{ "date", { .year = 2024, .month = 5 }, ZERO_DATES_NULL, "NULL" },
	{ "date", { .year = 2021, .month = 2, .day = 31 }, 0, NULL },
	{ "date",
	  { .year = 2021, .month = 2, .day = 31 },
	  ZERO_DATES_NULL,
	  "NULL" },
	{ "date", { .year = 2023, .month = 2, .day = 29 }, 0, NULL },
	{ "date", { .year = 2024, .month = 2, .day = 29 }, 0, "2024-02-29" },
	{ "datetime",
	  { 9999, 12, 31, 23, 59, 59, 999999, false },
	  0,
	  "9999-12-31 23:59:59.999999" },
	{ "timestamp",
	  { 1970, 1, 1, 0, 0, 1, 0, false },
	  0,
	  "1970-01-01 00:00:01+00" },
	{ "datetime", { 0 }, ZERO_DATES_ERROR, NULL },
	{ "time", { .hour = 838, .minute = 59, .second = 59 }, 0, "838:59:59" },
	{ "time",
	  { .hour = 838, .minute = 59, .second = 59, .negative = true },
	  0,
	  "-838:59:59" },
	{ "time", { .day = 34, .hour = 22 }, 0, "838:00:00" },
	{ "time",
	  { .microsecond = 1, .negative = true },
	  0,
	  "-00:00:00.000001" },
	{ "time", { 0 }, ZERO_DATES_NULL, "00:00:00" },
};

static void decode_times(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		const struct mysql_client_cell cell = { .time = times[i].time };
		expect(times[i].type, false, &cell, times[i].zero,
		       times[i].expected);
	}
}

static const struct {
	const char *type;
	bool is_unsigned;
	const char *bytes;
	size_t n;
	const char *expected;
} texts[] = {
	{ "varchar", false, "caf\xc3\xa9", 5, "caf\xc3\xa9" },
	{ "varchar", false, "caf\xe9", 4, NULL },
	{ "enum", false, "", 0, "" },
	{ "json", false, "[1]", 3, "[1]" },
	{ "decimal", false, "-0.50", 5, "-0.50" },
	{ "decimal", false, "00012.50", 8, "12.50" },
	{ "decimal", false, "0.5", 3, "0.5" },
	{ "decimal", false, "000", 3, "0" },
	{ "blob", false, "\0\xff", 2, "\\x00ff" },
	{ "bit", false, "\x03\xff", 2, "1023" },
	{ "bit", false, "\xff\xff\xff\xff\xff\xff\xff\xff", 8, NULL },
	{ "bit", true, "\xff\xff\xff\xff\xff\xff\xff\xff", 8,
	  "18446744073709551615" },
	{ "bit", true, "123456789", 9, NULL },
	{ "point", false, "\0\0\0\0\x01\x02", 6, "\\x0102" },
	{ "point", false, "\0\0", 2, NULL },
	{ "uuid", false, "123E4567-E89B-12D3-A456-426655440000", 36,
	  "123e4567-e89b-12d3-a456-426655440000" },
	{ "uuid", false, "123e", 4, NULL },
	{ "something new", false, "x", 1, "x" },
};

static void decode_texts(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		const struct mysql_client_cell cell = {
			.bytes = (const uint8_t *)texts[i].bytes,
			.n = texts[i].n,
		};
		expect(texts[i].type, texts[i].is_unsigned, &cell,
		       ZERO_DATES_ERROR, texts[i].expected);
	}
}

/* Unsigned numbers are types of their own only where they need more room. */
static void decode_table(void **state)
{
	(void)state;
	assert_int_equal(mysql_source_type_find("bigint", true)->kind,
			 TYPE_UINT64);
	assert_int_equal(mysql_source_type_find("bigint", false)->kind,
			 TYPE_INT64);
	assert_int_equal(mysql_source_type_find("DOUBLE", true)->kind,
			 TYPE_FLOAT64);
	assert_int_equal(mysql_source_type_find("decimal", true)->kind,
			 TYPE_DECIMAL);
	assert_int_equal(mysql_source_type_bits(63)->kind, TYPE_INT64);
	assert_int_equal(mysql_source_type_bits(64)->kind, TYPE_UINT64);
	assert_int_equal(mysql_source_type_find("no such type", false)->kind,
			 TYPE_NATIVE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decode_integers),
		cmocka_unit_test(decode_times),
		cmocka_unit_test(decode_texts),
		cmocka_unit_test(decode_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
