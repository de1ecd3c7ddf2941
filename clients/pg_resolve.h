/*
 * The place to which libpq will connect. libpq takes parts of it from the URL,
 * from a service file, from the environment and from its own defaults. It is
 * asked for the outcome without making a connection.
 */
#ifndef TIDEMARK_CLIENTS_PG_RESOLVE_H
#define TIDEMARK_CLIENTS_PG_RESOLVE_H

#include "clients/pg_parameters.h"

/* `where` names the connection in errors. CONFIG error on a text that is no
 * URL, and on a service that is not defined. The URL's secrets, as libpq reads
 * them, are remembered. */
int pg_resolve(struct pg_target *out, const struct url *url, const char *where,
	       struct error *err);

#endif
