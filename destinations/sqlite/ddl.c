#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"
#include "core/data/table_name.h"
#include "destinations/sqlite/internal.h"

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
	if (s->n_key) {
		strbuf_addstr(sb, ",\n  PRIMARY KEY (");
		plan_key_list(sb, s, '"');
		strbuf_addch(sb, ')');
	}
	strbuf_addch(sb, ')');
}

void sqlite_target_ddl_raw_index(struct strbuf *sb, const struct place *place,
				 const struct target *target)
{
	char *name = xstrfmt("%s_key", place->base);

	strbuf_addstr(sb, "CREATE INDEX IF NOT EXISTS main.");
	sql_quote_name(sb, name, '"');
	strbuf_addstr(sb, " ON ");
	sql_quote_name(sb, place->base, '"');
	strbuf_addstr(sb, " (");
	plan_key_list(sb, target->schema, '"');
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

void sqlite_target_ddl_view(struct strbuf *sb, const struct place *place,
			    const struct target *target,
			    const struct catalog_table *raw)
{
	const struct schema *s = target->schema;

	strbuf_addf(sb, "CREATE VIEW %s AS\nSELECT ", place->readable);
	ddl_view_columns(sb, target, raw);
	if (!s->n_key) {
		strbuf_addstr(sb, "\nFROM ");
		sql_quote_name(sb, place->base, '"');
		return;
	}
	strbuf_addstr(sb, "\nFROM (SELECT *, row_number() OVER (\n"
			  "  PARTITION BY ");
	plan_key_list(sb, s, '"');
	strbuf_addstr(sb, "\n  ORDER BY " NAME_RAW_SEQ
			  " DESC) AS _tidemark_age\n  FROM ");
	sql_quote_name(sb, place->base, '"');
	strbuf_addstr(sb, ")\nWHERE _tidemark_age = 1");
}

static void ddl_add_columns(const struct plan *plan, struct strlist *out,
			    const char *table, const char *const *types)
{
	struct strbuf sb = STRBUF_INIT;

	for (size_t i = 0; i < plan->drift.n; i++) {
		if (plan->drift.steps[i] != STEP_ADD)
			continue;
		strbuf_addf(&sb, "ALTER TABLE %s ADD COLUMN ", table);
		sql_quote_name(&sb, plan->target->schema->columns[i].name, '"');
		strbuf_addf(&sb, " %s", types[i]);
		plan_push(out, &sb);
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
static int ddl_rebuild(struct sqlite_plan *plan, const char *const *types,
		       struct error *err)
{
	const struct sqlite_target *d =
		(struct sqlite_target *)plan->base.destination;
	const struct place *place = plan->base.place;
	struct strlist *out = &plan->base.inspection.ddl;
	struct strbuf sb = STRBUF_INIT;
	struct strlist dependents = STRLIST_INIT;
	int rc = sqlite_target_catalog_dependents(d->db, place->base,
						  &dependents, err);

	strbuf_addf(&sb, "DROP TABLE IF EXISTS %s", place->building);
	plan_push(out, &sb);
	ddl_create(&sb, place->building, plan->base.target, &plan->table,
		   types);
	plan_push(out, &sb);
	ddl_copy(&sb, place, &plan->table);
	plan_push(out, &sb);
	strbuf_addf(&sb, "DROP TABLE %s", place->rows);
	plan_push(out, &sb);
	strbuf_addf(&sb, "ALTER TABLE %s RENAME TO ", place->building);
	sql_quote_name(&sb, place->base, '"');
	plan_push(out, &sb);
	for (size_t i = 0; i < dependents.n; i++)
		strlist_add(out, dependents.items[i]);
	strlist_release(&dependents);
	strbuf_release(&sb);
	return rc;
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
	rc = sqlite_target_catalog_list(
		db,
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
static int ddl_raw(struct sqlite_plan *plan, struct error *err)
{
	struct sqlite *db =
		((struct sqlite_target *)plan->base.destination)->db;
	const struct target *target = plan->base.target;
	const struct place *place = plan->base.place;
	struct strlist *out = &plan->base.inspection.ddl;
	char *index = xstrfmt("%s_key", place->base);
	bool has_index = false, has_view = false, same_view = false;
	struct strbuf sb = STRBUF_INIT;
	int rc = 0;

	sqlite_target_ddl_view(&sb, place, target, &plan->table);
	if (db)
		rc = sqlite_target_catalog_has(db, index, &has_index, err);
	if (!rc)
		rc = ddl_same_view(db, place, sb.data, &has_view, &same_view,
				   err);
	if (!rc && has_view && !same_view) {
		struct strbuf drop = STRBUF_INIT;

		strbuf_addf(&drop, "DROP VIEW %s", place->readable);
		plan_push(out, &drop);
		strbuf_release(&drop);
	}
	if (!rc && !same_view)
		plan_push(out, &sb);
	strbuf_reset(&sb);
	sqlite_target_ddl_raw_index(&sb, place, target);
	if (!rc && !has_index && target->schema->n_key)
		plan_push(out, &sb);
	strbuf_release(&sb);
	free(index);
	return rc;
}

static int ddl_table(struct sqlite_plan *plan, const char *const *types,
		     struct error *err)
{
	const struct target *target = plan->base.target;
	const struct place *place = plan->base.place;
	struct strlist *out = &plan->base.inspection.ddl;
	struct strbuf sb = STRBUF_INIT;
	int rc = 0;

	if (!plan->base.has_watermark)
		strlist_add(out, sqlite_target_mark_table_sql);
	if (target->refresh)
		ddl_create(&sb, place->building, target, &plan->table, types);
	else if (!plan->table.exists)
		ddl_create(&sb, place->rows, target, &plan->table, types);
	else if (drift_has(&plan->base.drift, STEP_WIDEN))
		rc = ddl_rebuild(plan, types, err);
	else
		ddl_add_columns(&plan->base, out, place->rows, types);
	if (sb.len)
		plan_push(out, &sb);
	strbuf_release(&sb);
	if (rc || target->mode != LOAD_APPEND || target->refresh)
		return rc;
	return ddl_raw(plan, err);
}

/* As the table is, with the columns that it will get. */
static int ddl_copy_as_is(struct sqlite_plan *plan, const char *const *types,
			  struct error *err)
{
	struct sqlite *db =
		((struct sqlite_target *)plan->base.destination)->db;
	const struct place *place = plan->base.place;
	char *body = NULL, *sql;
	int rc = sqlite_target_catalog_body(db, place->base, &body, err);

	if (rc)
		return rc;
	sql = xstrfmt("CREATE TABLE %s %s", place->copy, body);
	strlist_add(&plan->base.copy, sql);
	ddl_add_columns(&plan->base, &plan->base.copy, place->copy, types);
	free(sql);
	free(body);
	return 0;
}

/* Whatever index the table has for its key: no column of it tells fewer values
 * apart than that. */
static void ddl_copy_index(struct plan *plan)
{
	bool append = plan->target->mode == LOAD_APPEND;
	const struct schema *s = plan->target->schema;
	struct strbuf sb = STRBUF_INIT;

	if (!s->n_key)
		return;
	strbuf_addf(&sb, "CREATE %sINDEX temp.\"_tidemark_copy_key\" ON ",
		    append ? "" : "UNIQUE ");
	sql_quote_name(&sb, plan->place->base, '"');
	for (size_t i = 0; i < s->n_key; i++) {
		strbuf_addstr(&sb, i ? ", " : " (");
		sql_quote_name(&sb, s->columns[s->key[i]].name, '"');
		strbuf_addstr(&sb, " COLLATE BINARY");
	}
	strbuf_addstr(&sb, append ? ", " NAME_RAW_SEQ ")" : ")");
	plan_push(&plan->copy, &sb);
	strbuf_release(&sb);
}

static int ddl_table_copy(struct sqlite_plan *plan, const char *const *types,
			  struct error *err)
{
	const struct target *target = plan->base.target;
	struct strbuf sb = STRBUF_INIT;
	int rc = 0;

	if (plan->table.exists && !target->refresh &&
	    !drift_has(&plan->base.drift, STEP_WIDEN)) {
		rc = ddl_copy_as_is(plan, types, err);
	} else {
		ddl_create(&sb, plan->base.place->copy, target, &plan->table,
			   types);
		plan_push(&plan->base.copy, &sb);
	}
	ddl_copy_index(&plan->base);
	strbuf_release(&sb);
	return rc;
}

/* A column keeps the type that it is declared with if that holds all. */
static const char **ddl_types(const struct sqlite_plan *plan)
{
	const struct drift *drift = &plan->base.drift;
	const char **types = xcalloc(drift->n + 1, sizeof(*types));

	for (size_t i = 0; i < drift->n; i++) {
		const struct catalog_column *c = sqlite_target_catalog_find(
			&plan->table,
			plan->base.target->schema->columns[i].name);

		types[i] = c && drift->steps[i] != STEP_WIDEN
				   ? c->type
				   : drift->columns[i].wanted;
	}
	return types;
}

int sqlite_target_plan_ddl(struct plan *base, struct error *err)
{
	struct sqlite_plan *plan = (struct sqlite_plan *)base;
	const char **types;
	int rc;

	if (problems_to_error(&base->inspection.problems, NULL))
		return 0;
	types = ddl_types(plan);
	rc = ddl_table(plan, types, err);
	if (!rc && base->target->preview)
		rc = ddl_table_copy(plan, types, err);
	free(types);
	return rc;
}
