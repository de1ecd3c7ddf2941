/* How values of a batch are written for LOAD DATA, and which types MariaDB and
 * MySQL give to source columns; needs no server. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#include "core/base/alloc.h"
#include "core/data/value.h"
#include "destinations/mysql/format.h"

/* One value as the line of LOAD DATA; NULL: refused. */
struct format_case {
	enum type_kind kind;
	enum mysql_target_base base;
	const char *value; /* text, or what format_set makes of it */
	const char *line;
};

static const struct format_case cases[] = {
	{ TYPE_BOOL, MYSQL_TARGET_INT, "1", "1" },
	{ TYPE_INT16, MYSQL_TARGET_INT, "-32768", "-32768" },
	{ TYPE_INT32, MYSQL_TARGET_INT, "-2147483648", "-2147483648" },
	{ TYPE_INT64, MYSQL_TARGET_INT, "-9223372036854775808",
	  "-9223372036854775808" },
	{ TYPE_INT64, MYSQL_TARGET_DECIMAL, "0", "0" },
	{ TYPE_UINT64, MYSQL_TARGET_INT, "18446744073709551615",
	  "18446744073709551615" },
	{ TYPE_UINT64, MYSQL_TARGET_TEXT, "7", "7" },
	{ TYPE_FLOAT64, MYSQL_TARGET_DOUBLE, "0.1", "0.1" },
	{ TYPE_FLOAT64, MYSQL_TARGET_DOUBLE, "-0", "-0" },
	{ TYPE_FLOAT64, MYSQL_TARGET_DOUBLE, "5e-324", "5e-324" },
	{ TYPE_FLOAT64, MYSQL_TARGET_DOUBLE, "nan", NULL },
	{ TYPE_FLOAT64, MYSQL_TARGET_DOUBLE, "inf", NULL },
	{ TYPE_FLOAT64, MYSQL_TARGET_TEXT, "nan", "NaN" },
	/* Its shortest text as a float, 3.4028235e+38, is beyond a float. */
	{ TYPE_FLOAT32, MYSQL_TARGET_FLOAT, "3.4028234e38",
	  "3.4028234663852886e+38" },
	{ TYPE_DECIMAL, MYSQL_TARGET_DECIMAL, "-1.50", "-1.50" },
	{ TYPE_DECIMAL, MYSQL_TARGET_DECIMAL, "NaN", NULL },
	{ TYPE_DECIMAL, MYSQL_TARGET_DECIMAL, "-Infinity", NULL },
	{ TYPE_DECIMAL, MYSQL_TARGET_TEXT, "NaN", "NaN" },
	{ TYPE_TEXT, MYSQL_TARGET_TEXT, "", "" },
	{ TYPE_TEXT, MYSQL_TARGET_TEXT, "a\tb\nc\\d", "a\\tb\\nc\\\\d" },
	{ TYPE_TEXT, MYSQL_TARGET_TEXT, "\\N", "\\\\N" },
	{ TYPE_TEXT, MYSQL_TARGET_TEXT, "\r\x1a'\"", "\r\x1a'\"" },
	{ TYPE_BYTES, MYSQL_TARGET_BLOB, "\xff\xfe\t", "\xff\xfe\\t" },
	{ TYPE_DATE, MYSQL_TARGET_DATE, "2026-02-28", "2026-02-28" },
	{ TYPE_DATE, MYSQL_TARGET_DATE, "0001-01-01", "0001-01-01" },
	{ TYPE_DATE, MYSQL_TARGET_DATE, "9999-12-31", "9999-12-31" },
	{ TYPE_DATE, MYSQL_TARGET_DATE, "10000-01-01", NULL },
	{ TYPE_TIMESTAMP, MYSQL_TARGET_DATETIME, "1969-12-31 23:59:59.999999",
	  "1969-12-31 23:59:59.999999" },
	{ TYPE_TIMESTAMPTZ, MYSQL_TARGET_DATETIME, "2026-01-31 12:00:00+00",
	  "2026-01-31 12:00:00" },
	{ TYPE_TIMESTAMPTZ, MYSQL_TARGET_TEXT, "2026-01-31 12:00:00+00",
	  "2026-01-31 12:00:00+00" },
	{ TYPE_TIMESTAMPTZ, MYSQL_TARGET_DATETIME, "infinity", NULL },
	{ TYPE_TIMESTAMP, MYSQL_TARGET_DATETIME, "10000-01-01 00:00:00", NULL },
	{ TYPE_TIME, MYSQL_TARGET_TIME, "86399999999", "23:59:59.999999" },
	{ TYPE_INTERVAL, MYSQL_TARGET_TIME, "0 0 -3020399000001",
	  "-838:59:59.000001" },
	{ TYPE_INTERVAL, MYSQL_TARGET_TIME, "0 0 3020399000000", "838:59:59" },
	{ TYPE_INTERVAL, MYSQL_TARGET_TIME, "0 0 3020400000000", NULL },
	{ TYPE_INTERVAL, MYSQL_TARGET_TIME, "0 1 0", NULL },
	{ TYPE_INTERVAL, MYSQL_TARGET_VARCHAR, "1 2 3000000",
	  "1 mon 2 days 00:00:03" },
	{ TYPE_JSON, MYSQL_TARGET_JSON, "{\"a\": \"\\n\"}",
	  "{\"a\": \"\\\\n\"}" },
};

