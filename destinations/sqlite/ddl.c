#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"
#include "core/data/table_name.h"
#include "destinations/sqlite/internal.h"

static void ddl_key(struct strbuf *sb, const struct schema *s)
{
	for (size_t i = 0; i < s->n_key; i++) {
		strbuf_addstr(sb, i ? ", " : "");
		sql_quote_name(sb, s->columns[s->key[i]].name, '"');
	}
}

/* Columns of the target that the source does not have stay in a table that is
 * built anew. */
static void ddl_extras(struct strbuf *sb, const struct target *target,
		       const struct catalog_table *old)
{
	for (size_t i = 0; i < old->n_columns; i++) {
		const struct catalog_column *c = &old->columns[i];
		bool known = c->generated || name_is_own(c->name);

		for (size_t k = 0; k < target->schema->n_columns; k++)
			if (!strcasecmp(c->name,
					target->schema->columns[k].name))
				known = true;
		if (known)
			continue;
		strbuf_addstr(sb, ",\n  ");
		sql_quote_name(sb, c->name, '"');
		strbuf_addf(sb, " %s", c->type);
		if (c->not_null)
			strbuf_addstr(sb, " NOT NULL");
		if (c->default_text)
			strbuf_addf(sb, " DEFAULT (%s)", c->default_text);
	}
}

static void ddl_create(struct strbuf *sb, const char *name,
		       const struct target *target,
		       const struct catalog_table *old,
		       const char *const *types)
{
	const struct schema *s = target->schema;

	strbuf_addf(sb, "CREATE TABLE %s (\n  ", name);
	for (size_t i = 0; i < s->n_columns; i++) {
		strbuf_addstr(sb, i ? ",\n  " : "");
		sql_quote_name(sb, s->columns[i].name, '"');
		strbuf_addf(sb, " %s%s", types[i],
			    schema_is_key(s, i) ? " NOT NULL" : "");
	}
	ddl_extras(sb, target, old);
	if (target->mode == LOAD_APPEND) {
		strbuf_addstr(sb, ",\n  " NAME_RAW_BATCH " TEXT NOT NULL"
				  ",\n  " NAME_RAW_SEQ " INTEGER NOT NULL"
				  ",\n  " NAME_RAW_LOADED " TEXT NOT NULL)");
		return;
	}
	strbuf_addstr(sb, ",\n  PRIMARY KEY (");
	ddl_key(sb, s);
	strbuf_addstr(sb, "))");
}

void ddl_raw_index(struct strbuf *sb, const struct place *place,
		   const struct target *target)
{
	char *name = xstrfmt("%s_key", place->base);

	strbuf_addstr(sb, "CREATE INDEX IF NOT EXISTS main.");
	sql_quote_name(sb, name, '"');
	strbuf_addstr(sb, " ON ");
	sql_quote_name(sb, place->base, '"');
	strbuf_addstr(sb, " (");
	ddl_key(sb, target->schema);
	strbuf_addstr(sb, ", " NAME_RAW_SEQ ")");
	free(name);
}

/* Columns of the source first, then those that the raw table has beside. */
static void ddl_view_columns(struct strbuf *sb, const struct target *target,
			     const struct catalog_table *raw)
{
	const struct schema *s = target->schema;

	for (size_t i = 0; i < s->n_columns; i++) {
		strbuf_addstr(sb, i ? ", " : "");
		sql_quote_name(sb, s->columns[i].name, '"');
	}
	for (size_t i = 0; i < raw->n_columns; i++) {
		const char *name = raw->columns[i].name;
		bool known = name_is_own(name);

		for (size_t k = 0; k < s->n_columns; k++)
			known = known || !strcasecmp(name, s->columns[k].name);
		if (known)
			continue;
		strbuf_addstr(sb, ", ");
		sql_quote_name(sb, name, '"');
	}
}

void ddl_view(struct strbuf *sb, const struct place *place,
	      const struct target *target, const struct catalog_table *raw)
{
	const struct schema *s = target->schema;

	strbuf_addf(sb, "CREATE VIEW %s AS\nSELECT ", place->readable);
	ddl_view_columns(sb, target, raw);
	strbuf_addstr(sb, "\nFROM (SELECT *, row_number() OVER (\n"
			  "  PARTITION BY ");
	ddl_key(sb, s);
	strbuf_addstr(sb, "\n  ORDER BY " NAME_RAW_SEQ
			  " DESC) AS _tidemark_age\n  FROM ");
	sql_quote_name(sb, place->base, '"');
	strbuf_addstr(sb, ")\nWHERE _tidemark_age = 1");
}

