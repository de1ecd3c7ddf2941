/* PostgreSQL's plan for a statement, which is not run. */
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

/* Does `table`, quoted, look so small to the planner that it may not use an
 * index to find `rows` of its rows? The planner goes by the table's size and by
 * statistics, which may be old. Somebody may have emptied, vacuumed and filled
 * the table again. */
int pg_explain_seems_small(struct pg *pg, const char *table, size_t rows,
			   bool *out, struct error *err);

#endif
