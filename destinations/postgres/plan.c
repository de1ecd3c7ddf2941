#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/data/table_name.h"
#include "destinations/common/refusals.h"
#include "destinations/postgres/owned.h"
#include "destinations/postgres/postgres.h"

#define READABLE_FAULT PG_OWNED_OWNER("v.relowner")

/* One row about the place of the target; the fault of the marks comes last. */
static const char surroundings_sql[] =
	"SELECT n.oid IS NOT NULL,\n"
	"  coalesce(has_schema_privilege(n.oid, 'CREATE'),\n"
	"  has_database_privilege(current_database(), 'CREATE')),\n"
	"  w.oid IS NOT NULL, v.relkind,\n"
	"  v.relkind = 'v' AND pg_get_viewdef(v.oid)\n"
	"  LIKE '%DESC NULLS LAST, %" NAME_RAW_SEQ " DESC%',\n"
	"  " READABLE_FAULT ",\n"
	"  has_database_privilege(current_database(), 'TEMPORARY'),\n"
	"  quote_ident(current_database()),\n  ";
static const char surroundings_from_sql[] =
	"\nFROM (VALUES (1)) AS one(i)\n"
	"LEFT JOIN pg_namespace n ON n.nspname = $1\n"
	"LEFT JOIN pg_class w ON w.relnamespace = n.oid\n"
	"  AND w.relname = '" NAME_WATERMARK_TABLE "'\n"
	"LEFT JOIN pg_class v ON v.relnamespace = n.oid AND v.relname = $2";

struct surroundings {
	bool has_schema;
	bool may_create;
	bool may_stage;
	char *database; /* quoted */
	char readable; /* relkind of the name that readers use; 0: none */
	char *readable_fault; /* whose it is, unless it is ours */
	char *mark_fault; /* of the table of the marks */
};

static void plan_error(struct plan *plan, enum error_code error,
		       const char *code, const char *fix,
		       const struct target *target, const char *what)
{
	problems_add(&plan->inspection.problems, SEVERITY_ERROR, error, code,
		     fix, "table %s: %s", target->table, what);
}

static int plan_surroundings(struct plan *plan, struct pg *pg,
			     const struct place *place,
			     struct surroundings *out, struct error *err)
{
	const char *params[] = { place->schema, place->table,
				 place->watermark };
	struct strbuf sql = STRBUF_INIT;
	struct pg_result *r = NULL;
	int rc;