static void ddl_push(struct plan *plan, struct strbuf *sb)
{
	strlist_add(&plan->inspection.ddl, sb->data);
	strbuf_reset(sb);
}

static void ddl_add_columns(struct plan *plan, const struct place *place,
			    const struct target *target,
			    const enum drift_step *steps,
			    const char *const *types)
{
	struct strbuf sb = STRBUF_INIT;

	for (size_t i = 0; i < target->schema->n_columns; i++) {
		if (steps[i] != STEP_ADD)
			continue;
		strbuf_addf(&sb, "ALTER TABLE %s ADD COLUMN ", place->rows);
		sql_quote_name(&sb, target->schema->columns[i].name, '"');
		strbuf_addf(&sb, " %s", types[i]);
		ddl_push(plan, &sb);
	}
	strbuf_release(&sb);
}

static void ddl_copy(struct strbuf *sb, const struct place *place,
		     const struct catalog_table *old)
{
	struct strbuf names = STRBUF_INIT;

	for (size_t i = 0; i < old->n_columns; i++) {
		if (old->columns[i].generated)
			continue;
		strbuf_addstr(&names, names.len ? ", " : "");
		sql_quote_name(&names, old->columns[i].name, '"');
	}
	strbuf_addf(sb, "INSERT INTO %s (%s)\nSELECT %s FROM %s",
		    place->building, names.data, names.data, place->rows);
	strbuf_release(&names);
}

/* SQLite cannot alter a column's type: the table is built anew, and each value
 * takes its column's new affinity on the way. */
static int ddl_rebuild(struct plan *plan, const struct sqlite_target *d,
		       const struct place *place, const struct target *target,
		       const char *const *types, struct error *err)
{
	struct strbuf sb = STRBUF_INIT;
	struct strlist dependents = STRLIST_INIT;
	int rc = catalog_dependents(d->db, place->base, &dependents, err);

	strbuf_addf(&sb, "DROP TABLE IF EXISTS %s", place->building);
	ddl_push(plan, &sb);
	ddl_create(&sb, place->building, target, &plan->table, types);
	ddl_push(plan, &sb);
	ddl_copy(&sb, place, &plan->table);
	ddl_push(plan, &sb);
	strbuf_addf(&sb, "DROP TABLE %s", place->rows);
	ddl_push(plan, &sb);
	strbuf_addf(&sb, "ALTER TABLE %s RENAME TO ", place->building);
	sql_quote_name(&sb, place->base, '"');
	ddl_push(plan, &sb);
	for (size_t i = 0; i < dependents.n; i++)
		strlist_add(&plan->inspection.ddl, dependents.items[i]);
	strlist_release(&dependents);
	strbuf_release(&sb);
	return rc;
}

static bool ddl_widens(const enum drift_step *steps, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (steps[i] == STEP_WIDEN)
			return true;
	return false;
}

static int ddl_same_view(struct sqlite *db, const struct place *place,
			 const char *sql, bool *exists, bool *same,
			 struct error *err)
{
	struct strlist found = STRLIST_INIT;
	int rc;

	*exists = *same = false;
	if (!db)
		return 0;
	rc = catalog_list(db,
			  "SELECT sql FROM main.sqlite_schema\n"
			  "WHERE type = 'view' AND name = ?1 COLLATE NOCASE",
			  place->table, &found, err);
	*exists = found.n > 0;
	/* SQLite keeps the text from "CREATE VIEW" on, the schema's name left
	 * out. */
	*same = found.n &&
		!strcmp(strchr(found.items[0], '\n'), strchr(sql, '\n'));
	strlist_release(&found);
	return rc;
}

/* The raw table's index and the view over it, where they are missing or have
 * changed. */
static int ddl_raw(struct plan *plan, const struct sqlite_target *d,
		   const struct place *place, const struct target *target,
		   struct error *err)
{
	char *index = xstrfmt("%s_key", place->base);
	bool has_index = false, has_view = false, same_view = false;
	struct strbuf sb = STRBUF_INIT;
	int rc = 0;

	ddl_view(&sb, place, target, &plan->table);
	if (d->db)
		rc = catalog_has(d->db, index, &has_index, err);
	if (!rc)
		rc = ddl_same_view(d->db, place, sb.data, &has_view, &same_view,
				   err);
	if (!rc && has_view && !same_view) {
		struct strbuf drop = STRBUF_INIT;

		strbuf_addf(&drop, "DROP VIEW %s", place->readable);
		ddl_push(plan, &drop);
		strbuf_release(&drop);
	}
	if (!rc && !same_view)
		ddl_push(plan, &sb);
	strbuf_reset(&sb);
	ddl_raw_index(&sb, place, target);
	if (!rc && !has_index)
		ddl_push(plan, &sb);
	strbuf_release(&sb);
	free(index);
	return rc;
}

