#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/data/table_name.h"
#include "destinations/clickhouse/internal.h"
#include "destinations/common/refusals.h"

int clickhouse_target_plan_check_mode(struct plan *plan, struct error *err)
{
	(void)err;
	if (plan->target->mode == LOAD_UPDATE)
		plan_refuse(plan, ERROR_CONFIG, "mode-update",
			    "use mode upsert with all columns",
			    "ClickHouse replaces whole rows: mode update, "
			    "which writes some columns of a row, cannot be "
			    "had there");
	target_refuse_keyless(plan->target, &plan->inspection.problems);
	return 0;
}

/* A mark that is kept as text has the order of text, and no reader goes by
 * that. */
static void check_order(struct clickhouse_target_plan *plan)
{
	const struct target *target = plan->base.target;
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
		problems_add(&plan->base.inspection.problems, SEVERITY_WARNING,
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
static bool check_is_sorted(const struct clickhouse_target_plan *plan)
{
	const struct target *target = plan->base.target;
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

static bool check_has_columns(const struct clickhouse_target_plan *plan)
{
	const struct target *target = plan->base.target;
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
static bool check_has_engine(const struct clickhouse_target_plan *plan)
{
	const struct target *target = plan->base.target;
	const char *engine = plan->table.engine;

	if (target->mode == LOAD_APPEND)
		return strstr(engine, "MergeTree") &&
		       !strstr(engine, "ReplacingMergeTree");
	return strstr(engine, "ReplacingMergeTree") &&
	       strstr(plan->table.engine_full, NAME_VERSION ", " NAME_DELETED);
}

static void check_raw(struct clickhouse_target_plan *plan)
{
	const struct target *target = plan->base.target;
	const char *what = NULL;
	char *message, *command, *fix;

	if (!plan->table.exists)
		return;
	plan_check_ours(&plan->base);
	if (target->refresh)
		return;
	if (!check_has_engine(plan))
		what = "is of another engine than this mode needs";
	else if (!check_has_columns(plan))
		what = "lacks columns that this mode needs";
	else if (!check_is_sorted(plan))
		what = "is not sorted by the key and nothing else";
	if (!what)
		return;
	message = xstrfmt("%s %s (it is %.120s)", plan->base.place->base, what,
			  plan->table.engine_full);
	command = target_refresh_command(target);
	fix = xstrfmt("rename it, or name another destination; %s replaces it",
		      command);
	plan_refuse(&plan->base, ERROR_SCHEMA, "not-a-raw-table", fix, message);
	free(fix);
	free(command);
	free(message);
}

void clickhouse_target_plan_check(struct clickhouse_target_plan *plan)
{
	target_refuse_reserved(plan->base.target,
			       &plan->base.inspection.problems);
	check_order(plan);
	plan_check_view(&plan->base);
	check_raw(plan);
}
