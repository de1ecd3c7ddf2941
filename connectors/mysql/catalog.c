#include "connectors/mysql/catalog.h"

#include <stdlib.h>
#include <string.h>

#include "connectors/common/names.h"
#include "connectors/common/query.h"
#include "connectors/common/trouble.h"
#include "connectors/mysql/source.h"
#include "core/data/table_name.h"

static const char catalog_tables_sql[] =
	"SELECT table_schema, table_name, table_type, table_rows\n"
	"FROM information_schema.tables\n"
	"WHERE table_schema NOT IN ('mysql', 'information_schema',\n"
	"    'performance_schema', 'sys')\n"
	"  AND table_name NOT LIKE '|_tidemark|_%' ESCAPE '|'\n"
	"  AND table_type IN ('BASE TABLE', 'VIEW', 'SYSTEM VERSIONED')\n"
	"ORDER BY BINARY table_schema, BINARY table_name";

int mysql_source_tables(struct connector *base, struct table_list *out,
			struct error *err)
{
	struct mysql_source *c = (struct mysql_source *)base;
	const char *database = mysql_client_database(c->db);
	struct mysql_client_result *r = NULL;
	int rc;

	paged_end_pass(&c->paged);
	rc = mysql_client_query(c->db, &r, catalog_tables_sql, "ttt?", 0, NULL,
				err);
	if (rc)
		return rc;
	for (size_t i = 0; i < mysql_client_rows(r); i++) {
		const char *schema = mysql_client_value(r, i, 0);
		bool view = !strcmp(mysql_client_value(r, i, 2), "VIEW");
		if (!*database || !strcmp(schema, database))
			table_list_add(out, schema, mysql_client_value(r, i, 1),
				       view ? "view" : "table",
				       mysql_client_value(r, i, 3));
	}
	mysql_client_result_free(r);
	return 0;
}

/* If the catalog does not show a column, the user may lack the right to read
 * it. */
static int catalog_probe_name(struct mysql_client *db,
			      const struct source_layout *l, const char *name,
			      struct error *err)
{
	struct strbuf sql = STRBUF_INIT;
	int rc;

	if (!name || source_column_find(l, name, false) ||
	    source_column_find(l, name, true))
		return 0;
	sql_quote_name(&sql, name, '`');
	rc = mysql_source_probe(db, &l->table, sql.data, err);
	strbuf_release(&sql);
	return rc;
}

static int catalog_probe(struct mysql_client *db,
			 const struct source_spec *source,
			 const struct watermark_spec *mark,
			 const struct source_layout *l, struct error *err)
{
	size_t n = source->columns ? source->columns->n : 0;
	int rc = n ? 0 : mysql_source_probe(db, &l->table, "*", err);

	for (size_t i = 0; !rc && i < n; i++)
		rc = catalog_probe_name(db, l, source->columns->items[i], err);
	for (size_t i = 0; !rc && source->key && i < source->key->n; i++)
		rc = catalog_probe_name(db, l, source->key->items[i], err);
	if (!rc && mark)
		rc = catalog_probe_name(db, l, mark->column, err);
	return rc;
}

/* The identity is asked for next, as a rule. SQL of a user has no place there,
 * and comes in between. */
static int catalog_ask_ahead(struct mysql_source *c,
			     const struct source_spec *source,
			     struct error *err)
{
	bool some = source->columns && source->columns->n;
	struct strlist ahead = STRLIST_INIT;
	int rc = mysql_source_table_foresee(
		c->db, source->table,
		TABLE_LAYOUT | (some ? TABLE_ALONE : TABLE_WHOLE), NULL, &ahead,
		err);

	if (!rc && !source->where && !source->n_expressions)
		rc = mysql_source_identity_foresee(c, source->table, NULL,
						   &ahead, err);
	return rc ? rc : mysql_client_ask_ahead(c->db, &ahead, err);
}

static int catalog_query_names(void *ctx, const struct source_table *t,
			       struct strlist *names, struct error *err)
{
	struct mysql_client *db = ctx;
	struct mysql_client_field *fields = NULL;
	struct error why = ERROR_INIT;
	unsigned long parameters = 0;
	char *sql = query_select(t);
	size_t n = 0;
	int rc = mysql_client_describe(db, sql, &fields, &n, &parameters, &why);

	free(sql);
	for (size_t i = 0; !rc && i < n; i++)
		strlist_add(names, fields[i].name);
	mysql_client_fields_free(fields, n);
	if (!rc && parameters)
		rc = error_set(&why, ERROR_CONFIG, "a \"?\" outside of quotes");
	return rc ? refuse_sql(QUERY_KEY, &why, err) : 0;
}

static int catalog_read_query(void *ctx, const struct source_spec *spec,
			      struct source_layout *out, struct error *err)
{
	return mysql_source_columns_read(ctx, spec, out, err);
}

static const struct query_engine catalog_queries = {
	.quote = '`',
	.names = catalog_query_names,
	.read = catalog_read_query,
};

int mysql_source_look(struct paged_source *base,
		      const struct source_spec *source,
		      const struct watermark_spec *mark,
		      struct source_layout *out, struct error *err)
{
	struct mysql_client *db = ((struct mysql_source *)base)->db;
	int rc;

	if (source->query)
		return query_look(&catalog_queries, db, source, out, err);
	rc = catalog_ask_ahead((struct mysql_source *)base, source, err);
	if (!rc)
		rc = mysql_source_table_find(db, source->table, &out->table,
					     err);
	if (!rc)
		rc = mysql_source_indexes_find(db, out, err);
	if (!rc)
		rc = mysql_source_columns_read(db, source, out, err);
	return rc ? rc : catalog_probe(db, source, mark, out, err);
}
