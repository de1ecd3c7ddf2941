#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/data/table_name.h"
#include "destinations/clickhouse/internal.h"

#define DDL_WAITS "SETTINGS alter_sync = 2, mutations_sync = 2"

void clickhouse_target_ddl_marks(struct strbuf *sb, const char *table)
{
	strbuf_addf(sb,
		    "CREATE TABLE IF NOT EXISTS %s (\n"
		    "  pipeline String,\n"
		    "  watermark Nullable(String),\n"
		    "  batch_id String,\n"
		    "  fence Int64,\n"
		    "  rows_total Int64,\n"
		    "  updated_at DateTime64(6, 'UTC'),\n"
		    "  target String,\n"
		    "  target_rows Int64,\n"
		    "  table_uuid String,\n"
		    "  " NAME_VERSION " UInt64,\n"
		    "  " NAME_DELETED " UInt8)\n"
		    "ENGINE = ReplacingMergeTree(" NAME_VERSION
		    ", " NAME_DELETED ")\n"
		    "ORDER BY pipeline\n"
		    "SETTINGS " CLICKHOUSE_TARGET_DURABLE "\n"
		    "COMMENT '" NAME_MADE_BY
		    ": how far each pipeline has come'",
		    table);
}

char *clickhouse_target_ddl_column_type(const struct schema *schema,
					size_t column, const char *plain)
{
	return schema_is_key(schema, column) ||
			       !clickhouse_target_type_can_be_null(plain)
		       ? xstrdup(plain)
		       : xstrfmt("Nullable(%s)", plain);
}

static void ddl_column(struct strbuf *sb, const struct schema *schema,
		       size_t column, const char *type)
{
	const struct column *c = &schema->columns[column];
	const char *note = clickhouse_target_type_note(&c->type);

	clickhouse_quote_name(sb, c->name);
	strbuf_addf(sb, " %s", type);
	if (note)
		strbuf_addf(sb, " COMMENT 'tidemark: %s'", note);
}

static void ddl_engine(struct strbuf *sb, const struct target *target)
{
	const struct schema *s = target->schema;
	bool append = target->mode == LOAD_APPEND;

	strbuf_addf(sb, "ENGINE = %s\nORDER BY (",
		    append ? "MergeTree"
			   : "ReplacingMergeTree(" NAME_VERSION
			     ", " NAME_DELETED ")");
	clickhouse_target_statement_key(sb, s, "");
	strbuf_addf(sb,
		    "%s)\nSETTINGS non_replicated_deduplication_window = "
		    "1000, " CLICKHOUSE_TARGET_DURABLE
		    "\nCOMMENT '" NAME_MADE_BY
		    ": read the view of this name without _raw'",
		    append ? ", " NAME_RAW_SEQ : "");
}

static void ddl_extras(struct strbuf *sb, const struct target *target,
		       const struct catalog_table *old)
{
	for (size_t i = 0; i < old->n_columns; i++) {
		const struct catalog_column *c = &old->columns[i];

		if (name_is_own(c->name) ||
		    schema_find(target->schema, c->name) >= 0)
			continue;
		clickhouse_quote_name(sb, c->name);
		strbuf_addf(sb, " %s", c->type);
		if (*c->default_kind)
			strbuf_addf(sb, " %s %s", c->default_kind,
				    c->expression);
		if (*c->comment) {
			strbuf_addstr(sb, " COMMENT ");
			clickhouse_quote_text(sb, c->comment);
		}
		strbuf_addstr(sb, ",\n  ");
	}
}

void clickhouse_target_ddl_table(struct strbuf *sb, const char *table,
				 const struct target *target,
				 const char *const *types,
				 const struct catalog_table *old)
{
	strbuf_addf(sb, "CREATE TABLE IF NOT EXISTS %s (\n  ", table);
	for (size_t i = 0; i < target->schema->n_columns; i++) {
		ddl_column(sb, target->schema, i, types[i]);
		strbuf_addstr(sb, ",\n  ");
	}
	ddl_extras(sb, target, old);
	if (target->mode == LOAD_APPEND)
		strbuf_addstr(sb, NAME_RAW_BATCH " String,\n  " NAME_RAW_SEQ
						 " Int64,\n  " NAME_RAW_LOADED
						 " DateTime64(6, 'UTC'),\n  ");
	else
		strbuf_addstr(sb, NAME_VERSION " UInt64,\n  " NAME_DELETED
					       " UInt8 DEFAULT 0,\n  ");
	strbuf_addstr(sb, NAME_HASH " UInt128)\n");
	ddl_engine(sb, target);
}

/* The columns that the table has, then those that it is about to get. */
static void ddl_view_columns(struct strbuf *sb, const struct target *target,
			     const struct catalog_table *raw)
{
	const char *before = "";

	for (size_t i = 0; i < raw->n_columns; i++) {
		if (name_is_own(raw->columns[i].name) ||
		    raw->columns[i].ephemeral)
			continue;
		strbuf_addstr(sb, before);
		clickhouse_quote_name(sb, raw->columns[i].name);
		before = ", ";
	}
	for (size_t i = 0; i < target->schema->n_columns; i++) {
		if (clickhouse_target_catalog_find(
			    raw, target->schema->columns[i].name))
			continue;
		strbuf_addstr(sb, before);
		clickhouse_quote_name(sb, target->schema->columns[i].name);
		before = ", ";
	}
}

