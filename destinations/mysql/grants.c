#include "clients/mysql_grantee.h"
#include "destinations/mysql/internal.h"

int mysql_target_destination_grants(const struct connection *conn,
				    const char *table, enum load_mode mode,
				    struct grants *out, struct error *err)
{
	struct grants_place place = { .table = NULL };
	struct mysql_client_grantee g = { .account = NULL };
	struct strbuf rights = STRBUF_INIT;
	int rc = mysql_client_grantee_find(&g, conn, err);

	if (!rc)
		rc = grants_place_find(&place, conn->name, table, g.database,
				       '`', err);
	/* A user who may not see foreign keys to a row may not take it away. */
	if (!rc && (mode == LOAD_DELETE_INSERT || mode == LOAD_REPLACE))
		grants_add_fmt(out, "sees foreign keys of other databases",
			       "GRANT PROCESS ON *.* TO %s", g.account);
	if (!rc) {
		mysql_target_rights_of_mode(&rights, mode);
		grants_add_fmt(out,
			       "makes and loads the table, its view and "
			       "_tidemark_watermark",
			       "GRANT %s ON %s.* TO %s", rights.data,
			       place.schema_pattern, g.account);
	}
	strbuf_release(&rights);
	grants_place_release(&place);
	mysql_client_grantee_release(&g);
	return rc;
}
