/*
 * The catalog's facts about a table: columns, the unique index on the key and
 * its operators, and objects that notice how rows change.
 */
#ifndef TIDEMARK_DESTINATIONS_POSTGRES_CATALOG_H
#define TIDEMARK_DESTINATIONS_POSTGRES_CATALOG_H

#include "clients/pg.h"
#include "core/base/strlist.h"
#include "destinations/postgres/types.h"

/* A statement's $1 is the oid of a table. 0 is the one that was found last in
 * the transaction, so that one message may find a table and ask about it. */
#define CATALOG_FOUND_SETTING "tidemark.found"
#define CATALOG_FOUND_LAST    "0"
#define CATALOG_OID                                                            \
	"coalesce(nullif($1::oid, 0), nullif(\n"                               \
	"    current_setting('" CATALOG_FOUND_SETTING "', true), '')::oid)"

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
	bool triggers; /* users' triggers */
	bool filters; /* rules, policies or triggers may take rows away */
	bool referenced; /* by a foreign key of another table */
	bool published;
	/* Faults by which other roles can have code run with our rights; NULL:
	 * none. */
	char *owner_fault; /* "belongs to role x" */
	char *code_fault; /* "has triggers that run ... of role x and is
			   * referenced by table y of role z" */
	bool may_read, may_insert, may_update, may_delete, is_owner;
	bool other_unique; /* a unique index that is not on the key */
	bool has_key; /* a unique index on exactly the key */
	struct strlist operators; /* = of each key column: "pg_catalog.=" */
	struct catalog_column *columns; /* in the table's order */
	size_t n_columns;
	/* Its signature before any of the above was read; NULL: gone. */
	char *signature;
};

/* SQL about the relation c of pg_class: all that decides the fate of a row that
 * is sent there. DDL that changes it has to wait for the ROW EXCLUSIVE lock of
 * a load. ATTACH PARTITION and the body of a trigger's function are exceptions.
 * The number of the transaction that wrote a catalog's row changes with each
 * ALTER, and with CREATE OR REPLACE. The number of the file changes with
 * TRUNCATE, which takes away rows below the mark. */
#define POSTGRES_SIGNATURE                                                     \
	"concat_ws(E'\\n',\n"                                                  \
	"  concat_ws(' ', c.oid, c.relkind, c.relowner, c.relrowsecurity,\n"   \
	"    c.relforcerowsecurity),\n"                                        \
	"  (SELECT string_agg(concat_ws(' ', a.attname, a.atttypid,\n"         \
	"     a.atttypmod, a.attcollation, a.attnotnull, a.attgenerated,\n"    \
	"     a.attidentity), E'\\n' ORDER BY a.attnum)\n"                     \
	"   FROM pg_attribute a WHERE a.attrelid = c.oid\n"                    \
	"     AND a.attnum > 0 AND NOT a.attisdropped),\n"                     \
	"  (SELECT string_agg(concat_ws(' ', 'trigger', g.oid, g.xmin,\n"      \
	"     g.tgenabled, p.xmin), E'\\n' ORDER BY g.oid)\n"                  \
	"   FROM pg_trigger g JOIN pg_proc p ON p.oid = g.tgfoid\n"            \
	"   WHERE g.tgrelid = ANY (CASE c.relkind WHEN 'p'\n"                  \
	"     THEN ARRAY(SELECT relid::oid FROM pg_partition_tree(c.oid))\n"   \
	"     ELSE ARRAY[c.oid] END)),\n"                                      \
	"  (SELECT string_agg(f.relfilenode::text, ' ' ORDER BY f.oid)\n"      \
	"   FROM pg_class f\n"                                                 \
	"   WHERE f.oid = ANY (CASE c.relkind WHEN 'p'\n"                      \
	"     THEN ARRAY(SELECT relid::oid FROM pg_partition_tree(c.oid))\n"   \
	"     ELSE ARRAY[c.oid] END)),\n"                                      \
	"  (SELECT string_agg(concat_ws(' ', 'rule', r.oid, r.xmin,\n"         \
	"     r.ev_enabled), E'\\n' ORDER BY r.oid)\n"                         \
	"   FROM pg_rewrite r WHERE r.ev_class = c.oid),\n"                    \
	"  (SELECT string_agg(concat_ws(' ', 'policy', p.oid, p.xmin),\n"      \
	"     E'\\n' ORDER BY p.oid)\n"                                        \
	"   FROM pg_policy p WHERE p.polrelid = c.oid))"

void postgres_catalog_table_init(struct catalog_table *t);
void postgres_catalog_table_release(struct catalog_table *t);

/* `schema` may be NULL or without a key: no operators then. A table that is
 * not there is `exists` = false, no error. */
int postgres_catalog_read(struct pg *pg, const char *schema_name,
			  const char *table, const struct schema *schema,
			  struct catalog_table *out, struct error *err);
/* Ask ahead for what it reads. */
void postgres_catalog_ahead(struct pg *pg, const char *schema_name,
			    const char *table, const struct schema *schema);
/* Its first question alone. */
void postgres_catalog_relation_ahead(struct pg *pg, const char *schema_name,
				     const char *table);
/* The same of n tables at once, for whoever asks ahead next. */
int postgres_catalog_foresee(struct pg *pg, const char *const *schemas,
			     const char *const *tables, size_t n,
			     struct error *err);
const struct catalog_column *
postgres_catalog_find(const struct catalog_table *t, const char *name);

/* The types that source columns get: those of the same name if the source is
 * PostgreSQL and they exist here, else by kind. `types` and `mappings` have
 * room for schema->n_columns. */
int postgres_catalog_wanted(struct pg *pg, const struct schema *schema,
			    struct sql_type *types, enum mapping *mappings,
			    struct error *err);
/* Ask ahead for what it reads. */
void postgres_catalog_wanted_ahead(struct pg *pg, const struct schema *schema);

#endif
