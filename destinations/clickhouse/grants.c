#include "clients/clickhouse.h"
#include "core/data/table_name.h"
#include "destinations/clickhouse/internal.h"

int clickhouse_target_grants(const struct connection *conn, const char *table,
			     enum load_mode mode, struct grants *out,
			     struct error *err)
{
	struct table_name name = { .name = NULL };
	struct clickhouse_grantee g = { .user = NULL };
	struct strbuf database = STRBUF_INIT;
	int rc = table_name_parse(&name, table, err);

	(void)mode;
	if (!rc)
		rc = clickhouse_grantee_find(&g, conn, err);
	if (!rc) {
		clickhouse_quote_name(&database,
				      name.schema ? name.schema : g.database);
		grants_add_fmt(out,
			       "makes and loads the tables, their views and "
			       "_tidemark_watermark",
			       "GRANT SELECT, INSERT, CREATE TABLE, DROP "
			       "TABLE, TRUNCATE, CREATE VIEW, DROP VIEW, ALTER "
			       "DELETE, ALTER COLUMN, ALTER SETTINGS ON %s.* "
			       "TO %s",
			       database.data, g.user);
	}
	strbuf_release(&database);
	clickhouse_grantee_release(&g);
	table_name_release(&name);
	return rc;
}
