#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"
#include "core/data/table_name.h"
#include "destinations/common/refusals.h"
#include "destinations/mysql/ahead.h"

static int plan_look_around(struct mysql_target_plan *plan,
			    struct mysql_client *db, struct error *err)
{
	struct mysql_target_surroundings *out = &plan->around;
	const struct place *place = plan->base.place;
	const char *params[] = { AHEAD_AROUND_PARAMS(place) };
	struct mysql_client_result *r = NULL;
	const char *readable;
	int rc = mysql_client_query(db, &r, mysql_target_around_sql, "1t??tt?",
				    ARRAY_SIZE(params), params, err);

	if (!rc) {
		plan->has_database = *mysql_client_value(r, 0, 0) != '0';
		out->watermark_engine = xstrdup(mysql_client_value(r, 0, 1));
		out->mark_fault = xstrdup(mysql_client_value(r, 0, 5));
		plan->base.has_watermark =
			out->watermark_engine && !out->mark_fault;
		readable = mysql_client_value(r, 0, 2);
		out->readable = readable != NULL;
		out->readable_is_view =
			readable && strstr(readable, "VIEW") != NULL;
		out->view_columns =
			strtoll(mysql_client_value(r, 0, 3), NULL, 10);
		out->invoker = *mysql_client_value(r, 0, 4) != '0';
	}
	mysql_client_result_free(r);
	return rc;
}

/* The pipeline's row is about this target, or it says nothing about it. */
static int plan_history(struct plan *plan, struct mysql_client *db,
			struct error *err)
{
	const char *params[] = { plan->target->pipeline, plan->place->table };
	struct mysql_client_result *r = NULL;
	char *sql;
	int rc;

	if (!plan->has_watermark)
		return 0;
	sql = mysql_target_history_sql(plan->place);
	rc = mysql_client_query(db, &r, sql, "ttt", 2, params, err);
	if (!rc && mysql_client_rows(r)) {
		plan->known = true;
		plan->created = *mysql_client_value(r, 0, 0) == '1';
		plan->marked = *mysql_client_value(r, 0, 1) == '1';
		plan->delivered =
			strtoll(mysql_client_value(r, 0, 2), NULL, 10);
	}
	mysql_client_result_free(r);
	free(sql);
	return rc;
}

static void plan_check_engine(struct plan *plan, const char *engine,
			      const char *name)
{
	char *fix, *what;

	if (!engine || !strcasecmp(engine, "InnoDB"))
		return;
	fix = xstrfmt("ALTER TABLE %s ENGINE=InnoDB", name);
	what = xstrfmt("%s is kept by the engine %s, which has no "
		       "transactions: a batch could be there without its "
		       "mark, or by half",
		       name, engine);
	plan_refuse(plan, ERROR_SCHEMA, "not-transactional", fix, what);
	free(fix);
	free(what);
}

static void plan_check_kinds(struct mysql_target_plan *plan)
{
	const struct place *place = plan->base.place;

	plan_check_kind(&plan->base);
	if (plan->table.plain)
		plan_check_engine(&plan->base, plan->table.engine, place->rows);
	plan_check_engine(&plan->base, plan->around.watermark_engine,
			  place->watermark);
	plan_check_view(&plan->base);
}

static void plan_check_owners(struct mysql_target_plan *plan)
{
	struct error err = ERROR_INIT;

	if (mysql_target_owned_refuse(plan->around.mark_fault, plan->base.place,
				      &err))
		plan_refuse_marks(&plan->base, &err);
	mysql_target_owned_look(plan->around.invoker, plan->base.target,
				&plan->base.inspection.problems);
}

/* Would a unique index on the key hold a text without a bound? */
static bool plan_key_is_open(const struct mysql_target_plan *plan,
			     const struct schema *s)
{
	for (size_t i = 0; i < s->n_key; i++) {
		const struct catalog_column *c = mysql_target_catalog_find(
			&plan->table, s->columns[s->key[i]].name);

		if (c && (c->type.base == MYSQL_TARGET_TEXT ||
			  c->type.base == MYSQL_TARGET_BLOB))
			return true;
	}
	return false;
}

static void plan_check_key(struct mysql_target_plan *plan)
{
	const struct target *target = plan->base.target;
	struct problems *out = &plan->base.inspection.problems;
	char *create;

	if (target_lacks_key(target, out) || !plan_keeps_key(&plan->base))
		return;
	if (!plan->table.has_key || plan_key_is_open(plan, target->schema)) {
		create = xstrfmt("CREATE UNIQUE INDEX tidemark_key ON %s",
				 plan->base.place->rows);
		plan_refuse_key(&plan->base, create, '`',
				"no unique index is on exactly the key's "
				"columns and all of their values, so a key "
				"could come twice");
		free(create);
	}
	if (plan->table.other_unique)
		target_warn_unique(target, out);
}

