#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/data/table_name.h"
#include "destinations/clickhouse/internal.h"

/* A column keeps its type if that holds all values. In a table that is made
 * anew a key takes no NULL, and a column that is no key any more takes it. */
static char *plan_type(const struct clickhouse_target_plan *plan, size_t i)
{
	const struct target *target = plan->base.target;
	const struct drift *drift = &plan->base.drift;
	const struct catalog_column *c = clickhouse_target_catalog_find(
		&plan->table, target->schema->columns[i].name);

	if (!c || drift->steps[i] == STEP_WIDEN)
		return clickhouse_target_ddl_column_type(
			target->schema, i, drift->columns[i].wanted);
	if (target->refresh && schema_is_key(target->schema, i))
		return clickhouse_target_type_set_nullable(c->type, false);
	if (target->refresh && c->sorting)
		return clickhouse_target_type_set_nullable(c->type, true);
	return xstrdup(c->type);
}

/* The view shows each column that the table has had. A column that only the
 * source has is new, and is in no hash. Without a view nobody knows. */
static bool plan_refills(const struct clickhouse_target_plan *plan)
{
	const struct strlist *added = &plan->base.inspection.added;

	for (size_t i = 0; i < added->n; i++)
		if (!plan->readable.exists ||
		    clickhouse_target_catalog_find(&plan->readable,
						   added->items[i]))
			return true;
	return false;
}

/* The drift speaks first, then the refusals. */
static int clickhouse_target_plan_ddl(struct plan *base, struct error *err)
{
	struct clickhouse_target_plan *plan =
		(struct clickhouse_target_plan *)base;
	char **types = xcalloc(base->drift.n + 1, sizeof(*types));

	(void)err;
	plan->refills = plan->table.exists && !base->target->refresh &&
			plan_refills(plan);
	for (size_t i = 0; i < base->drift.n; i++)
		types[i] = plan_type(plan, i);
	clickhouse_target_ddl_plan(plan, base->place, base->target,
				   base->drift.steps,
				   (const char *const *)types);
	for (size_t i = 0; i < base->drift.n; i++)
		free(types[i]);
	free(types);
	clickhouse_target_plan_check(plan);
	return 0;
}

static void clickhouse_target_plan_fit(const void *context, size_t i,
				       struct drift_column *out, char **grown)
{
	const struct clickhouse_target_plan *plan = context;
	const struct schema *s = plan->base.target->schema;
	const struct column *source = &s->columns[i];
	const struct catalog_column *c =
		clickhouse_target_catalog_find(&plan->table, source->name);

	out->wanted = plan->wanted[i];
	out->mapping = clickhouse_target_type_mapping(&source->type, s->engine);
	if (!c)
		return;
	out->fit =
		clickhouse_target_type_fit(out->mapping, out->wanted, c->type);
	/* The sorting key is as it was made. */
	if (out->fit == FIT_GROWS && schema_is_key(s, i))
		out->fit = FIT_NARROW;
	if (out->fit == FIT_GROWS)
		*grown = xstrdup(out->wanted);
}

static bool plan_is_known(const struct clickhouse_target_plan *plan)
{
	return plan->mark.found &&
	       !strcmp(plan->mark.target, plan->base.place->table) &&
	       (!plan->table.exists ||
		!strcmp(plan->mark.table_uuid, plan->table.uuid));
}

static int plan_has_database(struct clickhouse_target *d,
			     const struct place *place, bool *out,
			     struct error *err)
{
	struct clickhouse_rows rows;
	char *sql = clickhouse_target_database_sql(place);
	int rc = clickhouse_query(d->db, sql, "t", &rows, err);

	*out = !rc && clickhouse_rows_i64(&rows, 0) == 1;
	clickhouse_rows_release(&rows);
	free(sql);
	return rc;
}

static int plan_marks(struct clickhouse_target_plan *plan,
		      struct clickhouse_target *d, struct error *err)
{
	const struct place *place = plan->base.place;
	struct error why = ERROR_INIT;
	bool durable = true;
	int rc = clickhouse_target_mark_has_table(
		d, place, &plan->base.has_watermark, &durable, &why);

	if (rc == -ERROR_SCHEMA) {
		plan_refuse_marks(&plan->base, &why);
		return 0;
	}
	if (rc)
		*err = why;
	if (!rc && plan->base.has_watermark && !durable)
		plan->volatile_tables[plan->n_volatile++] = place->marks_rows;
	return rc;
}

