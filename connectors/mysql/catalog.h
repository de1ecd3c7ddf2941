/*
 * The catalog's facts about a table, its indexes and columns, and which of them
 * the user may read.
 */
#ifndef TIDEMARK_CONNECTORS_MYSQL_CATALOG_H
#define TIDEMARK_CONNECTORS_MYSQL_CATALOG_H

#include "connectors/common/source_layout.h"
#include "connectors/mysql/types.h"

/* table.c. SCHEMA: no such table. */
int mysql_source_table_find(struct mysql_client *db, const char *table,
			    struct source_table *out, struct error *err);
/* Its question, for mysql_client_ask_ahead(), and those that follow. `named`:
 * the table by its names alone, or NULL. */
enum mysql_source_questions {
	TABLE_ALONE = 0,
	TABLE_LAYOUT = 1, /* indexes and columns */
	TABLE_WHOLE = 2, /* whether all columns may be read */
};
int mysql_source_table_foresee(struct mysql_client *db, const char *table,
			       unsigned what, struct source_table *named,
			       struct strlist *out, struct error *err);
void mysql_source_columns_foresee(struct mysql_client *db,
				  const char *const params[4],
				  struct strlist *out);
/* The catalog shows only objects that the user may use. ACCESS error if the
 * user may not read the columns (SQL). 0 also if there is no such table or
 * column. */
int mysql_source_probe(struct mysql_client *db, const struct source_table *t,
		       const char *columns, struct error *err);
int mysql_source_indexes_find(struct mysql_client *db, struct source_layout *l,
			      struct error *err);
/* columns.c: fills `all`. CONFIG: the user's SQL fails. */
int mysql_source_columns_read(struct mysql_client *db,
			      const struct source_spec *source,
			      struct source_layout *l, struct error *err);
/* Is the expression of a column, or its default, as fine as its type? */
bool mysql_source_computed_is_plain(const struct source_column *c);
static inline const struct mysql_source_type *
mysql_source_how(const struct source_column *c)
{
	return c->how;
}

#endif
