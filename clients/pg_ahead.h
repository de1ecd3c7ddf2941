/*
 * Questions that are asked before their answers are wanted, many in one round
 * trip. pg_query() with the same text and values takes an answer that is ready,
 * once, or its error. It asks the server if there is none. So callers keep
 * their order and their checks, and the messages are fewer.
 *
 * An answer is as old as its message. Ask ahead where an older answer is as
 * good. It is dropped after some seconds, when the session runs anything but a
 * query, and when more is asked ahead.
 */
#ifndef TIDEMARK_CLIENTS_PG_AHEAD_H
#define TIDEMARK_CLIENTS_PG_AHEAD_H

#include "clients/pg.h"

/* Add a question to the next message: all is copied. It forgets the answers of
 * the message before. */
void pg_ahead_add(struct pg *pg, const char *sql, int n,
		  const char *const *params);
/* The same of one without values, whose answer is not to be older than that of
 * the question added last. */
void pg_ahead_add_behind(struct pg *pg, const char *sql);
/* The same. The value of the answer's first row, if another session has got the
 * answer (pg_shared.h). Caller frees; NULL: nobody has. */
char *pg_ahead_add_known(struct pg *pg, const char *sql, int n,
			 const char *const *params, int column);
/* Send them. Statements of one message run in their order, in one transaction,
 * each with a snapshot of its own. BEGIN may be one of them. The first that
 * fails ends the rest, which pg_query() then asks by themselves. Only a lost
 * connection is an error here. */
int pg_ahead_ask(struct pg *pg, struct error *err);
/* The same of statements that belong together, as those of a transaction: their
 * answers do not grow old. */
int pg_ahead_ask_kept(struct pg *pg, struct error *err);
/* Behind either: the first error among them, which stays what it is. */
int pg_ahead_failed(struct pg *pg, struct error *err);
/* Questions whose first value was `asked` are known by `known` from now on: a
 * value that came with an earlier answer of the message. */
void pg_ahead_know(struct pg *pg, const char *asked, const char *known);
/* Is any answer left? */
bool pg_ahead_any(const struct pg *pg);
/* Is there one to this question, without values? */
bool pg_ahead_has(struct pg *pg, const char *sql);
void pg_ahead_drop(struct pg *pg);

#endif
