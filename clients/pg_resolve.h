/*
 * Where libpq will connect to: it takes parts of that from the URL, from a
 * service file, from the environment and from its own defaults. libpq is asked
 * for the outcome, without a connection being made.
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
