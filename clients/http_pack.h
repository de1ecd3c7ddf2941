/*
 * A body on its way into zstd, packed a piece at a time. The level's window
 * bounds the memory, whatever the body's size. The only files that know zstd.h.
 */
#ifndef TIDEMARK_CLIENTS_HTTP_PACK_H
#define TIDEMARK_CLIENTS_HTTP_PACK_H

#include "clients/http.h"

/* As Content-Encoding names it. */
#define HTTP_PACK_NAME "zstd"

struct http_pack;

struct http_pack *http_pack_new(void);
void http_pack_free(struct http_pack *p); /* NULL is fine */
/* The next body, or the same from its beginning. */
void http_pack_restart(struct http_pack *p);
/* As an http_source gives bytes: those of `source`, packed. */
long http_pack_read(struct http_pack *p, http_source source, void *ctx,
		    void *out, size_t room, struct error *err);

#endif
