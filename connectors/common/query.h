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

/* The source, with the columns of its query among the expressions. */
struct query_columns {
	struct source_spec spec;
	struct source_expression *expressions; /* the query's first */
	size_t n; /* the query's, with owned texts; the user's follow */
};

/* `t` stands for the query. */
void query_table(struct source_table *t, const char *query, char quote);
/* A SELECT that gives its columns and no row. Caller frees. */
char *query_select(const struct source_table *t);
/* `names` are its columns, in order. CONFIG: a column has no name of its own,
 * or two have one. An expression of the user's takes the place of a column of
 * its name. */
int query_columns_take(struct query_columns *out,
		       const struct source_spec *source,
		       const struct source_table *t,
		       const struct strlist *names, char quote,
		       struct error *err);
void query_columns_release(struct query_columns *q);
/* The columns were read: a row may change while each of them stays the same. */
void query_columns_doubt(struct source_layout *l);

#endif
