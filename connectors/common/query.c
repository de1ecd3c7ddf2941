#include "connectors/common/query.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "connectors/common/names.h"
#include "connectors/common/tick.h"
#include "core/base/alloc.h"
#include "core/data/table_name.h"

/* A name that no table has. */
#define QUERY_ALIAS "tidemark_query"

/* The source, with the columns of its query among the expressions. */
struct query_columns {
	struct source_spec spec;
	struct source_expression *expressions; /* the query's first */
	size_t n; /* the query's, with owned texts; the user's follow */
};

/* The query may end in a comment: the line's end closes it. */
static void query_table(struct source_table *t, const char *query, char quote)
{
	struct strbuf alias = STRBUF_INIT;

	sql_quote_name(&alias, QUERY_ALIAS, quote);
	t->schema = xstrdup("");
	t->name = xstrdup("");
	t->sql = xstrfmt("(\n%s\n)", query);
	t->alias = strbuf_detach(&alias);
	t->definition = xstrdup(query);
	t->view = true;
	t->rows = t->bytes = -1;
}

char *query_select(const struct source_table *t)
{
	return xstrfmt("SELECT * FROM %s AS %s WHERE 1 = 0", t->sql, t->alias);
}

static bool query_replaces(const struct source_spec *source, const char *name)
{
	for (size_t i = 0; i < source->n_expressions; i++)
		if (!strcmp(source->expressions[i].name, name))
			return true;
	return false;
}

/* PostgreSQL calls a column without a name "?column?". */
static int query_check_name(const struct strlist *names, size_t at,
			    struct error *err)
{
	const char *name = names->items[at];

	if (!*name || !strcmp(name, "?column?"))
		return error_set(err, ERROR_CONFIG,
				 QUERY_KEY ": column %zu has no name" ERROR_FIX
					   ": give it one, AS total",
				 at + 1);
	for (size_t i = 0; i < at; i++)
		if (!strcasecmp(names->items[i], name))
			return error_set(err, ERROR_CONFIG,
					 QUERY_KEY ": two columns are called "
						   "\"%s\"" ERROR_FIX
						   ": give one of them another "
						   "name, AS other",
					 name);
	return 0;
}

/* Once an expression of the user's is in its place, nobody can tell. */
static int query_check_exclude(const struct source_spec *source,
			       const struct strlist *names, struct error *err)
{
	size_t n = source->exclude ? source->exclude->n : 0;

	for (size_t i = 0; i < n && !source->exclude_loose; i++) {
		const char *name = source->exclude->items[i];

		if (query_replaces(source, name) && !strlist_has(names, name))
			return column_missing(
				(const char *const *)names->items, names->n,
				source->exclude_at ? source->exclude_at
						   : "source.exclude",
				name, source->table, err);
	}
	return 0;
}

static void query_columns_release(struct query_columns *q)
{
	for (size_t i = 0; i < q->n; i++) {
		free(q->expressions[i].name);
		free(q->expressions[i].sql);
	}
	free(q->expressions);
	memset(q, 0, sizeof(*q));
}

static int query_columns_take(struct query_columns *out,
			      const struct source_spec *source,
			      const struct source_table *t,
			      const struct strlist *names, char quote,
			      struct error *err)
{
	int rc;

	memset(out, 0, sizeof(*out));
	out->spec = *source;
	rc = query_check_exclude(source, names, err);
	out->expressions = xcalloc(names->n + source->n_expressions + 1,
				   sizeof(*out->expressions));
	for (size_t i = 0; !rc && i < names->n; i++) {
		struct strbuf sql = STRBUF_INIT;

		rc = query_check_name(names, i, err);
		if (rc || query_replaces(source, names->items[i]))
			continue;
		strbuf_addf(&sql, "%s.", t->alias);
		sql_quote_name(&sql, names->items[i], quote);
		out->expressions[out->n].name = xstrdup(names->items[i]);
		out->expressions[out->n++].sql = strbuf_detach(&sql);
	}
	for (size_t i = 0; i < source->n_expressions; i++)
		out->expressions[out->n + i] = source->expressions[i];
	out->spec.expressions = out->expressions;
	out->spec.n_expressions = out->n + source->n_expressions;
	if (rc)
		query_columns_release(out);
	return rc;
}

int query_look(const struct query_engine *e, void *ctx,
	       const struct source_spec *source, struct source_layout *out,
	       struct error *err)
{
	struct strlist names = STRLIST_INIT;
	struct query_columns q;
	int rc;

	query_table(&out->table, source->query, e->quote);
	rc = e->names(ctx, &out->table, &names, err);
	if (!rc)
		rc = query_columns_take(&q, source, &out->table, &names,
					e->quote, err);
	strlist_release(&names);
	if (rc)
		return rc;
	rc = e->read(ctx, &q.spec, out, err);
	/* A row may change while each of its columns stays the same. */
	for (size_t i = 0; i < out->n_all; i++)
		xassign(&out->all[i].computed, TICK_OTHERS);
	query_columns_release(&q);
	return rc;
}
