/*
 * The HTTP server of `serve`: routes that somebody else answers, and the
 * embedded page. It is made for a browser and a few programs of this machine,
 * and believes none of them. Whatever a route says, a request that reaches its
 * handler has passed these:
 * - its Host is one that the server answers to, so no other site's name leads a
 *   browser here;
 * - it carries the token, if there is one, unless the route is ROUTE_OPEN;
 * - a POST comes from no other site's page, and has a JSON body or none;
 * - path and query are valid UTF-8 without control characters;
 * - it came in whole, within the limits below.
 * Errors are answered as {"error":{"code","message"}}, and tell nothing that
 * the client has sent. Nothing of a request is logged.
 */
#ifndef TIDEMARK_CORE_SERVE_HTTP_H
#define TIDEMARK_CORE_SERVE_HTTP_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/listen.h"
#include "core/base/strbuf.h"
#include "core/base/strlist.h"

#define HTTP_CONNECTIONS      32 /* at once; more wait, or are closed */
#define HTTP_CONNECTIONS_EACH 16 /* from one address; more are closed */
#define HTTP_HEADER_BYTES     (32 * 1024)
#define HTTP_BODY_BYTES	      (64 * 1024)
#define HTTP_REQUEST_US	      INT64_C(10000000)

enum http_route_flags {
	ROUTE_OPEN = 1 << 0, /* answers without a token */
	/* Never answers without one, even on loopback: without a configured
	 * token it answers nobody. */
	ROUTE_TOKEN = 1 << 1,
};

/* Everything is the server's, and gone when the handler returns. */
struct http_request {
	const char *method; /* "GET", which stands for HEAD too, or "POST" */
	const char *const *parts; /* the text at each "{}" of the path */
	size_t n_parts;
	const char *body; /* as it was sent; "" */
	size_t body_length;
	const json_t *json; /* the body: an object or array; NULL: none */
	/* To be told later: "token from 127.0.0.1", "127.0.0.1", "uid 1000".
	 */
	const char *by;
	const char *accept; /* the types that the client takes, as sent; "" */
	const struct http_query *query;
};

/* The value of ?name=; NULL if it is not there. */
const char *http_request_value(const struct http_request *r, const char *name);

/* Begins as 200 with an empty body, not to be kept by anybody. */
struct http_reply {
	unsigned status;
	const char *type; /* static; NULL: application/json */
	struct strbuf body;
	/* In place of `body`: bytes that stay for ever. */
	const void *fixed;
	size_t fixed_length;
	const char *etag; /* with the quotes; static, or NULL */
	const char *cache; /* Cache-Control; static. NULL: no-store */
	const char *allow; /* Allow; static, or NULL */
	bool packed; /* the body is gzip */
	bool varies; /* another client may get it packed */
};

/* Reply with a JSON value, which is taken over. NULL: it could not be made, and
 * the reply is a 500. */
void http_reply_json(struct http_reply *out, json_t *json);
/* Reply with {"error":{"code","message"}}. The message is for people. Whatever
 * was written into the body is dropped. */
void http_reply_error(struct http_reply *out, unsigned status, const char *code,
		      const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

struct http_route {
	const char *method; /* "GET" (and HEAD), "POST" */
	/* "/api/v1/runs/{}/replay": any segment that is not empty may stand at
	 * "{}", and is decoded. A "/" in it was sent as %2F. */
	const char *path;
	unsigned flags;
	/* Called in a thread of the server, side by side with others. It may
	 * take its time: it is not cut off, and http_stop() waits for it. */
	void (*answer)(const struct http_request *r, struct http_reply *out,
		       void *ctx);
};

struct http_terms {
	struct listen_address listen;
	const char *token; /* "" or NULL: none */
	const struct strlist *hosts; /* it answers to them, and `listen` */
	/* A request, its reply or a rest between two may take so long. 0:
	 * HTTP_REQUEST_US */
	int64_t request_us;
};

struct http_server;
/* Listen and answer, in threads of its own. `terms` is copied; `routes` stay.
 * Paths of no route are those of the page. LISTEN_OFF: `*out` is NULL. CONFIG:
 * no such address. ACCESS: the address is taken, or may not be taken by us. */
int http_start(const struct http_terms *terms, const struct http_route *routes,
	       size_t n, void *ctx, struct http_server **out,
	       struct error *err);
/* Where it listens, with the port that it got: "127.0.0.1:9464"; "off". */
const char *http_address(const struct http_server *h);
/* No request is answered from now on. Waits for the handlers. NULL is fine. */
void http_stop(struct http_server *h);

#endif
