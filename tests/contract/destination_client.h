/*
 * The engines' own clients, by which the contract suite over destinations looks
 * at tables. A client is a process for each request, or one process for the
 * whole program.
 */
#ifndef TIDEMARK_TESTS_CONTRACT_DESTINATION_CLIENT_H
#define TIDEMARK_TESTS_CONTRACT_DESTINATION_CLIENT_H

#include "core/base/strbuf.h"
#include "destination_world.h"

/* Run SQL at a place. `out` gets what the client says, errors too, without
 * newlines at the end; 0 if the client is content. */
int client_run(const struct quirks *quirks, const char *place, const char *sql,
	       struct strbuf *out);

#endif