static void format_set_number(struct vector *v, size_t row, const char *text)
{
	int64_t i64 = strtoll(text, NULL, 10);
	uint64_t u64 = strtoull(text, NULL, 10);
	double f64 = strtod(text, NULL);
	float f32 = (float)f64;

	if (v->kind == TYPE_FLOAT64)
		vector_set_fixed(v, row, &f64);
	else if (v->kind == TYPE_FLOAT32)
		vector_set_fixed(v, row, &f32);
	else if (v->kind == TYPE_UINT64)
		vector_set_fixed(v, row, &u64);
	else
		vector_set_fixed(v, row, &i64); /* little-endian */
}

static void format_set(struct vector *v, size_t row, const char *text)
{
	struct interval_value interval = { 0, 0, 0 };
	int32_t days = 0;
	int64_t us = 0;

	switch (v->kind) {
	case TYPE_DATE:
		assert_true(value_parse_date(text, &days));
		vector_set_fixed(v, row, &days);
		break;
	case TYPE_TIMESTAMP:
	case TYPE_TIMESTAMPTZ:
		assert_true(value_parse_timestamp(text, &us));
		vector_set_fixed(v, row, &us);
		break;
	case TYPE_INTERVAL:
		interval.months = (int32_t)strtol(text, (char **)&text, 10);
		interval.days = (int32_t)strtol(text, (char **)&text, 10);
		interval.microseconds = strtoll(text, NULL, 10);
		vector_set_fixed(v, row, &interval);
		break;
	default:
		if (v->width)
			format_set_number(v, row, text);
		else
			vector_set_bytes(v, row, text, strlen(text), NULL);
	}
}

static void format_check(const struct format_case *c, int n)
{
	struct type type = { .kind = c->kind };
	struct mysql_target_type actual = { .base = c->base };
	enum mysql_target_form forms[2] = {
		mysql_target_type_form(c->kind, &actual),
		mysql_target_type_form(c->kind, &actual)
	};
	struct strbuf out = STRBUF_INIT, line = STRBUF_INIT;
	struct error err = ERROR_INIT;
	struct schema s;
	struct batch b;
	size_t column = 99;
	int rc;

	schema_init(&s);
	schema_add(&s, "null", &type, true);
	schema_add(&s, "v", &type, true);
	batch_init(&b, &s);
	batch_reserve_row(&b);
	vector_set_null(&b.vectors[0], 0);
	format_set(&b.vectors[1], 0, c->value);
	batch_row_done(&b);
	rc = mysql_target_format_row(&out, forms, &b, 0, &column, &err);
	if (c->line)
		strbuf_addf(&line, "\\N\t%s\n", c->line);
	if (c->line && strcmp(out.data, line.data) != 0)
		fail_msg("case %d: %s instead of %s", n, out.data, line.data);
	if (!c->line && (rc != -ERROR_DATA || column != 1))
		fail_msg("case %d: %d, column %zu, %s", n, rc, column,
			 out.data);
	batch_release(&b);
	schema_release(&s);
	strbuf_release(&out);
	strbuf_release(&line);
}

static void test_lines(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		format_check(&cases[i], (int)i);
}

/* ---- types */

