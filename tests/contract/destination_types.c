/* Values: what goes in comes out, extremes included, and comes out unchanged
 * when it is loaded again. */
#include "destination_suite.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/strbuf.h"

/* A source column, values loaded as they stand (ids from 1), and the texts that
 * engines' clients print where they differ. */
struct value_case {
	const char *spec;
	const char *values; /* one a line */
	/* NULL: as `values`; "": not looked at. */
	const char *sqlite, *duckdb, *mysql, *bigquery;
};

static const struct value_case value_cases[] = {
	{ "bool", "t\nf\nNULL", "1\n0\nNULL", "True\nFalse\nNULL", "1\n0\nNULL",
	  "true\nfalse\nNULL" },
	{ "int16", "-32768\n32767\n0", NULL, NULL, NULL, NULL },
	{ "int32", "-2147483648\n2147483647", NULL, NULL, NULL, NULL },
	{ "int64", "-9223372036854775808\n9223372036854775807", NULL, NULL,
	  NULL, NULL },
	{ "uint64", "0\n18446744073709551615", "", NULL, NULL, NULL },
	{ "float32", "1.5\n-0.25\n3.4028235e+38", "", "", "", "" },
	{ "float64", "0.1\n1.7976931348623157e+308\n5e-324", "", NULL, NULL,
	  NULL },
	{ "decimal(12,2)", "0.00\n-1.50\n9999999999.99\n0.01", "", NULL, NULL,
	  "0\n-1.5\n9999999999.99\n0.01" },
	{ "decimal", "0\n1.10\n-12345678901234567890.0987654321\n0.00001", NULL,
	  "", NULL, NULL },
	{ "text", "\n\\N\n\\\nünïcödé\n\t\n'; --\n\xf0\x9f\x98\x80", NULL, NULL,
	  NULL, NULL },
	{ "text(5)", "abcde\nüüüüü", NULL, NULL, NULL, NULL },
	{ "date", "1970-01-01\n2026-02-28\n0001-01-01\n9999-12-31", NULL, NULL,
	  NULL, NULL },
	{ "timestamp", "1970-01-01 00:00:00\n2026-01-31 12:00:00.000001", NULL,
	  NULL, NULL, "1970-01-01T00:00:00\n2026-01-31T12:00:00.000001" },
	{ "timestamptz",
	  "1970-01-01 00:00:00+00\n2026-01-31 12:00:00.000001+00", "",
	  "1970-01-01 00:00:00+00:00\n2026-01-31 12:00:00.000001+00:00",
	  "1970-01-01 00:00:00\n2026-01-31 12:00:00.000001",
	  "0\n1769860800000001" },
	{ "json", "{\"b\": 1, \"a\": [null, \"x\"]}\nnull\n\"\\\\\"", NULL,
	  NULL, NULL, "" },
	{ "native", "[1,5)\n{a,b}", NULL, NULL, NULL, NULL },
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

enum { CASES = sizeof(value_cases) / sizeof(value_cases[0]) };

/* The values of a case; how many. */
static int value_count(const struct value_case *c)
{
	int n = 1;

	for (const char *p = c->values; *p; p++)
		n += *p == '\n';
	return n;
}

/* Rows with ids from 1. Row N has the Nth value of each case, or NULL. */
static char *values_rows(void)
{
	struct strbuf rows = STRBUF_INIT;
	char *copy[CASES], *rest[CASES];
	int most = 0;

	for (size_t i = 0; i < CASES; i++) {
		int n = value_count(&value_cases[i]);

		rest[i] = copy[i] = xstrdup(value_cases[i].values);
		most = n > most ? n : most;
	}
	for (int id = 1; id <= most; id++) {
		strbuf_addf(&rows, "%d", id);
		for (size_t i = 0; i < CASES; i++) {
			const char *value = strsep(&rest[i], "\n");

			strbuf_addf(&rows, "|%s", value ? value : "NULL");
		}
		strbuf_addch(&rows, '\n');
	}
	for (size_t i = 0; i < CASES; i++)
		free(copy[i]);
	return strbuf_detach(&rows);
}

static void values_schema(struct world *w)
{
	struct strbuf spec = STRBUF_INIT;

	strbuf_addstr(&spec, "id:int64!");
	for (size_t i = 0; i < CASES; i++)
		strbuf_addf(&spec, " v%zu:%s", i, value_cases[i].spec);
	world_schema(w, spec.data);
	strbuf_release(&spec);
}

static void value_check(struct world *w, size_t i)
{
	const struct value_case *c = &value_cases[i];
	char *sql = xstrfmt("SELECT v%zu FROM every_kind WHERE id <= %d "
			    "ORDER BY id;",
			    i, value_count(c));
	const char *expected = value_expected(w, c);
	const char *found = world_query(w, sql);

	if (*expected && strcmp(found, expected) != 0)
		fail_msg("%s:\n%s\ninstead of\n%s", c->spec, found, expected);
	free(sql);
}

static void test_values(void **state)
{
	struct world *w = suite_world(state);
	char *rows = values_rows();
	int64_t loaded;

	values_schema(w);
	w->target.table = "every_kind";
	w->target.mode = LOAD_UPSERT;
	world_sync(w, rows, "{}");
	loaded = w->counts.inserted;
	for (size_t i = 0; i < CASES; i++)
		value_check(w, i);
	world_sync(w, rows, "{}");
	if (w->counts.unchanged != loaded)
		fail_msg("%d of %d rows are unchanged when they come again",
			 (int)w->counts.unchanged, (int)loaded);
	free(rows);
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