/* A row that is deleted takes along, or is held by, those that point at it. */
static void plan_check_referenced(struct mysql_target_plan *plan)
{
	char *what;

	if (plan->table.referenced_by) {
		what = xstrfmt("a foreign key of %s points at it, so its rows "
			       "cannot be deleted and inserted again",
			       plan->table.referenced_by);
		plan_refuse(&plan->base, ERROR_SCHEMA, "referenced",
			    "load it with mode upsert", what);
		free(what);
	}
}

static void plan_check_changes(struct mysql_target_plan *plan,
			       struct mysql_target *d)
{
	const struct target *target = plan->base.target;
	struct problems *out = &plan->base.inspection.problems;

	if (target->mode == LOAD_DELETE_INSERT)
		plan_check_referenced(plan);
	mysql_target_watchers_unseen(d->db, target, &plan->table, out);
	plan_check_names(&plan->base);
	plan_check_ours(&plan->base);
	if (target->refresh && plan->table.exists)
		mysql_target_swap_inspect(d, plan->base.place, &plan->table,
					  target, out);
}

/* Made by the source's own words: what fits there fits here. */
static bool plan_is_same_type(const struct target *target,
			      const struct column *source,
			      const struct mysql_target_type *actual)
{
	const char *engine = target->schema->engine;
	const char *native = source->type.native;
	bool words = actual->base == MYSQL_TARGET_TEXT ||
		     actual->base == MYSQL_TARGET_BLOB ||
		     actual->base == MYSQL_TARGET_ENUM;

	return words && engine && !strcmp(engine, "mysql") && native &&
	       !strcmp(native, actual->name);
}

static void mysql_target_plan_fit(const void *context, size_t i,
				  struct drift_column *out, char **grown)
{
	const struct mysql_target_plan *plan = context;
	const struct target *target = plan->base.target;
	const struct column *source = &target->schema->columns[i];
	const struct catalog_column *c =
		mysql_target_catalog_find(&plan->table, source->name);

	out->wanted = plan->wanted[i].name;
	out->mapping = plan->mappings[i];
	if (!c)
		return;
	if (plan_is_same_type(target, source, &c->type)) {
		out->fit = FIT_EXACT;
		out->mapping = MAPPING_EXACT;
		return;
	}
	out->fit = mysql_target_type_fit(&plan->wanted[i], &c->type, grown);
	/* A key without a bound fits whatever a key can be. */
	if (schema_is_key(target->schema, i) && out->fit == FIT_GROWS &&
	    plan->wanted[i].base == MYSQL_TARGET_VARCHAR &&
	    source->type.precision <= 0 && c->type.base == MYSQL_TARGET_VARCHAR)
		out->fit = FIT_WIDER;
	if ((long)i == target->schema->mark && out->fit == FIT_WIDER &&
	    !mysql_target_type_keeps_order(source->type.kind, &c->type))
		out->fit = FIT_NARROW;
}

/* The view shows each column that the raw table has from the source. */
static bool plan_view_is_whole(const struct mysql_target_plan *plan)
{
	int64_t n = 0;

	for (size_t i = 0; i < plan->table.n_columns; i++)
		n += !name_is_own(plan->table.columns[i].name);
	return plan->around.readable_is_view && plan->around.view_columns == n;
}

static void plan_wanted(struct mysql_target_plan *plan,
			const struct mysql_target *d)
{
	const struct schema *s = plan->base.target->schema;

	plan->n_wanted = s->n_columns;
	plan->wanted = xcalloc(s->n_columns + 1, sizeof(*plan->wanted));
	plan->mappings = xcalloc(s->n_columns + 1, sizeof(*plan->mappings));
	if (!mysql_target_types_wanted(s, &d->dialect, plan->wanted,
				       plan->mappings) &&
	    !plan->table.exists)
		plan_refuse(&plan->base, ERROR_SCHEMA, "key-too-long",
			    "choose a shorter key, or shorten it under "
			    "source.expressions",
			    "its key columns are longer than the 3072 bytes "
			    "that an index takes");
}

