/* MySQL's or MariaDB's plan for a statement, which is not run. */
#ifndef TIDEMARK_CLIENTS_MYSQL_EXPLAIN_H
#define TIDEMARK_CLIENTS_MYSQL_EXPLAIN_H

#include "clients/mysql.h"

/* EXPLAIN's answer, a table a line. `*index` is the index by which `alias`
 * (NULL: the first table) is read, or NULL. Caller frees. */
int mysql_client_explain(struct mysql_client *db, const char *sql, int n,
			 const char *const *params, const char *alias,
			 char **plan, char **index, struct error *err);

#endif
