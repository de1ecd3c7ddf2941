/* A server on loopback that says what a test wrote down for it, one answer a
 * request, and remembers what it was asked. */
#ifndef TIDEMARK_TESTS_UNIT_HTTP_PEER_H
#define TIDEMARK_TESTS_UNIT_HTTP_PEER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/strbuf.h"

/* The byte at a place of a body: no two pieces of a body look alike. */
#define PEER_BYTE(at) ((char)(((at)*2654435761U) >> 20))

enum peer_then {
	PEER_KEEP, /* wait for the next request on this connection */
	PEER_CLOSE, /* end the connection */
	PEER_HANG, /* say no more until the client leaves */
};

struct peer_answer {
	const char *text; /* head and body as they are sent */
	enum peer_then then;
	size_t filler; /* so many bytes of 'x' behind */
	bool numbered; /* ... of PEER_BYTE() instead */
	bool drips; /* ... one at a time, ten in a second */
	bool early; /* answer when the head has come, then take the rest */
};

struct peer {
	int listener;
	unsigned port;
	pthread_t thread;
	const struct peer_answer *answers; /* ends with a NULL text */
	struct strbuf asked; /* heads and bodies, as they came */
	int requests, connections;
	atomic_size_t sent;
};

void peer_start(struct peer *p, const struct peer_answer *answers);
/* Waits until the client has left; then `asked` may be read. */
void peer_stop(struct peer *p);
void peer_release(struct peer *p);

#endif
