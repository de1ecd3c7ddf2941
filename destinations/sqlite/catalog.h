/* The form of a table of an SQLite file. Read-only. */
#ifndef TIDEMARK_DESTINATIONS_SQLITE_CATALOG_H
#define TIDEMARK_DESTINATIONS_SQLITE_CATALOG_H

#include <stdbool.h>
#include <stddef.h>

#include "clients/sqlite.h"
#include "core/base/strlist.h"
#include "core/data/schema.h"

struct catalog_column {
	char *name;
	char *type; /* as declared; may be "" */
	char *default_text; /* SQL, or NULL */
	bool not_null;
	bool generated;
	int primary; /* place in the primary key from 1, 0: none */
};

struct catalog_table {
	bool exists;
	bool plain; /* a table, not a view, virtual table or shadow */
	bool is_view;
	bool strict; /* CREATE TABLE ... STRICT */
	struct catalog_column *columns;
	size_t n_columns, capacity;
	bool has_key; /* a unique index is on exactly the key's columns, and
		       * tells apart what differs */
	bool other_unique; /* there is another one, or a row number */
	bool triggers;
};

void sqlite_target_catalog_init(struct catalog_table *t);
void sqlite_target_catalog_release(struct catalog_table *t);
/* `db` NULL: nothing exists. `in`: "main" or "temp". `schema` gives the key. */
int sqlite_target_catalog_read(struct sqlite *db, const char *in,
			       const char *table, const struct schema *schema,
			       struct catalog_table *out, struct error *err);
/* SQLite folds ASCII letters of names. NULL: no such column. */
const struct catalog_column *
sqlite_target_catalog_find(const struct catalog_table *t, const char *name);
/* Is there a table, view or index of that name? */
int sqlite_target_catalog_has(struct sqlite *db, const char *name, bool *out,
			      struct error *err);
/* The names of a table's triggers. */
int sqlite_target_catalog_triggers(struct sqlite *db, const char *table,
				   struct strlist *out, struct error *err);
/* The statements of what falls with a table: its indexes and triggers. */
int sqlite_target_catalog_dependents(struct sqlite *db, const char *table,
				     struct strlist *out, struct error *err);
/* The text of CREATE TABLE behind the name: "(id integer ...) STRICT"; caller
 * frees. */
int sqlite_target_catalog_body(struct sqlite *db, const char *table, char **out,
			       struct error *err);
/* The first column of each row of a query with one text parameter. */
int sqlite_target_catalog_list(struct sqlite *db, const char *sql,
			       const char *param, struct strlist *out,
			       struct error *err);

#endif
