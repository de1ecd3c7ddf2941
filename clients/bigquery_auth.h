/*
 * Signing in at Google's services. A token is fetched when the first request
 * needs one, and anew before it expires. It comes from the metadata server of
 * the machine, or for a JWT that is signed here with a service account's file.
 * Only this file pair knows jwt.h.
 */
#ifndef TIDEMARK_CLIENTS_BIGQUERY_AUTH_H
#define TIDEMARK_CLIENTS_BIGQUERY_AUTH_H

#include "core/base/connection.h"

struct bigquery_auth;

/* `path`: the account's file; NULL: the metadata server at GCE_METADATA_HOST,
 * or where Google has it. CONFIG if others can read the file, if it is no
 * service account's, or if it names a place for tokens without https. */
int bigquery_auth_open(struct bigquery_auth **out,
		       const struct connection *conn, const char *path,
		       struct error *err);
void bigquery_auth_close(struct bigquery_auth *a); /* NULL is fine */
void bigquery_auth_interrupt(struct bigquery_auth *a);
/* "Authorization: Bearer ...", good for a minute at least; lives until the
 * next call. ACCESS when it is not given. */
int bigquery_auth_header(struct bigquery_auth *a, const char **out,
			 struct error *err);
/* The service takes the token for no good: fetch another. */
void bigquery_auth_forget(struct bigquery_auth *a);

#endif
