/*
 * The parameters of a connection: libpq's keywords and values, from our
 * settings and from the user's settings for libpq. It knows nothing of libpq
 * but its parameters' names.
 */
#ifndef TIDEMARK_CLIENTS_PG_PARAMETERS_H
#define TIDEMARK_CLIENTS_PG_PARAMETERS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/connection.h"

#define PG_MAX_PARAMETERS 24

/* The settings that decide how we connect, as libpq has put them together. */
struct pg_target {
	char *host; /* a list; NULL: the default socket */
	char *address; /* hostaddr, a list as long as that of hosts; or NULL */
	char *user, *database; /* NULL: libpq knows none */
	bool has_sslmode; /* the user chose one, wherever that may be */
	bool has_root_cert;
};
/* One parameter. */
void pg_target_note(struct pg_target *t, const char *keyword,
		    const char *value);
void pg_target_release(struct pg_target *t);

/* NULL-terminated; keywords before "dbname" (the URL) yield to it, those
 * behind it win. Values are borrowed from the arguments, or owned. */
struct pg_parameters {
	const char *keywords[PG_MAX_PARAMETERS];
	const char *values[PG_MAX_PARAMETERS];
	size_t n;
	char *silence; /* owned */
	char *application; /* owned */
};
/* `libpq`: its version, as PQlibVersion() says it. */
void pg_parameters_fill(struct pg_parameters *p, const struct connection *conn,
			const struct pg_target *target, const char *application,
			int libpq);
void pg_parameters_release(struct pg_parameters *p);

#endif
