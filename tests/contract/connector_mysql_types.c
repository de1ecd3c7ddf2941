/* Types of MySQL and MariaDB: expected values written down by hand. */
#include <stdlib.h>
#include <string.h>

#include "connector_world.h"

#include "core/base/alloc.h"

struct type_case {
	const char *engine; /* NULL: both */
	const char *type;
	const char *value; /* SQL */
	enum type_kind kind;
	const char *expected;
};

#define POINT "0101000000000000000000f03f0000000000000040"

static const struct type_case type_cases[] = {
	{ NULL, "tinyint", "-128", TYPE_INT16, "-128" },
	{ NULL, "tinyint(1)", "2", TYPE_INT16, "2" },
	{ NULL, "bool", "true", TYPE_INT16, "1" },
	{ NULL, "tinyint unsigned", "255", TYPE_INT16, "255" },
	{ NULL, "smallint", "-32768", TYPE_INT16, "-32768" },
	{ NULL, "smallint unsigned", "65535", TYPE_INT32, "65535" },
	{ NULL, "mediumint", "-8388608", TYPE_INT32, "-8388608" },
	{ NULL, "mediumint unsigned", "16777215", TYPE_INT32, "16777215" },
	{ NULL, "int", "-2147483648", TYPE_INT32, "-2147483648" },
	{ NULL, "int unsigned", "4294967295", TYPE_INT64, "4294967295" },
	{ NULL, "int(8) unsigned zerofill", "42", TYPE_INT64, "42" },
	{ NULL, "bigint", "-9223372036854775808", TYPE_INT64,
	  "-9223372036854775808" },
	{ NULL, "bigint unsigned", "18446744073709551615", TYPE_UINT64,
	  "18446744073709551615" },
	{ NULL, "decimal(65,30)",
	  "'-12345678901234567890123456789012345."
	  "123456789012345678901234567891'",
	  TYPE_DECIMAL,
	  "-12345678901234567890123456789012345."
	  "123456789012345678901234567891" },
	{ NULL, "decimal(10,3) unsigned zerofill", "1.5", TYPE_DECIMAL,
	  "1.500" },
	{ NULL, "decimal(5,5)", "-0.5", TYPE_DECIMAL, "-0.50000" },
	{ NULL, "float", "1.17549e-38", TYPE_FLOAT32, "1.17549e-38" },
	{ NULL, "double", "1.7976931348623157e308", TYPE_FLOAT64,
	  "1.7976931348623157e+308" },
	{ NULL, "double", "5e-324", TYPE_FLOAT64, "5e-324" },
	{ NULL, "double", "0.1", TYPE_FLOAT64, "0.1" },
	{ NULL, "bit(1)", "b'1'", TYPE_INT64, "1" },
	{ NULL, "bit(10)", "b'1000000001'", TYPE_INT64, "513" },
	{ NULL, "bit(64)", "0xffffffffffffffff", TYPE_UINT64,
	  "18446744073709551615" },
	{ NULL, "year", "2155", TYPE_INT16, "2155" },
	{ NULL, "year", "0", TYPE_INT16, "0" },
	{ NULL, "date", "'1000-01-01'", TYPE_DATE, "1000-01-01" },
	{ NULL, "date", "'9999-12-31'", TYPE_DATE, "9999-12-31" },
	{ NULL, "datetime", "'2024-02-29 23:59:59'", TYPE_TIMESTAMP,
	  "2024-02-29 23:59:59" },
	{ NULL, "datetime(6)", "'9999-12-31 23:59:59.999999'", TYPE_TIMESTAMP,
	  "9999-12-31 23:59:59.999999" },
	{ NULL, "datetime(3)", "'1000-01-01 00:00:00.001'", TYPE_TIMESTAMP,
	  "1000-01-01 00:00:00.001" },
	{ NULL, "timestamp(6)", "'1970-01-01 00:00:01.000001'",
	  TYPE_TIMESTAMPTZ, "1970-01-01 00:00:01.000001+00" },
	{ NULL, "timestamp", "'2038-01-19 03:14:07'", TYPE_TIMESTAMPTZ,
	  "2038-01-19 03:14:07+00" },
	{ NULL, "time", "'838:59:59'", TYPE_INTERVAL, "838:59:59" },
	{ NULL, "time", "'-838:59:59'", TYPE_INTERVAL, "-838:59:59" },
	{ NULL, "time(6)", "'-00:00:00.000001'", TYPE_INTERVAL,
	  "-00:00:00.000001" },
	{ NULL, "time(3)", "'23:59:59.999'", TYPE_INTERVAL, "23:59:59.999" },
	{ NULL, "char(5)", "'ab  '", TYPE_TEXT, "ab" },
	{ NULL, "varchar(10)", "'ab  '", TYPE_TEXT, "ab  " },
	{ NULL, "varchar(9) CHARACTER SET latin1", "'é€'", TYPE_TEXT, "é€" },
	{ NULL, "varchar(9) CHARACTER SET utf8mb3", "'łódź'", TYPE_TEXT,
	  "łódź" },
	{ NULL, "varchar(9) CHARACTER SET ucs2", "'łó'", TYPE_TEXT, "łó" },
	{ NULL, "tinytext", "'😀'", TYPE_TEXT, "😀" },
	{ NULL, "mediumtext", "repeat('y', 3)", TYPE_TEXT, "yyy" },
	{ NULL, "enum('a','b c','')", "'b c'", TYPE_TEXT, "b c" },
	{ NULL, "set('x','y','z')", "'x,z'", TYPE_TEXT, "x,z" },
	{ NULL, "binary(4)", "0x0061", TYPE_BYTES, "\\x00610000" },
	{ NULL, "varbinary(4)", "0x006100", TYPE_BYTES, "\\x006100" },
	{ NULL, "tinyblob", "0xff00", TYPE_BYTES, "\\xff00" },
	{ NULL, "longblob", "''", TYPE_BYTES, "\\x" },
	{ "mysql", "json", "'{\"b\": 1, \"a\": [null]}'", TYPE_JSON,
	  "{\"a\": [null], \"b\": 1}" },
	{ "mariadb", "json", "'{\"b\":1,  \"a\":[null]}'", TYPE_JSON,
	  "{\"b\":1,  \"a\":[null]}" },
	{ NULL, "geometry", "ST_GeomFromText('POINT(1 2)')", TYPE_BYTES,
	  "\\x" POINT },
	{ NULL, "point", "ST_GeomFromText('POINT(1 2)', 4326)", TYPE_BYTES,
	  NULL },
	{ "mariadb", "uuid", "'123E4567-e89b-12d3-a456-426655440000'",
	  TYPE_UUID, "123e4567-e89b-12d3-a456-426655440000" },
	{ "mariadb", "inet6", "'2001:db8::ff00:42:8329'", TYPE_NATIVE,
	  "2001:db8::ff00:42:8329" },
	{ "mariadb", "inet4", "'192.0.2.1'", TYPE_NATIVE, "192.0.2.1" },
};

