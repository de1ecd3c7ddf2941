#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"
#include "core/data/table_name.h"
#include "destinations/mysql/internal.h"

/* next_...: a refresh that is just swapping its table in; see refresh.c. */
static const char mark_table_sql[] =
	"CREATE TABLE IF NOT EXISTS %s (\n"
	"  pipeline varchar(700) NOT NULL PRIMARY KEY,\n"
	"  watermark longtext,\n"
	"  batch_id varchar(255) NOT NULL DEFAULT '',\n"
	"  fence bigint NOT NULL DEFAULT 0,\n"
	"  rows_total bigint NOT NULL DEFAULT 0,\n"
	"  updated_at datetime(6) NOT NULL,\n"
	"  created_target tinyint(1) NOT NULL DEFAULT 0,\n"
	"  target varchar(64) NOT NULL DEFAULT '',\n"
	"  target_rows bigint NOT NULL DEFAULT 0,\n"
	"  next_watermark longtext,\n"
	"  next_batch_id varchar(255),\n"
	"  next_fence bigint,\n"
	"  next_rows bigint)\n";

static void ddl_options(struct strbuf *sb, const struct mysql_target *d)
{
	strbuf_addf(sb,
		    "ENGINE = InnoDB ROW_FORMAT = DYNAMIC\n"
		    "DEFAULT CHARACTER SET = utf8mb4 COLLATE = %s",
		    d->dialect.collation);
}

void mysql_target_ddl_mark_table(struct strbuf *sb,
				 const struct mysql_target *d,
				 const struct place *place)
{
	strbuf_addf(sb, mark_table_sql, place->watermark);
	ddl_options(sb, d);
}

/* Said even where NULL is the rule: old servers give the first TIMESTAMP of a
 * table a default of their own. */
static void ddl_null(struct strbuf *sb, const struct mysql_target_type *type,
		     bool not_null)
{
	strbuf_addstr(sb, not_null ? " NOT NULL" : " NULL");
	if (not_null && type->base == MYSQL_TARGET_TIMESTAMP)
		strbuf_addstr(sb, " DEFAULT '2000-01-01 00:00:00'");
}

static void ddl_create(struct strbuf *sb, const struct mysql_target_plan *plan,
		       const struct mysql_target *d,
		       const struct target *target, const char *kind,
		       const char *table)
{
	const struct schema *s = target->schema;
	bool append = target->mode == LOAD_APPEND;

	strbuf_addf(sb, "CREATE %s %s (\n", kind, table);
	for (size_t i = 0; i < s->n_columns; i++) {
		strbuf_addstr(sb, "  ");
		sql_quote_name(sb, s->columns[i].name, '`');
		strbuf_addf(sb, " %s", plan->wanted[i].name);
		ddl_null(sb, &plan->wanted[i], schema_is_key(s, i));
		strbuf_addstr(sb, i + 1 < s->n_columns || s->n_key || append
					  ? ",\n"
					  : ")\n");
	}
	if (append)
		strbuf_addstr(sb,
			      "  " NAME_RAW_BATCH " varchar(255) NOT NULL,\n"
			      "  " NAME_RAW_SEQ " bigint NOT NULL,\n"
			      "  " NAME_RAW_LOADED " datetime(6) NOT NULL,\n");
	if (s->n_key) {
		strbuf_addstr(sb, "  PRIMARY KEY (");
		plan_key_list(sb, s, '`');
		strbuf_addstr(sb, append ? ", " NAME_RAW_SEQ "))\n" : "))\n");
	} else if (append) {
		strbuf_addstr(sb, "  PRIMARY KEY (" NAME_RAW_SEQ "))\n");
	}
	ddl_options(sb, d);
}

static bool ddl_has_charset(const struct mysql_target_type *type)
{
	return type->base == MYSQL_TARGET_CHAR ||
	       type->base == MYSQL_TARGET_VARCHAR ||
	       type->base == MYSQL_TARGET_TEXT;
}

/* " CHARACTER SET latin1 COLLATE latin1_bin" is of texts alone. */
static const char *ddl_behind_charset(const char *clause)
{
	static const char *const words[] = { " CHARACTER SET ", " COLLATE " };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		size_t n = strlen(words[i]);

		if (!strncmp(clause, words[i], n))
			clause += n + strcspn(clause + n, " ");
	}
	return clause;
}

/* MODIFY takes away whatever it does not say again. */
static void ddl_modify(struct strbuf *sb, const struct catalog_column *c,
		       const struct mysql_target_type *wanted, const char *type)
{
	const char *clause = c->clause ? c->clause : "";

	strbuf_addstr(sb, "MODIFY COLUMN ");
	sql_quote_name(sb, c->name, '`');
	strbuf_addf(sb, " %s%s", type,
		    ddl_has_charset(wanted) ? clause
					    : ddl_behind_charset(clause));
}

