#include <stdlib.h>
#include <string.h>

#include "clients/pg_ahead.h"
#include "core/base/alloc.h"
#include "core/data/table_name.h"
#include "destinations/common/refusals.h"
#include "destinations/postgres/ahead.h"
#include "destinations/postgres/owned.h"
#include "destinations/postgres/postgres.h"

static int plan_look_around(struct postgres_plan *plan, struct pg *pg,
			    struct error *err)
{
	struct postgres_surroundings *out = &plan->around;
	const struct place *place = plan->base.place;
	const char *params[] = { place->schema, place->table,
				 place->watermark };
	struct strbuf sql = STRBUF_INIT;
	struct pg_result *r = NULL;
	int rc;

	postgres_ahead_around_sql(&sql);
	rc = pg_query(pg, &r, sql.data, "1ttt???tt?", ARRAY_SIZE(params),
		      params, err);
	strbuf_release(&sql);
	if (!rc) {
		out->has_schema = *pg_value(r, 0, 0) == 't';
		out->may_create = *pg_value(r, 0, 1) == 't';
		plan->base.has_watermark = *pg_value(r, 0, 2) == 't';
		out->readable = pg_value(r, 0, 3) ? *pg_value(r, 0, 3) : '\0';
		plan->old_view = pg_value(r, 0, 4) && *pg_value(r, 0, 4) == 't';
		out->readable_fault = xstrdup(pg_value(r, 0, 5));
		out->may_stage = *pg_value(r, 0, 6) == 't';
		out->database = xstrdup(pg_value(r, 0, 7));
		out->mark_fault = xstrdup(pg_value(r, 0, 8));
	}
	pg_result_free(r);
	return rc;
}

/* Readers of the view run the functions that are in it, verify among them. */
static void plan_check_owners(struct postgres_plan *plan)
{
	struct problems *out = &plan->base.inspection.problems;
	const struct target *target = plan->base.target;
	const struct postgres_surroundings *around = &plan->around;
	struct error err = ERROR_INIT;

	if (postgres_owned_refuse(around->mark_fault, plan->base.place, &err))
		plan_refuse_marks(&plan->base, &err);
	postgres_owned_look(&plan->table, plan->base.place, target, out);
	if (target->mode == LOAD_APPEND && around->readable == 'v' &&
	    plan->table.exists && around->readable_fault)
		problems_add(out, SEVERITY_ERROR, ERROR_SCHEMA, "unsafe-view",
			     "drop the view: the next run makes it again",
			     "table %s: the view of that name %s" PG_OWNED_WHY,
			     target->table, around->readable_fault);
}

/* "": nothing was loaded yet. */
static bool plan_is_replaced(const struct postgres_plan *plan, const char *id)
{
	return plan->table.exists && *id &&
	       strtoul(id, NULL, 10) != plan->table.oid;
}

/* The pipeline's row is about this target, or it says nothing about it. */
static int plan_history(struct postgres_plan *plan, struct pg *pg,
			struct error *err)
{
	struct plan *base = &plan->base;
	const char *params[] = { base->target->pipeline, base->place->table };
	struct pg_result *r = NULL;
	char *sql;
	int rc;

	if (!base->has_watermark || plan->around.mark_fault)
		return 0;
	sql = postgres_ahead_history_sql(base->place);
	rc = pg_query(pg, &r, sql, "tttt", 2, params, err);
	if (!rc && pg_rows(r)) {
		base->marked = *pg_value(r, 0, 1) == 't';
		base->delivered = strtoll(pg_value(r, 0, 2), NULL, 10);
		base->replaced = plan_is_replaced(plan, pg_value(r, 0, 3));
		base->known = !base->replaced;
		base->created = base->known && *pg_value(r, 0, 0) == 't';
	}
	pg_result_free(r);
	free(sql);
	return rc;
}

static void plan_refuse_right(struct plan *plan, char *grant, const char *what)
{
	plan_refuse(plan, ERROR_ACCESS, "missing-right", grant, what);
	free(grant);
}

static void plan_check_rights(struct postgres_plan *plan)
{
	const struct place *place = plan->base.place;
	const struct postgres_surroundings *around = &plan->around;
	const struct catalog_table *t = &plan->table;

	if (t->exists &&
	    !(t->may_read && t->may_insert && t->may_update && t->may_delete))
		plan_refuse_right(
			&plan->base,
			xstrfmt("GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO "
				"the user of this connection",
				place->rows),
			"this user may not read and change it");
	if ((!t->exists || !plan->base.has_watermark ||
	     plan->base.target->refresh) &&
	    !around->may_create)
		plan_refuse_right(
			&plan->base,
			xstrfmt("GRANT CREATE ON SCHEMA \"%s\" TO the user of "
				"this connection",
				place->schema),
			"this user may not create tables in its schema");
	if (!around->may_stage)
		plan_refuse_right(
			&plan->base,
			xstrfmt("GRANT TEMPORARY ON DATABASE %s TO the user of "
				"this connection",
				around->database),
			"this user may not create temporary tables, which "
			"each batch goes through");
}

