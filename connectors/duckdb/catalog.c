#include <stdlib.h>
#include <string.h>

#include "connectors/common/names.h"
#include "connectors/common/query.h"
#include "connectors/common/tick.h"
#include "connectors/common/trouble.h"
#include "connectors/duckdb/source.h"
#include "core/base/alloc.h"
#include "core/data/table_name.h"

static const char catalog_tables_sql[] =
	"SELECT schema_name AS s, table_name AS t, 'table' AS kind,\n"
	"  estimated_size AS n FROM duckdb_tables()\n"
	"WHERE database_name = current_database() AND NOT internal\n"
	"  AND NOT starts_with(table_name, '_tidemark_')\n"
	"UNION ALL SELECT schema_name, view_name, 'view', NULL\n"
	"FROM duckdb_views()\n"
	"WHERE database_name = current_database() AND NOT internal\n"
	"ORDER BY 1, 2";

/* $1, $2: schema and table. Primary key first; then unique ones, each with its
 * columns in order. */
static const char catalog_keys_sql[] =
	"SELECT constraint_type = 'PRIMARY KEY' AS p, constraint_index AS i,\n"
	"  unnest(constraint_column_names) AS c FROM duckdb_constraints()\n"
	"WHERE database_name = current_database() AND schema_name = ?\n"
	"  AND table_name = ? AND constraint_type IN ('PRIMARY KEY', "
	"'UNIQUE')\n"
	"UNION ALL SELECT false, index_oid,\n"
	"  unnest(string_split(trim(expressions, '[]'), ', '))\n"
	"FROM duckdb_indexes()\n"
	"WHERE database_name = current_database() AND schema_name = ?\n"
	"  AND table_name = ? AND is_unique";

static const char catalog_nulls_sql[] =
	"SELECT column_name AS c FROM duckdb_columns()\n"
	"WHERE database_name = current_database() AND schema_name = ?\n"
	"  AND table_name = ? AND NOT is_nullable";

/* $1, $2: schema and table. Finds the expressions that fill columns by
 * themselves. */
static const char catalog_computed_sql[] =
	"SELECT column_name AS c, column_default AS d FROM duckdb_columns()\n"
	"WHERE database_name = current_database() AND schema_name = ?\n"
	"  AND table_name = ? AND column_default IS NOT NULL";

int duckdb_source_ask(struct duckdb_source *s, const char *sql,
		      const char *shape, int n, const char *const *params,
		      struct paged_answer *out, struct error *err)
{
	struct paged_query q;
	int rc;

	paged_query_init(&q);
	strbuf_addstr(&q.sql, sql);
	for (int i = 0; i < n; i++)
		paged_push(&q, NULL, params[i]);
	rc = paged_ask(&s->paged, &q, shape, out, err);
	paged_query_release(&q);
	return rc;
}

int duckdb_source_tables(struct connector *base, struct table_list *out,
			 struct error *err)
{
	struct duckdb_source *s = (struct duckdb_source *)base;
	struct paged_answer a = { 0 };
	int rc = duckdb_source_enter(s, err);

	if (!rc)
		rc = duckdb_source_ask(s, catalog_tables_sql, "ttt?", 0, NULL,
				       &a, err);
	for (size_t i = 0; !rc && i < a.n_rows; i++)
		table_list_add(out, paged_cell(&a, i, 0), paged_cell(&a, i, 1),
			       paged_cell(&a, i, 2), paged_cell(&a, i, 3));
	paged_answer_release(&a);
	duckdb_source_leave(s);
	return rc;
}

static int catalog_missing(const char *table, const struct table_name *name,
			   const struct paged_answer *all, struct error *err)
{
	struct strlist near = STRLIST_INIT;
	int rc;

	for (size_t i = 0; i < all->n_rows; i++) {
		strlist_add(&near, paged_cell(all, i, 0));
		strlist_add(&near, paged_cell(all, i, 1));
	}
	rc = table_missing(table, name->schema, name->name, &near, err);
	strlist_release(&near);
	return rc;
}

static void catalog_fill_table(struct source_table *t,
			       const struct table_name *name,
			       const struct paged_answer *all, size_t row)
{
	const char *rows = paged_cell(all, row, 3);
	struct strbuf sql = STRBUF_INIT, alias = STRBUF_INIT;

	t->schema = xstrdup(name->schema);
	t->name = xstrdup(name->name);
	table_name_quote(&sql, name, '"');
	sql_quote_name(&alias, name->name, '"');
	t->sql = strbuf_detach(&sql);
	t->alias = strbuf_detach(&alias);
	t->view = !strcmp(paged_cell(all, row, 2), "view");
	t->rows = rows ? strtoll(rows, NULL, 10) : -1;
	t->bytes = -1;
}

