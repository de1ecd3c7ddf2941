/* The columns of a table and the user's expressions, with their types looked
 * up; the raw material of a layout. */
#ifndef TIDEMARK_CONNECTORS_POSTGRES_COLUMNS_H
#define TIDEMARK_CONNECTORS_POSTGRES_COLUMNS_H

#include "connectors/postgres/layout.h"

struct column_set {
	struct layout_column *items; /* table order, expressions behind */
	size_t n;
	size_t n_table; /* the table's */
};

/* All columns of the table, and all expressions. Checks the user's SQL with
 * the server: CONFIG naming the key whose SQL fails. */
int postgres_source_columns_read(struct pg *pg, const struct relation *relation,
				 const struct source_spec *source,
				 struct column_set *out, struct error *err);
void postgres_source_columns_release(struct column_set *set);
void postgres_source_column_release(struct layout_column *column);
/* SCHEMA error: no such column, with the nearest one. */
int postgres_source_columns_missing(const struct column_set *set,
				    const char *what, const char *name,
				    const char *table, struct error *err);
/* Among the table's own columns: index or -1. */
long postgres_source_columns_find(const struct column_set *set,
				  const char *name);

#endif
