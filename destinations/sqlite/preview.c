#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "clients/sqlite_explain.h"
#include "core/base/alloc.h"
#include "core/data/table_name.h"
#include "destinations/common/restate.h"
#include "destinations/sqlite/internal.h"

/* A file that is not there yet has no tables: nor has one in memory. */
static int preview_open(struct sqlite_target *d, struct error *err)
{
	const struct sqlite_options options = { .create = false };
	int rc;

	if (d->db)
		return 0;
	rc = sqlite_open(&d->db, ":memory:", &options, err);
	if (!rc)
		atomic_store(&d->running, d->db);
	return rc;
}

static int preview_copy(struct sqlite_target *d, const struct sqlite_plan *plan,
			struct error *err)
{
	int rc = sqlite_execf(d->db, err, "DROP TABLE IF EXISTS %s",
			      d->place.copy);

	for (size_t i = 0; !rc && i < plan->base.copy.n; i++) {
		rc = sqlite_exec(d->db, plan->base.copy.items[i], err);
		if (rc)
			error_prefix(err, "%.200s", plan->base.copy.items[i]);
	}
	return rc;
}

static void preview_columns(struct strbuf *sb, const struct catalog_table *t,
			    const struct catalog_table *copy, bool values)
{
	const char *before = "";

	for (size_t i = 0; i < t->n_columns; i++) {
		const struct catalog_column *c = &t->columns[i];

		if (c->generated || !sqlite_target_catalog_find(copy, c->name))
			continue;
		strbuf_addstr(sb, before);
		if (values && !strcasecmp(c->name, NAME_RAW_SEQ))
			strbuf_addstr(sb, NAME_RAW_FIRST);
		else
			sql_quote_name(sb, c->name, '"');
		before = ", ";
	}
}

/* Copy the table's row of the key at hand, unless the copy has it already,
 * perhaps as an earlier row has left it. A raw table gives its newest row. All
 * columns are bound: the last one has to be named. */
static int preview_pull(struct sqlite_target *d, const struct target *target,
			const struct catalog_table *t,
			const struct catalog_table *copy, struct error *err)
{
	struct strbuf sql = STRBUF_INIT, columns = STRBUF_INIT;
	struct strbuf values = STRBUF_INIT, key = STRBUF_INIT;
	int rc;

	preview_columns(&columns, t, copy, false);
	preview_columns(&values, t, copy, true);
	sqlite_target_statements_key(&key, target->schema);
	strbuf_addf(&sql,
		    "INSERT INTO %s (%s)\nSELECT %s FROM %s AS t\nWHERE %s\n"
		    "  AND NOT EXISTS (SELECT 1 FROM %s AS t WHERE %s)\n"
		    "  AND coalesce(?%zu, 1) IS NOT NULL",
		    d->place.copy, columns.data, values.data, d->place.rows,
		    key.data, d->place.copy, key.data,
		    target->schema->n_columns);
	if (target->mode == LOAD_APPEND)
		strbuf_addstr(&sql,
			      "\nORDER BY t." NAME_RAW_SEQ " DESC LIMIT 1");
	rc = sqlite_prepare(d->db, &d->pull, sql.data, err);
	strbuf_release(&sql);
	strbuf_release(&columns);
	strbuf_release(&values);
	strbuf_release(&key);
	return rc;
}

/* The copy has everything of the table but its triggers and foreign keys. */
static int preview_statements(struct sqlite_target *d,
			      const struct target *target,
			      const struct sqlite_plan *plan, struct error *err)
{
	struct catalog_table copy;
	bool pulls =
		plan->table.plain && !target->refresh && target->schema->n_key;
	int rc;

	sqlite_target_catalog_init(&copy);
	rc = sqlite_target_catalog_read(d->db, "temp", d->place.base,
					target->schema, &copy, err);
	copy.triggers = plan->table.triggers;
	copy.other_unique = plan->table.other_unique;
	if (!rc)
		rc = sqlite_target_statements_make(d, d->place.copy, &copy,
						   err);
	if (!rc && pulls)
		rc = preview_pull(d, target, &plan->table, &copy, err);
	sqlite_target_catalog_release(&copy);
	return rc;
}

int sqlite_target_prepare_preview(struct sqlite_target *d,
				  const struct target *target,
				  struct error *err)
{
	struct sqlite_plan plan = { .base = { .engine = NULL } };
	int rc;

	rc = plan_make_sure(&plan.base, &sqlite_target_plan_engine,
			    &d->mark.keeper.base, &d->place, target, err);
	if (!rc)
		rc = preview_open(d, err);
	if (!rc)
		rc = preview_copy(d, &plan, err);
	if (!rc) {
		d->target = target;
		d->previewed = plan.table.plain && !plan.base.inspection.ddl.n;
		rc = preview_statements(d, target, &plan, err);
	}
	if (rc)
		d->target = NULL;
	plan_release(&plan.base);
	return rc;
}

/* An INSERT with ON CONFLICT is not said to use an index, but looks the key up
 * all the same. */
static int preview_key_index(struct sqlite_target *d, char **index,
			     struct error *err)
{
	struct strbuf sql = STRBUF_INIT;
	char *plan = NULL;
	int rc;

	strbuf_addf(&sql, "SELECT 1 FROM %s AS t WHERE ", d->place.rows);
	sqlite_target_statements_key(&sql, d->target->schema);
	rc = sqlite_explain(d->db, sql.data, &plan, index, err);
	strbuf_release(&sql);
	free(plan);
	return rc;
}

static int preview_explain(struct sqlite_target *d, const char *purpose,
			   const struct sqlite_statement *st,
			   struct explanation *out, struct error *err)
{
	char *sql, *plan = NULL, *index = NULL;
	int rc = 0;

	if (!st)
		return 0;
	sql = restate(sqlite_text(st), d->place.copy, d->place.rows);
	if (d->previewed)
		rc = sqlite_explain(d->db, sql, &plan, &index, err);
	if (!rc && d->previewed && !index)
		rc = preview_key_index(d, &index, err);
	if (!rc)
		explanation_add(out, purpose, sql, index, plan);
	free(sql);
	free(plan);
	free(index);
	return rc;
}

int sqlite_target_explain(struct destination *base, struct explanation *out,
			  struct error *err)
{
	struct sqlite_target *d = (struct sqlite_target *)base;
	int rc;

	if (d->insert)
		return preview_explain(d,
				       d->target->mode == LOAD_APPEND ? "append"
				       : d->target->mode == LOAD_UPDATE
					       ? "update"
					       : "merge",
				       d->insert, out, err);
	rc = preview_explain(d, "delete", d->remove, out, err);
	return rc ? rc : preview_explain(d, "insert", d->add, out, err);
}
