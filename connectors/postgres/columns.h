/* The columns of a table and the user's expressions, with their types looked
 * up. */
#ifndef TIDEMARK_CONNECTORS_POSTGRES_COLUMNS_H
#define TIDEMARK_CONNECTORS_POSTGRES_COLUMNS_H

#include "clients/pg.h"
#include "connectors/postgres/layout.h"

/* Fill `all` and `own` of a layout whose table is filled: all columns of the
 * table, and all expressions. Checks the user's SQL with the server: CONFIG
 * naming the key whose SQL fails. */
int postgres_source_columns_read(struct pg *pg, const struct relation *relation,
				 const struct source_spec *source,
				 struct source_layout *out, struct error *err);

/* Ask ahead for the columns of the table. Not where there are expressions:
 * their types come first. */
void postgres_source_columns_ahead(struct pg *pg, uint32_t oid,
				   const struct source_spec *source);

#endif