static void plan_take_table(struct mysql_target_plan *plan)
{
	const struct catalog_table *t = &plan->table;
	bool append = plan->base.target->mode == LOAD_APPEND;

	plan->base.exists = t->exists;
	plan->base.plain = plan->base.counts = t->plain;
	if (append && plan->around.readable)
		plan_set_readable(&plan->base, plan->around.readable_is_view,
				  t->exists);
	for (size_t i = 0; i < t->n_columns; i++) {
		const struct catalog_column *c = &t->columns[i];

		plan_add_column(&plan->base,
				&(struct table_column){
					.name = c->name,
					.type = c->type.name,
					.not_null = c->not_null,
					.has_default = c->default_text ||
						       c->auto_increment,
					.generated = c->generated,
				});
	}
}

static int mysql_target_plan_look(struct plan *base, struct error *err)
{
	struct mysql_target_plan *plan = (struct mysql_target_plan *)base;
	struct mysql_target *d = (struct mysql_target *)base->destination;
	const struct place *place = base->place;
	int rc = mysql_target_catalog_read(d->db, place->database, place->base,
					   base->target->schema, &plan->table,
					   err);

	if (!rc)
		rc = mysql_target_watchers_read(d->db, place->database,
						place->base, base->target,
						&plan->table, err);
	if (!rc)
		rc = plan_look_around(plan, d->db, err);
	if (!rc)
		rc = plan_history(base, d->db, err);
	if (!rc)
		plan_take_table(plan);
	return rc;
}

static int mysql_target_plan_check(struct plan *base, struct error *err)
{
	struct mysql_target_plan *plan = (struct mysql_target_plan *)base;
	struct mysql_target *d = (struct mysql_target *)base->destination;

	(void)err;
	plan_wanted(plan, d);
	plan->has_view = plan_view_is_whole(plan);
	plan_check_owners(plan);
	plan_check_kinds(plan);
	plan_check_key(plan);
	plan_check_changes(plan, d);
	return 0;
}

static int mysql_target_plan_ddl(struct plan *base, struct error *err)
{
	struct mysql_target_plan *plan = (struct mysql_target_plan *)base;
	struct mysql_target *d = (struct mysql_target *)base->destination;
	const struct drift *drift = &base->drift;
	int rc = 0;

	if (base->exists && drift_has(drift, STEP_WIDEN))
		rc = mysql_target_catalog_clauses(d->db, base->place->rows,
						  &plan->table, err);
	if (rc)
		return rc;
	mysql_target_ddl(plan, d, base->place, base->target, drift->steps,
			 drift->grown);
	if (base->target->preview)
		mysql_target_ddl_copy(plan, d, base->place, base->target,
				      drift->steps, drift->grown);
	return 0;
}

int mysql_target_has_rows(struct mysql_client *db, const char *table, bool *out,
			  struct error *err)
{
	char *sql = mysql_target_rows_sql(table);
	struct mysql_client_result *r = NULL;
	int rc = mysql_client_query(db, &r, sql, "t", 0, NULL, err);

	if (!rc)
		*out = mysql_client_rows(r) > 0;
	mysql_client_result_free(r);
	free(sql);
	return rc;
}

static int mysql_target_plan_has_rows(const struct plan *plan, bool *out,
				      struct error *err)
{
	struct mysql_target *d = (struct mysql_target *)plan->destination;

	return mysql_target_has_rows(d->db, plan->place->rows, out, err);
}

static int mysql_target_plan_warn(struct plan *base, struct error *err)
{
	struct mysql_target_plan *plan = (struct mysql_target_plan *)base;
	struct mysql_target *d = (struct mysql_target *)base->destination;
	struct problems *out = &base->inspection.problems;
	int rc = mysql_target_rights_inspect(d, base->place, base->target, out,
					     err);

	return rc ? rc
		  : mysql_target_watchers_mark(d->db, base->place, base->target,
					       &plan->table, out, err);
}

static void mysql_target_plan_free(struct plan *base)
{
	struct mysql_target_plan *plan = (struct mysql_target_plan *)base;

	for (size_t i = 0; i < plan->n_wanted; i++)
		mysql_target_type_release(&plan->wanted[i]);
	free(plan->wanted);
	free(plan->mappings);
	free(plan->around.watermark_engine);
	free(plan->around.mark_fault);
	mysql_target_catalog_release(&plan->table);
	strlist_release(&plan->pulled);
}

const struct plan_engine mysql_target_plan_engine = {
	.title = "MySQL",
	.case_blind = true,
	.size = sizeof(struct mysql_target_plan),
	.look = mysql_target_plan_look,
	.check = mysql_target_plan_check,
	.fit = mysql_target_plan_fit,
	.ddl = mysql_target_plan_ddl,
	.has_rows = mysql_target_plan_has_rows,
	.warn = mysql_target_plan_warn,
	.release = mysql_target_plan_free,
};