static int catalog_find(struct duckdb_source *s, const char *table,
			struct source_table *out, struct error *err)
{
	struct table_name name = { NULL, NULL, NULL };
	struct paged_answer all = { 0 };
	size_t row = 0;
	int rc = table_name_parse(&name, table, err);

	if (!rc && name.catalog)
		rc = error_set(err, ERROR_CONFIG,
			       "table %s" ERROR_FIX
			       ": write schema.table, or just the "
			       "table's name: the URL names the database",
			       table);
	if (!rc && !name.schema)
		name.schema = xstrdup("main");
	if (!rc)
		rc = duckdb_source_ask(s, catalog_tables_sql, "ttt?", 0, NULL,
				       &all, err);
	while (!rc && row < all.n_rows &&
	       (strcmp(paged_cell(&all, row, 0), name.schema) != 0 ||
		strcmp(paged_cell(&all, row, 1), name.name) != 0))
		row++;
	if (!rc && row == all.n_rows)
		rc = catalog_missing(table, &name, &all, err);
	if (!rc)
		catalog_fill_table(out, &name, &all, row);
	paged_answer_release(&all);
	table_name_release(&name);
	return rc;
}

/* Names and types of the columns that a SELECT of `what` gives. */
static int catalog_describe(struct duckdb_source *s,
			    const struct source_table *t, const char *what,
			    const char *where, struct paged_answer *out,
			    struct error *err)
{
	char *sql = xstrfmt("SELECT column_name AS c, column_type AS t FROM "
			    "(DESCRIBE SELECT %s FROM %s AS %s WHERE (%s\n))",
			    what, t->sql, t->alias, where);
	int rc = duckdb_source_ask(s, sql, "tt", 0, NULL, out, err);

	free(sql);
	return rc;
}

static void catalog_set_type(struct source_column *c, const char *declared)
{
	struct duck_type duck;
	const struct duckdb_source_type *how =
		duckdb_source_type_of(declared, &c->type, &duck);
	bool plain = how->duck != DUCK_TEXT || !strcmp(declared, "VARCHAR");

	c->how = how;
	c->ordered = how->cast != NULL;
	c->output = plain ? xstrdup(c->sql)
			  : xstrfmt("CAST(%s AS VARCHAR)", c->sql);
}

static void catalog_fill(struct source_column *c, const struct source_table *t,
			 const char *name, const char *declared)
{
	struct strbuf sql = STRBUF_INIT;

	c->name = xstrdup(name);
	strbuf_addf(&sql, "%s.", t->alias);
	sql_quote_name(&sql, name, '"');
	c->sql = strbuf_detach(&sql);
	c->nullable = true;
	catalog_set_type(c, declared);
}

/* The user's SQL: `key` of the config is to blame if it fails. */
static int catalog_probe(struct duckdb_source *s, const struct source_table *t,
			 const char *key, const char *what, const char *where,
			 struct paged_answer *out, struct error *err)
{
	struct error why = ERROR_INIT;
	char *wrapped = xstrfmt("(%s\n)", what);
	int rc = catalog_describe(s, t, wrapped, where, out, &why);

	free(wrapped);
	if (rc)
		rc = refuse_sql(key, &why, err);
	return rc;
}

static int catalog_expressions(struct duckdb_source *s,
			       const struct source_spec *source,
			       struct source_layout *l, struct error *err)
{
	struct paged_answer a = { 0 };
	int rc = 0;

	if (source->where)
		rc = catalog_probe(s, &l->table, "source.where", "1",
				   source->where, &a, err);
	paged_answer_release(&a);
	for (size_t i = 0; !rc && i < source->n_expressions; i++) {
		const struct source_expression *e = &source->expressions[i];
		char *key = xstrfmt("source.expressions.%s", e->name);
		struct source_column *c;
		rc = catalog_probe(s, &l->table, key, e->sql, "true", &a, err);
		if (!rc) {
			c = &l->all[l->n_all++];
			source_column_express(c, e);
			c->nullable = true;
			catalog_set_type(c, paged_cell(&a, 0, 1));
		}
		paged_answer_release(&a);
		free(key);
	}
	return rc;
}

static int catalog_keys(struct duckdb_source *s, struct source_layout *l,
			struct error *err)
{
	const char *params[] = { l->table.schema, l->table.name,
				 l->table.schema, l->table.name };
	struct paged_answer a = { 0 };
	struct source_index *x = NULL;
	const char *last = "";
	int rc = duckdb_source_ask(s, catalog_keys_sql, "ttt", 4, params, &a,
				   err);

