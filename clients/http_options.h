/* Options of every request to a server: its address, how it proves to be the
 * server, how long it may be silent. Shared by the files of the HTTP client. */
#ifndef TIDEMARK_CLIENTS_HTTP_OPTIONS_H
#define TIDEMARK_CLIENTS_HTTP_OPTIONS_H

#include <curl/curl.h>

#include "core/base/connection.h"

struct http_options {
	char *base;
	bool local; /* over loopback, or a link of the machine's own */
	bool any_name; /* verify-ca: the certificate's name is not compared */
	char *ca, *cert, *key;
	int64_t connect_timeout_us, silence_timeout_us;
};

/* As http_open(). */
int http_options_init(struct http_options *out, const struct connection *conn,
		      const char *base, const char *shown, struct error *err);
/* As http_open_metadata(). */
int http_options_init_metadata(struct http_options *out,
			       const struct connection *conn, const char *host,
			       const char *shown, struct error *err);
void http_options_release(struct http_options *o);
void http_options_apply(const struct http_options *o, CURL *easy,
			const char *path);

#endif
