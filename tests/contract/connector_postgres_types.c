/* Every type at its extremes: exactly the text that the server prints. */
#include <stdlib.h>
#include <string.h>

#include "connector_world.h"

#include "core/base/alloc.h"

struct type_case {
	const char *type;
	enum type_kind kind;
	const char *value; /* a literal without quotes, or an expression */
	const char *text; /* NULL: as the literal */
};

static const struct type_case type_cases[] = {
	{ "boolean", TYPE_BOOL, "true", NULL },
	{ "boolean", TYPE_BOOL, "false", NULL },
	{ "smallint", TYPE_INT16, "-32768", NULL },
	{ "smallint", TYPE_INT16, "32767", NULL },
	{ "integer", TYPE_INT32, "-2147483648", NULL },
	{ "integer", TYPE_INT32, "2147483647", NULL },
	{ "bigint", TYPE_INT64, "-9223372036854775808", NULL },
	{ "bigint", TYPE_INT64, "9223372036854775807", NULL },
	{ "oid", TYPE_INT64, "4294967295", NULL },
	{ "real", TYPE_FLOAT32, "3.4028235e+38", NULL },
	{ "real", TYPE_FLOAT32, "1e-45", NULL },
	{ "real", TYPE_FLOAT32, "-0", NULL },
	{ "real", TYPE_FLOAT32, "NaN", NULL },
	{ "double precision", TYPE_FLOAT64, "1.7976931348623157e+308", NULL },
	{ "double precision", TYPE_FLOAT64, "5e-324", NULL },
	{ "double precision", TYPE_FLOAT64, "-Infinity", NULL },
	{ "double precision", TYPE_FLOAT64, "0.1", NULL },
	{ "numeric", TYPE_DECIMAL, "0", NULL },
	{ "numeric", TYPE_DECIMAL, "0.000", NULL },
	{ "numeric", TYPE_DECIMAL, "-0.00010", NULL },
	{ "numeric", TYPE_DECIMAL, "10000", NULL },
	{ "numeric", TYPE_DECIMAL, "99999999.99990000", NULL },
	{ "numeric", TYPE_DECIMAL, "0.00000000000000000001", NULL },
	{ "numeric", TYPE_DECIMAL, "1e50",
	  "100000000000000000000000000000000000000000000000000" },
	{ "numeric", TYPE_DECIMAL, "NaN", NULL },
	{ "numeric", TYPE_DECIMAL, "Infinity", NULL },
	{ "numeric", TYPE_DECIMAL, "-Infinity", NULL },
	{ "numeric(10,2)", TYPE_DECIMAL, "1.1", "1.10" },
	{ "numeric(5,-2)", TYPE_DECIMAL, "1234567", "1234600" },
	{ "text", TYPE_TEXT, "", NULL },
	{ "text", TYPE_TEXT, "\xf0\x9f\x90\x98 \xc3\xbc|\\ \"", NULL },
	{ "varchar(5)", TYPE_TEXT, "abcde", NULL },
	{ "char(5)", TYPE_TEXT, "ab", "ab   " },
	{ "name", TYPE_TEXT, "n", NULL },
	{ "\"char\"", TYPE_NATIVE, "c", NULL },
	{ "bytea", TYPE_BYTES, "\\x00ff10", NULL },
	{ "bytea", TYPE_BYTES, "\\x", NULL },
	{ "date", TYPE_DATE, "4714-11-24 BC", NULL },
	{ "date", TYPE_DATE, "5874897-12-31", NULL },
	{ "date", TYPE_DATE, "infinity", NULL },
	{ "date", TYPE_DATE, "-infinity", NULL },
	{ "time", TYPE_TIME, "00:00:00", NULL },
	{ "time", TYPE_TIME, "24:00:00", NULL },
	{ "time(3)", TYPE_TIME, "12:34:56.789", NULL },
	{ "timetz", TYPE_NATIVE, "12:34:56.789+05:30", NULL },
	{ "timestamp", TYPE_TIMESTAMP, "4714-11-24 00:00:00 BC", NULL },
	{ "timestamp", TYPE_TIMESTAMP, "294246-01-01 00:00:00", NULL },
	{ "timestamp", TYPE_TIMESTAMP, "infinity", NULL },
	{ "timestamp(0)", TYPE_TIMESTAMP, "2024-02-29 23:59:59", NULL },
	{ "timestamptz", TYPE_TIMESTAMPTZ, "-infinity", NULL },
	{ "timestamptz", TYPE_TIMESTAMPTZ, "1969-12-31 23:59:59.999999+00",
	  NULL },
	{ "interval", TYPE_INTERVAL, "-178000000 years", "-178000000 years" },
	{ "interval", TYPE_INTERVAL, "1 mon -2 days +03:04:05.000006",
	  "1 mon -2 days +03:04:05.000006" },
	{ "interval", TYPE_INTERVAL, "00:00:00", NULL },
	{ "uuid", TYPE_UUID, "ffffffff-0000-4000-8000-0123456789ab", NULL },
	{ "json", TYPE_JSON, "{\"b\" :1, \"b\":2}", NULL },
	{ "jsonb", TYPE_JSON, "{\"a\": 1.10, \"b\": [null]}", NULL },
	{ "xml", TYPE_NATIVE, "<a>b</a>", NULL },
	{ "money", TYPE_NATIVE, "-$92,233,720,368,547,758.08", NULL },
	{ "inet", TYPE_NATIVE, "2001:db8::1/64", NULL },
	{ "cidr", TYPE_NATIVE, "10.0.0.0/8", NULL },
	{ "macaddr", TYPE_NATIVE, "08:00:2b:01:02:03", NULL },
	{ "bit(3)", TYPE_NATIVE, "101", NULL },
	{ "bit varying", TYPE_NATIVE, "", NULL },
	{ "tsvector", TYPE_NATIVE, "'a':1 'b':2", NULL },
	{ "tsquery", TYPE_NATIVE, "'a' & 'b'", NULL },
	{ "point", TYPE_NATIVE, "(1,2.5)", NULL },
	{ "polygon", TYPE_NATIVE, "((0,0),(1,1),(1,0))", NULL },
	{ "int4range", TYPE_NATIVE, "[1,5)", NULL },
	{ "tstzrange", TYPE_NATIVE, "[\"2024-01-01 00:00:00+00\",infinity)",
	  NULL },
	{ "int4multirange", TYPE_NATIVE, "{[1,3),[5,7)}", NULL },
	{ "integer[]", TYPE_NATIVE, "{{1,NULL},{3,4}}", NULL },
	{ "text[]", TYPE_NATIVE, "{\"a,b\",\"\",NULL,\"NULL\"}", NULL },
	{ "xid", TYPE_NATIVE, "4294967295", NULL },
	{ "pg_lsn", TYPE_NATIVE, "16/B374D848", NULL },
	{ "regclass", TYPE_NATIVE, "pg_class", NULL },
	{ "tm_source.mood", TYPE_NATIVE, "sad", NULL },
	{ "tm_source.pair", TYPE_NATIVE, "(1,\"a b\")", NULL },
	{ "tm_source.pair[]", TYPE_NATIVE, "{\"(1,x)\"}", NULL },
	{ "tm_source.price", TYPE_DECIMAL, "1.5", "1.50" },
	{ "tm_source.word", TYPE_TEXT, "ok", NULL },
};

