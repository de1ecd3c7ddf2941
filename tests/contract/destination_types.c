/* Values: what goes in comes out, extremes included, and comes out unchanged
 * when it is loaded again. */
#include "destination_suite.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

/* A source column, values loaded as they stand (ids from 1), and what an
 * engine's client is to print when it is not the same text. */
struct value_case {
	const char *spec;
	const char *values; /* one a line */
	/* NULL: as `values`; "": not looked at. */
	const char *sqlite, *duckdb, *mysql, *bigquery;
};

static const struct value_case value_cases[] = {
	{ "v:bool", "t\nf\nNULL", "1\n0\nNULL", "True\nFalse\nNULL",
	  "1\n0\nNULL", "true\nfalse\nNULL" },
	{ "v:int16", "-32768\n32767\n0", NULL, NULL, NULL, NULL },
	{ "v:int32", "-2147483648\n2147483647", NULL, NULL, NULL, NULL },
	{ "v:int64", "-9223372036854775808\n9223372036854775807", NULL, NULL,
	  NULL, NULL },
	{ "v:uint64", "0\n18446744073709551615", "", NULL, NULL, NULL },
	{ "v:float32", "1.5\n-0.25\n3.4028235e+38", "", "", "", "" },
	{ "v:float64", "0.1\n1.7976931348623157e+308\n5e-324", "", NULL, NULL,
	  NULL },
	{ "v:decimal(12,2)", "0.00\n-1.50\n9999999999.99\n0.01", "", NULL, NULL,
	  "0\n-1.5\n9999999999.99\n0.01" },
	{ "v:decimal", "0\n1.10\n-12345678901234567890.0987654321\n0.00001",
	  NULL, "", NULL, NULL },
	{ "v:text", "\n\\N\n\\\nünïcödé\n\t\n'; --\n\xf0\x9f\x98\x80", NULL,
	  NULL, NULL, NULL },
	{ "v:text(5)", "abcde\nüüüüü", NULL, NULL, NULL, NULL },
	{ "v:date", "1970-01-01\n2026-02-28\n0001-01-01\n9999-12-31", NULL,
	  NULL, NULL, NULL },
	{ "v:timestamp", "1970-01-01 00:00:00\n2026-01-31 12:00:00.000001",
	  NULL, NULL, NULL, "1970-01-01T00:00:00\n2026-01-31T12:00:00.000001" },
	{ "v:timestamptz",
	  "1970-01-01 00:00:00+00\n2026-01-31 12:00:00.000001+00", "",
	  "1970-01-01 00:00:00+00:00\n2026-01-31 12:00:00.000001+00:00",
	  "1970-01-01 00:00:00\n2026-01-31 12:00:00.000001",
	  "0\n1769860800000001" },
	{ "v:json", "{\"b\": 1, \"a\": [null, \"x\"]}\nnull\n\"\\\\\"", NULL,
	  NULL, NULL, "" },
	{ "v:native", "[1,5)\n{a,b}", NULL, NULL, NULL, NULL },
};

static const char *value_expected(const struct world *w,
				  const struct value_case *c)
{
	const char *own = !strcmp(w->quirks->engine, "sqlite")	   ? c->sqlite
			  : !strcmp(w->quirks->engine, "duckdb")   ? c->duckdb
			  : w->quirks->plugin			   ? c->mysql
			  : !strcmp(w->quirks->engine, "bigquery") ? c->bigquery
								   : NULL;

	return own ? own : c->values;
}

static char *value_rows(const char *values)
{
	struct strbuf sb = STRBUF_INIT;
	char *copy = xstrdup(values), *rest = copy, *value;
	int id = 0;

	while ((value = strsep(&rest, "\n")))
		strbuf_addf(&sb, "%d|%s\n", ++id, value);
	free(copy);
	return strbuf_detach(&sb);
}

static void value_check(struct world *w, const struct value_case *c, int n)
{
	char *table = xstrfmt("values_%d", n), *pipeline = xstrfmt("p%d", n);
	char *spec = xstrfmt("id:int64! %s", c->spec);
	char *rows = value_rows(c->values);
	char *sql = xstrfmt("SELECT v FROM %s ORDER BY id;", table);
	const char *expected = value_expected(w, c), *found;
	int64_t loaded;

	world_schema(w, spec);
	w->target.table = table;
	w->target.pipeline = pipeline;
	w->target.mode = LOAD_UPSERT;
	world_sync(w, rows, "{}");
	loaded = w->counts.inserted;
	found = world_query(w, sql);
	if (*expected && strcmp(found, expected) != 0)
		fail_msg("%s:\n%s\ninstead of\n%s", c->spec, found, expected);
	world_sync(w, rows, "{}");
	if (w->counts.unchanged != loaded)
		fail_msg("%s: not all rows are unchanged when they come again",
			 c->spec);
	free(table);
	free(pipeline);
	free(spec);
	free(rows);
	free(sql);
}

static void test_values(void **state)
{
	struct world *w = suite_world(state);

	for (size_t i = 0; i < ARRAY_SIZE(value_cases); i++)
		value_check(w, &value_cases[i], (int)i);
}

/* A value that does not fit: DATA, with the row's key; nothing is left. */
static void test_value_too_long(void **state)
{
	struct world *w = suite_world(state);

	if (!w->quirks->strict_types || w->quirks->plain_tables ||
	    !strcmp(w->quirks->engine, "duckdb"))
		skip();
	world_schema(w, "id:int64! v:text(3)");
	w->target.table = "short";
	w->target.mode = LOAD_UPSERT;
	world_sync(w, "1|a", "{\"value\":\"1\"}");
	assert_int_equal(world_begin(w), 0);
	assert_int_equal(
		world_load(w, "2|b\n77|abcd\n3|c", "{\"value\":\"2\"}"),
		ERROR_DATA);
	assert_non_null(strstr(w->err.message, "id=77"));
	world_close(w);
	assert_string_equal(world_query(w, "SELECT id FROM short;"), "1");
	assert_string_equal(world_mark(w), "{\"value\":\"1\"}");
}

const struct CMUnitTest suite_types[] = {
	SUITE_TEST(test_values),
	SUITE_TEST(test_value_too_long),
};
const size_t suite_types_n = ARRAY_SIZE(suite_types);