	strbuf_addstr(&sql, surroundings_sql);
	postgres_owned_add_fault(&sql, "$3");
	strbuf_addstr(&sql, surroundings_from_sql);
	rc = pg_query(pg, &r, sql.data, "1ttt???tt?", ARRAY_SIZE(params),
		      params, err);
	strbuf_release(&sql);
	if (!rc) {
		out->has_schema = *pg_value(r, 0, 0) == 't';
		out->may_create = *pg_value(r, 0, 1) == 't';
		plan->has_watermark = *pg_value(r, 0, 2) == 't';
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
static void plan_check_owners(struct plan *plan, const struct place *place,
			      const struct target *target,
			      const struct surroundings *around)
{
	struct problems *out = &plan->inspection.problems;
	struct error err = ERROR_INIT;

	if (postgres_owned_refuse(around->mark_fault, place, &err))
		problems_add_error(out, "unsafe-marks", &err);
	postgres_owned_look(&plan->table, place, target, out);
	if (target->mode == LOAD_APPEND && around->readable == 'v' &&
	    plan->table.exists && around->readable_fault)
		problems_add(out, SEVERITY_ERROR, ERROR_SCHEMA, "unsafe-view",
			     "drop the view: the next run makes it again",
			     "table %s: the view of that name %s" PG_OWNED_WHY,
			     target->table, around->readable_fault);
}

/* "": nothing was loaded yet. */
static bool plan_is_replaced(const struct plan *plan, const char *id)
{
	return plan->table.exists && *id &&
	       strtoul(id, NULL, 10) != plan->table.oid;
}

/* The pipeline's row is about this target, or it says nothing about it. */
static int plan_history(struct plan *plan, struct pg *pg,
			const struct place *place, const struct target *target,
			struct error *err)
{
	const char *params[] = { target->pipeline, place->table };
	struct pg_result *r = NULL;
	char *sql;
	int rc;

	if (!plan->has_watermark)
		return 0;
	sql = xstrfmt("SELECT created_target, watermark IS NOT NULL,\n"
		      "  target_rows, target_id FROM %s\n"
		      "WHERE pipeline = $1 AND target = $2",
		      place->watermark);
	rc = pg_query(pg, &r, sql, "tttt", 2, params, err);
	if (!rc && pg_rows(r)) {
		plan->marked = *pg_value(r, 0, 1) == 't';
		plan->delivered = strtoll(pg_value(r, 0, 2), NULL, 10);
		plan->replaced = plan_is_replaced(plan, pg_value(r, 0, 3));
		plan->known = !plan->replaced;
		plan->created = plan->known && *pg_value(r, 0, 0) == 't';
	}
	pg_result_free(r);
	free(sql);
	return rc;
}

static void plan_check_rights(struct plan *plan, const struct place *place,
			      const struct target *target,
			      const struct surroundings *around)
{
	const struct catalog_table *t = &plan->table;
	char *grant;

	if (t->exists &&
	    !(t->may_read && t->may_insert && t->may_update && t->may_delete)) {
		grant = xstrfmt("GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO "
				"the user of this connection",
				place->rows);
		plan_error(plan, ERROR_ACCESS, "missing-right", grant, target,
			   "this user may not read and change it");
		free(grant);
	}
	if ((!t->exists || !plan->has_watermark || target->refresh) &&
	    !around->may_create) {
		grant = xstrfmt("GRANT CREATE ON SCHEMA \"%s\" TO the user of "
				"this connection",
				place->schema);
		plan_error(plan, ERROR_ACCESS, "missing-right", grant, target,
			   "this user may not create tables in its schema");
		free(grant);
	}
	if (!around->may_stage) {
		grant = xstrfmt("GRANT TEMPORARY ON DATABASE %s TO the user of "
				"this connection",
				around->database);
		plan_error(plan, ERROR_ACCESS, "missing-right", grant, target,
			   "this user may not create temporary tables, which "
			   "each batch goes through");
		free(grant);
	}
}

static void plan_check_kind(struct plan *plan, const struct target *target,
			    const struct surroundings *around)
{
	const struct catalog_table *t = &plan->table;

	if (t->exists && t->kind != 'r' && t->kind != 'p')
		target_refuse_not_a_table(target, &plan->inspection.problems);
	if (t->exists && t->kind == 'p' && target->refresh)
		plan_error(plan, ERROR_SCHEMA, "partitioned-refresh",
			   "load it with mode upsert", target,
			   "a partitioned table cannot be swapped");
	if (target->mode != LOAD_APPEND || !around->readable)
		return;
	if (around->readable != 'v')
		target_refuse_not_a_view(target, &plan->inspection.problems);
	else if (!t->exists)
		target_refuse_view_of_others(target,
					     &plan->inspection.problems);
}

/* "a", "b": the key as DDL writes it. */
static void plan_key_list(struct strbuf *sb, const struct schema *schema)
{
	for (size_t i = 0; i < schema->n_key; i++) {
		if (i)
			strbuf_addstr(sb, ", ");
		sql_quote_name(sb, schema->columns[schema->key[i]].name, '"');
	}
}

static bool plan_has_key_columns(const struct plan *plan,
				 const struct schema *schema)
{
	for (size_t i = 0; i < schema->n_key; i++)
		if (!postgres_catalog_find(
			    &plan->table, schema->columns[schema->key[i]].name))
			return false;
	return true;
}

/* Keys that the source tells apart would be one row: of a raw table's view,
 * too. */
static void plan_check_folding(struct plan *plan, const struct place *place,
			       const struct target *target)
{
	const struct schema *s = target->schema;

	for (size_t i = 0; i < s->n_key; i++) {
		const struct catalog_column *c = postgres_catalog_find(
			&plan->table, s->columns[s->key[i]].name);
		struct strbuf fix = STRBUF_INIT;

		if (!c || !c->folds)
			continue;
		strbuf_addf(&fix, "ALTER TABLE %s ALTER COLUMN ", place->rows);
		sql_quote_name(&fix, c->name, '"');
		strbuf_addf(&fix, " TYPE %s COLLATE \"C\"", c->type.name);
		target_refuse_folding(target, c->name, fix.data,
				      &plan->inspection.problems);
		strbuf_release(&fix);
	}
}

static void plan_check_key(struct plan *plan, const struct place *place,
			   const struct target *target)
{
	const struct schema *s = target->schema;
	struct strbuf fix = STRBUF_INIT;

	if (target_refuse_keyless(target, &plan->inspection.problems))
		return;
	plan_check_folding(plan, place, target);
	if (!plan->table.exists || target->mode == LOAD_APPEND ||
	    !plan_has_key_columns(plan, s))
		return;
	if (!plan->table.has_key) {
		strbuf_addf(&fix, "CREATE UNIQUE INDEX ON %s (", place->rows);
		plan_key_list(&fix, s);
		strbuf_addch(&fix, ')');
		plan_error(plan, ERROR_SCHEMA, "key-not-unique", fix.data,
			   target,
			   "no unique index is on exactly the key's columns, "
			   "so a key could come twice");
		strbuf_release(&fix);
	}
	if (plan->table.other_unique)
		target_warn_unique(target, &plan->inspection.problems);
}

static void plan_check_changes(struct plan *plan, const struct target *target)
{
	const struct schema *s = target->schema;
	const struct catalog_column *c;

	if (plan->table.referenced && target->mode == LOAD_DELETE_INSERT)
		plan_error(plan, ERROR_SCHEMA, "referenced",
			   "load it with mode upsert", target,
			   "a foreign key of another table points at it, so "
			   "its rows cannot be deleted and inserted again");
	for (size_t i = 0; i < s->n_columns; i++) {
		c = postgres_catalog_find(&plan->table, s->columns[i].name);
		if (c && c->identity_always && !schema_is_key(s, i))
			problems_add(&plan->inspection.problems, SEVERITY_ERROR,
				     ERROR_SCHEMA, "column-generated",
				     "alter it to GENERATED BY DEFAULT",
				     "table %s: column %s is GENERATED ALWAYS "
				     "AS IDENTITY and cannot be updated",
				     target->table, c->name);
	}
	if (target->mode == LOAD_APPEND)
		target_refuse_reserved(target, &plan->inspection.problems);
}

/* Worth a look only when the mark says that rows are there. Policies may hide
 * them all. */
static int plan_check_emptied(struct plan *plan, struct pg *pg,
			      const struct place *place,
			      const struct target *target, struct error *err)
{
	struct pg_result *r = NULL;
	char *sql;
	int rc;

	if (target->refresh || !plan->known || !plan->marked ||
	    !plan->delivered || !plan->table.exists || !plan->table.may_read ||
	    plan->table.row_security || plan->inspection.added.n)
		return 0;
	sql = xstrfmt("SELECT EXISTS (SELECT FROM %s)", place->rows);
	rc = pg_query(pg, &r, sql, "1t", 0, NULL, err);
	if (!rc && *pg_value(r, 0, 0) != 't')
		target_refuse_emptied(target, plan->delivered,
				      &plan->inspection.problems);
	pg_result_free(r);
	free(sql);
	return rc;
}

static int plan_check_refresh(struct plan *plan, struct pg *pg,
			      const struct place *place,
			      const struct target *target, struct error *err)
{
	if (!target->refresh || !plan->table.exists)
		return 0;
	if (!plan->created && !target->force)
		target_refuse_not_ours(target, &plan->inspection.problems);
	return postgres_swap_inspect(pg, place, target, plan->table.oid,
				     &plan->inspection.problems, err);
}

static void plan_fit(const struct plan *plan, const struct target *target,
		     size_t i, struct drift_column *out, char **grown)
{
	bool postgres = target->schema->engine &&
			!strcmp(target->schema->engine, "postgres");
	const struct catalog_column *c = postgres_catalog_find(
		&plan->table, target->schema->columns[i].name);

	*out = (struct drift_column){ .wanted = plan->wanted[i].name,
				      .mapping = plan->mappings[i] };
	*grown = NULL;
	if (!c)
		return;
	out->actual = c->type.name;
	out->not_null = c->not_null;
	out->generated = c->generated;
	out->fit =
		postgres_type_fit(&plan->wanted[i], &c->type, postgres, grown);
	/* A refresh fills an empty table: any type can become any other. */
	if (out->fit == FIT_NARROW && target->refresh) {
		out->fit = FIT_GROWS;
		*grown = xstrdup(plan->wanted[i].name);
	}
	out->grown = *grown;
}

static size_t plan_extras(const struct plan *plan, const struct target *target,
			  struct drift_extra *out)
{
	size_t n = 0;

	for (size_t i = 0; i < plan->table.n_columns; i++) {
		const struct catalog_column *c = &plan->table.columns[i];

		if (schema_find(target->schema, c->name) >= 0 ||
		    (target->mode == LOAD_APPEND && name_is_own(c->name)))
			continue;
		out[n++] = (struct drift_extra){ c->name, c->not_null,
						 c->has_default, c->generated };
	}
	return n;
}

static void plan_drift(struct plan *plan, const struct target *target,
		       enum drift_step *steps)
{
	size_t n = target->schema->n_columns;
	struct drift_column *columns = xcalloc(n + 1, sizeof(*columns));
	char **grown = xcalloc(n + 1, sizeof(*grown));
	struct drift_extra *extras =
		xcalloc(plan->table.n_columns + 1, sizeof(*extras));
	struct drift_table table = {
		.columns = columns,
		.extras = extras,
		.exists = plan->table.exists,
		.known = plan->known || target->refresh,
		.created = plan->created,
	};

	for (size_t i = 0; i < n; i++)
		plan_fit(plan, target, i, &columns[i], &grown[i]);
	table.n_extras = plan_extras(plan, target, extras);
	drift_decide(target, &table, steps, &plan->inspection);
	/* The type of a column that grows outlives this function as DDL. */
	for (size_t i = 0; i < n; i++)
		if (steps[i] == STEP_WIDEN) {
			free(plan->wanted[i].name);
			plan->wanted[i].name = grown[i];
			grown[i] = NULL;
		}
	for (size_t i = 0; i < n; i++)
		free(grown[i]);
	free(grown);
	free(columns);
	free(extras);
}

void postgres_plan_init(struct plan *plan)
{
	*plan = (struct plan){ .n_wanted = 0 };
	inspection_init(&plan->inspection);
	postgres_catalog_table_init(&plan->table);
}

void postgres_plan_release(struct plan *plan)
{
	inspection_release(&plan->inspection);
	postgres_catalog_table_release(&plan->table);
	strlist_release(&plan->copy);
	for (size_t i = 0; i < plan->n_wanted; i++)
		free(plan->wanted[i].name);
	free(plan->wanted);
	free(plan->mappings);
	postgres_plan_init(plan);
}

int postgres_plan_make(struct plan *plan, struct pg *pg,
		       const struct place *place, const struct target *target,
		       struct error *err)
{
	struct surroundings around = { .readable = '\0' };
	enum drift_step *steps = NULL;
	int rc;

	plan->n_wanted = target->schema->n_columns;
	plan->wanted = xcalloc(plan->n_wanted + 1, sizeof(*plan->wanted));
	plan->mappings = xcalloc(plan->n_wanted + 1, sizeof(*plan->mappings));
	steps = xcalloc(plan->n_wanted + 1, sizeof(*steps));
	rc = postgres_catalog_wanted(pg, target->schema, plan->wanted,
				     plan->mappings, err);
	if (!rc)
		rc = postgres_catalog_read(pg, place->schema, place->base,
					   target->schema, &plan->table, err);
	if (!rc)
		rc = plan_surroundings(plan, pg, place, &around, err);
	if (!rc && !around.mark_fault)
		rc = plan_history(plan, pg, place, target, err);
	if (!rc) {
		plan->inspection.table_exists = plan->table.exists;
		plan->has_view = around.readable == 'v';
		plan_check_owners(plan, place, target, &around);
		plan_check_kind(plan, target, &around);
		plan_check_rights(plan, place, target, &around);
		plan_check_key(plan, place, target);
		plan_check_changes(plan, target);
		rc = plan_check_refresh(plan, pg, place, target, err);
	}
	if (!rc) {
		plan_drift(plan, target, steps);
		if (!around.has_schema)
			postgres_plan_ddl_schema(plan, place);
		postgres_plan_ddl(plan, place, target, steps);
		plan->inspection.anew = !plan->known || !plan->table.exists ||
					plan->inspection.added.n;
		if (target->preview)
			postgres_plan_copy(plan, place, target, steps);
		rc = plan_check_emptied(plan, pg, place, target, err);
	}
	free(steps);
	free(around.readable_fault);
	free(around.mark_fault);
	free(around.database);
	return rc;
}
