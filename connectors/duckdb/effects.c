#include <stdlib.h>
#include <string.h>

#include "connectors/duckdb/source.h"
#include "core/base/alloc.h"

/* Functions that change the process that calls them, as a plan names them. The
 * first lets DuckDB log to the standard output, with any text. The second runs
 * SQL that no plan shows. */
static const struct {
	const char *node, *name;
} effects[] = {
	{ "\"name\": \"ENABLE_LOGGING", "enable_logging" },
	{ "\"name\": \"JSON_EXECUTE_SERIALIZED_SQL",
	  "json_execute_serialized_sql" },
};

static const char *effects_of(const char *plan)
{
	for (size_t i = 0; i < ARRAY_SIZE(effects); i++)
		if (strstr(plan, effects[i].node))
			return effects[i].name;
	return NULL;
}

/* A view's text may hide such a function in macros and other views, and in
 * texts that query() runs. The plan shows it. */
int duckdb_source_view_refuse(struct duckdb_source *s,
			      const struct source_table *view,
			      struct error *err)
{
	struct duck_result *r = NULL;
	char *sql =
		xstrfmt("EXPLAIN (FORMAT json) SELECT * FROM %s", view->sql);
	int rc = duck_query(s->db, &r, sql, NULL, 0, err);

	while (!rc && duck_next(r)) {
		char *plan = duck_str(r, 1);
		const char *found = plan ? effects_of(plan) : NULL;

		if (found)
			rc = error_set(err, ERROR_SCHEMA,
				       "view %s calls %s(), which changes what "
				       "this process does and prints" ERROR_FIX
				       ": leave that function out of it",
				       view->name, found);
		free(plan);
	}
	duck_result_free(r);
	free(sql);
	return rc;
}
