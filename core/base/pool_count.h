/*
 * Shared by the files of the pool: sessions by their connections. A server that
 * had no room for one more bounds those of its connection for a while.
 */
#ifndef TIDEMARK_CORE_BASE_POOL_COUNT_H
#define TIDEMARK_CORE_BASE_POOL_COUNT_H

#include "core/base/pool.h"

/* A connection by its name. Never freed while the process lives. */
struct pool_count {
	char *connection;
	unsigned open; /* sessions, those at rest among them */
	unsigned full; /* as many as the server took; 0: unknown */
	int64_t full_until_us;
	struct pool_count *next;
};

void pool_lock(void);
void pool_unlock(void);

/* With the lock held. */
struct pool_count *pool_count(const struct connection *conn);
/* The bound that the config sets; 0: none. */
unsigned pool_asked(const struct connection *conn);
/* The same, or fewer if the server took no more. */
unsigned pool_bound(const struct pool_count *c, const struct connection *conn);

/* Take a session: *out is one that rested, with its own slot, or NULL. Then the
 * caller opens one and keeps `slot` in it. Either way one more is open. It
 * waits as pool_open() says. */
int pool_take(struct pool_slot *slot, const struct connection *conn,
	      const char *key, void **out, struct error *err);
/* The same without a wait, for a session in place of a lost one. */
void pool_replace(struct pool_slot *slot, const struct connection *conn,
		  const char *key);
/* The server takes no more sessions. One that it refused is none: its client
 * has called pool_leave(). Close all that rest, and sleep for a
 * moment, which the server needs to notice. True: try again; this may be for
 * three seconds, whose end is kept in *until_us (0 to begin with). False: there
 * is no room, and this is heeded for a minute. */
bool pool_full(const struct connection *conn, int64_t *until_us);

/* Close all that rest. True: there were some. */
bool pool_shed(void);

#endif
