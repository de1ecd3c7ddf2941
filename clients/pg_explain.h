/* How PostgreSQL would go about a statement, which is not run. */
#ifndef TIDEMARK_CLIENTS_PG_EXPLAIN_H
#define TIDEMARK_CLIENTS_PG_EXPLAIN_H

#include "clients/pg.h"

/* The lines of EXPLAIN, and the first index named in them, or NULL. Caller
 * frees. */
int pg_explain(struct pg *pg, const char *sql, int n, const char *const *params,
	       char **plan, char **index, struct error *err);
/* Of a statement for pg_stream_begin; `*shown` is it with the values in their
 * places, for people. */
int pg_stream_explain(struct pg *pg, const char *sql, int n,
		      const char *const *values, char **shown, char **plan,
		      char **index, struct error *err);

/* How many rows the planner takes `table`, quoted, to have: as its statistics,
 * of whenever they are, and its size say. */
int pg_explain_rows(struct pg *pg, const char *table, int64_t *out,
		    struct error *err);

#endif
