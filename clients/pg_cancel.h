/*
 * Cancelling a session's statement. libpq's PQcancel opens a connection of its
 * own and blocks until the server answers, which never happens on a broken
 * network. So it has a thread to itself, and the caller says how long to wait
 * for it.
 */
#ifndef TIDEMARK_CLIENTS_PG_CANCEL_H
#define TIDEMARK_CLIENTS_PG_CANCEL_H

#include <stdbool.h>
#include <stdint.h>

struct pg_cancel; /* libpq's PGcancel */
struct pg_canceller;

/* Takes `what`, which may be NULL. NULL: nothing is under way. */
struct pg_canceller *pg_cancel_begin(struct pg_cancel *what);
/* Wait until `until_us` (monotonic; 0: not at all) and release `c`, which may
 * be NULL. False: the cancel is still under way, and may hit the session's next
 * statement. */
bool pg_cancel_end(struct pg_canceller *c, int64_t until_us);

#endif
