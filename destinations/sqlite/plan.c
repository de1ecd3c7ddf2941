#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/data/table_name.h"
#include "destinations/common/mark_moved.h"
#include "destinations/common/refusals.h"
#include "destinations/sqlite/internal.h"

static void plan_check_access(struct plan *plan)
{
	const struct sqlite_target *d =
		(struct sqlite_target *)plan->destination;

	if (d->db && access(d->path, W_OK))
		plan_refuse(plan, ERROR_ACCESS, "missing-right",
			    "give this user the right to write the file and "
			    "its directory",
			    "the SQLite file cannot be written");
}

static void plan_check_raw(struct plan *plan)
{
	static const char *const needed[] = { NAME_RAW_BATCH, NAME_RAW_SEQ,
					      NAME_RAW_LOADED };

	if (plan->target->mode != LOAD_APPEND || !plan->plain)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(needed); i++)
		if (!plan_find(plan, needed[i]))
			problems_add(&plan->inspection.problems, SEVERITY_ERROR,
				     ERROR_SCHEMA, "not-a-raw-table",
				     "rename it, or name another destination",
				     "table %s" NAME_RAW_SUFFIX
				     " exists and has no column %s",
				     plan->target->table, needed[i]);
}

static void plan_check_unique(struct plan *plan)
{
	struct strbuf create = STRBUF_INIT;
	char *index = xstrfmt("%s_key", plan->place->base);

	strbuf_addstr(&create, "CREATE UNIQUE INDEX ");
	sql_quote_name(&create, index, '"');
	strbuf_addstr(&create, " ON ");
	sql_quote_name(&create, plan->place->base, '"');
	plan_refuse_key(plan, create.data, '"',
			"no unique index (of collation BINARY, without WHERE) "
			"is on exactly the key's columns, so a key could come "
			"twice");
	strbuf_release(&create);
	free(index);
}

/* A load compares by BINARY, but the readers' view goes by the column: keys
 * that the source tells apart would be one row of it. */
static void plan_check_folding(struct plan *plan)
{
	const struct sqlite_target *d =
		(struct sqlite_target *)plan->destination;
	const struct target *target = plan->target;
	const struct schema *s = target->schema;

	if (target->mode != LOAD_APPEND || target->refresh || !plan->plain)
		return;
	for (size_t i = 0; i < s->n_key; i++) {
		const char *name = s->columns[s->key[i]].name;

		if (sqlite_column_folds(d->db, "main", plan->place->base, name))
			target_refuse_folding(
				target, name,
				"make the table anew, with collation BINARY",
				&plan->inspection.problems);
	}
}

static void plan_check_key(struct sqlite_plan *plan)
{
	const struct target *target = plan->base.target;
	struct problems *out = &plan->base.inspection.problems;

	if (target_lacks_key(target, out) || !plan->table.plain ||
	    target->refresh || !plan_keeps_key(&plan->base))
		return;
	if (!plan->table.has_key)
		plan_check_unique(&plan->base);
	if (plan->table.other_unique)
		target_warn_unique(target, out);
}

static int sqlite_plan_check(struct plan *plan, struct error *err)
{
	(void)err;
	plan_check_view(plan);
	plan_check_access(plan);
	plan_check_kind(plan);
	if (plan->plain)
		plan_check_ours(plan);
	plan_check_key((struct sqlite_plan *)plan);
	plan_check_names(plan);
	plan_check_raw(plan);
	plan_check_folding(plan);
	return 0;
}

static int sqlite_plan_has_rows(const struct plan *plan, bool *out,
				struct error *err)
{
	const struct sqlite_target *d =
		(struct sqlite_target *)plan->destination;
	struct sqlite_statement *st = NULL;
	char *sql = xstrfmt("SELECT 1 FROM %s LIMIT 1", plan->place->rows);
	int rc = sqlite_prepare(d->db, &st, sql, err);

	if (!rc)
		rc = sqlite_step(st, err);
	*out = rc == 1;
	sqlite_finalize(st);
	free(sql);
	return rc < 0 ? rc : 0;
}

static void sqlite_plan_fit(const void *context, size_t column,
			    struct drift_column *out, char **grown)
{
	const struct sqlite_plan *plan = context;
	const struct column *source =
		&plan->base.target->schema->columns[column];
	const struct catalog_column *c =
		sqlite_target_catalog_find(&plan->table, source->name);
	enum type_kind kind = source->type.kind;