static void ddl_add_column(struct strbuf *sb, const struct mysql_target *d,
			   const char *name,
			   const struct mysql_target_type *wanted)
{
	strbuf_addstr(sb, "ADD COLUMN ");
	sql_quote_name(sb, name, '`');
	strbuf_addf(sb, " %s", wanted->name);
	if (ddl_has_charset(wanted))
		strbuf_addf(sb, " CHARACTER SET utf8mb4 COLLATE %s",
			    d->dialect.collation);
	strbuf_addstr(sb, " NULL");
}

/* All of it in one statement, which happens or does not. */
static void ddl_alter(struct strlist *out, const struct mysql_target_plan *plan,
		      const struct mysql_target *d, const struct target *target,
		      const char *table, const enum drift_step *steps,
		      char *const *grown)
{
	struct strbuf text = STRBUF_INIT, *sb = &text;
	const char *separator = "\n  ";

	strbuf_addf(sb, "ALTER TABLE %s", table);
	for (size_t i = 0; i < plan->n_wanted; i++) {
		const char *name = target->schema->columns[i].name;

		if (steps[i] != STEP_ADD && steps[i] != STEP_WIDEN)
			continue;
		strbuf_addstr(sb, separator);
		separator = ",\n  ";
		if (steps[i] == STEP_ADD)
			ddl_add_column(sb, d, name, &plan->wanted[i]);
		else
			ddl_modify(
				sb,
				mysql_target_catalog_find(&plan->table, name),
				&plan->wanted[i], grown[i]);
	}
	if (*separator == ',')
		strlist_add(out, text.data);
	strbuf_release(&text);
}

static void ddl_view_column(struct strbuf *sb, const char **separator,
			    const char *name)
{
	strbuf_addstr(sb, *separator);
	*separator = ", ";
	strbuf_addstr(sb, "r.");
	sql_quote_name(sb, name, '`');
}

/* No window function: this one is merged into the reader's query, and looks
 * up just the keys that it asks for. `raw` as it is, or will be: its columns,
 * then what the source has beyond them. */
void mysql_target_ddl_view(struct strbuf *sb, const struct place *place,
			   const struct target *target,
			   const struct catalog_table *raw)
{
	const struct schema *s = target->schema;
	const char *separator = "";

	strbuf_addf(sb, "CREATE OR REPLACE VIEW %s AS\nSELECT ",
		    place->readable);
	for (size_t i = 0; i < raw->n_columns; i++)
		if (!name_is_own(raw->columns[i].name))
			ddl_view_column(sb, &separator, raw->columns[i].name);
	for (size_t i = 0; i < s->n_columns; i++)
		if (!mysql_target_catalog_find(raw, s->columns[i].name))
			ddl_view_column(sb, &separator, s->columns[i].name);
	strbuf_addf(sb, "\nFROM %s r", place->rows);
	if (!s->n_key)
		return;
	strbuf_addf(sb,
		    "\n"
		    "WHERE NOT EXISTS (SELECT 1 FROM %s n\n  WHERE ",
		    place->rows);
	for (size_t i = 0; i < s->n_key; i++) {
		strbuf_addstr(sb, "n.");
		sql_quote_name(sb, s->columns[s->key[i]].name, '`');
		strbuf_addstr(sb, " = r.");
		sql_quote_name(sb, s->columns[s->key[i]].name, '`');
		strbuf_addstr(sb, " AND ");
	}
	strbuf_addstr(sb, "n." NAME_RAW_SEQ " > r." NAME_RAW_SEQ ")");
}

static void ddl_build(struct mysql_target_plan *plan, struct strbuf *sb,
		      const struct mysql_target *d, const struct place *place,
		      const struct target *target)
{
	strbuf_addf(sb, "DROP TABLE IF EXISTS %s", place->building);
	plan_push(&plan->base.inspection.ddl, sb);
	if (plan->table.exists)
		strbuf_addf(sb, "CREATE TABLE %s LIKE %s", place->building,
			    place->rows);
	else
		ddl_create(sb, plan, d, target, "TABLE", place->building);
	plan_push(&plan->base.inspection.ddl, sb);
}

