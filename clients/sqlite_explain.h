/* How SQLite would go about a statement, which is not run. */
#ifndef TIDEMARK_CLIENTS_SQLITE_EXPLAIN_H
#define TIDEMARK_CLIENTS_SQLITE_EXPLAIN_H

#include "clients/sqlite.h"

/* The lines of EXPLAIN QUERY PLAN, and the first index that is named in them
 * ("INTEGER PRIMARY KEY" is the row's own number), or NULL. Caller frees. */
int sqlite_explain(struct sqlite *db, const char *sql, char **plan,
		   char **index, struct error *err);

#endif
