/*
 * A pooler between us and the server. It does no harm if each client keeps one
 * session of the server until it leaves. Otherwise settings, locks and
 * temporary tables get lost.
 */
#ifndef TIDEMARK_CLIENTS_PG_POOLER_H
#define TIDEMARK_CLIENTS_PG_POOLER_H

#include "clients/pg.h"

/* `pid` is the server's process as the session itself tells it. If a pooler has
 * given the client another one, find out whether others get the same process:
 * ACCESS. This takes a second session for a moment, once for each connection.
 */
int pg_pooler_check(struct pg *pg, const struct connection *conn,
		    const char *pid, struct error *err);

#endif
