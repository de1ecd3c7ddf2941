#include "core/sync/parts/changing.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/unit.h"

/* engine, SQL, what changes by itself in it ("": nothing is known to) */
static const char *const cases[][3] = {
	{ "postgres", "now()", "now()" },
	{ "postgres", "id + extract(epoch FROM pg_catalog.NOW ())", "now()" },
	{ "postgres", "current_timestamp", "current_timestamp" },
	{ "postgres", "localtimestamp(3)", "localtimestamp()" },
	{ "postgres", "'now'::timestamp", "'now'" },
	{ "postgres", "CAST('Today' AS date)", "'today'" },
	{ "postgres", "timestamptz 'yesterday'", "'yesterday'" },
	{ "postgres", "age(at)", "age()" },
	{ "postgres", "age(at, 'a, b')", "" },
	{ "postgres", "age((at + f(1, 2)))", "age()" },
	{ "postgres", "nextval('s')", "nextval()" },
	{ "postgres", "now", "" },
	{ "postgres", "t.now || t.\"now\"", "" },
	{ "postgres", "knows(id) + nowhere(id)", "" },
	{ "postgres", "'now()' || 'it''s now()'", "" },
	{ "postgres", "id /* now() */ -- now()\n + 1", "" },
	{ "postgres", "$a$ now() $a$ || name", "" },
	{ "postgres", "$a$ x $a$ || now()", "now()" },
	{ "postgres", "status = 'now'", "" },
	{ "postgres", "'now'::text", "" },
	{ "postgres", "t.current_date", "" },
	{ "postgres", "uuid(name)", "" },
	{ "mysql", "UUID()", "uuid()" },
	{ "mysql", "UUID", "" },
	{ "mysql", "'it\\'s' = NOW(6)", "now()" },
	{ "mysql", "`now()` # now()", "" },
	{ "mysql", "UTC_DATE", "utc_date" },
	{ "mysql", "unix_timestamp(at)", "" },
	{ "sqlite", "datetime('now', '-1 day')", "'now'" },
	{ "sqlite", "strftime('%s', 'NOW')", "'now'" },
	{ "sqlite", "julianday()", "julianday()" },
	{ "sqlite", "date(at)", "" },
	{ "sqlite", "status = 'now'", "" },
	{ "duckdb", "today()", "today()" },
	{ "clickhouse", "now64(6)", "now64()" },
	{ "bigquery", "CURRENT_DATETIME", "current_datetime" },
	{ "bigquery", "GENERATE_UUID()", "generate_uuid()" },
};

static const struct {
	const char *engine, *sql;
	bool reads;
} queries[] = {
	{ "postgres", "id IN (SELECT id FROM vip)", true },
	{ "postgres", "EXISTS (/* x */ select 1)", true },
	{ "postgres", "id IN (TABLE vip)", true },
	{ "postgres", "now() > at OR id IN (SELECT 1)", true },
	{ "postgres", "extract(year FROM at) = 2024", false },
	{ "postgres", "trim(FROM name) = 'select'", false },
	{ "postgres", "\"select\" = 1 AND o.\"table\" = 2", false },
	{ "postgres", "selected AND tables = 1 -- select\n", false },
	{ "mysql", "`select` = 1 # select\n", false },
	{ "duckdb", "id IN (FROM vip)", true },
	{ "duckdb", "id IN ( FROM vip)", true },
	{ "sqlite", "id = (SELECT max(id) FROM vip)", true },
};

static void test_reads(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(queries); i++)
		if (changing_reads(queries[i].engine, queries[i].sql) !=
		    queries[i].reads)
			fail_msg("%s: %s", queries[i].engine, queries[i].sql);
}

static void test_find(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *found = changing_find(cases[i][0], cases[i][1]);

		if (strcmp(found ? found : "", cases[i][2]) != 0)
			fail_msg("%s: %s: found \"%s\"", cases[i][0],
				 cases[i][1], found ? found : "");
		free(found);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_find),
					    cmocka_unit_test(test_reads) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
