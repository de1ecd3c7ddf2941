#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/data/table_name.h"
#include "destinations/clickhouse/internal.h"

void clickhouse_target_plan_init(struct plan *plan)
{
	memset(plan, 0, sizeof(*plan));
	inspection_init(&plan->inspection);
	clickhouse_target_catalog_init(&plan->table);
	clickhouse_target_catalog_init(&plan->readable);
}

void clickhouse_target_plan_release(struct plan *plan)
{
	inspection_release(&plan->inspection);
	clickhouse_target_catalog_release(&plan->table);
	clickhouse_target_catalog_release(&plan->readable);
	clickhouse_target_mark_row_release(&plan->mark);
	clickhouse_target_plan_init(plan);
}

static char *plan_wanted(const struct schema *s, size_t column)
{
	struct strbuf sb = STRBUF_INIT;

	clickhouse_target_type_write(&sb, &s->columns[column].type, s->engine);
	return strbuf_detach(&sb);
}

static void plan_fit(const struct plan *plan, const struct target *target,
		     size_t i, const char *wanted, struct drift_column *out)
{
	const struct column *source = &target->schema->columns[i];
	const struct catalog_column *c =
		clickhouse_target_catalog_find(&plan->table, source->name);

	*out = (struct drift_column){ .wanted = wanted, .grown = wanted };
	out->mapping = clickhouse_target_type_mapping(&source->type,
						      target->schema->engine);
	if (!c)
		return;
	out->actual = c->type;
	out->not_null = !clickhouse_target_type_is_nullable(c->type);
	out->generated = c->computed;
	out->fit = clickhouse_target_type_fit(out->mapping, wanted, c->type);
	/* The sorting key is as it was made. */
	if (out->fit == FIT_GROWS && schema_is_key(target->schema, i))
		out->fit = FIT_NARROW;
	/* A refresh fills a new table: any type can become any other. */
	if (out->fit == FIT_NARROW && target->refresh)
		out->fit = FIT_GROWS;
}

static size_t plan_extras(const struct plan *plan, const struct target *target,
			  struct drift_extra *out)
{
	size_t n = 0;

	for (size_t i = 0; i < plan->table.n_columns; i++) {
		const struct catalog_column *c = &plan->table.columns[i];

		if (name_is_own(c->name) ||
		    schema_find(target->schema, c->name) >= 0)
			continue;
		/* What is not said gets the type's own default. */
		out[n++] = (struct drift_extra){ .name = c->name,
						 .has_default = true,
						 .generated = c->computed };
	}
	return n;
}

/* A column keeps the type that it has if that holds all. In a table that is
 * made anew a key takes no NULL, and what was one and is none takes it. */
static char *plan_type(const struct plan *plan, const struct target *target,
		       size_t i, const char *wanted, enum drift_step step)
{
	const struct catalog_column *c = clickhouse_target_catalog_find(
		&plan->table, target->schema->columns[i].name);

	if (!c || step == STEP_WIDEN)
		return clickhouse_target_ddl_column_type(target->schema, i,
							 wanted);
	if (target->refresh && schema_is_key(target->schema, i))
		return clickhouse_target_type_set_nullable(c->type, false);
	if (target->refresh && c->sorting)
		return clickhouse_target_type_set_nullable(c->type, true);
	return xstrdup(c->type);
}

struct plan_columns {
	struct drift_column *columns;
	struct drift_extra *extras;
	enum drift_step *steps;
	char **wanted, **types;
};

static void plan_columns_release(struct plan_columns *c, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(c->wanted[i]);
		free(c->types[i]);
	}
	free(c->columns);
	free(c->extras);
	free(c->steps);
	free(c->wanted);
	free(c->types);
}

