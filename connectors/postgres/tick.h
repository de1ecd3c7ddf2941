/*
 * How coarse are the marks of a column? Whoever writes now may still write a
 * mark at the beginning of the open tick, so the mark must stay before it. A
 * type says how many digits of a second it has; what an expression does to
 * them, only its own text can say.
 */
#ifndef TIDEMARK_CONNECTORS_POSTGRES_TICK_H
#define TIDEMARK_CONNECTORS_POSTGRES_TICK_H

#include "connectors/postgres/layout.h"

/* Are the marks as fine as the column's type says, and no later than when they
 * are written? Of an expression: if it only chooses among columns and changes
 * their type. Of a column that the server computes, or has a default for: the
 * same of that. */
bool tick_is_known(const struct layout_column *mark);

#endif
