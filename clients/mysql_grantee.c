#include "clients/mysql_grantee.h"

#include <stdlib.h>
#include <string.h>

#include "clients/mysql.h"
#include "core/base/alloc.h"

int mysql_client_grantee_find(struct mysql_client_grantee *out,
			      const struct connection *conn, struct error *err)
{
	struct url_server server;
	struct strbuf account = STRBUF_INIT;
	int rc = url_server_parse(&server, &conn->url, err);

	if (rc)
		return rc;
	if (server.user) {
		mysql_client_quote(&account, server.user);
		strbuf_addstr(&account, "@'%'");
		out->account = strbuf_detach(&account);
		out->database = xstrdup(server.database);
	} else {
		rc = error_set(err, ERROR_CONFIG,
			       "connection %s: its URL names no user "
			       "(mysql://USER@...)",
			       conn->name);
	}
	url_server_release(&server);
	return rc;
}

void mysql_client_grantee_release(struct mysql_client_grantee *g)
{
	free(g->account);
	free(g->database);
	memset(g, 0, sizeof(*g));
}
