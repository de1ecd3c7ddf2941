/* The user whose rights a connection has. */
#ifndef TIDEMARK_CLIENTS_MYSQL_GRANTEE_H
#define TIDEMARK_CLIENTS_MYSQL_GRANTEE_H

#include "core/base/connection.h"
#include "core/base/error.h"

struct mysql_client_grantee {
	char *account; /* 'app'@'%', as GRANT takes it */
	char *database; /* as it is, without quotes; NULL: none is named */
};

/* Read the user from the URL. Nobody can know the host that the server sees.
 * CONFIG: no user is named. */
int mysql_client_grantee_find(struct mysql_client_grantee *out,
			      const struct connection *conn, struct error *err);
void mysql_client_grantee_release(struct mysql_client_grantee *g);

#endif
