#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "connectors/common/names.h"
#include "connectors/common/query.h"
#include "connectors/common/tick.h"
#include "connectors/common/trouble.h"
#include "connectors/sqlite/source.h"
#include "core/base/alloc.h"
#include "core/base/nearest.h"
#include "core/data/table_name.h"

static const char catalog_tables_sql[] =
	"SELECT name, type FROM main.sqlite_schema\n"
	"WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%'\n"
	"  ESCAPE '\\' AND name NOT LIKE '\\_tidemark\\_%' ESCAPE '\\'\n"
	"ORDER BY name";

/* hidden 1: of a virtual table's own, not a column. */
static const char catalog_columns_sql[] =
	"SELECT name, type, \"notnull\", pk, dflt_value, hidden\n"
	"FROM pragma_table_xinfo(?, 'main') WHERE hidden <> 1 ORDER BY cid";

static const char catalog_indexes_sql[] =
	"SELECT x.name, x.\"unique\", x.partial, i.name\n"
	"FROM pragma_index_list(?, 'main') x\n"
	"CROSS JOIN pragma_index_info(x.name, 'main') i\n"
	"ORDER BY x.seq, i.seqno";

static int catalog_query(struct sqlite_source *s, const char *sql,
			 const char *shape, const char *name,
			 struct paged_answer *out, struct error *err)
{
	struct paged_query q;
	int rc;

	paged_query_init(&q);
	strbuf_addstr(&q.sql, sql);
	if (name)
		paged_push(&q, NULL, name);
	rc = paged_ask(&s->paged, &q, shape, out, err);
	paged_query_release(&q);
	return rc;
}

int sqlite_source_tables(struct connector *base, struct table_list *out,
			 struct error *err)
{
	struct sqlite_source *s = (struct sqlite_source *)base;
	struct paged_answer a = { 0 };
	int rc;

	paged_end_pass(&s->paged);
	rc = catalog_query(s, catalog_tables_sql, "tt", NULL, &a, err);
	for (size_t i = 0; !rc && i < a.n_rows; i++)
		table_list_add(out, "main", paged_cell(&a, i, 0),
			       paged_cell(&a, i, 1), NULL);
	paged_answer_release(&a);
	return rc;
}

static int catalog_parse(const char *table, struct table_name *out,
			 struct error *err)
{
	int rc = table_name_parse(out, table, err);

	if (!rc && (out->catalog ||
		    (out->schema && strcasecmp(out->schema, "main") != 0)))
		rc = error_set(err, ERROR_CONFIG,
			       "table %s: an SQLite file has the one schema "
			       "main" ERROR_FIX
			       ": write main.%s, or just the table's name",
			       table, out->name);
	return rc;
}

static int catalog_missing(const char *table, const char *name,
			   const struct paged_answer *all, struct error *err)
{
	const char **names = xcalloc(all->n_rows + 1, sizeof(*names));
	const char *near;

	for (size_t i = 0; i < all->n_rows; i++)
		names[i] = paged_cell(all, i, 0);
	near = nearest_name(name, names, all->n_rows);
	error_set(err, ERROR_SCHEMA, "there is no table %s", table);
	if (near)
		error_hint(err, "(did you mean %s?)", near);
	else
		error_hint(err, "name one that is there");
	free(names);
	return -ERROR_SCHEMA;
}

static char *catalog_quote(const char *schema, const char *name)
{
	struct strbuf sb = STRBUF_INIT;

	if (schema)
		strbuf_addf(&sb, "%s.", schema);
	sql_quote_name(&sb, name, '"');
	return strbuf_detach(&sb);
}

static int catalog_find(struct sqlite_source *s, const char *table,
			struct source_table *out, struct error *err)
{
	struct table_name name = { NULL, NULL, NULL };
	struct paged_answer all = { 0 };
	bool found = false;
	int rc = catalog_parse(table, &name, err);

	if (!rc)
		rc = catalog_query(s, catalog_tables_sql, "tt", NULL, &all,
				   err);
	for (size_t i = 0; !rc && !found && i < all.n_rows; i++) {
		found = !strcmp(paged_cell(&all, i, 0), name.name);
		out->view = found && !strcmp(paged_cell(&all, i, 1), "view");
	}
	if (!rc && !found)
		rc = catalog_missing(table, name.name, &all, err);
	if (!rc) {
		out->schema = xstrdup("main");
		out->name = xstrdup(name.name);
		out->sql = catalog_quote("main", name.name);
		out->alias = catalog_quote(NULL, name.name);
		out->rows = out->bytes = -1;
	}
	paged_answer_release(&all);
	table_name_release(&name);
	return rc;
}

