#include "destinations/sqlite/catalog.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"

static const char kind_sql[] = "SELECT type, strict FROM pragma_table_list\n"
			       "WHERE schema = ?2 AND name = ?1 COLLATE NOCASE";

/* hidden: 2 and 3 are generated columns. */
static const char columns_sql[] =
	"SELECT name, type, dflt_value, \"notnull\", hidden, pk\n"
	"FROM pragma_table_xinfo(?1, ?2) WHERE hidden <> 1 ORDER BY cid";

static const char unique_sql[] = "SELECT name FROM pragma_index_list(?1, ?2)\n"
				 "WHERE \"unique\" AND NOT partial";

/* The index's own collation counts: under NOCASE two keys would be one. */
static const char index_sql[] =
	"SELECT name FROM pragma_index_xinfo(?1, ?2)\n"
	"WHERE key AND coll = 'BINARY' AND name IS NOT NULL";

static const char index_width_sql[] =
	"SELECT cid FROM pragma_index_xinfo(?1, ?2) WHERE key";

static const char has_sql[] = "SELECT name FROM main.sqlite_schema\n"
			      "WHERE name = ?1 COLLATE NOCASE";

static const char dependents_sql[] =
	"SELECT sql FROM main.sqlite_schema\n"
	"WHERE tbl_name = ?1 COLLATE NOCASE AND sql IS NOT NULL\n"
	"  AND type IN ('index', 'trigger') ORDER BY rowid";

static const char body_sql[] =
	"SELECT sql FROM main.sqlite_schema\n"
	"WHERE type = 'table' AND name = ?1 COLLATE NOCASE";

static const char triggers_sql[] =
	"SELECT name FROM main.sqlite_schema\n"
	"WHERE type = 'trigger' AND tbl_name = ?1 COLLATE NOCASE";

void sqlite_target_catalog_init(struct catalog_table *t)
{
	memset(t, 0, sizeof(*t));
}

void sqlite_target_catalog_release(struct catalog_table *t)
{
	for (size_t i = 0; i < t->n_columns; i++) {
		free(t->columns[i].name);
		free(t->columns[i].type);
		free(t->columns[i].default_text);
	}
	free(t->columns);
	sqlite_target_catalog_init(t);
}

/* The same with the schema as a second parameter, where there is one. */
static int catalog_list_of(struct sqlite *db, const char *sql,
			   const char *param, const char *schema,
			   struct strlist *out, struct error *err)
{
	struct sqlite_statement *st = NULL;
	const char *text;
	int rc = sqlite_prepare(db, &st, sql, err);

	if (!rc)
		sqlite_bind_str(st, 1, param, -1);
	if (!rc && schema)
		sqlite_bind_str(st, 2, schema, -1);
	while (!rc && (rc = sqlite_step(st, err)) == 1) {
		text = sqlite_str(st, 0);
		strlist_add(out, text ? text : "");
		rc = 0;
	}
	sqlite_finalize(st);
	return rc;
}

int sqlite_target_catalog_list(struct sqlite *db, const char *sql,
			       const char *param, struct strlist *out,
			       struct error *err)
{
	return catalog_list_of(db, sql, param, NULL, out, err);
}

int sqlite_target_catalog_has(struct sqlite *db, const char *name, bool *out,
			      struct error *err)
{
	struct strlist found = STRLIST_INIT;
	int rc = sqlite_target_catalog_list(db, has_sql, name, &found, err);

	*out = found.n > 0;
	strlist_release(&found);
	return rc;
}

int sqlite_target_catalog_dependents(struct sqlite *db, const char *table,
				     struct strlist *out, struct error *err)
{
	return sqlite_target_catalog_list(db, dependents_sql, table, out, err);
}

int sqlite_target_catalog_triggers(struct sqlite *db, const char *table,
				   struct strlist *out, struct error *err)
{
	return sqlite_target_catalog_list(db, triggers_sql, table, out, err);
}

static int catalog_read_kind(struct sqlite *db, const char *in,
			     const char *table, struct catalog_table *out,
			     struct error *err)
{
	struct sqlite_statement *st = NULL;
	int rc = sqlite_prepare(db, &st, kind_sql, err);

	if (!rc) {
		sqlite_bind_str(st, 1, table, -1);
		sqlite_bind_str(st, 2, in, -1);
		rc = sqlite_step(st, err);
	}
	if (rc == 1) {
		out->exists = true;
		out->plain = strcmp(sqlite_str(st, 0), "table") == 0;
		out->is_view = strcmp(sqlite_str(st, 0), "view") == 0;
		out->strict = sqlite_i64(st, 1) != 0;
		rc = 0;
	}
	sqlite_finalize(st);
	return rc;
}

static void catalog_add(struct catalog_table *t, struct sqlite_statement *st)
{
	const char *type = sqlite_str(st, 1);
	struct catalog_column *c;

	t->columns = xgrow(t->columns, &t->capacity, t->n_columns + 1,
			   sizeof(*t->columns));
	c = &t->columns[t->n_columns++];
	c->name = xstrdup(sqlite_str(st, 0));
	c->type = xstrdup(type ? type : "");
	c->default_text = xstrdup(sqlite_str(st, 2));
	c->not_null = sqlite_i64(st, 3) != 0;
	c->generated = sqlite_i64(st, 4) >= 2;
	c->primary = (int)sqlite_i64(st, 5);
}