static const struct {
	struct type type;
	bool mysql; /* the source is one of the family */
	bool mariadb; /* the destination */
	const char *name;
	enum mapping mapping;
} wanted_cases[] = {
	{ { TYPE_BOOL, 0, 0, 0, "" }, false, true, "tinyint(1)", 0 },
	{ { TYPE_INT64, 0, 0, 0, "int unsigned" },
	  true,
	  true,
	  "int unsigned",
	  0 },
	{ { TYPE_INT64, 0, 0, 0, "int(10) unsigned zerofill" },
	  true,
	  false,
	  "int unsigned",
	  0 },
	{ { TYPE_INT64, 0, 0, 0, "bit(5)" }, true, true, "bit(5)", 0 },
	{ { TYPE_INT16, 0, 0, 0, "year(4)" }, true, true, "year", 0 },
	{ { TYPE_DECIMAL, 65, 30, 0, "" }, false, true, "decimal(65,30)", 0 },
	{ { TYPE_DECIMAL, 66, 2, 0, "" },
	  false,
	  true,
	  "longtext",
	  MAPPING_WIDENED },
	{ { TYPE_DECIMAL, 3, -2, 0, "" }, false, true, "decimal(5,0)", 0 },
	{ { TYPE_DECIMAL, 2, 4, 0, "" }, false, true, "decimal(4,4)", 0 },
	{ { TYPE_DECIMAL, 0, 0, 0, "" },
	  false,
	  true,
	  "longtext",
	  MAPPING_WIDENED },
	{ { TYPE_TEXT, 40, 0, 0, "" }, false, true, "varchar(40)", 0 },
	{ { TYPE_TEXT, 20000, 0, 0, "" }, false, true, "longtext", 0 },
	{ { TYPE_TEXT, 9, 0, 0, "char(9)" }, true, true, "char(9)", 0 },
	{ { TYPE_TEXT, 0, 0, 0, "enum('a','b')" },
	  true,
	  true,
	  "varchar(13)",
	  MAPPING_WIDENED },
	{ { TYPE_BYTES, 16, 0, 0, "binary(16)" }, true, true, "binary(16)", 0 },
	{ { TYPE_TIMESTAMP, 0, 0, 3, "" }, false, true, "datetime(3)", 0 },
	{ { TYPE_TIMESTAMPTZ, 0, 0, 6, "" },
	  false,
	  true,
	  "datetime(6)",
	  MAPPING_WIDENED },
	{ { TYPE_TIMESTAMPTZ, 0, 0, 6, "timestamp(6)" },
	  true,
	  true,
	  "timestamp(6)",
	  0 },
	{ { TYPE_INTERVAL, 0, 0, 0, "time(3)" }, true, true, "time(3)", 0 },
	{ { TYPE_INTERVAL, 0, 0, 0, "interval" },
	  false,
	  true,
	  "varchar(100)",
	  MAPPING_WIDENED },
	{ { TYPE_UUID, 0, 0, 0, "uuid" }, true, true, "uuid", 0 },
	{ { TYPE_UUID, 0, 0, 0, "uuid" },
	  false,
	  true,
	  "char(36)",
	  MAPPING_WIDENED },
	{ { TYPE_JSON, 0, 0, 0, "json" }, true, false, "json", 0 },
	{ { TYPE_JSON, 0, 0, 0, "jsonb" },
	  false,
	  false,
	  "longtext",
	  MAPPING_WIDENED },
	{ { TYPE_JSON, 0, 0, 0, "jsonb" }, false, true, "json", 0 },
};

static void test_wanted_types(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wanted_cases); i++) {
		struct mysql_target_dialect d = { wanted_cases[i].mariadb,
						  101115, "c" };
		struct mysql_target_type t;
		enum mapping mapping;
		struct schema s;

		schema_init(&s);
		s.engine = xstrdup(wanted_cases[i].mysql ? "mysql" : "other");
		schema_add(&s, "v", &wanted_cases[i].type, true);
		assert_true(mysql_target_types_wanted(&s, &d, &t, &mapping));
		if (strcmp(t.name, wanted_cases[i].name) != 0 ||
		    mapping != wanted_cases[i].mapping)
			fail_msg("case %zu: %s, %s", i, t.name,
				 mapping_name(mapping));
		mysql_target_type_release(&t);
		schema_release(&s);
	}
}

/* Texts of a key share what an index takes; beyond it they are refused. */
static void test_key_room(void **state)
{
	struct mysql_target_dialect d = { true, 101115, "c" };
	struct type open = { .kind = TYPE_TEXT, .native = "" };
	struct type wide = { .kind = TYPE_TEXT,
			     .precision = 800,
			     .native = "" };
	struct mysql_target_type types[2];
	enum mapping mappings[2];
	struct schema s;
	size_t key[] = { 0, 1 };

	(void)state;
	schema_init(&s);
	schema_add(&s, "a", &open, false);
	schema_add(&s, "b", &open, false);
	schema_set_key(&s, key, 2);
	assert_true(mysql_target_types_wanted(&s, &d, types, mappings));
	assert_string_equal(types[0].name, "varchar(384)");
	assert_string_equal(types[1].name, "varchar(384)");
	mysql_target_type_release(&types[0]);
	mysql_target_type_release(&types[1]);
	schema_release(&s);
	schema_init(&s);
	schema_add(&s, "a", &wide, false);
	schema_set_key(&s, key, 1);
	assert_false(mysql_target_types_wanted(&s, &d, types, mappings));
	mysql_target_type_release(&types[0]);
	schema_release(&s);
}