static void types_check(struct world *w, const struct type_case *c)
{
	char *expected = xstrfmt("1|%s\n", c->expected ? c->expected : "");

	world_exec(w, "DROP TABLE IF EXISTS tm_source.t");
	world_exec(w, "CREATE TABLE tm_source.t (id int PRIMARY KEY, v %s)",
		   c->type);
	world_exec(w, "INSERT INTO tm_source.t VALUES (1, %s), (2, NULL)",
		   c->value);
	world_pipeline(w, "t", STRATEGY_SEQUENCE, "id");
	if (world_run(w, 10))
		fail_msg("%s: %s", c->type, w->err.message);
	if (w->schema.columns[1].type.kind != c->kind)
		fail_msg("%s travels as %s", c->type,
			 type_kind_name(w->schema.columns[1].type.kind));
	if (!strstr(w->rows.data, "\n2|NULL\n") ||
	    (c->expected && strncmp(w->rows.data, expected, strlen(expected))))
		fail_msg("%s %s: %s", c->type, c->value, w->rows.data);
	free(expected);
}

static void types_all(void **state)
{
	struct world *w = suite_world(state);

	for (size_t i = 0; i < ARRAY_SIZE(type_cases); i++) {
		const struct type_case *c = &type_cases[i];
		if (!c->engine || !strcmp(c->engine, w->quirks->engine))
			types_check(w, c);
	}
}

