#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/data/table_name.h"
#include "destinations/clickhouse/internal.h"
#include "destinations/common/refusals.h"

static void check_error(struct plan *plan, enum error_code error,
			const char *code, const char *fix,
			const struct target *target, const char *what)
{
	problems_add(&plan->inspection.problems, SEVERITY_ERROR, error, code,
		     fix, "table %s: %s", target->table, what);
}

void clickhouse_target_plan_check_mode(struct plan *plan,
				       const struct target *target)
{
	if (target->mode == LOAD_UPDATE)
		check_error(plan, ERROR_CONFIG, "mode-update",
			    "use mode upsert with all columns", target,
			    "ClickHouse replaces whole rows: mode update, "
			    "which writes some columns of a row, cannot be "
			    "had there");
	target_refuse_keyless(target, &plan->inspection.problems);
}

/* What is kept as text has the order of text, and no reader goes by that. */
static void check_order(struct plan *plan, const struct target *target)
{
	const struct schema *s = target->schema;

	for (size_t i = 0; i < s->n_key; i++) {
		const struct column *k = &s->columns[s->key[i]];
		const struct catalog_column *c =
			clickhouse_target_catalog_find(&plan->table, k->name);
		const char *note = clickhouse_target_type_note(&k->type);

		if (!note || k->type.kind == TYPE_BYTES ||
		    k->type.kind == TYPE_TIMESTAMP ||
		    (c && !clickhouse_target_type_is(c->type, "String")))
			continue;
		problems_add(&plan->inspection.problems, SEVERITY_WARNING,
			     ERROR_NONE, "key-without-order",
			     "give it a type that ClickHouse has (a numeric: "
			     "precision and scale) under source.expressions",
			     "table %s: key column %s (%s) is kept as text: "
			     "two texts of one value are two rows, and verify, "
			     "and a backfill that verifies its chunks, cannot "
			     "compare its rows",
			     target->table, k->name, note);
	}
}

/* Two names are needed: the raw table's and the view's. */
static void check_view(struct plan *plan, const struct target *target)
{
	const struct catalog_table *view = &plan->readable;

	if (!view->exists)
		return;
	if (!view->view)
		target_refuse_not_a_view(target, &plan->inspection.problems);
	else if (!clickhouse_target_catalog_is_made_by_us(view))
		target_refuse_view_of_others(target,
					     &plan->inspection.problems);
}

static const char *check_name_end(const char *p)
{
	if (*p != '`') {
		while (isalnum((unsigned char)*p) || *p == '_')
			p++;
		return p;
	}
	for (p++; *p && *p != '`'; p++)
		p += *p == '\\' && p[1];
	return *p ? p + 1 : p;
}

/* The text of a sorting key, "id, `a b`" or "(id)": names, and nothing that is
 * made of them. */
static bool check_is_names(const char *p)
{
	bool bracket = *p == '(';

	for (p += bracket;; p += 2) {
		const char *end = check_name_end(p);

		if (end == p)
			return false;
		p = end;
		if (strncmp(p, ", ", 2) != 0)
			return !strcmp(p, bracket ? ")" : "");
	}
}

/* Sorted by the key's columns, and nothing else (append: and the number). */
static bool check_is_sorted(const struct plan *plan,
			    const struct target *target)
{
	size_t n = 0, due = target->schema->n_key;

	if (!check_is_names(plan->table.sorting_key))
		return false;

	for (size_t i = 0; i < plan->table.n_columns; i++)
		n += plan->table.columns[i].sorting;
	for (size_t i = 0; i < target->schema->n_key; i++) {
		const struct catalog_column *c = clickhouse_target_catalog_find(
			&plan->table,
			target->schema->columns[target->schema->key[i]].name);

		if (!c || !c->sorting)
			return false;
	}
	return n == due + (target->mode == LOAD_APPEND);
}

static bool check_has_columns(const struct plan *plan,
			      const struct target *target)
{
	static const char *const raw[] = { NAME_RAW_BATCH, NAME_RAW_SEQ,
					   NAME_RAW_LOADED, NAME_HASH };
	static const char *const replacing[] = { NAME_VERSION, NAME_DELETED,
						 NAME_HASH };
	bool append = target->mode == LOAD_APPEND;
	const char *const *names = append ? raw : replacing;
	size_t n = append ? ARRAY_SIZE(raw) : ARRAY_SIZE(replacing);

	for (size_t i = 0; i < n; i++)
		if (!clickhouse_target_catalog_find(&plan->table, names[i]))
			return false;
	return true;
}

/* ReplicatedReplacingMergeTree and its like will do. */
static bool check_has_engine(const struct plan *plan,
			     const struct target *target)
{
	const char *engine = plan->table.engine;

	if (target->mode == LOAD_APPEND)
		return strstr(engine, "MergeTree") &&
		       !strstr(engine, "ReplacingMergeTree");
	return strstr(engine, "ReplacingMergeTree") &&
	       strstr(plan->table.engine_full, NAME_VERSION ", " NAME_DELETED);
}

static void check_raw(struct plan *plan, const struct place *place,
		      const struct target *target)
{
	const char *what = NULL;
	char *message, *command, *fix;

	if (!plan->table.exists)
		return;
	if (target->refresh && !plan->created && !target->force)
		target_refuse_not_ours(target, &plan->inspection.problems);
	if (target->refresh)
		return;
	if (!check_has_engine(plan, target))
		what = "is of another engine than this mode needs";
	else if (!check_has_columns(plan, target))
		what = "lacks columns that this mode needs";
	else if (!check_is_sorted(plan, target))
		what = "is not sorted by the key and nothing else";
	if (!what)
		return;
	message = xstrfmt("%s %s (it is %.120s)", place->base, what,
			  plan->table.engine_full);
	command = target_refresh_command(target);
	fix = xstrfmt("rename it, or name another destination; %s replaces it",
		      command);
	check_error(plan, ERROR_SCHEMA, "not-a-raw-table", fix, target,
		    message);
	free(fix);
	free(command);
	free(message);
}

/* Worth a look only when the mark says that rows are there. */
static int check_emptied(struct plan *plan, struct clickhouse_target *d,
			 const struct place *place, const struct target *target,
			 struct error *err)
{
	struct clickhouse_rows rows;
	char *sql;
	int rc;

	if (target->refresh || !plan->known || !plan->mark.watermark ||
	    !plan->mark.target_rows || !plan->table.exists ||
	    plan->inspection.added.n)
		return 0;
	sql = xstrfmt("SELECT 1 FROM %s LIMIT 1", place->rows);
	rc = clickhouse_query(d->db, sql, "t", &rows, err);
	if (!rc && !rows.n_rows)
		target_refuse_emptied(target, plan->mark.target_rows,
				      &plan->inspection.problems);
	clickhouse_rows_release(&rows);
	free(sql);
	return rc;
}

int clickhouse_target_plan_check(struct plan *plan, struct clickhouse_target *d,
				 const struct place *place,
				 const struct target *target, struct error *err)
{
	target_refuse_reserved(target, &plan->inspection.problems);
	check_order(plan, target);
	check_view(plan, target);
	check_raw(plan, place, target);
	return check_emptied(plan, d, place, target, err);
}