static void types_prepare(struct world *w)
{
	world_exec(w, "CREATE TYPE tm_source.mood AS ENUM ('sad', 'ok');"
		      "CREATE TYPE tm_source.pair AS (a int, b text);"
		      "CREATE DOMAIN tm_source.money2 AS numeric(12,2);"
		      "CREATE DOMAIN tm_source.price AS tm_source.money2"
		      " CHECK (value > 0);"
		      "CREATE DOMAIN tm_source.word AS varchar(7) NOT NULL");
}

static void types_one(struct world *w, const struct type_case *t)
{
	const char *text = t->text ? t->text : t->value;
	const struct column *c;
	char *expected = xstrfmt("1|%s\n2|%s\n", text,
				 strstr(t->type, "word") ? text : "NULL");

	world_exec(w,
		   "DROP TABLE IF EXISTS tm_source.t;"
		   "CREATE TABLE tm_source.t (id int PRIMARY KEY, v %s);"
		   "INSERT INTO tm_source.t VALUES (1, $v$%s$v$), (2, %s)",
		   t->type, t->value,
		   strstr(t->type, "word") ? "'ok'" : "NULL");
	world_pipeline(w, "t", STRATEGY_XMIN, NULL);
	world_expect(w, 10, expected);
	c = &w->schema.columns[1];
	if (c->type.kind != t->kind)
		fail_msg("%s is %s", t->type, type_kind_name(c->type.kind));
	free(expected);
}

