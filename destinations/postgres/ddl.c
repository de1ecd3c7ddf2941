#include "core/base/alloc.h"
#include "core/data/table_name.h"
#include "destinations/postgres/postgres.h"

static void ddl_create(struct strlist *out, struct strbuf *sb,
		       const struct postgres_plan *plan,
		       const struct target *target, const char *table)
{
	const struct schema *s = target->schema;

	strbuf_addf(sb, "CREATE TABLE %s (\n", table);
	for (size_t i = 0; i < s->n_columns; i++) {
		strbuf_addstr(sb, "  ");
		sql_quote_name(sb, s->columns[i].name, '"');
		strbuf_addf(sb, " %s%s%s", plan->wanted[i].name,
			    schema_is_key(s, i) ? " NOT NULL" : "",
			    i + 1 < s->n_columns || s->n_key ||
					    target->mode == LOAD_APPEND
				    ? ",\n"
				    : ")");
	}
	if (target->mode == LOAD_APPEND) {
		strbuf_addstr(sb, "  " NAME_RAW_BATCH " text NOT NULL,\n"
				  "  " NAME_RAW_SEQ " bigint NOT NULL,\n"
				  "  " NAME_RAW_LOADED
				  " timestamp with time zone NOT NULL)");
		plan_push(out, sb);
		if (!s->n_key)
			return;
		strbuf_addf(sb, "CREATE INDEX ON %s (", table);
		plan_key_list(sb, s, '\"');
		strbuf_addstr(sb, ", " NAME_RAW_SEQ ")");
	} else if (s->n_key) {
		strbuf_addstr(sb, "  PRIMARY KEY (");
		plan_key_list(sb, s, '\"');
		strbuf_addstr(sb, "))");
	}
	plan_push(out, sb);
}

static void ddl_step(struct strlist *out, struct strbuf *sb,
		     const struct column *column, const char *table,
		     const struct sql_type *type, enum drift_step step,
		     bool empty)
{
	if (step != STEP_ADD && step != STEP_WIDEN)
		return;
	strbuf_addf(sb, "ALTER TABLE %s %s COLUMN ", table,
		    step == STEP_ADD ? "ADD" : "ALTER");
	sql_quote_name(sb, column->name, '"');
	strbuf_addf(sb, "%s%s", step == STEP_ADD ? " " : " TYPE ", type->name);
	/* Into an empty table: no cast between the types is needed. */
	if (step == STEP_WIDEN && empty)
		strbuf_addf(sb, " USING NULL::%s", type->name);
	plan_push(out, sb);
}

/* The view of the raw table as it will be: its columns, then the new ones. */
static void ddl_view(struct postgres_plan *plan, struct strbuf *sb,
		     const struct place *place, const struct target *target)
{
	bool added = drift_has(&plan->base.drift, STEP_ADD);
	bool widened = drift_has(&plan->base.drift, STEP_WIDEN);

	if (plan->table.exists && !added && !widened && plan->has_view &&
	    !plan->old_view)
		return;
	postgres_ddl_view(sb, place, target, &plan->table);
	plan_push(&plan->base.inspection.ddl, sb);
}

static void ddl_build(struct postgres_plan *plan, struct strbuf *sb,
		      const struct place *place, const struct target *target)
{
	strbuf_addf(sb, "DROP TABLE IF EXISTS %s", place->building);
	plan_push(&plan->base.inspection.ddl, sb);
	if (!plan->table.exists) {
		ddl_create(&plan->base.inspection.ddl, sb, plan, target,
			   place->building);
		return;
	}
	strbuf_addf(sb, "CREATE TABLE %s (LIKE %s INCLUDING ALL)",
		    place->building, place->rows);
	plan_push(&plan->base.inspection.ddl, sb);
}

void postgres_ddl_schema(struct postgres_plan *plan, const struct place *place)
{
	struct strbuf sb = STRBUF_INIT;

	strbuf_addstr(&sb, "CREATE SCHEMA IF NOT EXISTS ");
	sql_quote_name(&sb, place->schema, '"');
	plan_push(&plan->base.inspection.ddl, &sb);
	strbuf_release(&sb);
}

