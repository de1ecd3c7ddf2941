#include "clients/pg_explain.h"

#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>

#include "clients/pg_session.h"
#include "core/base/alloc.h"
#include "core/base/strbuf.h"

/* For a table that seems so many times larger than the wanted rows, every plan
 * but one by an index looks too costly. */
#define MANY_TIMES 4

/* "->  Index Scan using orders_pkey on public.orders t", a name quoted where
 * it has to be. */
static char *explain_index(const char *line)
{
	static const char *const before[] = { "Index Scan using ",
					      "Index Only Scan using ",
					      "Index Scan Backward using ",
					      "Bitmap Index Scan on " };
	const char *at = NULL;

	for (size_t i = 0; !at && i < ARRAY_SIZE(before); i++) {
		at = strstr(line, before[i]);
		at = at ? at + strlen(before[i]) : NULL;
	}
	if (!at)
		return NULL;
	if (*at != '"')
		return xstrndup(at, strcspn(at, " "));
	return xstrndup(at + 1, strcspn(at + 1, "\""));
}

int pg_explain(struct pg *pg, const char *sql, int n, const char *const *params,
	       char **plan, char **index, struct error *err)
{
	struct strbuf lines = STRBUF_INIT;
	struct pg_result *r = NULL;
	char *text = xstrfmt("EXPLAIN %s", sql);
	int rc = pg_query(pg, &r, text, "t", n, params, err);

	*plan = *index = NULL;
	for (int i = 0; !rc && i < pg_rows(r); i++) {
		const char *line = pg_value(r, i, 0);

		strbuf_addf(&lines, "%s%s", lines.len ? "\n" : "", line);
		if (!*index)
			*index = explain_index(line);
	}
	if (!rc)
		*plan = strbuf_detach(&lines);
	strbuf_release(&lines);
	pg_result_free(r);
	free(text);
	return rc;
}

/* "Seq Scan on orders  (cost=0.00..269.67 rows=267 width=0)". For a table with
 * partitions or children, the node above them. */
static int64_t explain_rows(const char *plan)
{
	const char *rows = plan ? strstr(plan, " rows=") : NULL;

	return rows ? strtoll(rows + strlen(" rows="), NULL, 10) : 0;
}

int pg_explain_seems_small(struct pg *pg, const char *table, size_t rows,
			   bool *out, struct error *err)
{
	char *sql = xstrfmt("SELECT FROM %s", table);
	char *plan = NULL, *index = NULL;
	int rc = pg_explain(pg, sql, 0, NULL, &plan, &index, err);

	if (!rc)
		*out = explain_rows(plan) < MANY_TIMES * (int64_t)rows;
	free(plan);
	free(index);
	free(sql);
	return rc;
}

/* Set the values as a stream does: the planner looks at the values of
 * settings. */
static int explain_set_values(struct pg *pg, int n, const char *const *values,
			      struct error *err)
{
	int rc = 0;

	for (int i = 0; !rc && i < n; i++) {
		char *name = xstrfmt("tidemark.v%d", i + 1);
		const char *params[] = { name, values[i] };
		struct pg_result *r = NULL;

		rc = pg_query(pg, &r,
			      "SELECT pg_catalog.set_config($1, $2, false)",
			      "1?", 2, params, err);
		pg_result_free(r);
		free(name);
	}
	return rc;
}

/* The value that `sql` begins with the place of, or -1. */
static int explain_place(const char *sql, int n, size_t *length)
{
	for (int i = 0; i < n; i++) {
		char *place = xstrfmt(PG_STREAM_VALUE, i + 1);
		bool here;

		*length = strlen(place);
		here = !strncmp(sql, place, *length);
		free(place);
		if (here)
			return i;
	}
	return -1;
}

static char *explain_show(struct pg *pg, const char *sql, int n,
			  const char *const *values)
{
	struct strbuf sb = STRBUF_INIT;
	size_t length;

	while (*sql) {
		int i = explain_place(sql, n, &length);
		char *literal = NULL;

		if (i >= 0)
			literal = PQescapeLiteral(pg->conn, values[i],
						  strlen(values[i]));
		if (literal)
			strbuf_addstr(&sb, literal);
		else
			strbuf_addch(&sb, *sql);
		sql += literal ? length : 1;
		PQfreemem(literal);
	}
	return strbuf_detach(&sb);
}

int pg_stream_explain(struct pg *pg, const char *sql, int n,
		      const char *const *values, char **shown, char **plan,
		      char **index, struct error *err)
{
	int rc = explain_set_values(pg, n, values, err);

	*shown = *plan = *index = NULL;
	if (!rc)
		rc = pg_explain(pg, sql, 0, NULL, plan, index, err);
	if (!rc)
		*shown = explain_show(pg, sql, n, values);
	return rc;
}