static void catalog_fill(struct source_column *c, const struct source_table *t,
			 const struct paged_answer *a, size_t row)
{
	struct strbuf sql = STRBUF_INIT;
	const struct sqlite_source_type *how;

	c->name = xstrdup(paged_cell(a, row, 0));
	strbuf_addf(&sql, "%s.", t->alias);
	sql_quote_name(&sql, c->name, '"');
	c->sql = strbuf_detach(&sql);
	c->output = xstrdup(c->sql);
	how = sqlite_source_type_of(paged_cell(a, row, 1), &c->type);
	c->how = how;
	c->ordered = how->ordered;
	c->nullable = *paged_cell(a, row, 2) == '0';
	/* A generated column's expression is in the table's SQL only. */
	c->computed =
		xstrdup(*paged_cell(a, row, 5) != '0' ? TICK_UNKNOWN
						      : paged_cell(a, row, 4));
}

static struct source_index *catalog_add_index(struct source_layout *l)
{
	l->indexes = xreallocarray(l->indexes, l->n_indexes + 1,
				   sizeof(*l->indexes));
	memset(&l->indexes[l->n_indexes], 0, sizeof(*l->indexes));
	return &l->indexes[l->n_indexes++];
}

/* The primary key by its columns' numbers. INTEGER PRIMARY KEY, the rowid,
 * shows in no list of indexes, and is never NULL. */
static void catalog_primary(struct source_layout *l,
			    const struct paged_answer *a)
{
	struct source_index *x = catalog_add_index(l);
	long rowid = -1;

	for (size_t n = 1; n <= a->n_rows; n++) {
		for (size_t i = 0; i < a->n_rows; i++) {
			if ((size_t)strtol(paged_cell(a, i, 3), NULL, 10) != n)
				continue;
			strlist_add(&x->columns, paged_cell(a, i, 0));
			rowid = strcasecmp(paged_cell(a, i, 1), "INTEGER")
					? -1
					: (long)i;
		}
	}
	x->primary = x->unique = x->columns.n > 0;
	if (x->columns.n == 1 && rowid >= 0)
		l->all[rowid].nullable = false;
}

static int catalog_indexes(struct sqlite_source *s, struct source_layout *l,
			   struct error *err)
{
	struct paged_answer a = { 0 };
	struct source_index *x = NULL;
	const char *last = NULL;
	int rc = catalog_query(s, catalog_indexes_sql, "ttt?", l->table.name,
			       &a, err);

	for (size_t i = 0; !rc && i < a.n_rows; i++) {
		const char *name = paged_cell(&a, i, 0);
		const char *column = paged_cell(&a, i, 3);
		/* A partial one knows only some of the rows. */
		if (*paged_cell(&a, i, 2) != '0')
			continue;
		if (!last || strcmp(name, last) != 0) {
			x = catalog_add_index(l);
			x->unique = *paged_cell(&a, i, 1) == '1';
			last = name;
		}
		strlist_add(&x->columns, column ? column : "");
	}
	paged_answer_release(&a);
	return rc;
}

/* Only "CAST(... AS INTEGER)" tells the type of an expression. */
static char *catalog_cast(const char *sql)
{
	size_t n = strlen(sql);
	const char *as = NULL;

	while (n && strchr(" \t\n", sql[n - 1]))
		n--;
	if (strncasecmp(sql, "CAST(", 5) != 0 || !n || sql[n - 1] != ')')
		return NULL;
	for (const char *p = sql; (p = strcasestr(p, " AS ")); p++)
		as = p + 4;
	if (!as || memchr(as, ')', (size_t)(sql + n - 1 - as)))
		return NULL;
	return xstrndup(as, (size_t)(sql + n - 1 - as));
}

static void catalog_fill_expression(struct source_column *c,
				    const struct source_expression *e,
				    const char *declared)
{
	char *cast = declared ? NULL : catalog_cast(e->sql);
	const struct sqlite_source_type *how =
		sqlite_source_type_of(declared ? declared : cast, &c->type);

	source_column_express(c, e);
	c->output = xstrdup(c->sql);
	c->how = how;
	c->ordered = how->ordered;
	c->nullable = true;
	free(cast);
}

/* The user's SQL, prepared: `key` of the config is to blame if it fails. */
static int catalog_probe(struct sqlite_source *s, const struct source_table *t,
			 const char *key, const char *what, const char *where,
			 struct sqlite_statement **out, struct error *err)
{
	struct error why = ERROR_INIT;
	char *sql = xstrfmt("SELECT (%s\n) FROM %s AS %s WHERE (%s\n)", what,
			    t->sql, t->alias, where);
	int rc = sqlite_prepare(s->db, out, sql, &why);

	free(sql);
	if (!rc && (sqlite_parameters(*out) || sqlite_columns(*out) != 1))
		rc = error_set(&why, ERROR_SCHEMA, "%s",
			       sqlite_parameters(*out)
				       ? "a \"?\" or \":name\" outside of "
					 "quotes"
				       : "it gives more than one column");
	if (rc)
		rc = refuse_sql(key, &why, err);
	return rc;
}

