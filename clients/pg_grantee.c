#include "clients/pg_grantee.h"

#include <stdlib.h>
#include <string.h>

#include "clients/pg_resolve.h"
#include "core/base/alloc.h"

/* libpq's database is the user, where none is named. */
int pg_grantee_find(struct pg_grantee *out, const struct connection *conn,
		    struct error *err)
{
	struct pg_target target = { .host = NULL };
	int rc = pg_resolve(&target, &conn->url, conn->name, err);

	if (!rc && !target.user)
		rc = error_set(err, ERROR_CONFIG,
			       "connection %s: its URL names no user "
			       "(postgres://USER@...)",
			       conn->name);
	if (!rc) {
		out->role = xstrdup(target.user);
		out->database = xstrdup(target.database ? target.database
							: target.user);
	}
	pg_target_release(&target);
	return rc;
}

void pg_grantee_release(struct pg_grantee *g)
{
	free(g->role);
	free(g->database);
	memset(g, 0, sizeof(*g));
}
