/*
 * A lock that is waited for only for some time, and its holder. A process that
 * is paused in the middle of a statement keeps its session's locks, and no
 * timeout of the server's ends that.
 */
#ifndef TIDEMARK_CLIENTS_PG_LOCK_H
#define TIDEMARK_CLIENTS_PG_LOCK_H

#include <stdbool.h>

#include "clients/pg.h"

/* As lock_timeout takes it: longer than a batch, shorter than patience. */
#define PG_LOCK_WAIT "10s"

/* Did the statement fail because it did not get a lock in time? */
bool pg_lock_missed(const struct error *err);
/* "PostgreSQL backend 12 (tidemark/load from 10.0.0.5, active)" of the session
 * whose pid the query gives first; NULL when it gives none, or cannot be asked.
 * Caller frees. */
char *pg_lock_holder(struct pg *pg, const char *pid_sql, int n,
		     const char *const *params);
/* After pg_lock_missed and outside of a transaction. `err` becomes STATE and
 * says that the session holds `what`. It stays as it is when nobody has the
 * lock any more. */
int pg_lock_explain(struct pg *pg, const char *what, const char *pid_sql, int n,
		    const char *const *params, struct error *err);

#endif
