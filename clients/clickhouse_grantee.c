#include <stdlib.h>
#include <string.h>

#include "clients/clickhouse.h"
#include "core/base/alloc.h"

int clickhouse_grantee_find(struct clickhouse_grantee *out,
			    const struct connection *conn, struct error *err)
{
	struct url_server server;
	struct strbuf user = STRBUF_INIT;
	int rc = url_server_parse(&server, &conn->url, err);

	if (rc)
		return rc;
	clickhouse_quote_name(&user, server.user ? server.user : "default");
	out->user = strbuf_detach(&user);
	out->database = xstrdup(server.database ? server.database : "default");
	url_server_release(&server);
	return 0;
}

void clickhouse_grantee_release(struct clickhouse_grantee *g)
{
	free(g->user);
	free(g->database);
	memset(g, 0, sizeof(*g));
}