static void plan_drift(struct plan *plan, const struct place *place,
		       const struct target *target)
{
	size_t n = target->schema->n_columns;
	struct plan_columns c = {
		.columns = xcalloc(n + 1, sizeof(*c.columns)),
		.extras = xcalloc(plan->table.n_columns + 1, sizeof(*c.extras)),
		.steps = xcalloc(n + 1, sizeof(*c.steps)),
		.wanted = xcalloc(n + 1, sizeof(*c.wanted)),
		.types = xcalloc(n + 1, sizeof(*c.types)),
	};
	struct drift_table table = {
		.columns = c.columns,
		.extras = c.extras,
		.exists = plan->table.exists,
		.known = plan->known || target->refresh,
		.created = plan->created,
	};

	for (size_t i = 0; i < n; i++) {
		c.wanted[i] = plan_wanted(target->schema, i);
		plan_fit(plan, target, i, c.wanted[i], &c.columns[i]);
	}
	table.n_extras = plan_extras(plan, target, c.extras);
	drift_decide(target, &table, c.steps, &plan->inspection);
	for (size_t i = 0; i < n; i++)
		c.types[i] =
			plan_type(plan, target, i, c.wanted[i], c.steps[i]);
	clickhouse_target_ddl_plan(plan, place, target, c.steps,
				   (const char *const *)c.types);
	plan_columns_release(&c, n);
}

static bool plan_is_known(const struct plan *plan, const struct place *place)
{
	return plan->mark.found && !strcmp(plan->mark.target, place->table) &&
	       (!plan->table.exists ||
		!strcmp(plan->mark.table_uuid, plan->table.uuid));
}

static int plan_has_database(struct clickhouse_target *d,
			     const struct place *place, bool *out,
			     struct error *err)
{
	struct clickhouse_rows rows;
	struct strbuf sql = STRBUF_INIT;
	int rc;

	strbuf_addstr(&sql,
		      "SELECT count() FROM system.databases WHERE name = ");
	clickhouse_quote_text(&sql, place->database);
	rc = clickhouse_query(d->db, sql.data, "t", &rows, err);
	*out = !rc && clickhouse_rows_i64(&rows, 0) == 1;
	clickhouse_rows_release(&rows);
	strbuf_release(&sql);
	return rc;
}

static int plan_marks(struct plan *plan, struct clickhouse_target *d,
		      const struct place *place, struct error *err)
{
	struct error why = ERROR_INIT;
	bool durable = true;
	int rc = clickhouse_target_mark_has_table(d, place, &plan->has_marks,
						  &durable, &why);

	if (rc == -ERROR_SCHEMA) {
		problems_add_error(&plan->inspection.problems, "unsafe-marks",
				   &why);
		return 0;
	}
	if (rc)
		*err = why;
	if (!rc && plan->has_marks && !durable)
		plan->volatile_tables[plan->n_volatile++] = place->marks_rows;
	return rc;
}

static int plan_read(struct plan *plan, struct clickhouse_target *d,
		     const struct place *place, const struct target *target,
		     struct error *err)
{
	int rc = clickhouse_target_catalog_read(d->db, place->database,
						place->base, &plan->table, err);

	if (!rc)
		rc = clickhouse_target_catalog_read(d->db, place->database,
						    place->table,
						    &plan->readable, err);
	if (!rc)
		rc = plan_has_database(d, place, &plan->has_database, err);
	if (!rc)
		rc = plan_marks(plan, d, place, err);
	if (!rc && !target->refresh && plan->table.exists &&
	    clickhouse_target_catalog_is_made_by_us(&plan->table) &&
	    !clickhouse_target_catalog_is_durable(&plan->table))
		plan->volatile_tables[plan->n_volatile++] = place->rows;
	if (!rc && plan->has_marks)
		rc = clickhouse_target_mark_read(d, place, target->pipeline,
						 &plan->mark, err);
	return rc;
}

int clickhouse_target_plan_make(struct plan *plan, struct clickhouse_target *d,
				const struct place *place,
				const struct target *target, struct error *err)
{
	int rc = plan_read(plan, d, place, target, err);

	if (rc)
		return rc;
	plan->known = plan_is_known(plan, place);
	plan->created = plan->table.exists &&
			clickhouse_target_catalog_is_made_by_us(&plan->table);
	plan->inspection.table_exists = plan->table.exists;
	plan->inspection.anew = !plan->known || !plan->table.exists;
	clickhouse_target_plan_check_mode(plan, target);
	plan_drift(plan, place, target);
	plan->inspection.anew |= plan->inspection.added.n > 0;
	return clickhouse_target_plan_check(plan, d, place, target, err);
}
