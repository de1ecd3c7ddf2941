#include "clients/clickhouse.h"
#include "connectors/clickhouse/source.h"
#include "core/data/table_name.h"

static int grants_read(const struct clickhouse_grantee *g, const char *table,
		       struct grants *out, struct error *err)
{
	struct table_name name = { .name = NULL };
	struct strbuf whole = STRBUF_INIT;
	int rc = table_name_parse(&name, table, err);

	if (rc)
		return rc;
	clickhouse_quote_name(&whole, name.schema ? name.schema : g->database);
	strbuf_addch(&whole, '.');
	clickhouse_quote_name(&whole, name.name);
	grants_add_fmt(out, "reads the table", "GRANT SELECT ON %s TO %s",
		       whole.data, g->user);
	strbuf_release(&whole);
	table_name_release(&name);
	return 0;
}

/* The connector reads only system tables that show everybody his own tables. */
int clickhouse_source_grants(const struct connection *conn,
			     const struct source_spec *source,
			     const struct watermark_spec *mark,
			     const struct pressure_question *asked,
			     struct grants *out, struct error *err)
{
	struct clickhouse_grantee g = { .user = NULL };
	int rc = clickhouse_grantee_find(&g, conn, err);

	(void)mark;
	if (!rc && source)
		rc = grants_read(&g, source->table, out, err);
	if (!rc && asked && asked->active)
		grants_add_fmt(out, "counts the queries",
			       "GRANT SELECT ON system.processes TO %s",
			       g.user);
	clickhouse_grantee_release(&g);
	return rc;
}
