/*
 * How a connection is made: from the URL, our settings and the URL's options.
 * It knows nothing of the client library.
 */
#ifndef TIDEMARK_CLIENTS_MYSQL_TARGET_H
#define TIDEMARK_CLIENTS_MYSQL_TARGET_H

#include "core/base/connection.h"
#include "core/base/error.h"

struct mysql_client_target {
	struct url_server server;
	char *socket; /* NULL: TCP */
	char *where; /* "connection shop (mysql://...)" */
	char *application;
	const char *password; /* beside the URL, or of it, or NULL */
	enum tls_mode tls; /* never TLS_AUTO ... */
	bool tls_if_asked; /* ... but this one: plain, TLS if the server insists
			    */
	char *tls_ca, *tls_cert, *tls_key; /* or NULL */
	char *tls_ca_directory; /* more authorities, or NULL */
	unsigned connect_s, silence_s; /* at least 1 */
};

/* CONFIG error on a bad port or option. */
int mysql_client_target_fill(struct mysql_client_target *t,
			     const struct connection *conn,
			     const char *application, struct error *err);
void mysql_client_target_release(struct mysql_client_target *t);

#endif
