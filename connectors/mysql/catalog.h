/*
 * What the catalog says of a table, its indexes and columns, and what of them
 * the user may read.
 */
#ifndef TIDEMARK_CONNECTORS_MYSQL_CATALOG_H
#define TIDEMARK_CONNECTORS_MYSQL_CATALOG_H

#include "connectors/common/source_layout.h"
#include "connectors/mysql/types.h"

/* table.c. SCHEMA: no such table. */
int mysrc_table_find(struct mydb *db, const char *table,
		     struct source_table *out, struct error *err);
/* The catalog shows only what the user may use. ACCESS error if the user may
 * not read the columns (SQL); 0 also if there is no such table or column. */
int mysrc_probe(struct mydb *db, const struct source_table *t,
		const char *columns, struct error *err);
int mysrc_indexes_find(struct mydb *db, struct source_layout *l,
		       struct error *err);
/* columns.c: fills `all`. CONFIG: the user's SQL fails. */
int mysrc_columns_read(struct mydb *db, const struct source_spec *source,
		       struct source_layout *l, struct error *err);
/* Is what the server makes a column of, or its default, as fine as its type? */
bool mysrc_computed_is_plain(const struct source_column *c);
static inline const struct mysrc_type *mysrc_how(const struct source_column *c)
{
	return c->how;
}

#endif