/* The j-th of four keys of a type, as SQL; caller frees. */
static char *types_key(const char *type, size_t j)
{
	static const char *const values[] = { "2001", "10", "30", "9" };
	static const char *const years[] = { "2001", "1999", "2155", "1901" };
	static const char *const bits[] = { "1", "10", "11", "100" };

	if (!strncmp(type, "date", 4))
		return xstrfmt("'20%02zu-01-01'", (j * 7) % 30);
	if (!strncmp(type, "bit", 3) || !strncmp(type, "binary", 6))
		return xstrfmt("b'%s'", bits[j]);
	return xstrfmt("'%s'", strcmp(type, "year") ? values[j] : years[j]);
}

static void types_check_key(struct world *w, const char *type)
{
	world_exec(w, "DROP TABLE IF EXISTS tm_source.t");
	world_exec(w,
		   "CREATE TABLE tm_source.t (k %s PRIMARY KEY, v int NOT "
		   "NULL)",
		   type);
	for (size_t j = 0; j < 4; j++) {
		char *key = types_key(type, j);
		world_exec(w, "INSERT INTO tm_source.t VALUES (%s, 1)", key);
		free(key);
	}
	world_pipeline(w, "t", STRATEGY_SEQUENCE, "v");
	for (size_t rows = 1; rows < 4; rows++) {
		world_reset(w);
		if (world_run(w, rows))
			fail_msg("%s: %s", type, w->err.message);
		if (w->n_rows != 4)
			fail_msg("%s: %d rows by %zu", type, (int)w->n_rows,
				 rows);
		world_expect_count(w, rows, 0);
	}
}

/* Each of these is a key in another order of bytes and values. */
static void types_as_keys(void **state)
{
	static const char *const types[] = {
		"bigint unsigned",
		"decimal(20,5)",
		"date",
		"datetime(6)",
		"time(6)",
		"binary(3)",
		"bit(9)",
		"year",
		"double",
		"varchar(9)",
		"char(4)",
		"enum('9','10','2001','30')",
	};

	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		types_check_key(suite_world(state), types[i]);
}

static void types_zero_dates(void **state)
{
	struct world *w = suite_world(state);

	world_exec(w, "SET sql_mode = 'NO_BACKSLASH_ESCAPES'");
	world_exec(w, "CREATE TABLE tm_source.t (id int PRIMARY KEY, d date, "
		      "t datetime)");
	world_exec(w, "INSERT INTO tm_source.t VALUES (1, '2024-01-01', NULL), "
		      "(7, '0000-00-00', '2024-00-15 10:00:00')");
	world_pipeline(w, "t", STRATEGY_SEQUENCE, "id");
	world_refuse(w, ERROR_DATA, "column \"d\", key id=7");
	assert_non_null(strstr(w->err.message, "table tm_source.t"));
	assert_non_null(strstr(w->err.message, "0000-00-00"));
	assert_non_null(strstr(w->err.message, "zero_dates: null"));
	world_exec(w, "UPDATE tm_source.t SET d = NULL WHERE id = 7");
	world_refuse(w, ERROR_DATA, "2024-00-15 10:00:00");
	w->source.zero_dates = ZERO_DATES_NULL;
	world_expect(w, 10, "1|2024-01-01|NULL\n7|NULL|NULL\n");
	/* A mark has to have a place in the order, in the row or not. */
	world_pipeline(w, "t", STRATEGY_TIMESTAMP, "d");
	world_exec(w, "UPDATE tm_source.t SET d = '0000-00-00' WHERE id = 7");
	world_refuse(w, ERROR_DATA, "source.where");
	assert_non_null(strstr(w->err.message, "column \"d\", key id=7"));
}