void postgres_ddl(struct postgres_plan *plan, const struct place *place,
		  const struct target *target, const enum drift_step *steps)
{
	const char *table = target->refresh ? place->building : place->rows;
	struct strbuf sb = STRBUF_INIT;
	bool append = target->mode == LOAD_APPEND && !target->refresh;

	if (!plan->base.has_watermark) {
		postgres_mark_table_sql(&sb, place);
		plan_push(&plan->base.inspection.ddl, &sb);
	}
	if (target->refresh)
		ddl_build(plan, &sb, place, target);
	else if (!plan->table.exists)
		ddl_create(&plan->base.inspection.ddl, &sb, plan, target,
			   table);
	/* A column's type cannot change under a view. */
	if (append && plan->has_view &&
	    drift_has(&plan->base.drift, STEP_WIDEN)) {
		strbuf_addf(&sb, "DROP VIEW %s", place->readable);
		plan_push(&plan->base.inspection.ddl, &sb);
	}
	for (size_t i = 0; i < plan->n_wanted; i++)
		ddl_step(&plan->base.inspection.ddl, &sb,
			 &target->schema->columns[i], table, &plan->wanted[i],
			 steps[i], target->refresh);
	if (append)
		ddl_view(plan, &sb, place, target);
	strbuf_release(&sb);
}

/* Defaults stay away: one may be the next number of the table's own sequence.
 * So a column that the batch does not have may be NULL. */
static void ddl_copy_nulls(struct postgres_plan *plan, struct strbuf *sb,
			   const struct target *target)
{
	for (size_t i = 0; i < plan->table.n_columns; i++) {
		const struct catalog_column *c = &plan->table.columns[i];

		if (!c->not_null || c->generated ||
		    schema_find(target->schema, c->name) >= 0)
			continue;
		strbuf_addstr(sb, "ALTER TABLE " PREVIEW_COPY " ALTER COLUMN ");
		sql_quote_name(sb, c->name, '"');
		strbuf_addstr(sb, " DROP NOT NULL");
		plan_push(&plan->base.copy, sb);
	}
}

static void ddl_copy_like(struct postgres_plan *plan, struct strbuf *sb,
			  const struct place *place,
			  const struct target *target)
{
	bool append = target->mode == LOAD_APPEND;

	strbuf_addf(sb,
		    "CREATE TABLE " PREVIEW_COPY " (LIKE %s INCLUDING "
		    "CONSTRAINTS INCLUDING GENERATED)",
		    place->rows);
	plan_push(&plan->base.copy, sb);
	ddl_copy_nulls(plan, sb, target);
	if (!target->schema->n_key)
		return;
	strbuf_addf(sb, "CREATE %sINDEX ON " PREVIEW_COPY " (",
		    append ? "" : "UNIQUE ");
	plan_key_list(sb, target->schema, '\"');
	strbuf_addstr(sb, append ? ", " NAME_RAW_SEQ ")" : ")");
	plan_push(&plan->base.copy, sb);
}

void postgres_ddl_copy(struct postgres_plan *plan, const struct place *place,
		       const struct target *target,
		       const enum drift_step *steps)
{
	struct strbuf sb = STRBUF_INIT;

	if (plan->table.exists)
		ddl_copy_like(plan, &sb, place, target);
	else
		ddl_create(&plan->base.copy, &sb, plan, target, PREVIEW_COPY);
	for (size_t i = 0; plan->table.exists && i < plan->n_wanted; i++)
		ddl_step(&plan->base.copy, &sb, &target->schema->columns[i],
			 PREVIEW_COPY, &plan->wanted[i], steps[i], true);
	strbuf_release(&sb);
}

/* The view over `raw` as it is, or will be. Its columns come in their order,
 * and then the source's other columns, so that CREATE OR REPLACE can add to the
 * view. */
void postgres_ddl_view(struct strbuf *sb, const struct place *place,
		       const struct target *target,
		       const struct catalog_table *raw)
{
	const struct schema *s = target->schema;
	const char *separator = "";

	strbuf_addf(sb, "CREATE OR REPLACE VIEW %s AS\nSELECT ",
		    place->readable);
	for (size_t i = 0; i < s->n_key; i++) {
		strbuf_addstr(sb, i ? ", " : "DISTINCT ON (");
		sql_quote_name(sb, s->columns[s->key[i]].name, '"');
	}
	strbuf_addstr(sb, s->n_key ? ") " : "");
	for (size_t i = 0; i < raw->n_columns; i++) {
		if (name_is_own(raw->columns[i].name))
			continue;
		strbuf_addstr(sb, separator);
		separator = ", ";
		sql_quote_name(sb, raw->columns[i].name, '"');
	}
	for (size_t i = 0; i < s->n_columns; i++) {
		if (postgres_catalog_find(raw, s->columns[i].name))
			continue;
		strbuf_addstr(sb, separator);
		separator = ", ";
		sql_quote_name(sb, s->columns[i].name, '"');
	}
	strbuf_addf(sb, "\nFROM %s", place->rows);
	if (!s->n_key)
		return;
	strbuf_addstr(sb, "\nORDER BY ");
	for (size_t i = 0; i < s->n_key; i++) {
		sql_quote_name(sb, s->columns[s->key[i]].name, '"');
		strbuf_addstr(sb, ", ");
	}
	strbuf_addstr(sb, NAME_RAW_SEQ " DESC");
}
