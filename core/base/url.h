/* Connection URLs: the scheme picks the engine, whose facts say how the rest is
 * read (core/base/engine.h). */
#ifndef TIDEMARK_CORE_BASE_URL_H
#define TIDEMARK_CORE_BASE_URL_H

#include "core/base/error.h"
#include "core/base/strbuf.h"
#include "core/base/url_text.h"

struct url {
	char *text; /* whole, with its secrets: handed to the client library,
		       never shown */
	char *scheme; /* as written, lower case: "postgresql" */
	char *engine; /* its name: "postgres" */
	char *path; /* without ?query; of a server "" */
	char *shown; /* safe to show: secrets are replaced by *** */
};

/* Parse; CONFIG error on an unknown scheme (nearest one named), on a module
 * that cannot be used, or on an empty rest. Passwords found inside are given to
 * secret_add(). libpq key/value strings ("host=... dbname=...") are not URLs:
 * refused with the URL form. */
int url_parse(struct url *out, const char *text, struct error *err);
/* Give the secrets of a URL, expanded or not, to secret_add(). A reference is
 * none. */
void url_remember(const char *text);
void url_copy(struct url *out, const struct url *src);
void url_release(struct url *u);
/* The "?" that begins the query, behind a password that may hold one. The end
 * of the text if there is no query. */
const char *url_query(const struct url *u);
/* The decoded value of `name` in the query behind "?", or NULL; caller frees.
 */
char *url_query_value(const struct url *u, const char *name);

/* scheme://user:password@host:port/database, for engines whose client takes the
 * parts. A missing part is NULL (port: 0). */
struct url_server {
	char *user, *password, *host, *database;
	unsigned port;
};
/* CONFIG error on a bad port, an unclosed bracket, or a URL of no server. */
int url_server_parse(struct url_server *out, const struct url *u,
		     struct error *err);
void url_server_release(struct url_server *s);
/* Is there a literal password in this (unexpanded) URL text? ${VAR} and
 * ${file:PATH} are not literal, ${VAR:-text} is. */
int url_has_password(const char *text);

#endif
