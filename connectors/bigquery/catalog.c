#include <stdlib.h>
#include <string.h>

#include "clients/bigquery_reply.h"
#include "connectors/bigquery/source.h"
#include "connectors/common/names.h"
#include "connectors/common/query.h"
#include "connectors/common/trouble.h"
#include "core/base/alloc.h"
#include "core/data/table_name.h"

int bigquery_source_tables(struct connector *base, struct table_list *out,
			   struct error *err)
{
	struct bigquery_source *s = (struct bigquery_source *)base;
	struct strlist all = STRLIST_INIT;
	const char *dataset = bigquery_dataset(s->client);
	int rc = bigquery_list_tables(s->client, dataset, &all, err);

	for (size_t i = 0; !rc && i + 1 < all.n; i += 2)
		if (!name_is_own(all.items[i]))
			table_list_add(out, dataset, all.items[i],
				       strstr(all.items[i + 1], "VIEW")
					       ? "view"
					       : "table",
				       NULL);
	strlist_release(&all);
	return rc;
}

static int catalog_missing(struct bigquery_source *s, const char *table,
			   const struct table_name *name, struct error *err)
{
	struct strlist all = STRLIST_INIT, near = STRLIST_INIT;
	int rc = bigquery_list_tables(s->client, name->schema, &all, err);

	for (size_t i = 0; !rc && i + 1 < all.n; i += 2) {
		strlist_add(&near, name->schema);
		strlist_add(&near, all.items[i]);
	}
	if (!rc)
		rc = table_missing(table, name->schema, name->name, &near, err);
	strlist_release(&all);
	strlist_release(&near);
	return rc;
}

static void catalog_fill_table(struct bigquery_source *s,
			       struct source_table *t,
			       const struct table_name *name,
			       const json_t *table)
{
	t->schema = xstrdup(name->schema);
	t->name = xstrdup(name->name);
	t->sql = xstrfmt("`%s`.`%s`.`%s`", bigquery_project(s->client),
			 name->schema, name->name);
	t->alias = xstrdup("tm");
	t->view = strcmp(bigquery_reply_text(table, "type"), "TABLE") != 0;
	t->rows = t->view ? -1 : bigquery_reply_number(table, "numRows", -1);
	t->bytes = t->view ? -1 : bigquery_reply_number(table, "numBytes", -1);
	free(s->created);
	s->created = xstrdup(bigquery_reply_text(table, "creationTime"));
}

/* A backtick would end the name; no table of BigQuery's has one. */
static bool catalog_is_plain(const struct table_name *name)
{
	return !strpbrk(name->name, "`\\") && !strpbrk(name->schema, "`\\");
}

static int catalog_find(struct bigquery_source *s, const char *table,
			struct source_table *out, json_t **resource,
			struct error *err)
{
	struct table_name name = { NULL, NULL, NULL };
	int rc = table_name_parse(&name, table, err);

	if (!rc && name.catalog &&
	    strcmp(name.catalog, bigquery_project(s->client)) != 0)
		rc = error_set(
			err, ERROR_CONFIG,
			"table %s: the URL names the project %s" ERROR_FIX
			"; name it in the URL, or in the table's name",
			table, bigquery_project(s->client));
	if (!rc && !name.schema)
		name.schema = xstrdup(bigquery_dataset(s->client));
	if (!rc && catalog_is_plain(&name))
		rc = bigquery_get_table(s->client, name.schema, name.name,
					resource, err);
	if (!rc && !*resource)
		rc = catalog_missing(s, table, &name, err);
	if (!rc)
		catalog_fill_table(s, out, &name, *resource);
	table_name_release(&name);
	return rc;
}

static void catalog_set_type(struct source_column *c, const json_t *field)
{
	const struct bigquery_source_type *how =
		bigquery_source_type_of(field, &c->type);

	c->how = how;
	c->ordered = how->value != NULL;
	c->output = bigquery_source_type_output(how, c->sql);
}

static void catalog_fill(struct source_column *c, const struct source_table *t,
			 const json_t *field)
{
	c->name = xstrdup(bigquery_reply_text(field, "name"));
	c->sql = xstrfmt("%s.`%s`", t->alias, c->name);
	c->nullable =
		strcmp(bigquery_reply_text(field, "mode"), "REQUIRED") != 0;
	catalog_set_type(c, field);
}

/* The user's SQL: `key` of the config is to blame if it fails. */
static int catalog_probe(struct bigquery_source *s,
			 const struct source_table *t, const char *key,
			 const char *what, const char *where,
			 struct bigquery_rows **rows, struct error *err)
{
	struct error why = ERROR_INIT;
	char *sql = xstrfmt("SELECT (%s\n) AS e FROM %s AS %s WHERE (%s\n) "
			    "LIMIT 0",
			    what, t->sql, t->alias, where);
	const struct bigquery_query query = { .sql = sql };
	int rc = bigquery_only_reads(s->client, sql, &why);

	if (!rc)
		rc = bigquery_run(s->client, &query, 1, rows, NULL, &why);
	free(sql);
	if (!rc)
		return 0;
	return refuse_sql(key, &why, err);
}

