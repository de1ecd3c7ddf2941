#include <stdlib.h>
#include <string.h>

#include "connectors/clickhouse/source.h"
#include "connectors/common/names.h"
#include "connectors/common/query.h"
#include "connectors/common/trouble.h"
#include "core/base/alloc.h"
#include "core/data/table_name.h"

static const char catalog_tables_sql[] =
	"SELECT database, name, if(endsWith(engine, 'View'), 'view', "
	"'table'),\n"
	"  total_rows, sorting_key, engine, toString(uuid)\n"
	"FROM system.tables\n"
	"WHERE database = %s AND NOT startsWith(name, '_tidemark_')\n"
	"  AND NOT is_temporary\n"
	"ORDER BY name";

/* A view of ours has the comments of the table below it. */
static const char catalog_columns_sql[] =
	"SELECT name, type, if(comment = '', r.comment, comment),\n"
	"  is_in_sorting_key\n"
	"FROM (SELECT * FROM system.columns\n"
	"      WHERE database = %s AND table = %s\n"
	"        AND default_kind <> 'EPHEMERAL') AS c\n"
	"LEFT JOIN (SELECT name, comment FROM system.columns\n"
	"      WHERE database = %s AND table = concat(%s, '_raw')) AS r\n"
	"  ON r.name = c.name\n"
	"ORDER BY c.position";

static char *catalog_text(const char *text)
{
	struct strbuf sb = STRBUF_INIT;

	clickhouse_quote_text(&sb, text);
	return strbuf_detach(&sb);
}

static int catalog_list(struct clickhouse_source *s, const char *database,
			struct clickhouse_rows *out, struct error *err)
{
	char *quoted = catalog_text(database);
	struct strbuf sql = STRBUF_INIT;
	int rc;

	strbuf_addf(&sql, catalog_tables_sql, quoted);
	rc = clickhouse_query(s->db, sql.data, "ttt?ttt", out, err);
	strbuf_release(&sql);
	free(quoted);
	return rc;
}

int clickhouse_source_tables(struct connector *base, struct table_list *out,
			     struct error *err)
{
	struct clickhouse_source *s = (struct clickhouse_source *)base;
	struct clickhouse_rows rows;
	int rc;

	paged_end_pass(&s->paged);
	rc = catalog_list(s, clickhouse_database(s->db), &rows, err);
	for (size_t i = 0; !rc && i < rows.n_rows; i++)
		table_list_add(out, clickhouse_cell(&rows, i, 0),
			       clickhouse_cell(&rows, i, 1),
			       clickhouse_cell(&rows, i, 2),
			       clickhouse_cell(&rows, i, 3));
	clickhouse_rows_release(&rows);
	return rc;
}

static int catalog_missing(const char *table, const struct table_name *name,
			   const struct clickhouse_rows *all, struct error *err)
{
	struct strlist near = STRLIST_INIT;
	int rc;

	for (size_t i = 0; i < all->n_rows; i++) {
		strlist_add(&near, clickhouse_cell(all, i, 0));
		strlist_add(&near, clickhouse_cell(all, i, 1));
	}
	rc = table_missing(table, name->schema, name->name, &near, err);
	strlist_release(&near);
	return rc;
}

static void catalog_fill_table(struct source_table *t,
			       const struct table_name *name,
			       const struct clickhouse_rows *all, size_t row)
{
	const char *rows = clickhouse_cell(all, row, 3);
	struct strbuf sql = STRBUF_INIT, alias = STRBUF_INIT;

	t->schema = xstrdup(name->schema);
	t->name = xstrdup(name->name);
	clickhouse_quote_name(&sql, name->schema);
	strbuf_addch(&sql, '.');
	clickhouse_quote_name(&sql, name->name);
	clickhouse_quote_name(&alias, name->name);
	t->sql = strbuf_detach(&sql);
	t->alias = strbuf_detach(&alias);
	t->view = !strcmp(clickhouse_cell(all, row, 2), "view");
	t->engine = xstrdup(clickhouse_cell(all, row, 5));
	t->created = xstrdup(clickhouse_cell(all, row, 6));
	t->rows = rows ? strtoll(rows, NULL, 10) : -1;
	t->bytes = -1;
}