static void types_all(void **state)
{
	struct world *w = suite_world(state);

	types_prepare(w);
	for (size_t i = 0; i < ARRAY_SIZE(type_cases); i++)
		types_one(w, &type_cases[i]);
}

struct native_case {
	const char *type, *native;
	int precision, scale, digits;
};

static void types_described(void **state)
{
	static const struct native_case cases[] = {
		{ "numeric(10,2)", "numeric(10,2)", 10, 2, 0 },
		{ "numeric(5,-2)", "numeric(5,-2)", 5, -2, 0 },
		{ "numeric", "numeric", 0, 0, 0 },
		{ "varchar(7)", "character varying(7)", 7, 0, 0 },
		{ "varchar", "character varying", 0, 0, 0 },
		{ "char(3)", "character(3)", 3, 0, 0 },
		{ "timestamp(3)", "timestamp(3) without time zone", 0, 0, 3 },
		{ "timestamptz", "timestamp with time zone", 0, 0, 6 },
		{ "time(0)", "time(0) without time zone", 0, 0, 0 },
		{ "jsonb", "jsonb", 0, 0, 0 },
		{ "json", "json", 0, 0, 0 },
		{ "int4range", "int4range", 0, 0, 0 },
		{ "tm_source.mood", "tm_source.mood", 0, 0, 0 },
		{ "tm_source.mood[]", "tm_source.mood[]", 0, 0, 0 },
		{ "tm_source.price", "tm_source.price", 12, 2, 0 },
		{ "tm_source.word", "tm_source.word", 7, 0, 0 },
	};
	struct world *w = suite_world(state);

	types_prepare(w);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct native_case *n = &cases[i];
		const struct column *c;
		world_exec(w,
			   "DROP TABLE IF EXISTS tm_source.t;"
			   "CREATE TABLE tm_source.t (id int PRIMARY KEY,"
			   " v %s)",
			   n->type);
		world_pipeline(w, "t", STRATEGY_XMIN, NULL);
		assert_int_equal(world_describe(w), 0);
		assert_string_equal(w->schema.engine, "postgres");
		assert_false(w->schema.columns[0].nullable);
		c = &w->schema.columns[1];
		assert_string_equal(c->type.native, n->native);
		assert_int_equal(c->type.precision, n->precision);
		assert_int_equal(c->type.scale, n->scale);
		assert_int_equal(c->type.digits, n->digits);
		assert_int_equal(c->nullable, !strstr(n->type, "word"));
	}
}

/* A value that our µs cannot hold is refused by name, not bent. */
static void types_out_of_range(void **state)
{
	struct world *w = suite_world(state);

	world_exec(w, "CREATE TABLE tm_source.t (id int PRIMARY KEY,"
		      " v timestamptz);"
		      "INSERT INTO tm_source.t VALUES (1, now()),"
		      " (42, '294276-12-31 23:59:59.999999+00')");
	world_pipeline(w, "t", STRATEGY_XMIN, NULL);
	world_refuse(w, ERROR_DATA, "column \"v\", key id=42");
}

/* Big values, many of them, and none. */
static void types_big(void **state)
{
	struct world *w = suite_world(state);
	size_t n;

	world_exec(w, "CREATE TABLE tm_source.t (id int PRIMARY KEY, v text);"
		      "INSERT INTO tm_source.t VALUES"
		      " (1, repeat('x', 30000000)), (2, NULL), (3, '')");
	world_pipeline(w, "t", STRATEGY_XMIN, NULL);
	w->quiet = true;
	assert_int_equal(world_begin(w), 0);
	assert_int_equal(world_step(w, 10), 1);
	assert_int_equal(w->batch.n_rows, 1);
	vector_bytes(&w->batch.vectors[1], 0, &n);
	assert_int_equal(n, 30000000);
	assert_int_equal(world_step(w, 10), 1);
	assert_int_equal(w->batch.n_rows, 2);
	assert_true(vector_is_null(&w->batch.vectors[1], 0));
	assert_false(vector_is_null(&w->batch.vectors[1], 1));
	assert_int_equal(world_step(w, 10), 0);
	w->quiet = false;
}

const struct CMUnitTest suite_postgres_types[] = {
	SUITE_TEST(types_all),
	SUITE_TEST(types_described),
	SUITE_TEST(types_out_of_range),
	SUITE_TEST(types_big),
};
const size_t suite_postgres_types_n = ARRAY_SIZE(suite_postgres_types);
