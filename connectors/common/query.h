/*
 * A query of the user's in place of a table (source.query). It stands in
 * brackets where the name of a table would, so that the server takes one SELECT
 * and nothing else. Its columns are expressions over it. Nobody knows which
 * rows of which tables they come from.
 */
#ifndef TIDEMARK_CONNECTORS_COMMON_QUERY_H
#define TIDEMARK_CONNECTORS_COMMON_QUERY_H

#include "connectors/common/source_layout.h"

/* The key of the config, for messages. */
#define QUERY_KEY "source.query"

/* An engine's own part. `ctx` is the engine's session. */
struct query_engine {
	char quote;
	/* Add the names of the query's columns, in order; `t` stands for it. */
	int (*names)(void *ctx, const struct source_table *t,
		     struct strlist *names, struct error *err);
	/* Read the types of the expressions of `spec` into out->all, which are
	 * the query's columns and the user's. */
	int (*read)(void *ctx, const struct source_spec *spec,
		    struct source_layout *out, struct error *err);
};

/* A SELECT that gives its columns and no row. Caller frees. */
char *query_select(const struct source_table *t);
/* Look at the query in place of a table. An expression of the user's takes the
 * place of a column of its name, also of an excluded one. CONFIG: a column has
 * no name of its own, or two have one. SCHEMA: there is no such column. */
int query_look(const struct query_engine *e, void *ctx,
	       const struct source_spec *source, struct source_layout *out,
	       struct error *err);

#endif