static int catalog_expressions(struct sqlite_source *s,
			       const struct source_spec *source,
			       struct source_layout *l, struct error *err)
{
	struct sqlite_statement *st = NULL;
	int rc = 0;

	if (source->where)
		rc = catalog_probe(s, &l->table, "source.where", "1",
				   source->where, &st, err);
	sqlite_finalize(st);
	for (size_t i = 0; !rc && i < source->n_expressions; i++) {
		const struct source_expression *e = &source->expressions[i];
		char *key = xstrfmt("source.expressions.%s", e->name);
		st = NULL;
		rc = catalog_probe(s, &l->table, key, e->sql, "true", &st, err);
		if (!rc)
			catalog_fill_expression(&l->all[l->n_all++], e,
						sqlite_declared(st, 0));
		sqlite_finalize(st);
		free(key);
	}
	return rc;
}

/* An estimate for progress: ids are seldom far apart. A table without rowids
 * has none. */
static void catalog_estimate(struct sqlite_source *s, struct source_table *t)
{
	char *sql =
		xstrfmt("SELECT max(rowid) - min(rowid) + 1 FROM %s", t->sql);
	char *text = NULL;

	if (!t->view && !sqlite_source_value(s, sql, &text, NULL) && text)
		t->rows = strtoll(text, NULL, 10);
	free(text);
	free(sql);
}

static int catalog_query_names(void *ctx, const struct source_table *t,
			       struct strlist *names, struct error *err)
{
	struct sqlite_source *s = ctx;
	struct sqlite_statement *st = NULL;
	struct error why = ERROR_INIT;
	char *sql = query_select(t);
	int rc = sqlite_prepare(s->db, &st, sql, &why);

	free(sql);
	if (!rc && sqlite_parameters(st))
		rc = error_set(&why, ERROR_SCHEMA,
			       "a \"?\" or \":name\" outside of quotes");
	for (int i = 0; !rc && i < sqlite_columns(st); i++)
		strlist_add(names, sqlite_column_title(st, i));
	sqlite_finalize(st);
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

int sqlite_source_look(struct paged_source *base,
		       const struct source_spec *source,
		       const struct watermark_spec *mark,
		       struct source_layout *out, struct error *err)
{
	struct sqlite_source *s = (struct sqlite_source *)base;
	struct paged_answer a = { 0 };
	int rc;

	if (source->query)
		return query_look(&catalog_queries, s, source, out, err);
	rc = catalog_find(s, source->table, &out->table, err);
	if (!rc && out->table.view)
		rc = sqlite_source_view_definition(s, &out->table, err);
	if (!rc)
		rc = catalog_query(s, catalog_columns_sql, "tttt?t",
				   out->table.name, &a, err);
	if (rc)
		return rc;
	out->all = xcalloc(a.n_rows + source->n_expressions + 1,
			   sizeof(*out->all));
	for (size_t i = 0; i < a.n_rows; i++)
		catalog_fill(&out->all[out->n_all++], &out->table, &a, i);
	catalog_primary(out, &a);
	paged_answer_release(&a);
	rc = catalog_indexes(s, out, err);
	if (!rc)
		rc = catalog_expressions(s, source, out, err);
	for (size_t i = 0; !rc && i < out->n_all; i++) {
		if (out->table.view && mark && mark->column &&
		    mark->strategy == STRATEGY_TIMESTAMP &&
		    !strcmp(out->all[i].name, mark->column))
			rc = sqlite_source_view_mark(s, &out->table,
						     &out->all[i], err);
	}
	catalog_estimate(s, &out->table);
	return rc;
}

/* AUTOINCREMENT gives the primary key alone. */
static bool catalog_is_given(const struct source_layout *l)
{
	const struct source_column *mark = source_mark(l);
	const struct source_index *x = l->n_indexes ? l->indexes : NULL;

	return x && x->primary && x->columns.n == 1 && !mark->expression &&
	       !strcmp(x->columns.items[0], mark->name);
}

int sqlite_source_last_id(struct sqlite_source *s, bool *known, int64_t *out,
			  struct error *err)
{
	struct paged_answer a = { 0 };
	char *there = NULL;
	int rc = sqlite_source_value(s,
				     "SELECT 1 FROM main.sqlite_schema "
				     "WHERE name = 'sqlite_sequence'",
				     &there, err);

	*known = false;
	if (!rc && there && catalog_is_given(&s->paged.layout))
		rc = catalog_query(s,
				   "SELECT seq FROM main.sqlite_sequence "
				   "WHERE name = ?",
				   "?", s->paged.layout.table.name, &a, err);
	if (!rc && a.n_rows && paged_cell(&a, 0, 0)) {
		*known = true;
		*out = strtoll(paged_cell(&a, 0, 0), NULL, 10);
	}
	paged_answer_release(&a);
	free(there);
	return rc;
}
