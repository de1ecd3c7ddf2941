/*
 * One request on its way: which route it asks for, whether it may, its body,
 * and the reply. It knows nothing of sockets. One thread at a time.
 */
#ifndef TIDEMARK_CORE_SERVE_HTTP_CALL_H
#define TIDEMARK_CORE_SERVE_HTTP_CALL_H

#include "core/serve/http.h"
#include "core/serve/http_guard.h"
#include "core/serve/http_page.h"

/* The same for all requests. */
struct http_site {
	struct http_guard guard;
	const struct http_route *routes;
	size_t n_routes;
	void *ctx; /* for the routes' handlers */
};

struct http_call {
	const struct http_site *site;
	char *uri; /* as it was sent */
	struct http_target target; /* in `uri` */
	struct http_head head; /* the caller's */
	bool begun; /* http_call_begin() was called */
	bool is_write;
	const struct http_route *route; /* or */
	const struct http_asset *asset;
	struct http_parts parts;
	struct http_query query;
	const struct http_refusal *refusal; /* NULL: it may */
	const char *allow; /* methods of the path */
	struct strbuf body;
	size_t received;
};

/* `uri` may be NULL. */
struct http_call *http_call_new(const struct http_site *site, const char *uri);
void http_call_free(struct http_call *c); /* NULL is fine */

/* The headers are in `c->head`. */
void http_call_begin(struct http_call *c, const char *method);
/* It is refused, and too large to be waited for. */
bool http_call_is_hopeless(const struct http_call *c);
/* A piece of the body. False: too much, hang up. */
bool http_call_take(struct http_call *c, const char *data, size_t n);
/* All is here: run the handler, or say why not. `by`: who asks. */
void http_call_answer(const struct http_call *c, const char *by,
		      struct http_reply *out);

void http_reply_init(struct http_reply *out);
void http_reply_release(struct http_reply *out);

#endif
