/* The HTTP client, open to a peer that says what a test wrote down for it. For
 * the client's own tests; those of an engine bring a client of theirs. */
#ifndef TIDEMARK_TESTS_UNIT_HTTP_WORLD_H
#define TIDEMARK_TESTS_UNIT_HTTP_WORLD_H

#include "clients/http.h"
#include "tests/unit/http_peer.h"

#define OK  "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
#define BIG ((size_t)64 << 20)

struct world {
	struct peer peer;
	struct http *http;
	struct http_response response;
	struct error err;
};

/* `answers` are the peer's and stay the caller's; `silence_us` 0: as the client
 * has it. */
void world_open(struct world *w, const struct peer_answer *answers,
		int64_t silence_us);
/* The client leaves; then what the peer was asked may be read. */
void world_leave(struct world *w);
void world_close(struct world *w);
/* One request; its answer, of at most 1000 bytes, is in `response`. `body` may
 * be NULL. */
int world_do(struct world *w, const char *method, const char *body);

#endif
