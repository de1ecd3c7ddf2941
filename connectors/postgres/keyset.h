/*
 * The parts of a keyset pass: where each step begins and ends, and what is
 * refused before the first page. Called by keyset.c.
 */
#ifndef TIDEMARK_CONNECTORS_POSTGRES_KEYSET_H
#define TIDEMARK_CONNECTORS_POSTGRES_KEYSET_H

#include "connectors/postgres/postgres.h"
#include "connectors/postgres/query.h"

bool keyset_has_lag(const struct postgres *c);
/* Append which rows the whole pass may read, by their mark. */
void keyset_write_reach(const struct postgres *c, struct query *q);
/* Append which rows the whole pass is going to read: nothing if none is new,
 * unless it looks back. */
void keyset_write_past(const struct postgres *c, struct query *q);
/* Append where the step begins, before it has read a row. */
void keyset_write_begin(const struct postgres *c, struct query *q);
/* Append where the step ends. */
void keyset_write_end(const struct postgres *c, struct query *q);

/* NULL marks (by policy) and NULL in the key: DATA with a sample; a key that
 * repeats: SCHEMA. */
int keyset_check(struct postgres *c, struct error *err);

/* Strategy timestamp: the highest mark delivered, as pending.delivered of the
 * running mark for as long as it is beyond the mark's own value. */
void keyset_deliver_begin(struct postgres *c); /* what earlier runs left */
void keyset_deliver_tail(struct postgres *c, const struct batch *b);
void keyset_deliver_settle(struct postgres *c); /* the value has moved */

#endif