void clickhouse_target_ddl_view(struct strbuf *sb, const struct place *place,
				const struct target *target,
				const struct catalog_table *raw)
{
	strbuf_addf(sb, "CREATE OR REPLACE VIEW %s AS\nSELECT ",
		    place->readable);
	ddl_view_columns(sb, target, raw);
	strbuf_addf(sb, "\nFROM %s", place->rows);
	if (target->mode == LOAD_APPEND) {
		strbuf_addstr(sb, "\nORDER BY ");
		clickhouse_target_statement_key(sb, target->schema, "");
		strbuf_addstr(sb, ", " NAME_RAW_SEQ " DESC\nLIMIT 1 BY ");
		clickhouse_target_statement_key(sb, target->schema, "");
	} else {
		strbuf_addstr(sb, " FINAL");
	}
	strbuf_addstr(sb, "\nCOMMENT '" NAME_MADE_BY ": one row a key, the "
			  "newest'");
}

void clickhouse_target_ddl_input(struct strbuf *sb, const char *table,
				 bool temporary, const struct schema *schema)
{
	strbuf_addf(sb, "CREATE %sTABLE IF NOT EXISTS %s (\n  ",
		    temporary ? "TEMPORARY " : "", table);
	for (size_t i = 0; i < schema->n_columns; i++) {
		struct strbuf sent = STRBUF_INIT;
		char *type;

		clickhouse_target_type_write_sent(&sent,
						  &schema->columns[i].type);
		type = clickhouse_target_ddl_column_type(schema, i, sent.data);
		clickhouse_quote_name(sb, schema->columns[i].name);
		strbuf_addf(sb, " %s,\n  ", type);
		free(type);
		strbuf_release(&sent);
	}
	strbuf_addstr(sb, NAME_VERSION " UInt64,\n  " NAME_HASH
				       " UInt128,\n  " NAME_RAW_SEQ
				       " Int64)\nENGINE = Memory");
}

/* The hash of a row whose column is gone would still say that nothing has to be
 * written. The server takes the column's files away, and reads 0. */
static void ddl_clear(struct clickhouse_target_plan *plan,
		      const struct place *place)
{
	struct strbuf sql = STRBUF_INIT;

	if (plan->refills) {
		strbuf_addf(&sql,
			    "ALTER TABLE %s CLEAR COLUMN " NAME_HASH
			    "\n" DDL_WAITS,
			    place->rows);
		plan_push(&plan->base.inspection.ddl, &sql);
	}
	strbuf_release(&sql);
}

static void ddl_alter(struct clickhouse_target_plan *plan,
		      const struct place *place, const struct target *target,
		      const enum drift_step *steps, const char *const *types)
{
	struct strbuf sql = STRBUF_INIT;

	for (size_t i = 0; i < target->schema->n_columns; i++) {
		if (steps[i] != STEP_ADD && steps[i] != STEP_WIDEN)
			continue;
		strbuf_addf(&sql, "ALTER TABLE %s %s ", place->rows,
			    steps[i] == STEP_ADD ? "ADD COLUMN IF NOT EXISTS"
						 : "MODIFY COLUMN");
		ddl_column(&sql, target->schema, i, types[i]);
		strbuf_addstr(&sql, "\n" DDL_WAITS);
		plan_push(&plan->base.inspection.ddl, &sql);
	}
	strbuf_release(&sql);
}

/* The view shows what it was made for. */
static bool ddl_view_is_due(const struct clickhouse_target_plan *plan,
			    const enum drift_step *steps,
			    const struct schema *schema)
{
	if (!plan->readable.exists)
		return true;
	for (size_t i = 0; i < schema->n_columns; i++)
		if (steps[i] == STEP_ADD || steps[i] == STEP_WIDEN ||
		    !clickhouse_target_catalog_find(&plan->readable,
						    schema->columns[i].name))
			return true;
	for (size_t i = 0; i < plan->table.n_columns; i++)
		if (!name_is_own(plan->table.columns[i].name) &&
		    !plan->table.columns[i].ephemeral &&
		    !clickhouse_target_catalog_find(
			    &plan->readable, plan->table.columns[i].name))
			return true;
	return false;
}

void clickhouse_target_ddl_plan(struct clickhouse_target_plan *plan,
				const struct place *place,
				const struct target *target,
				const enum drift_step *steps,
				const char *const *types)
{
	struct strbuf sql = STRBUF_INIT;

	if (!plan->has_database) {
		strbuf_addstr(&sql, "CREATE DATABASE IF NOT EXISTS ");
		clickhouse_quote_name(&sql, place->database);
		plan_push(&plan->base.inspection.ddl, &sql);
	}
	if (!plan->base.has_watermark) {
		clickhouse_target_ddl_marks(&sql, place->marks_rows);
		plan_push(&plan->base.inspection.ddl, &sql);
		strbuf_addf(&sql,
			    "CREATE VIEW IF NOT EXISTS %s AS\nSELECT * EXCEPT "
			    "(" NAME_VERSION ", " NAME_DELETED
			    ")\nFROM %s FINAL",
			    place->marks, place->marks_rows);
		plan_push(&plan->base.inspection.ddl, &sql);
	}
	if (target->refresh) {
		clickhouse_target_ddl_table(&sql, place->staging, target, types,
					    &plan->table);
		plan_push(&plan->base.inspection.ddl, &sql);
		strbuf_release(&sql);
		return;
	}
	if (!plan->table.exists) {
		clickhouse_target_ddl_table(&sql, place->rows, target, types,
					    &plan->table);
		plan_push(&plan->base.inspection.ddl, &sql);
	} else {
		ddl_clear(plan, place);
		ddl_alter(plan, place, target, steps, types);
	}
	if (!plan->table.exists ||
	    ddl_view_is_due(plan, steps, target->schema)) {
		clickhouse_target_ddl_view(&sql, place, target, &plan->table);
		plan_push(&plan->base.inspection.ddl, &sql);
	}
	strbuf_release(&sql);
}