static void plan_check_kinds(struct postgres_plan *plan)
{
	const struct catalog_table *t = &plan->table;

	plan_check_kind(&plan->base);
	if (t->exists && t->kind == 'p' && plan->base.target->refresh)
		plan_refuse(&plan->base, ERROR_SCHEMA, "partitioned-refresh",
			    "load it with mode upsert",
			    "a partitioned table cannot be swapped");
	plan_check_view(&plan->base);
}

/* Keys that the source tells apart would be one row: of a raw table's view,
 * too. */
static void plan_check_folding(struct postgres_plan *plan)
{
	const struct target *target = plan->base.target;
	const struct schema *s = target->schema;

	for (size_t i = 0; i < s->n_key; i++) {
		const struct catalog_column *c = postgres_catalog_find(
			&plan->table, s->columns[s->key[i]].name);
		struct strbuf fix = STRBUF_INIT;

		if (!c || !c->folds)
			continue;
		strbuf_addf(&fix, "ALTER TABLE %s ALTER COLUMN ",
			    plan->base.place->rows);
		sql_quote_name(&fix, c->name, '"');
		strbuf_addf(&fix, " TYPE %s COLLATE \"C\"", c->type.name);
		target_refuse_folding(target, c->name, fix.data,
				      &plan->base.inspection.problems);
		strbuf_release(&fix);
	}
}

static void plan_check_key(struct postgres_plan *plan)
{
	const struct target *target = plan->base.target;
	struct problems *out = &plan->base.inspection.problems;
	char *create;

	if (target_lacks_key(target, out))
		return;
	plan_check_folding(plan);
	if (!plan_keeps_key(&plan->base))
		return;
	if (!plan->table.has_key) {
		create = xstrfmt("CREATE UNIQUE INDEX ON %s",
				 plan->base.place->rows);
		plan_refuse_key(&plan->base, create, '"',
				"no unique index is on exactly the key's "
				"columns, so a key could come twice");
		free(create);
	}
	if (plan->table.other_unique)
		target_warn_unique(target, out);
}

static void plan_check_identities(struct postgres_plan *plan)
{
	const struct schema *s = plan->base.target->schema;

	for (size_t i = 0; i < s->n_columns; i++) {
		const struct catalog_column *c =
			postgres_catalog_find(&plan->table, s->columns[i].name);

		if (c && c->identity_always && !schema_is_key(s, i))
			problems_add(&plan->base.inspection.problems,
				     SEVERITY_ERROR, ERROR_SCHEMA,
				     "column-generated",
				     "alter it to GENERATED BY DEFAULT",
				     "table %s: column %s is GENERATED ALWAYS "
				     "AS IDENTITY and cannot be updated",
				     plan->base.target->table, c->name);
	}
}

static void plan_check_changes(struct postgres_plan *plan)
{
	if (plan->table.referenced &&
	    plan->base.target->mode == LOAD_DELETE_INSERT)
		plan_refuse(&plan->base, ERROR_SCHEMA, "referenced",
			    "load it with mode upsert",
			    "a foreign key of another table points at it, so "
			    "its rows cannot be deleted and inserted again");
	plan_check_identities(plan);
	plan_check_names(&plan->base);
}

static int postgres_plan_check(struct plan *base, struct error *err)
{
	struct postgres_plan *plan = (struct postgres_plan *)base;
	struct postgres_destination *d =
		(struct postgres_destination *)base->destination;

	plan_check_owners(plan);
	plan_check_kinds(plan);
	plan_check_rights(plan);
	plan_check_key(plan);
	plan_check_changes(plan);
	plan_check_ours(base);
	if (!base->target->refresh || !base->exists)
		return 0;
	return postgres_refill_inspect(d->pg, base->place, base->target,
				       plan->table.oid, &plan->refill,
				       &base->inspection.problems, err);
}

static void postgres_plan_fit(const void *context, size_t i,
			      struct drift_column *out, char **grown)
{
	const struct postgres_plan *plan = context;
	const struct schema *s = plan->base.target->schema;
	bool postgres = s->engine && !strcmp(s->engine, "postgres");
	const struct catalog_column *c =
		postgres_catalog_find(&plan->table, s->columns[i].name);

	out->wanted = plan->wanted[i].name;
	out->mapping = plan->mappings[i];
	if (c)
		out->fit = postgres_type_fit(&plan->wanted[i], &c->type,
					     postgres, grown);
}