static int catalog_find(struct clickhouse_source *s, const char *table,
			struct source_table *out, struct error *err)
{
	struct table_name name = { NULL, NULL, NULL };
	struct clickhouse_rows all = { 0 };
	size_t row = 0;
	int rc = table_name_parse(&name, table, err);

	if (!rc && name.catalog)
		rc = error_set(err, ERROR_CONFIG,
			       "table %s" ERROR_FIX
			       ": write database.table, or just the "
			       "table's name",
			       table);
	if (!rc && !name.schema)
		name.schema = xstrdup(clickhouse_database(s->db));
	if (!rc)
		rc = catalog_list(s, name.schema, &all, err);
	while (!rc && row < all.n_rows &&
	       strcmp(clickhouse_cell(&all, row, 1), name.name) != 0)
		row++;
	if (!rc && row == all.n_rows)
		rc = catalog_missing(table, &name, &all, err);
	if (!rc)
		catalog_fill_table(out, &name, &all, row);
	clickhouse_rows_release(&all);
	table_name_release(&name);
	return rc;
}

static void catalog_set_type(struct source_column *c, const char *declared,
			     const char *comment)
{
	struct clickhouse_source_cell cell;

	clickhouse_source_type_of(declared, comment, &c->type, &cell);
	c->nullable = cell.nullable;
	c->ordered = clickhouse_source_is_ordered(&c->type, &cell);
	c->output = cell.wire == WIRE_PRINTED ? xstrfmt("toString(%s)", c->sql)
					      : xstrdup(c->sql);
}

static void catalog_fill(struct source_column *c, const struct source_table *t,
			 const struct clickhouse_rows *rows, size_t row)
{
	struct strbuf sql = STRBUF_INIT;

	c->name = xstrdup(clickhouse_cell(rows, row, 0));
	strbuf_addf(&sql, "%s.", t->alias);
	clickhouse_quote_name(&sql, c->name);
	c->sql = strbuf_detach(&sql);
	catalog_set_type(c, clickhouse_cell(rows, row, 1),
			 clickhouse_cell(rows, row, 2));
}

/* The user's SQL: `key` of the config is to blame if it fails. */
static int catalog_probe(struct clickhouse_source *s,
			 const struct source_table *t, const char *key,
			 const char *what, const char *where,
			 struct clickhouse_rows *out, struct error *err)
{
	struct error why = ERROR_INIT;
	char *sql = xstrfmt("DESCRIBE TABLE (SELECT (%s\n) AS e FROM %s AS %s "
			    "WHERE (%s\n))",
			    what, t->sql, t->alias, where);
	int rc = clickhouse_query(s->db, sql, NULL, out, &why);

	free(sql);
	if (rc)
		rc = refuse_sql(key, &why, err);
	return rc;
}

static int catalog_expressions(struct clickhouse_source *s,
			       const struct source_spec *source,
			       struct source_layout *l, struct error *err)
{
	struct clickhouse_rows rows = { 0 };
	int rc = 0;

	if (source->where)
		rc = catalog_probe(s, &l->table, "source.where", "1",
				   source->where, &rows, err);
	clickhouse_rows_release(&rows);
	for (size_t i = 0; !rc && i < source->n_expressions; i++) {
		const struct source_expression *e = &source->expressions[i];
		char *key = xstrfmt("source.expressions.%s", e->name);
		struct source_column *c;

		rc = catalog_probe(s, &l->table, key, e->sql, "true", &rows,
				   err);
		if (!rc && rows.n_rows && rows.n_columns > 1 &&
		    clickhouse_cell(&rows, 0, 1)) {
			c = &l->all[l->n_all++];
			source_column_express(c, e);
			catalog_set_type(c, clickhouse_cell(&rows, 0, 1), NULL);
		}
		clickhouse_rows_release(&rows);
		free(key);
	}
	return rc;
}

/* The sorting key, as far as it consists of plain columns: only by these can a
 * mark be found. It does not tell rows apart. */
