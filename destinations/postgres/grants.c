#include <stdlib.h>

#include "clients/pg_grantee.h"
#include "destinations/postgres/postgres.h"

/* Tables that Tidemark makes are the role's own, so these are all. */
int postgres_destination_grants(const struct connection *conn,
				const char *table, enum load_mode mode,
				struct grants *out, struct error *err)
{
	struct grants_place place = { .table = NULL };
	struct pg_grantee grantee = { .role = NULL };
	char *role, *database;
	int rc = grants_place_find(&place, conn->name, table, "public", '"',
				   err);

	(void)mode;
	if (!rc)
		rc = pg_grantee_find(&grantee, conn, err);
	if (!rc) {
		role = grants_quote(grantee.role, '"');
		database = grants_quote(grantee.database, '"');
		grants_add_fmt(out,
			       "connects; puts a batch into a temporary table "
			       "first",
			       "GRANT CONNECT, TEMPORARY ON DATABASE %s TO %s",
			       database, role);
		grants_add_fmt(out,
			       "makes the table, its indexes and "
			       "_tidemark_watermark",
			       "GRANT USAGE, CREATE ON SCHEMA %s TO %s",
			       place.schema, role);
		free(database);
		free(role);
	}
	pg_grantee_release(&grantee);
	grants_place_release(&place);
	return rc;
}
