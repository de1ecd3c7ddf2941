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

/* Take a session: *out is one that rested, with its own slot, or NULL. Then the
 * caller opens one and keeps `slot` in it. Either way one more is open, until
 * pool_give() or pool_leave().
 *
 * If conn->sessions are open already, wait for one. A stop ends the wait with
 * STOPPED, conn->silence_timeout_us with TRANSIENT. */
int pool_take(struct pool_slot *slot, const struct connection *conn,
	      const char *key, void **out, struct error *err);
/* The same without a wait, for a session in place of a lost one. */
void pool_replace(struct pool_slot *slot, const struct connection *conn,
		  const char *key);
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

/* The server takes no more sessions (SQLSTATE 53300). Close all that rest, and
 * sleep for a moment, which the server needs to notice. True: try again; this
 * may be for three seconds, whose end is kept in *until_us (0 to begin with).
 * False: there is no room. From then on for a minute this process waits for a
 * session of `conn` before it opens more than it has. */
bool pool_full(const struct connection *conn, int64_t *until_us);
/* The bound of the connection's sessions as far as it is known. It is
 * conn->sessions, or fewer when the server took no more. 0: none is known. */
unsigned pool_most(const struct connection *conn);
/* Sessions that are open, those at rest among them. */
unsigned pool_open_count(const char *connection);

#endif
