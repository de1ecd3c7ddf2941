/*
 * The files of core/serve/page, which are part of the program. They hold
 * nothing of an installation, so they are answered without the token.
 */
#ifndef TIDEMARK_CORE_SERVE_HTTP_PAGE_H
#define TIDEMARK_CORE_SERVE_HTTP_PAGE_H

#include <stddef.h>

#include "core/serve/http_guard.h"

struct http_reply;

/* tools/embed-assets writes them. */
struct http_asset {
	const char *path; /* "/" is index.html, "/NAME" any other file */
	const char *type;
	const char *etag, *packed_etag; /* with quotes */
	const unsigned char *plain, *packed; /* as it is, and by gzip */
	size_t n, n_packed;
};
extern const struct http_asset http_assets[];
extern const size_t http_assets_n;

/* NULL: there is none at this path. */
const struct http_asset *http_page_find(const char *path);
/* 304 if the client has it already. */
void http_page_answer(const struct http_asset *asset,
		      const struct http_head *head, struct http_reply *out);

#endif