int plan_ddl(struct plan *plan, const struct sqlite_target *d,
	     const struct place *place, const struct target *target,
	     const enum drift_step *steps, const char *const *types,
	     struct error *err)
{
	struct strbuf sb = STRBUF_INIT;
	int rc = 0;

	if (plan->inspection.problems.n &&
	    problems_to_error(&plan->inspection.problems, NULL))
		return 0;
	if (!plan->has_watermark)
		strlist_add(&plan->inspection.ddl, mark_table_sql);
	if (target->refresh)
		ddl_create(&sb, place->building, target, &plan->table, types);
	else if (!plan->table.exists)
		ddl_create(&sb, place->rows, target, &plan->table, types);
	else if (ddl_widens(steps, target->schema->n_columns))
		rc = ddl_rebuild(plan, d, place, target, types, err);
	else
		ddl_add_columns(plan, place, target, steps, types);
	if (sb.len)
		ddl_push(plan, &sb);
	strbuf_release(&sb);
	if (rc || target->mode != LOAD_APPEND || target->refresh)
		return rc;
	return ddl_raw(plan, d, place, target, err);
}

static void ddl_copy_push(struct plan *plan, struct strbuf *sb)
{
	strlist_add(&plan->copy, sb->data);
	strbuf_reset(sb);
}

/* As the table is, with the columns that it will get. */
static int ddl_copy_as_is(struct plan *plan, const struct sqlite_target *d,
			  const struct place *place,
			  const struct target *target,
			  const enum drift_step *steps,
			  const char *const *types, struct error *err)
{
	struct strbuf sb = STRBUF_INIT;
	char *body = NULL;
	int rc = catalog_body(d->db, place->base, &body, err);

	if (!rc) {
		strbuf_addf(&sb, "CREATE TABLE %s %s", place->copy, body);
		ddl_copy_push(plan, &sb);
	}
	for (size_t i = 0; !rc && i < target->schema->n_columns; i++) {
		if (steps[i] != STEP_ADD)
			continue;
		strbuf_addf(&sb, "ALTER TABLE %s ADD COLUMN ", place->copy);
		sql_quote_name(&sb, target->schema->columns[i].name, '"');
		strbuf_addf(&sb, " %s", types[i]);
		ddl_copy_push(plan, &sb);
	}
	strbuf_release(&sb);
	free(body);
	return rc;
}

/* Whatever index the table has for its key: no column of it tells fewer values
 * apart than that. */
static void ddl_copy_index(struct plan *plan, const struct place *place,
			   const struct target *target)
{
	bool append = target->mode == LOAD_APPEND;
	const struct schema *s = target->schema;
	struct strbuf sb = STRBUF_INIT;

	strbuf_addf(&sb, "CREATE %sINDEX temp.\"_tidemark_copy_key\" ON ",
		    append ? "" : "UNIQUE ");
	sql_quote_name(&sb, place->base, '"');
	for (size_t i = 0; i < s->n_key; i++) {
		strbuf_addstr(&sb, i ? ", " : " (");
		sql_quote_name(&sb, s->columns[s->key[i]].name, '"');
		strbuf_addstr(&sb, " COLLATE BINARY");
	}
	strbuf_addstr(&sb, append ? ", " NAME_RAW_SEQ ")" : ")");
	ddl_copy_push(plan, &sb);
	strbuf_release(&sb);
}

int plan_copy(struct plan *plan, const struct sqlite_target *d,
	      const struct place *place, const struct target *target,
	      const enum drift_step *steps, const char *const *types,
	      struct error *err)
{
	struct strbuf sb = STRBUF_INIT;
	int rc = 0;

	if (problems_to_error(&plan->inspection.problems, NULL))
		return 0;
	if (plan->table.exists && !target->refresh &&
	    !ddl_widens(steps, target->schema->n_columns)) {
		rc = ddl_copy_as_is(plan, d, place, target, steps, types, err);
	} else {
		ddl_create(&sb, place->copy, target, &plan->table, types);
		ddl_copy_push(plan, &sb);
	}
	ddl_copy_index(plan, place, target);
	strbuf_release(&sb);
	return rc;
}
