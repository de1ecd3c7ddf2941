/*
 * Sessions of servers, and files that are open, that rest between two uses
 * within this process. A client counts each session that it opens, rests it
 * instead of closing it, and asks for one at rest before it opens another. The
 * client resets and checks a session: the pool only keeps it.
 *
 * One that rests is closed after a while, by a thread of the pool's own, and
 * before a fork(). All functions may be called by any thread.
 */
#ifndef TIDEMARK_CORE_BASE_POOL_H
#define TIDEMARK_CORE_BASE_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/connection.h"
#include "core/base/error.h"
#include "core/base/strbuf.h"

/* How long a session rests at most, a file, and how old a session becomes. An
 * old one may speak to a server that its name no longer means. */
#define POOL_SESSION_US (60 * INT64_C(1000000))
#define POOL_FILE_US	(1 * INT64_C(1000000))
#define POOL_LIFE_US	(300 * INT64_C(1000000))

/* A member of the client's own session; zeroed: none. */
struct pool_slot {
	char *key; /* all that shapes the session; owned */
	char *connection; /* the connection's name; owned */
	int64_t born_us; /* monotonic */
	bool file; /* it rests as a file does: POOL_FILE_US */
};

/* Begin a key with all of `conn` that shapes a session; the client adds its own
 * options. */
void pool_key(struct strbuf *key, const struct connection *conn);

/* How a client wakes, opens and ends its sessions. */
struct pool_client {
	/* Is one that rested as a new one would be? False: it is fit only for
	 * `end`. */
	bool (*rouse)(void *session, void *ctx);
	/* Open a new one. It takes `slot` over, which it leaves if it fails. */
	int (*open)(void **out, struct pool_slot *slot, void *ctx,
		    struct error *err);
	void (*end)(void *session);
};

/* One that rested and is fit, or else a new one. It is open until pool_give()
 * or pool_leave(). `replaces`: it is new, in place of a lost one, and no bound
 * counts.
 *
 * If conn->sessions are open already, wait for one. A stop ends the wait with
 * STOPPED, conn->silence_timeout_us with TRANSIENT. A server that takes no more
 * sessions is given a moment, in which those that rest are closed. Then for a
 * minute this process waits for a session before it opens more than it has. */
int pool_open(void **out, const struct pool_client *client,
	      const struct connection *conn, const char *key, bool replaces,
	      void *ctx, struct error *err);
/* Let `session` rest, whose member `slot` is. `end` closes it some time, maybe
 * at once, and in another thread; it must call pool_leave(). */
void pool_give(struct pool_slot *slot, void *session,
	       void (*end)(void *session));
/* A session is closed, or was never opened. Harmless if `slot` is zeroed. */
void pool_leave(struct pool_slot *slot);

/* A file rests for POOL_FILE_US, then `end` is called with `file`. A second
 * call begins the time anew. False: the pool has ended, close it now. Files
 * have neither keys nor bounds. */
bool pool_file_rest(void *file, void (*end)(void *file));
/* It is used again. `end` may be called all the same, if it just begins. */
void pool_file_wake(void *file);

/* Close what rests: all but what may be of use within `away_us`. No file rests
 * longer, for others wait for it. */
void pool_pause(int64_t away_us);
/* The same, and end the pool: what is given later is closed at once. */
void pool_end(void);

/* Has a server said that it takes no more sessions? */
bool pool_is_full(const struct error *err);
/* The bound of the connection's sessions as far as it is known. It is
 * conn->sessions, or fewer when the server took no more. 0: none is known. */
unsigned pool_most(const struct connection *conn);

#endif
