/* How PostgreSQL would go about a statement, which is not run. */
#ifndef TIDEMARK_CLIENTS_PG_EXPLAIN_H
#define TIDEMARK_CLIENTS_PG_EXPLAIN_H

#include "clients/pg.h"

/* The lines of EXPLAIN, and the first index named in them, or NULL. Caller
 * frees. */
int pg_explain(struct pg *pg, const char *sql, int n, const char *const *params,
	       char **plan, char **index, struct error *err);
/* Explain a statement for pg_stream_begin. `*shown` is the statement with its
 * values filled in, for people. */
int pg_stream_explain(struct pg *pg, const char *sql, int n,
		      const char *const *values, char **shown, char **plan,
		      char **index, struct error *err);

/* Does the planner take `table`, quoted, for so few rows that its index may not
 * look like the way to `rows` of them? As its statistics, of whenever they are,
 * and its size say: it seems so for long after somebody has emptied, vacuumed
 * and filled it again. */
int pg_explain_seems_small(struct pg *pg, const char *table, size_t rows,
			   bool *out, struct error *err);

#endif