static void plan_take_table(struct postgres_plan *plan)
{
	const struct catalog_table *t = &plan->table;
	bool append = plan->base.target->mode == LOAD_APPEND;

	plan->base.exists = t->exists;
	plan->base.plain = t->exists && (t->kind == 'r' || t->kind == 'p');
	/* Policies may hide all rows. */
	plan->base.counts = t->exists && t->may_read && !t->row_security;
	plan->has_view = plan->around.readable == 'v';
	if (append && plan->around.readable)
		plan_set_readable(&plan->base, plan->has_view, t->exists);
	for (size_t i = 0; i < t->n_columns; i++) {
		const struct catalog_column *c = &t->columns[i];

		plan_add_column(&plan->base,
				&(struct table_column){
					.name = c->name,
					.type = c->type.name,
					.not_null = c->not_null,
					.has_default = c->has_default,
					.generated = c->generated,
				});
	}
}

static int postgres_plan_look(struct plan *base, struct error *err)
{
	struct postgres_plan *plan = (struct postgres_plan *)base;
	struct pg *pg = ((struct postgres_destination *)base->destination)->pg;
	const struct schema *s = base->target->schema;
	int rc;

	plan->n_wanted = s->n_columns;
	plan->wanted = xcalloc(plan->n_wanted + 1, sizeof(*plan->wanted));
	plan->mappings = xcalloc(plan->n_wanted + 1, sizeof(*plan->mappings));
	rc = postgres_catalog_wanted(pg, s, plan->wanted, plan->mappings, err);
	if (!rc)
		rc = postgres_catalog_read(pg, base->place->schema,
					   base->place->base, s, &plan->table,
					   err);
	if (!rc)
		rc = plan_look_around(plan, pg, err);
	if (!rc)
		rc = plan_history(plan, pg, err);
	if (!rc)
		plan_take_table(plan);
	return rc;
}

static int postgres_plan_ddl(struct plan *base, struct error *err)
{
	struct postgres_plan *plan = (struct postgres_plan *)base;
	const struct drift *drift = &base->drift;
	struct postgres_destination *d =
		(struct postgres_destination *)base->destination;
	int rc;

	/* A column that grows gets another type than a new one. */
	for (size_t i = 0; i < drift->n; i++)
		if (drift->steps[i] == STEP_WIDEN) {
			free(plan->wanted[i].name);
			plan->wanted[i].name = xstrdup(drift->grown[i]);
		}
	rc = postgres_refill_check(plan, d->pg, err);
	if (!plan->around.has_schema)
		postgres_ddl_schema(plan, base->place);
	postgres_ddl(plan, base->place, base->target, drift->steps);
	if (base->target->preview)
		postgres_ddl_copy(plan, base->place, base->target,
				  drift->steps);
	return rc;
}

static int postgres_plan_has_rows(const struct plan *plan, bool *out,
				  struct error *err)
{
	struct postgres_destination *d =
		(struct postgres_destination *)plan->destination;
	char *sql = postgres_ahead_rows_sql(plan->place);
	struct pg_result *r = NULL;
	struct error why = ERROR_INIT;
	bool early = pg_ahead_has(d->pg, sql);
	int rc = pg_query(d->pg, &r, sql, "1t", 0, NULL, early ? &why : err);

	if (rc && early)
		rc = pg_query(d->pg, &r, sql, "1t", 0, NULL, err);
	if (!rc)
		*out = *pg_value(r, 0, 0) == 't';
	pg_result_free(r);
	free(sql);
	return rc;
}

static int postgres_plan_warn(struct plan *base, struct error *err)
{
	struct pg *pg = ((struct postgres_destination *)base->destination)->pg;

	if (!((struct postgres_plan *)base)->table.filters)
		return 0;
	return postgres_watch_mark(pg, base->place->rows, base->target,
				   &base->inspection.problems, err);
}

static void postgres_plan_free(struct plan *base)
{
	struct postgres_plan *plan = (struct postgres_plan *)base;

	postgres_catalog_table_release(&plan->table);
	for (size_t i = 0; i < plan->n_wanted; i++)
		free(plan->wanted[i].name);
	free(plan->wanted);
	free(plan->mappings);
	free(plan->around.readable_fault);
	free(plan->around.mark_fault);
	free(plan->around.database);
}

const struct plan_engine postgres_plan_engine = {
	.title = "PostgreSQL",
	.case_blind = false,
	.size = sizeof(struct postgres_plan),
	.look = postgres_plan_look,
	.check = postgres_plan_check,
	.fit = postgres_plan_fit,
	.ddl = postgres_plan_ddl,
	.has_rows = postgres_plan_has_rows,
	.warn = postgres_plan_warn,
	.release = postgres_plan_free,
};