	out->wanted = sqlite_target_type_declared(kind);
	out->mapping = sqlite_target_type_mapping(kind);
	if (!c)
		return;
	out->fit = sqlite_target_type_fit(kind, c->type, plan->table.strict);
	/* A table of our own making has the wanted type: the mapping of the
	 * type says how well it holds the source's. */
	if (out->fit == FIT_EXACT && out->mapping != MAPPING_EXACT)
		out->fit = FIT_WIDER;
	/* SQLite cannot alter a type, and what hangs on a table that is built
	 * anew is known of our own ones only. */
	if (out->fit == FIT_GROWS && !plan->base.created)
		out->fit = FIT_NARROW;
	if (out->fit == FIT_GROWS)
		*grown = xstrdup(out->wanted);
}

static void plan_take_table(struct sqlite_plan *plan)
{
	const struct catalog_table *t = &plan->table;
	struct plan *base = &plan->base;

	base->exists = t->exists;
	base->plain = base->counts = t->plain;
	for (size_t i = 0; i < t->n_columns; i++) {
		const struct catalog_column *c = &t->columns[i];

		plan_add_column(
			base,
			&(struct table_column){
				.name = c->name,
				.type = c->type[0] ? c->type
						   : "a column without a type",
				.not_null = c->not_null,
				.has_default = c->default_text != NULL,
				.generated = c->generated,
			});
	}
}

/* Append needs two names: the raw table's and the view's. */
static int plan_look_at_readable(struct sqlite_plan *plan, struct sqlite *db,
				 struct error *err)
{
	const struct target *target = plan->base.target;
	struct catalog_table t;
	int rc;

	if (target->mode != LOAD_APPEND)
		return 0;
	sqlite_target_catalog_init(&t);
	rc = sqlite_target_catalog_read(db, "main", plan->base.place->table,
					target->schema, &t, err);
	if (t.exists)
		plan_set_readable(&plan->base, t.is_view, plan->base.exists);
	sqlite_target_catalog_release(&t);
	return rc;
}

static int plan_look_at_marks(struct plan *plan, struct sqlite *db,
			      struct error *err)
{
	struct error why = ERROR_INIT;
	int rc = sqlite_target_owned_has_marks(db, &plan->has_watermark, &why);

	if (rc == -ERROR_SCHEMA) {
		plan->has_watermark = false;
		plan_refuse_marks(plan, &why);
		return 0;
	}
	if (rc)
		*err = why;
	return rc;
}

static int sqlite_plan_look(struct plan *base, struct error *err)
{
	struct sqlite_plan *plan = (struct sqlite_plan *)base;
	struct sqlite *db = ((struct sqlite_target *)base->destination)->db;
	int rc = sqlite_target_catalog_read(db, "main", base->place->base,
					    base->target->schema, &plan->table,
					    err);

	if (rc)
		return rc;
	plan_take_table(plan);
	if (db)
		rc = plan_look_at_marks(base, db, err);
	if (!rc && base->has_watermark)
		rc = sqlite_target_mark_history(
			db, base->place, base->target->pipeline, base, err);
	return rc ? rc : plan_look_at_readable(plan, db, err);
}

static const char movers_sql[] =
	"SELECT group_concat('trigger ' || name, ', ') FROM "
	"main.sqlite_schema\n"
	"WHERE type = 'trigger' AND tbl_name = ?1 COLLATE NOCASE\n"
	"  AND instr(lower(sql), lower(?2)) > 0";

static int sqlite_plan_warn(struct plan *base, struct error *err)
{
	struct sqlite *db = ((struct sqlite_target *)base->destination)->db;
	const char *column = mark_moved_column(base->target);
	struct sqlite_statement *st = NULL;
	int rc = 0;

	if (!column || !((struct sqlite_plan *)base)->table.triggers)
		return 0;
	rc = sqlite_prepare(db, &st, movers_sql, err);
	if (!rc) {
		sqlite_bind_str(st, 1, base->place->base, -1);
		sqlite_bind_str(st, 2, column, -1);
		rc = sqlite_step(st, err);
	}
	if (rc == 1 && sqlite_str(st, 0))
		mark_moved_report(base->target, sqlite_str(st, 0),
				  &base->inspection.problems);
	sqlite_finalize(st);
	return rc < 0 ? rc : 0;
}

static void sqlite_plan_free(struct plan *base)
{
	struct sqlite_plan *plan = (struct sqlite_plan *)base;

	sqlite_target_catalog_release(&plan->table);
}

const struct plan_engine sqlite_target_plan_engine = {
	.title = "SQLite",
	.case_blind = true,
	.size = sizeof(struct sqlite_plan),
	.look = sqlite_plan_look,
	.check = sqlite_plan_check,
	.fit = sqlite_plan_fit,
	.ddl = sqlite_target_plan_ddl,
	.has_rows = sqlite_plan_has_rows,
	.warn = sqlite_plan_warn,
	.release = sqlite_plan_free,
};
