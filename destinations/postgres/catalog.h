/*
 * What the server's catalog says about a table: columns, the unique index on
 * the key and its operators, and who would notice how rows change.
 */
#ifndef TIDEMARK_DESTINATIONS_POSTGRES_CATALOG_H
#define TIDEMARK_DESTINATIONS_POSTGRES_CATALOG_H

#include "clients/pg.h"
#include "core/base/strlist.h"
#include "destinations/postgres/types.h"

struct catalog_column {
	char *name;
	struct sql_type type;
	bool not_null;
	bool has_default; /* or identity */
	bool generated;
	bool identity_always;
	bool folds; /* its collation takes different texts for equal */
};

struct catalog_table {
	bool exists;
	uint32_t oid;
	char kind; /* pg_class.relkind: r p v m f */
	bool row_security;
	bool rules;
	bool triggers; /* of users */
	bool filters; /* some of its rules or triggers may leave rows out */
	bool referenced; /* by a foreign key of another table */
	bool published;
	bool may_read, may_insert, may_update, may_delete, is_owner;
	bool other_unique; /* a unique index that is not on the key */
	bool has_key; /* a unique index on exactly the key */
	struct strlist operators; /* = of each key column: "pg_catalog.=" */
	struct catalog_column *columns; /* in the table's order */
	size_t n_columns;
};

void postgres_catalog_table_init(struct catalog_table *t);
void postgres_catalog_table_release(struct catalog_table *t);

/* `schema` may be NULL or without a key: no operators then. A table that is
 * not there is `exists` = false, no error. */
int postgres_catalog_read(struct pg *pg, const char *schema_name,
			  const char *table, const struct schema *schema,
			  struct catalog_table *out, struct error *err);
const struct catalog_column *
postgres_catalog_find(const struct catalog_table *t, const char *name);

/* The types that source columns get: those of the same name if the source is
 * PostgreSQL and they exist here, else by kind. `types` and `mappings` have
 * room for schema->n_columns. */
int postgres_catalog_wanted(struct pg *pg, const struct schema *schema,
			    struct sql_type *types, enum mapping *mappings,
			    struct error *err);

#endif