	l->indexes = xcalloc(a.n_rows + 1, sizeof(*l->indexes));
	for (size_t i = 0; !rc && i < a.n_rows; i++) {
		const char *name = paged_cell(&a, i, 1);
		if (!x || strcmp(name, last) != 0) {
			x = &l->indexes[l->n_indexes++];
			x->unique = true;
			x->primary = *paged_cell(&a, i, 0) == 't';
			last = name;
		}
		strlist_add(&x->columns, paged_cell(&a, i, 2));
	}
	paged_answer_release(&a);
	if (!rc)
		rc = duckdb_source_ask(s, catalog_nulls_sql, "t", 2, params, &a,
				       err);
	for (size_t i = 0; !rc && i < a.n_rows; i++) {
		for (size_t k = 0; k < l->n_all; k++) {
			if (!strcmp(l->all[k].name, paged_cell(&a, i, 0)))
				l->all[k].nullable = false;
		}
	}
	paged_answer_release(&a);
	return rc;
}

/* Note the SQL that fills each column by itself. The mark of a view gets the
 * SQL by which the view computes it. */
static int catalog_computed(struct duckdb_source *s, struct source_layout *l,
			    const char *mark, struct error *err)
{
	const char *params[] = { l->table.schema, l->table.name };
	struct paged_answer a = { 0 };
	int rc = 0;

	if (!l->table.view)
		rc = duckdb_source_ask(s, catalog_computed_sql, "tt", 2, params,
				       &a, err);
	for (size_t i = 0; !rc && i < l->n_all; i++) {
		struct source_column *c = &l->all[i];

		if (l->table.view && !strcmp(c->name, mark))
			rc = duckdb_source_view_mark(s, &l->table, c, err);
		for (size_t k = 0; k < a.n_rows; k++) {
			if (!c->expression &&
			    !strcmp(c->name, paged_cell(&a, k, 0)))
				c->computed = xstrdup(paged_cell(&a, k, 1));
		}
	}
	paged_answer_release(&a);
	return rc;
}

static int catalog_query_names(void *ctx, const struct source_table *t,
			       struct strlist *names, struct error *err)
{
	struct error why = ERROR_INIT;
	struct paged_answer a = { 0 };
	int rc = catalog_describe(ctx, t, "*", "true", &a, &why);

	for (size_t i = 0; !rc && i < a.n_rows; i++)
		strlist_add(names, paged_cell(&a, i, 0));
	paged_answer_release(&a);
	return rc ? refuse_sql(QUERY_KEY, &why, err) : 0;
}

static int catalog_read_query(void *ctx, const struct source_spec *spec,
			      struct source_layout *out, struct error *err)
{
	out->all = xcalloc(spec->n_expressions + 1, sizeof(*out->all));
	return catalog_expressions(ctx, spec, out, err);
}

static const struct query_engine catalog_queries = {
	.quote = '"',
	.names = catalog_query_names,
	.read = catalog_read_query,
};

int duckdb_source_look(struct paged_source *base,
		       const struct source_spec *source,
		       const struct watermark_spec *mark,
		       struct source_layout *out, struct error *err)
{
	struct duckdb_source *s = (struct duckdb_source *)base;
	struct paged_answer a = { 0 };
	int rc;

	if (source->query)
		return query_look(&catalog_queries, s, source, out, err);
	rc = catalog_find(s, source->table, &out->table, err);
	if (!rc && out->table.view)
		rc = duckdb_source_view_definition(s, &out->table, err);
	if (!rc && out->table.view)
		rc = duckdb_source_view_refuse(s, &out->table, err);
	if (!rc)
		rc = catalog_describe(s, &out->table, "*", "true", &a, err);
	if (rc)
		return rc;
	out->all = xcalloc(a.n_rows + source->n_expressions + 1,
			   sizeof(*out->all));
	for (size_t i = 0; i < a.n_rows; i++)
		catalog_fill(&out->all[out->n_all++], &out->table,
			     paged_cell(&a, i, 0), paged_cell(&a, i, 1));
	paged_answer_release(&a);
	rc = catalog_keys(s, out, err);
	if (!rc)
		rc = catalog_expressions(s, source, out, err);
	if (!rc && mark && mark->column && mark->strategy == STRATEGY_TIMESTAMP)
		rc = catalog_computed(s, out, mark->column, err);
	return rc;
}