static void catalog_index(struct source_layout *l,
			  const struct clickhouse_rows *rows)
{
	struct source_index *x;

	l->indexes = xcalloc(1, sizeof(*l->indexes));
	x = &l->indexes[l->n_indexes++];
	for (size_t i = 0; i < rows->n_rows; i++)
		if (*clickhouse_cell(rows, i, 3) == '1')
			strlist_add(&x->columns, clickhouse_cell(rows, i, 0));
}

static int catalog_columns(struct clickhouse_source *s,
			   const struct source_table *t,
			   struct clickhouse_rows *out, struct error *err)
{
	char *database = catalog_text(t->schema),
	     *table = catalog_text(t->name);
	struct strbuf sql = STRBUF_INIT;
	int rc;

	strbuf_addf(&sql, catalog_columns_sql, database, table, database,
		    table);
	rc = clickhouse_query(s->db, sql.data, "tt?t", out, err);
	strbuf_release(&sql);
	free(database);
	free(table);
	return rc;
}

static int catalog_query_names(void *ctx, const struct source_table *t,
			       struct strlist *names, struct error *err)
{
	struct clickhouse_source *s = ctx;
	struct clickhouse_rows rows = { 0 };
	struct error why = ERROR_INIT;
	char *select = query_select(t);
	char *sql = xstrfmt("DESCRIBE TABLE (%s)", select);
	int rc = clickhouse_query(s->db, sql, NULL, &rows, &why);

	free(select);
	free(sql);
	for (size_t i = 0; !rc && i < rows.n_rows; i++)
		strlist_add(names, clickhouse_cell(&rows, i, 0));
	clickhouse_rows_release(&rows);
	return rc ? refuse_sql(QUERY_KEY, &why, err) : 0;
}

static int catalog_read_query(void *ctx, const struct source_spec *spec,
			      struct source_layout *out, struct error *err)
{
	static const struct clickhouse_rows none;

	out->all = xcalloc(spec->n_expressions + 1, sizeof(*out->all));
	catalog_index(out, &none);
	return catalog_expressions(ctx, spec, out, err);
}

static const struct query_engine catalog_queries = {
	.quote = '`',
	.names = catalog_query_names,
	.read = catalog_read_query,
};

int clickhouse_source_look(struct paged_source *base,
			   const struct source_spec *source,
			   const struct watermark_spec *mark,
			   struct source_layout *out, struct error *err)
{
	struct clickhouse_source *s = (struct clickhouse_source *)base;
	struct clickhouse_rows rows = { 0 };
	int rc;

	(void)mark;
	if (source->query)
		return query_look(&catalog_queries, s, source, out, err);
	rc = catalog_find(s, source->table, &out->table, err);
	if (!rc)
		rc = catalog_columns(s, &out->table, &rows, err);
	if (rc)
		return rc;
	out->all = xcalloc(rows.n_rows + source->n_expressions + 1,
			   sizeof(*out->all));
	for (size_t i = 0; i < rows.n_rows; i++)
		catalog_fill(&out->all[out->n_all++], &out->table, &rows, i);
	catalog_index(out, &rows);
	clickhouse_rows_release(&rows);
	return catalog_expressions(s, source, out, err);
}

/* A view that is made anew is the same view. */
int clickhouse_source_identity(struct connector *base,
			       const struct source_spec *source, json_t **out,
			       struct error *err)
{
	struct clickhouse_source *s = (struct clickhouse_source *)base;
	const struct source_table *t = &s->paged.layout.table;
	int rc = 0;

	if (s->paged.described != source)
		rc = paged_layout_for(&s->paged, source, NULL, err);
	if (rc)
		return rc;
	*out = json_pack("{s:s, s:s}", "engine", "clickhouse", "table",
			 source->table);
	if (t->schema)
		json_object_set_new(*out, "database", json_string(t->schema));
	if (!t->view && t->created)
		json_object_set_new(*out, "table_uuid",
				    json_string(t->created));
	paged_identify_mark(&s->paged, source, *out);
	return 0;
}
