#include "stores/postgres/grants.h"

#include <stdlib.h>

#include "clients/pg_grantee.h"

/* With a schema of its own the role need not be able to create any. */
int postgres_store_grants(const struct connection *conn, struct grants *out,
			  struct error *err)
{
	struct pg_grantee grantee = { .role = NULL };
	int rc = pg_grantee_find(&grantee, conn, err);
	char *role, *database;

	if (!rc) {
		role = grants_quote(grantee.role, '"');
		database = grants_quote(grantee.database, '"');
		grants_add_fmt(out, "connects",
			       "GRANT CONNECT ON DATABASE %s TO %s", database,
			       role);
		grants_add_fmt(out, "keeps the history in a schema of its own",
			       "CREATE SCHEMA IF NOT EXISTS tidemark "
			       "AUTHORIZATION %s",
			       role);
		free(database);
		free(role);
	}
	pg_grantee_release(&grantee);
	return rc;
}