static int catalog_expression(struct bigquery_source *s,
			      const struct source_expression *e,
			      struct source_layout *l, struct error *err)
{
	char *key = xstrfmt("source.expressions.%s", e->name);
	struct bigquery_rows *rows = NULL;
	struct source_column *c;
	int rc = catalog_probe(s, &l->table, key, e->sql, "TRUE", &rows, err);

	if (!rc) {
		c = &l->all[l->n_all++];
		source_column_express(c, e);
		c->nullable = true;
		catalog_set_type(c, bigquery_rows_field(rows, 0));
	}
	bigquery_rows_free(rows);
	free(key);
	return rc;
}

static int catalog_expressions(struct bigquery_source *s,
			       const struct source_spec *source,
			       struct source_layout *l, struct error *err)
{
	struct bigquery_rows *rows = NULL;
	int rc = 0;

	if (source->where)
		rc = catalog_probe(s, &l->table, "source.where", "1",
				   source->where, &rows, err);
	bigquery_rows_free(rows);
	for (size_t i = 0; !rc && i < source->n_expressions; i++)
		rc = catalog_expression(s, &source->expressions[i], l, err);
	return rc;
}

/* BigQuery enforces no declared key. The declaration says which columns are
 * meant, and the rows are searched for repeats. */
static void catalog_key(struct source_layout *l, const json_t *table)
{
	const json_t *columns = json_object_get(
		json_object_get(json_object_get(table, "tableConstraints"),
				"primaryKey"),
		"columns");
	struct source_index *x;

	l->indexes = xcalloc(1, sizeof(*l->indexes));
	if (!json_array_size(columns))
		return;
	x = &l->indexes[l->n_indexes++];
	x->primary = true;
	for (size_t i = 0; i < json_array_size(columns); i++) {
		const char *name =
			json_string_value(json_array_get(columns, i));

		/* No column has that name: the key is refused by it. */
		strlist_add(&x->columns, name ? name : "");
	}
}

static int catalog_query_names(void *ctx, const struct source_table *t,
			       struct strlist *names, struct error *err)
{
	struct bigquery_source *s = ctx;
	struct bigquery_rows *rows = NULL;
	struct error why = ERROR_INIT;
	char *sql = query_select(t);
	const struct bigquery_query query = { .sql = sql };
	int rc = bigquery_only_reads(s->client, sql, &why);

	if (!rc)
		rc = bigquery_run(s->client, &query, 1, &rows, NULL, &why);
	free(sql);
	for (size_t i = 0; !rc && i < bigquery_rows_columns(rows); i++)
		strlist_add(names,
			    bigquery_reply_text(bigquery_rows_field(rows, i),
						"name"));
	bigquery_rows_free(rows);
	return rc ? refuse_sql(QUERY_KEY, &why, err) : 0;
}

static int catalog_read_query(void *ctx, const struct source_spec *spec,
			      struct source_layout *out, struct error *err)
{
	struct bigquery_source *s = ctx;

	free(s->created);
	s->created = NULL;
	out->all = xcalloc(spec->n_expressions + 1, sizeof(*out->all));
	return catalog_expressions(s, spec, out, err);
}

static const struct query_engine catalog_queries = {
	.quote = '`',
	.names = catalog_query_names,
	.read = catalog_read_query,
};

int bigquery_source_look(struct paged_source *base,
			 const struct source_spec *source,
			 const struct watermark_spec *mark,
			 struct source_layout *out, struct error *err)
{
	struct bigquery_source *s = (struct bigquery_source *)base;
	json_t *table = NULL;
	const json_t *fields;
	int rc;

	(void)mark;
	if (source->query)
		return query_look(&catalog_queries, s, source, out, err);
	rc = catalog_find(s, source->table, &out->table, &table, err);
	if (rc)
		return rc;
	fields = json_object_get(json_object_get(table, "schema"), "fields");
	out->all = xcalloc(json_array_size(fields) + source->n_expressions + 1,
			   sizeof(*out->all));
	for (size_t i = 0; i < json_array_size(fields); i++)
		catalog_fill(&out->all[out->n_all++], &out->table,
			     json_array_get(fields, i));
	catalog_key(out, table);
	json_decref(table);
	return catalog_expressions(s, source, out, err);
}

/* A table that is dropped and made again has another time of creation. */
int bigquery_source_identity(struct connector *base,
			     const struct source_spec *source, json_t **out,
			     struct error *err)
{
	struct bigquery_source *s = (struct bigquery_source *)base;
	int rc = 0;

	if (s->paged.described != source)
		rc = paged_layout_for(&s->paged, source, NULL, err);
	if (rc)
		return rc;
	*out = json_pack("{s:s, s:s, s:s}", "engine", "bigquery", "project",
			 bigquery_project(s->client), "table", source->table);
	if (s->paged.layout.table.schema)
		json_object_set_new(*out, "database",
				    json_string(s->paged.layout.table.schema));
	if (s->created && *s->created)
		json_object_set_new(*out, "created", json_string(s->created));
	paged_identify_mark(&s->paged, source, *out);
	return 0;
}