static int catalog_read_columns(struct sqlite *db, const char *in,
				const char *table, struct catalog_table *out,
				struct error *err)
{
	struct sqlite_statement *st = NULL;
	int rc = sqlite_prepare(db, &st, columns_sql, err);

	if (!rc) {
		sqlite_bind_str(st, 1, table, -1);
		sqlite_bind_str(st, 2, in, -1);
	}
	while (!rc && (rc = sqlite_step(st, err)) == 1) {
		catalog_add(out, st);
		rc = 0;
	}
	sqlite_finalize(st);
	return rc;
}

const struct catalog_column *
sqlite_target_catalog_find(const struct catalog_table *t, const char *name)
{
	for (size_t i = 0; i < t->n_columns; i++)
		if (strcasecmp(t->columns[i].name, name) == 0)
			return &t->columns[i];
	return NULL;
}

static bool catalog_covers(const struct strlist *columns,
			   const struct schema *schema)
{
	size_t found = 0;

	for (size_t i = 0; i < schema->n_key; i++)
		for (size_t k = 0; k < columns->n; k++)
			found += !strcasecmp(
				columns->items[k],
				schema->columns[schema->key[i]].name);
	return schema->n_key && found == schema->n_key &&
	       columns->n == schema->n_key;
}

static int catalog_read_index(struct sqlite *db, const char *in,
			      const char *index, const struct schema *schema,
			      struct catalog_table *out, struct error *err)
{
	struct strlist columns = STRLIST_INIT, all = STRLIST_INIT;
	int rc = catalog_list_of(db, index_sql, index, in, &columns, err);

	if (!rc)
		rc = catalog_list_of(db, index_width_sql, index, in, &all, err);
	if (!rc && all.n == columns.n && catalog_covers(&columns, schema))
		out->has_key = true;
	else if (!rc)
		out->other_unique = true;
	strlist_release(&columns);
	strlist_release(&all);
	return rc;
}

/* INTEGER PRIMARY KEY is the row's own number and has no index. */
static const struct catalog_column *catalog_rowid(const struct catalog_table *t)
{
	const struct catalog_column *found = NULL;
	int primary = 0;

	for (size_t i = 0; i < t->n_columns; i++) {
		primary += t->columns[i].primary > 0;
		if (t->columns[i].primary &&
		    strcasecmp(t->columns[i].type, "INTEGER") == 0)
			found = &t->columns[i];
	}
	return primary == 1 ? found : NULL;
}

static void catalog_note_rowid(struct catalog_table *t,
			       const struct schema *schema)
{
	const struct catalog_column *c = catalog_rowid(t);

	if (!c)
		return;
	if (schema->n_key == 1 &&
	    !strcasecmp(c->name, schema->columns[schema->key[0]].name))
		t->has_key = true;
	else
		t->other_unique = true;
}

static int catalog_read_indexes(struct sqlite *db, const char *in,
				const char *table, const struct schema *schema,
				struct catalog_table *out, struct error *err)
{
	struct strlist names = STRLIST_INIT, triggers = STRLIST_INIT;
	int rc = catalog_list_of(db, unique_sql, table, in, &names, err);

	for (size_t i = 0; !rc && i < names.n; i++)
		rc = catalog_read_index(db, in, names.items[i], schema, out,
					err);
	catalog_note_rowid(out, schema);
	if (!rc)
		rc = sqlite_target_catalog_triggers(db, table, &triggers, err);
	out->triggers = triggers.n > 0;
	strlist_release(&names);
	strlist_release(&triggers);
	return rc;
}

int sqlite_target_catalog_read(struct sqlite *db, const char *in,
			       const char *table, const struct schema *schema,
			       struct catalog_table *out, struct error *err)
{
	int rc;

	sqlite_target_catalog_release(out);
	if (!db)
		return 0;
	rc = catalog_read_kind(db, in, table, out, err);
	if (!rc && out->exists)
		rc = catalog_read_columns(db, in, table, out, err);
	if (!rc && out->plain)
		rc = catalog_read_indexes(db, in, table, schema, out, err);
	return rc;
}

/* The name is as it was written: x, "x", `x` or [x]; SQLite has put CREATE
 * TABLE before it, and nothing else. */
static const char *catalog_behind_name(const char *sql)
{
	const char *at = sql + strlen("CREATE TABLE ");
	char quote = *at == '[' ? ']' : *at;

	if (!strchr("\"`'[", *at))
		return at + strcspn(at, "( \t\n\r");
	for (at++; *at && (*at != quote || at[1] == quote); at++)
		at += *at == quote;
	return *at ? at + 1 : at;
}

int sqlite_target_catalog_body(struct sqlite *db, const char *table, char **out,
			       struct error *err)
{
	struct strlist found = STRLIST_INIT;
	int rc = sqlite_target_catalog_list(db, body_sql, table, &found, err);

	*out = NULL;
	if (!rc && found.n)
		*out = xstrdup(catalog_behind_name(found.items[0]));
	else if (!rc)
		rc = error_set(err, ERROR_SCHEMA, "table %s has disappeared",
			       table);
	strlist_release(&found);
	return rc;
}
