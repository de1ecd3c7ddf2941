/*
 * The answer to who may ask: the checks that a request passes before a route
 * sees it. They look at its headers alone, and know nothing of sockets.
 */
#ifndef TIDEMARK_CORE_SERVE_HTTP_GUARD_H
#define TIDEMARK_CORE_SERVE_HTTP_GUARD_H

#include <stdbool.h>

#include "core/base/strlist.h"
#include "core/serve/http_path.h"

/* Headers as they were sent; NULL: none. */
struct http_head {
	const char *host, *authorization, *origin, *fetch_site, *type, *length,
		*coding, *accept, *accept_coding, *known_etag;
	bool bad; /* one of them came twice, or holds a NUL */
};
/* Note the header `name`, of any case, if the head has a place for it. */
void http_head_note(struct http_head *h, const char *name, const char *value,
		    size_t n);

/* Static texts: nothing of the request is in them. */
struct http_refusal {
	unsigned status;
	const char *code, *message;
};
extern const struct http_refusal http_bad_request, http_bad_path,
	http_bad_query, http_bad_json, http_not_found, http_wrong_method,
	http_too_large;

struct http_guard {
	const char *token; /* "": none */
	struct strlist hosts; /* as host_parse() writes them */
};

/* Each: NULL, or why not. */
const struct http_refusal *http_guard_head(const struct http_guard *g,
					   const struct http_head *h,
					   const struct http_target *target);
const struct http_refusal *http_guard_token(const struct http_guard *g,
					    const struct http_head *h,
					    unsigned flags);
/* For a POST alone. */
const struct http_refusal *http_guard_write(const struct http_head *h);
/* The bytes of its body that it announces; -1: it does not say. */
long http_head_length(const struct http_head *h);
/* Does the client take gzip? */
bool http_head_unpacks(const struct http_head *h);

#endif