static const struct {
	struct mysql_target_type wanted, actual;
	enum fit fit;
	const char *grown;
} fit_cases[] = {
	{ { "int", MYSQL_TARGET_INT, 0, 4, 0, 0 },
	  { "", MYSQL_TARGET_INT, 0, 4, 0, 0 },
	  0,
	  NULL },
	{ { "int", MYSQL_TARGET_INT, 0, 4, 0, 0 },
	  { "", MYSQL_TARGET_INT, 0, 8, 0, 0 },
	  FIT_WIDER,
	  NULL },
	{ { "int", MYSQL_TARGET_INT, 0, 4, 0, 0 },
	  { "", MYSQL_TARGET_INT, 0, 2, 0, 0 },
	  FIT_GROWS,
	  "int" },
	{ { "int", MYSQL_TARGET_INT, 0, 4, 0, 0 },
	  { "", MYSQL_TARGET_INT, 1, 8, 0, 0 },
	  FIT_NARROW,
	  NULL },
	{ { "u", MYSQL_TARGET_INT, 1, 4, 0, 0 },
	  { "", MYSQL_TARGET_INT, 0, 8, 0, 0 },
	  FIT_WIDER,
	  NULL },
	{ { "int", MYSQL_TARGET_INT, 0, 4, 0, 0 },
	  { "", MYSQL_TARGET_DECIMAL, 0, 0, 10, 0 },
	  FIT_WIDER,
	  NULL },
	{ { "d", MYSQL_TARGET_DECIMAL, 0, 0, 12, 4 },
	  { "", MYSQL_TARGET_DECIMAL, 0, 0, 12, 2 },
	  FIT_GROWS,
	  "decimal(14,4)" },
	{ { "d", MYSQL_TARGET_DECIMAL, 0, 0, 20, 0 },
	  { "", MYSQL_TARGET_INT, 0, 8, 0, 0 },
	  FIT_GROWS,
	  "decimal(20,0)" },
	{ { "v", MYSQL_TARGET_VARCHAR, 0, 0, 9, 0 },
	  { "", MYSQL_TARGET_TEXT, 0, 0, 65535, 0 },
	  FIT_WIDER,
	  NULL },
	{ { "l", MYSQL_TARGET_TEXT, 0, 0, 4294967295, 0 },
	  { "", MYSQL_TARGET_VARCHAR, 0, 0, 200, 0 },
	  FIT_GROWS,
	  "l" },
	{ { "v", MYSQL_TARGET_VARCHAR, 0, 0, 9, 0 },
	  { "", MYSQL_TARGET_CHAR, 0, 0, 20, 0 },
	  FIT_GROWS,
	  "v" },
	{ { "dt", MYSQL_TARGET_DATETIME, 0, 0, 0, 6 },
	  { "", MYSQL_TARGET_DATETIME, 0, 0, 0, 0 },
	  FIT_GROWS,
	  "dt" },
	{ { "dt", MYSQL_TARGET_DATETIME, 0, 0, 0, 6 },
	  { "", MYSQL_TARGET_TIMESTAMP, 0, 0, 0, 6 },
	  FIT_GROWS,
	  "dt" },
	{ { "dt", MYSQL_TARGET_DATETIME, 0, 0, 0, 6 },
	  { "", MYSQL_TARGET_DATE, 0, 0, 0, 0 },
	  FIT_NARROW,
	  NULL },
	{ { "b", MYSQL_TARGET_BLOB, 0, 0, 4294967295, 0 },
	  { "", MYSQL_TARGET_TEXT, 0, 0, 4294967295, 0 },
	  FIT_NARROW,
	  NULL },
	{ { "b", MYSQL_TARGET_BINARY, 0, 0, 16, 0 },
	  { "", MYSQL_TARGET_BINARY, 0, 0, 20, 0 },
	  FIT_NARROW,
	  NULL },
	{ { "i", MYSQL_TARGET_INT, 0, 8, 0, 0 },
	  { "", MYSQL_TARGET_TEXT, 0, 0, 4294967295, 0 },
	  FIT_WIDER,
	  NULL },
};

static void test_fits(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(fit_cases); i++) {
		char *grown = NULL;
		enum fit fit = mysql_target_type_fit(
			&fit_cases[i].wanted, &fit_cases[i].actual, &grown);

		if (fit != fit_cases[i].fit ||
		    strcmp(grown ? grown : "",
			   fit_cases[i].grown ? fit_cases[i].grown : "") != 0)
			fail_msg("case %zu: %d, %s", i, (int)fit,
				 grown ? grown : "");
		free(grown);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_wanted_types),
		cmocka_unit_test(test_key_room),
		cmocka_unit_test(test_fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
