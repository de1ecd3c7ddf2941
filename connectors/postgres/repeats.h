/*
 * A key that more than one row has. Without a unique index over the key, the
 * rows themselves are searched before any of them moves. A destination holds
 * one row a key and could only drop the others.
 */
#ifndef TIDEMARK_CONNECTORS_POSTGRES_REPEATS_H
#define TIDEMARK_CONNECTORS_POSTGRES_REPEATS_H

#include "connectors/postgres/layout.h"
#include "connectors/postgres/query.h"

/* One such key as text (caller frees), or NULL. `among`: a condition, whose
 * parameters are taken over: only keys of the rows that it chooses count; NULL:
 * all. `marked`: rows without a mark are left out. */
int postgres_source_repeats_find(struct pg *pg, const struct source_layout *l,
				 struct query *among, bool marked, char **out,
				 struct error *err);
/* SCHEMA error about one that is found, unless an index vouches for the key or
 * there is none. */
int postgres_source_repeats_check(struct pg *pg, const struct source_layout *l,
				  const char *table, struct query *among,
				  bool marked, struct error *err);

#endif
