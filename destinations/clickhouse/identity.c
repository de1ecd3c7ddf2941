#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/data/table_name.h"
#include "destinations/clickhouse/internal.h"

/* Older servers have no number of their own: then their name and port. */
static const char server_sql[] = "SELECT toString(serverUUID())";
static const char place_sql[] =
	"SELECT concat(hostName(), ':', toString(tcpPort()))";

int clickhouse_target_identity(struct destination *base,
			       const struct target *target, json_t **out,
			       struct error *err)
{
	struct clickhouse_target *d = (struct clickhouse_target *)base;
	struct place place = { .table = NULL };
	struct clickhouse_rows rows = { 0 };
	struct strbuf table = STRBUF_INIT;
	struct error why = ERROR_INIT;
	int rc = clickhouse_target_place_set(&place, clickhouse_database(d->db),
					     target, err);

	if (!rc) {
		rc = clickhouse_query(d->db, server_sql, "1t", &rows, &why);
		if (rc && !error_may_pass(why.code))
			rc = clickhouse_query(d->db, place_sql, "1t", &rows,
					      err);
		else if (rc)
			*err = why;
	}
	if (!rc) {
		sql_quote_name(&table, place.database, '"');
		strbuf_addch(&table, '.');
		sql_quote_name(&table, place.table, '"');
		*out = json_pack("{s:s, s:s, s:s, s:s}", "engine", "clickhouse",
				 "server", clickhouse_cell(&rows, 0, 0),
				 "database", place.database, "table",
				 table.data);
	}
	clickhouse_rows_release(&rows);
	strbuf_release(&table);
	clickhouse_target_place_release(&place);
	return rc;
}
