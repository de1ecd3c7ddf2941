/*
 * The connections of a server, each with the time that it may take to send a
 * request, to take a reply, or to rest. One that takes longer is cut, however
 * busily it trickles. Any thread may call.
 */
#ifndef TIDEMARK_CORE_SERVE_HTTP_WATCH_H
#define TIDEMARK_CORE_SERVE_HTTP_WATCH_H

#include <stdint.h>

#include "core/base/error.h"

struct http_watch;
struct http_line; /* one connection */

int http_watch_new(int64_t limit_us, struct http_watch **out,
		   struct error *err);
/* Each line has left. NULL is fine. */
void http_watch_free(struct http_watch *w);

/* `fd` stays open until the line leaves. Its time begins. */
struct http_line *http_watch_enter(struct http_watch *w, int fd);
void http_watch_leave(struct http_watch *w, struct http_line *line);
/* Its time begins anew, unless it is over. */
void http_watch_renew(struct http_watch *w, struct http_line *line);
/* It waits for us: no time is counted until http_watch_renew(). */
void http_watch_hold(struct http_watch *w, struct http_line *line);

#endif
