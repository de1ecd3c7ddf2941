#include "connectors/postgres/relation.h"

#include <stdlib.h>
#include <string.h>

#include "clients/pg_ahead.h"
#include "connectors/common/names.h"
#include "core/base/alloc.h"
#include "core/base/strlist.h"
#include "core/base/units.h"
#include "core/data/table_name.h"

/* The definition of a view: its query, followed by the queries of the views
 * that it reads, by name. A view of tables has its query alone. */
static const char relation_sql[] =
	"SELECT c.oid, c.relkind,\n"
	"  EXISTS (SELECT FROM pg_inherits i WHERE i.inhparent = c.oid),\n"
	"  CASE WHEN c.relkind IN ('v', 'm') THEN "
	"concat(pg_get_viewdef(c.oid), (\n"
	"    WITH RECURSIVE inner_view(oid) AS (\n"
	"      SELECT c.oid UNION\n"
	"      SELECT v.oid FROM inner_view i\n"
	"      JOIN pg_rewrite w ON w.ev_class = i.oid\n"
	"      JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass\n"
	"        AND d.objid = w.oid AND d.refclassid = 'pg_class'::regclass\n"
	"      JOIN pg_class v ON v.oid = d.refobjid\n"
	"        AND v.relkind IN ('v', 'm'))\n"
	"    SELECT string_agg(format(E'\\n%I.%I: %s', m.nspname, v.relname,\n"
	"        pg_get_viewdef(v.oid)), '' ORDER BY m.nspname, v.relname)\n"
	"    FROM inner_view i JOIN pg_class v ON v.oid = i.oid\n"
	"      JOIN pg_namespace m ON m.oid = v.relnamespace\n"
	"    WHERE v.oid <> c.oid)) END,\n"
	"  set_config('" RELATION_SETTING "', c.oid::text, true)\n"
	"FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace\n"
	"WHERE n.nspname = $1 AND c.relname = $2\n"
	"  AND c.relkind IN ('r', 'p', 'v', 'm', 'f')";

static const char relation_names_sql[] =
	"SELECT n.nspname, c.relname\n"
	"FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace\n"
	"WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')\n"
	"  AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'\n"
	"ORDER BY c.relname = $1 DESC, 1, 2 LIMIT 10000";

static const char leaves_sql[] =
	"WITH RECURSIVE tree(oid) AS (\n"
	"  SELECT " RELATION_OID " UNION\n"
	"  SELECT i.inhrelid FROM pg_inherits i JOIN tree\n"
	"    ON i.inhparent = tree.oid)\n"
	"SELECT c.oid, n.nspname, c.relname, c.relkind,\n"
	"       coalesce(pg_relation_filenode(c.oid), 0),\n"
	"       CASE WHEN c.relkind = 'f' THEN 0 ELSE "
	"coalesce(pg_relation_size(c.oid), 0)\n"
	"         / current_setting('block_size')::bigint END,\n"
	"       c.reltuples, has_table_privilege(c.oid, 'SELECT')\n"
	"         OR has_any_column_privilege(c.oid, 'SELECT'),\n"
	"       has_table_privilege(c.oid, 'SELECT')\n"
	"         AND NOT row_security_active(c.oid)\n"
	"         AND NOT row_security_active(" RELATION_OID ")\n"
	"FROM tree JOIN pg_class c ON c.oid = tree.oid\n"
	"  JOIN pg_namespace n ON n.oid = c.relnamespace\n"
	"WHERE c.relkind IN ('r', 'm', 'f') ORDER BY c.oid";

static uint32_t relation_u32(const char *text)
{
	return (uint32_t)strtoul(text, NULL, 10);
}

const char *postgres_source_relation_kind_name(enum relation_kind kind)
{
	switch (kind) {
	case RELATION_PARTITIONED:
		return "partitioned";
	case RELATION_VIEW:
		return "view";
	case RELATION_MATERIALIZED:
		return "materialized view";
	case RELATION_FOREIGN:
		return "foreign";
	case RELATION_TABLE:
		break;
	}
	return "table";
}

static char *relation_quote(const char *schema, const char *name)
{
	struct strbuf sb = STRBUF_INIT;

	if (schema) {
		sql_quote_name(&sb, schema, '"');
		strbuf_addch(&sb, '.');
	}
	sql_quote_name(&sb, name, '"');
	return strbuf_detach(&sb);
}

/* No such table: is there one of the same name in another schema, or one that
 * was meant? */
static int relation_missing(struct pg *pg, const char *table,
			    const struct table_name *name, const char *schema,
			    struct error *err)
{
	struct pg_result *r = NULL;
	struct strlist near = STRLIST_INIT;
	const char *params[] = { name->name };
	int rc = pg_query(pg, &r, relation_names_sql, "tt", 1, params, err);