static void types_long_values(void **state)
{
	struct world *w = suite_world(state);

	world_exec(w, "CREATE TABLE tm_source.t (id int PRIMARY KEY, v "
		      "longtext, b longblob)");
	world_exec(w,
		   "INSERT INTO tm_source.t SELECT n, repeat('ab', n * 700),"
		   " repeat(0x00ff, 3 * n) FROM %s",
		   world_series(w, 1, 40));
	world_pipeline(w, "t", STRATEGY_SEQUENCE, "id");
	assert_int_equal(world_begin(w), 0);
	assert_int_equal(world_step(w, 100), 1);
	for (size_t i = 0; i < w->batch.n_rows; i++) {
		size_t n, m;
		const uint8_t *v = vector_bytes(&w->batch.vectors[1], i, &n);
		const uint8_t *b = vector_bytes(&w->batch.vectors[2], i, &m);
		assert_int_equal(n, 1400 * (i + 1));
		assert_int_equal(m, 6 * (i + 1));
		assert_int_equal(v[n - 1], 'b');
		assert_int_equal(b[m - 1], 0xff);
		assert_int_equal(b[m - 2], 0);
	}
	assert_int_equal(w->batch.n_rows, 40);
}

/* Generated and invisible columns, and expressions of every kind. */
static void types_columns(void **state)
{
	struct world *w = suite_world(state);
	struct source_expression e[] = {
		{ (char *)"sum", (char *)"id + 0.25 -- more" },
		{ (char *)"big", (char *)"CAST(id AS UNSIGNED)" },
		{ (char *)"day", (char *)"DATE '2024-01-01'" },
		{ (char *)"word", (char *)"CONCAT(id, '?')" },
	};

	world_exec(w, "CREATE TABLE tm_source.t (id int PRIMARY KEY, g int AS "
		      "(id * 2) VIRTUAL, s int AS (id * 3) STORED, i int "
		      "INVISIBLE DEFAULT 5)");
	world_exec(w, "INSERT INTO tm_source.t (id) VALUES (1)");
	world_pipeline(w, "t", STRATEGY_SEQUENCE, "id");
	world_expect(w, 10, "1|2|3|5\n");
	world_pipeline(w, "t", STRATEGY_SEQUENCE, "id");
	w->source.expressions = e;
	w->source.n_expressions = ARRAY_SIZE(e);
	w->source.where = "id < 9 -- '?'";
	world_expect(w, 10, "1|2|3|5|1.25|1|2024-01-01|1?\n");
	w->source.where = "id < ?";
	assert_int_equal(world_describe(w), -ERROR_CONFIG);
	assert_non_null(strstr(w->err.message, "source.where"));
}

/* MySQL reads what a column is made of in the manner of the session that first
 * opens the table. */
static void types_quotes_in_expressions(void **state)
{
	struct world *w = suite_world(state);
	void *boss = world_boss(w);

	world_exec(w, "CREATE TABLE tm_source.t (id int PRIMARY KEY, g "
		      "varchar(9) AS (concat('''\\\\', id)) VIRTUAL)");
	world_exec(w, "INSERT INTO tm_source.t (id) VALUES (1)");
	w->quirks->exec(boss, "FLUSH TABLES");
	w->quirks->disconnect(boss);
	world_pipeline(w, "t", STRATEGY_SEQUENCE, "id");
	world_expect(w, 10, "1|'\\1\n");
}

const struct CMUnitTest suite_mysql_types[] = {
	SUITE_TEST(types_all),	      SUITE_TEST(types_as_keys),
	SUITE_TEST(types_zero_dates), SUITE_TEST(types_long_values),
	SUITE_TEST(types_columns),    SUITE_TEST(types_quotes_in_expressions),
};
const size_t suite_mysql_types_n = ARRAY_SIZE(suite_mysql_types);