void mysql_target_ddl(struct mysql_target_plan *plan,
		      const struct mysql_target *d, const struct place *place,
		      const struct target *target, const enum drift_step *steps,
		      char *const *grown)
{
	const char *table = target->refresh ? place->building : place->rows;
	struct strbuf sb = STRBUF_INIT;

	if (!plan->has_database) {
		strbuf_addstr(&sb, "CREATE DATABASE IF NOT EXISTS ");
		sql_quote_name(&sb, place->database, '`');
		strbuf_addstr(&sb, " CHARACTER SET utf8mb4");
		plan_push(&plan->base.inspection.ddl, &sb);
	}
	if (!plan->base.has_watermark) {
		mysql_target_ddl_mark_table(&sb, d, place);
		plan_push(&plan->base.inspection.ddl, &sb);
	}
	if (target->refresh) {
		ddl_build(plan, &sb, d, place, target);
	} else if (!plan->table.exists) {
		ddl_create(&sb, plan, d, target, "TABLE", table);
		plan_push(&plan->base.inspection.ddl, &sb);
	}
	if (plan->table.exists)
		ddl_alter(&plan->base.inspection.ddl, plan, d, target, table,
			  steps, grown);
	if (target->mode == LOAD_APPEND && !target->refresh &&
	    (!plan->has_view || drift_has(&plan->base.drift, STEP_ADD))) {
		mysql_target_ddl_view(&sb, place, target, &plan->table);
		plan_push(&plan->base.inspection.ddl, &sb);
	}
	strbuf_release(&sb);
}

/* A column as it will be. */
static void ddl_will_be(struct catalog_column *c, const struct mysql_target *d,
			const struct mysql_target_type *wanted,
			const char *type)
{
	bool text = ddl_has_charset(wanted);

	mysql_target_type_release(&c->type);
	c->type = *wanted;
	c->type.name = xstrdup(type);
	if (text && c->charset && *c->charset)
		return;
	free(c->charset);
	free(c->collation);
	c->charset = xstrdup(text ? "utf8mb4" : "");
	c->collation = xstrdup(text ? d->dialect.collation : "");
}

static void ddl_table_will_be(struct mysql_target_plan *plan,
			      const struct mysql_target *d,
			      const struct target *target,
			      const enum drift_step *steps, char *const *grown)
{
	struct catalog_table *t = &plan->table;
	const struct schema *s = target->schema;

	t->columns = xreallocarray(t->columns, t->n_columns + s->n_columns + 1,
				   sizeof(*t->columns));
	for (size_t i = 0; i < s->n_columns; i++) {
		const char *name = s->columns[i].name;
		const struct catalog_column *there =
			mysql_target_catalog_find(t, name);

		if (there && steps[i] == STEP_WIDEN)
			ddl_will_be(&t->columns[there - t->columns], d,
				    &plan->wanted[i], grown[i]);
		if (there)
			continue;
		t->columns[t->n_columns] = (struct catalog_column){
			.name = xstrdup(name),
			.not_null = schema_is_key(s, i),
		};
		ddl_will_be(&t->columns[t->n_columns++], d, &plan->wanted[i],
			    plan->wanted[i].name);
	}
	t->exists = true;
}

/* The copy of a raw table has the newest row of each key alone, and new rows
 * come without our own columns. */
static void ddl_copy_of_raw(struct mysql_target_plan *plan,
			    const struct place *place,
			    const struct target *target)
{
	static const char *const ours[][2] = {
		{ NAME_RAW_BATCH, "'dry run'" },
		{ NAME_RAW_SEQ, "1" },
		{ NAME_RAW_LOADED, "'2000-01-01 00:00:00'" },
	};
	struct strbuf sb = STRBUF_INIT;

	strbuf_addf(&sb, "ALTER TABLE %s", place->copy);
	for (size_t i = 0; i < ARRAY_SIZE(ours); i++)
		strbuf_addf(&sb, "\n  ALTER COLUMN %s SET DEFAULT %s,",
			    ours[i][0], ours[i][1]);
	strbuf_addstr(&sb, "\n  ADD UNIQUE INDEX _tidemark_copy (");
	plan_key_list(&sb, target->schema, '`');
	strbuf_addstr(&sb, ")");
	strlist_add(&plan->base.copy, sb.data);
	strbuf_release(&sb);
}

void mysql_target_ddl_copy(struct mysql_target_plan *plan,
			   const struct mysql_target *d,
			   const struct place *place,
			   const struct target *target,
			   const enum drift_step *steps, char *const *grown)
{
	bool exists = plan->table.exists;
	struct strbuf sb = STRBUF_INIT;

	if (exists)
		strbuf_addf(&sb, "CREATE TEMPORARY TABLE %s LIKE %s",
			    place->copy, place->rows);
	else
		ddl_create(&sb, plan, d, target, "TEMPORARY TABLE",
			   place->copy);
	strlist_add(&plan->base.copy, sb.data);
	if (exists)
		ddl_alter(&plan->base.copy, plan, d, target, place->copy, steps,
			  grown);
	if (target->mode == LOAD_APPEND && target->schema->n_key)
		ddl_copy_of_raw(plan, place, target);
	for (size_t i = 0; exists && i < plan->table.n_columns; i++)
		if (!plan->table.columns[i].generated)
			strlist_add(&plan->pulled, plan->table.columns[i].name);
	ddl_table_will_be(plan, d, target, steps, grown);
	strbuf_release(&sb);
}
