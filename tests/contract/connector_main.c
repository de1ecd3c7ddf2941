/*
 * One contract suite over every connector: connector_contract ENGINE [PATTERN].
 * Ends with 77 (meson: skipped) when the engine cannot be tested here.
 */
#include "connector_world.h"

#include <stdio.h>
#include <string.h>

#include "chosen.h"

static const struct quirks *suite_quirks;
/* The cases that are chosen, or NULL. */
static const char *suite_pattern;

int suite_setup(void **state)
{
	struct world *w = world_new(suite_quirks);

	if (!w)
		return -1;
	world_exec(w, "%s", suite_quirks->clean);
	*state = w;
	return 0;
}

int suite_teardown(void **state)
{
	world_free(*state);
	return 0;
}

struct world *suite_world(void **state)
{
	return *state;
}

static void suite_add(struct CMUnitTest *all, size_t *n,
		      const struct CMUnitTest *tests, size_t n_tests)
{
	memcpy(all + *n, tests, n_tests * sizeof(*tests));
	*n += n_tests;
}

static int suite_run(void)
{
	struct CMUnitTest all[256];
	size_t n = 0;

	suite_add(all, &n, suite_pages, suite_pages_n);
	suite_add(all, &n, suite_marks, suite_marks_n);
	suite_add(all, &n, suite_lookup, suite_lookup_n);
	suite_add(all, &n, suite_unique, suite_unique_n);
	if (!strcmp(suite_quirks->engine, "postgres")) {
		suite_add(all, &n, suite_postgres_pages,
			  suite_postgres_pages_n);
		suite_add(all, &n, suite_postgres_leaves,
			  suite_postgres_leaves_n);
		suite_add(all, &n, suite_postgres_sequence,
			  suite_postgres_sequence_n);
		suite_add(all, &n, suite_postgres_settle,
			  suite_postgres_settle_n);
		suite_add(all, &n, suite_postgres_xmin, suite_postgres_xmin_n);
		suite_add(all, &n, suite_postgres_types,
			  suite_postgres_types_n);
		suite_add(all, &n, suite_postgres_catalog,
			  suite_postgres_catalog_n);
	}
	if (!strcmp(suite_quirks->connector, "mysql")) {
		suite_add(all, &n, suite_mysql, suite_mysql_n);
		suite_add(all, &n, suite_mysql_keyset, suite_mysql_keyset_n);
		suite_add(all, &n, suite_mysql_faults, suite_mysql_faults_n);
		suite_add(all, &n, suite_mysql_guarantee,
			  suite_mysql_guarantee_n);
		suite_add(all, &n, suite_mysql_types, suite_mysql_types_n);
	}
	if (!strcmp(suite_quirks->engine, "sqlite"))
		suite_add(all, &n, suite_sqlite, suite_sqlite_n);
	if (!strcmp(suite_quirks->engine, "clickhouse"))
		suite_add(all, &n, suite_clickhouse, suite_clickhouse_n);
	if (!strcmp(suite_quirks->engine, "bigquery"))
		suite_add(all, &n, suite_bigquery, suite_bigquery_n);
	if (!strcmp(suite_quirks->engine, "duckdb"))
		suite_add(all, &n, suite_duckdb, suite_duckdb_n);
	n = choose_cases(all, n, suite_pattern);
	if (!n)
		return 2;
	return _cmocka_run_group_tests(suite_quirks->engine, all, n, NULL,
				       NULL);
}

int main(int argc, char **argv)
{
	struct world *w;

	for (size_t i = 0; argc > 1 && world_quirks[i]; i++)
		if (!strcmp(world_quirks[i]->engine, argv[1]))
			suite_quirks = world_quirks[i];
	if (!suite_quirks) {
		fprintf(stderr, "usage: connector_contract ENGINE [PATTERN]\n");
		return 2;
	}
	suite_pattern = argc > 2 ? argv[2] : NULL;
	w = world_new(suite_quirks);
	if (!w)
		return 77;
	world_free(w);
	return suite_run();
}