static int plan_read(struct clickhouse_target_plan *plan,
		     struct clickhouse_target *d, struct error *err)
{
	const struct place *place = plan->base.place;
	const struct target *target = plan->base.target;
	int rc = clickhouse_target_catalog_read(d->db, place->database,
						place->base, &plan->table, err);

	if (!rc)
		rc = clickhouse_target_catalog_read(d->db, place->database,
						    place->table,
						    &plan->readable, err);
	if (!rc)
		rc = plan_has_database(d, place, &plan->has_database, err);
	if (!rc)
		rc = plan_marks(plan, d, err);
	if (!rc && !target->refresh && plan->table.exists &&
	    clickhouse_target_catalog_is_made_by_us(&plan->table) &&
	    !clickhouse_target_catalog_is_durable(&plan->table))
		plan->volatile_tables[plan->n_volatile++] = place->rows;
	if (!rc && plan->base.has_watermark)
		rc = clickhouse_target_mark_read(d, place, target->pipeline,
						 &plan->mark, err);
	return rc;
}

static void plan_take_columns(struct clickhouse_target_plan *plan)
{
	for (size_t i = 0; i < plan->table.n_columns; i++) {
		const struct catalog_column *c = &plan->table.columns[i];

		/* A column that is not named gets its type's own default. */
		plan_add_column(
			&plan->base,
			&(struct table_column){
				.name = c->name,
				.type = c->type,
				.not_null = !clickhouse_target_type_is_nullable(
					c->type),
				.has_default = true,
				.generated = c->computed,
				.ours = name_is_own(c->name),
			});
	}
}

static void plan_take_table(struct clickhouse_target_plan *plan)
{
	const struct catalog_table *t = &plan->table, *view = &plan->readable;
	const struct schema *s = plan->base.target->schema;
	struct plan *base = &plan->base;

	base->exists = base->plain = base->counts = t->exists;
	if (view->exists)
		plan_set_readable(
			base, view->view,
			clickhouse_target_catalog_is_made_by_us(view));
	base->known = plan_is_known(plan);
	base->created = t->exists && clickhouse_target_catalog_is_made_by_us(t);
	base->marked = plan->mark.watermark != NULL;
	base->delivered = plan->mark.target_rows;
	plan_take_columns(plan);
	plan->n_wanted = s->n_columns;
	plan->wanted = xcalloc(s->n_columns + 1, sizeof(*plan->wanted));
	for (size_t i = 0; i < s->n_columns; i++) {
		struct strbuf sb = STRBUF_INIT;

		clickhouse_target_type_write(&sb, &s->columns[i].type,
					     s->engine);
		plan->wanted[i] = strbuf_detach(&sb);
	}
}

static int clickhouse_target_plan_look(struct plan *base, struct error *err)
{
	struct clickhouse_target_plan *plan =
		(struct clickhouse_target_plan *)base;
	int rc = plan_read(plan, (struct clickhouse_target *)base->destination,
			   err);

	if (!rc)
		plan_take_table(plan);
	return rc;
}

static int clickhouse_target_plan_has_rows(const struct plan *plan, bool *out,
					   struct error *err)
{
	struct clickhouse_target *d =
		(struct clickhouse_target *)plan->destination;
	struct clickhouse_rows rows = { .n_rows = 0 };
	char *sql = clickhouse_target_rows_sql(plan->place);
	int rc = clickhouse_target_ahead_prepare(d, plan, true, err);

	if (!rc)
		rc = clickhouse_query(d->db, sql, "t", &rows, err);
	if (!rc)
		*out = rows.n_rows > 0;
	clickhouse_rows_release(&rows);
	free(sql);
	return rc;
}

static void clickhouse_target_plan_free(struct plan *base)
{
	struct clickhouse_target_plan *plan =
		(struct clickhouse_target_plan *)base;

	clickhouse_target_catalog_release(&plan->table);
	clickhouse_target_catalog_release(&plan->readable);
	clickhouse_target_mark_row_release(&plan->mark);
	for (size_t i = 0; i < plan->n_wanted; i++)
		free(plan->wanted[i]);
	free(plan->wanted);
}

const struct plan_engine clickhouse_target_plan_engine = {
	.title = "ClickHouse",
	.case_blind = false,
	.size = sizeof(struct clickhouse_target_plan),
	.look = clickhouse_target_plan_look,
	.check = clickhouse_target_plan_check_mode,
	.fit = clickhouse_target_plan_fit,
	.ddl = clickhouse_target_plan_ddl,
	.has_rows = clickhouse_target_plan_has_rows,
	.warn = clickhouse_target_plan_warn,
	.release = clickhouse_target_plan_free,
};
