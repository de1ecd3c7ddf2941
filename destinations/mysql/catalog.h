/*
 * The catalog's facts about a table: columns, the unique index on the key, and
 * objects that notice how rows change. Read-only.
 */
#ifndef TIDEMARK_DESTINATIONS_MYSQL_CATALOG_H
#define TIDEMARK_DESTINATIONS_MYSQL_CATALOG_H

#include "clients/mysql.h"
#include "destinations/mysql/types.h"

struct catalog_column {
	char *name;
	struct mysql_target_type type;
	char *charset, *collation; /* "" for what is no text */
	char *default_text; /* as the catalog writes it, or NULL */
	char *clause; /* behind its type: mysql_target_catalog_clauses(), or
			 NULL */
	bool not_null;
	bool generated;
	bool auto_increment;
	bool renewed; /* ON UPDATE CURRENT_TIMESTAMP */
};

struct catalog_table {
	bool exists;
	bool is_view;
	bool plain; /* a base table */
	char *engine; /* "InnoDB"; "" for a view */
	bool triggers;
	bool triggers_unseen; /* there may be some */
	char *referenced_by; /* a table with a foreign key to it, or NULL */
	bool keys_unseen; /* there may be some in other databases */
	bool references; /* has a foreign key */
	bool other_unique; /* a unique index that is not on the key */
	bool has_key; /* a unique index on exactly the key */
	struct catalog_column *columns; /* in the table's order */
	size_t n_columns;
};

void mysql_target_catalog_release(struct catalog_table *t);
/* Its first questions about a table that is there (mysql_client_foresee()). */
void mysql_target_catalog_foresee(struct mysql_client *db, const char *database,
				  const char *table, struct strlist *out);
/* `schema` may be NULL or without a key. A table that is not there is
 * `exists` = false, no error. */
int mysql_target_catalog_read(struct mysql_client *db, const char *database,
			      const char *table, const struct schema *schema,
			      struct catalog_table *out, struct error *err);
/* Fill the columns' `clause`: all that the server says of a column behind its
 * type. `table`: quoted. */
int mysql_target_catalog_clauses(struct mysql_client *db, const char *table,
				 struct catalog_table *t, struct error *err);
/* The server folds letters of names. NULL: no such column. */
const struct catalog_column *
mysql_target_catalog_find(const struct catalog_table *t, const char *name);
/* Texts that differ are never equal in its collation. */
bool mysql_target_catalog_is_exact(const struct catalog_column *c);

#endif