	for (int i = 0; !rc && i < pg_rows(r); i++) {
		strlist_add(&near, pg_value(r, i, 0));
		strlist_add(&near, pg_value(r, i, 1));
	}
	if (!rc)
		rc = table_missing(table, schema, name->name, &near, err);
	pg_result_free(r);
	strlist_release(&near);
	return rc;
}

static int relation_check_catalog(struct pg *pg, const struct table_name *name,
				  struct error *err)
{
	struct pg_result *r = NULL;
	int rc;

	if (!name->catalog)
		return 0;
	rc = pg_query(pg, &r, "SELECT current_database()", "1t", 0, NULL, err);
	if (!rc && strcmp(pg_value(r, 0, 0), name->catalog) != 0)
		rc = error_set(err, ERROR_CONFIG,
			       "table %s.%s.%s: the connection is to database "
			       "%s, and PostgreSQL reads no other" ERROR_FIX
			       "; name a connection to that database",
			       name->catalog, name->schema, name->name,
			       pg_value(r, 0, 0));
	pg_result_free(r);
	return rc;
}

uint32_t postgres_source_relation_ahead(struct pg *pg, const char *table)
{
	struct error ignored = ERROR_INIT;
	struct table_name name = { NULL, NULL, NULL };
	const char *params[2];
	char *oid = NULL;
	uint32_t known;

	if (!table_name_parse(&name, table, &ignored)) {
		params[0] = name.schema ? name.schema : "public";
		params[1] = name.name;
		oid = pg_ahead_add_known(pg, relation_sql, 2, params, 0);
	}
	table_name_release(&name);
	known = oid ? relation_u32(oid) : RELATION_FOUND_LAST;
	free(oid);
	return known;
}

void postgres_source_relation_ask_ahead(struct pg *pg, const char *sql,
					uint32_t oid)
{
	char *text = xstrfmt("%u", oid);
	const char *params[] = { text };

	pg_ahead_add(pg, sql, 1, params);
	free(text);
}

void postgres_source_leaves_ahead(struct pg *pg, uint32_t oid)
{
	postgres_source_relation_ask_ahead(pg, leaves_sql, oid);
}

int postgres_source_relation_find(struct pg *pg, const char *table,
				  struct relation *out,
				  struct source_table *names, struct error *err)
{
	struct table_name name = { NULL, NULL, NULL };
	struct pg_result *r = NULL;
	const char *params[2];
	int rc = table_name_parse(&name, table, err);

	if (!rc)
		rc = relation_check_catalog(pg, &name, err);
	if (rc)
		goto out;
	params[0] = name.schema ? name.schema : "public";
	params[1] = name.name;
	rc = pg_query(pg, &r, relation_sql, "ttt?t", 2, params, err);
	if (rc)
		goto out;
	if (!pg_rows(r)) {
		rc = relation_missing(pg, table, &name, params[0], err);
		goto out;
	}
	out->oid = relation_u32(pg_value(r, 0, 0));
	pg_ahead_know(pg, "0", pg_value(r, 0, 0));
	out->kind = (enum relation_kind) * pg_value(r, 0, 1);
	out->has_children = *pg_value(r, 0, 2) == 't';
	names->view = out->kind == RELATION_VIEW;
	names->definition = xstrdup(pg_value(r, 0, 3));
	names->schema = xstrdup(params[0]);
	names->name = xstrdup(name.name);
	names->sql = relation_quote(names->schema, names->name);
	names->alias = relation_quote(NULL, names->name);
out:
	pg_result_free(r);
	table_name_release(&name);
	return rc;
}

int postgres_source_leaves_find(struct pg *pg, uint32_t oid, struct leaves *out,
				struct error *err)
{
	struct pg_result *r = NULL;
	char *text = xstrfmt("%u", oid);
	const char *params[] = { text };
	int rc = pg_query(pg, &r, leaves_sql, "ttttttttt", 1, params, err);

	free(text);
	if (rc)
		return rc;
	out->n = (size_t)pg_rows(r);
	out->items = xcalloc(out->n ? out->n : 1, sizeof(*out->items));
	for (int i = 0; i < pg_rows(r); i++) {
		struct leaf *leaf = &out->items[i];
		leaf->oid = relation_u32(pg_value(r, i, 0));
		leaf->sql =
			relation_quote(pg_value(r, i, 1), pg_value(r, i, 2));
		leaf->kind = (enum relation_kind) * pg_value(r, i, 3);
		leaf->file = relation_u32(pg_value(r, i, 4));
		leaf->blocks = units_bounded(pg_value(r, i, 5), UINT32_MAX);
		leaf->rows = strtod(pg_value(r, i, 6), NULL);
		leaf->readable = *pg_value(r, i, 7) == 't';
		leaf->direct = *pg_value(r, i, 8) == 't';
	}
	pg_result_free(r);
	return 0;
}

void postgres_source_leaves_release(struct leaves *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->items[i].sql);
	free(l->items);
	memset(l, 0, sizeof(*l));
}
