/* The role whose rights a connection has, and the database. */
#ifndef TIDEMARK_CLIENTS_PG_GRANTEE_H
#define TIDEMARK_CLIENTS_PG_GRANTEE_H

#include "core/base/connection.h"
#include "core/base/error.h"

/* Names as they are, without quotes. */
struct pg_grantee {
	char *role, *database;
};

/* As libpq would connect; no connection is made. CONFIG: as pg_resolve(). */
int pg_grantee_find(struct pg_grantee *out, const struct connection *conn,
		    struct error *err);
void pg_grantee_release(struct pg_grantee *g);

#endif
