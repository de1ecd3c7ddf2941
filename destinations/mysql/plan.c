#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"
#include "core/data/table_name.h"
#include "destinations/common/refusals.h"
#include "destinations/mysql/owned.h"

struct surroundings {
	char *watermark_engine;
	bool readable; /* something has the name that readers use */
	bool readable_is_view;
	bool invoker; /* its SQL SECURITY */
	int64_t view_columns;
	char *mark_fault; /* of the table of the marks */
};

static void plan_error(struct plan *plan, enum error_code error,
		       const char *code, const char *fix,
		       const struct target *target, const char *what)
{
	problems_add(&plan->inspection.problems, SEVERITY_ERROR, error, code,
		     fix, "table %s: %s", target->table, what);
}

static const char surroundings_sql[] =
	"SELECT COUNT(*),\n"
	"  (SELECT engine FROM information_schema.tables\n"
	"   WHERE table_schema = ?\n"
	"     AND table_name = '" NAME_WATERMARK_TABLE "'),\n"
	"  (SELECT table_type FROM information_schema.tables\n"
	"   WHERE table_schema = ? AND table_name = ?),\n"
	"  (SELECT COUNT(*) FROM information_schema.columns\n"
	"   WHERE table_schema = ? AND table_name = ?),\n"
	"  (SELECT COUNT(*) FROM information_schema.views\n"
	"   WHERE table_schema = ? AND table_name = ?\n"
	"     AND security_type = 'INVOKER'),\n"
	"  " OWNED_MARK_FAULT "\n"
	"FROM information_schema.schemata WHERE schema_name = ?";

static int plan_surroundings(struct plan *plan, struct mysql_client *db,
			     const struct place *place,
			     struct surroundings *out, struct error *err)
{
	const char *params[] = { place->database, place->database,
				 place->table,	  place->database,
				 place->table,	  place->database,
				 place->table,	  OWNED_MARK_PARAMS(place),
				 place->database };
	struct mysql_client_result *r = NULL;
	const char *readable;
	int rc = mysql_client_query(db, &r, surroundings_sql, "1t??tt?",
				    ARRAY_SIZE(params), params, err);

	if (!rc) {
		plan->has_database = *mysql_client_value(r, 0, 0) != '0';
		out->watermark_engine = xstrdup(mysql_client_value(r, 0, 1));
		out->mark_fault = xstrdup(mysql_client_value(r, 0, 5));
		plan->has_watermark = out->watermark_engine && !out->mark_fault;
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
			const struct place *place, const struct target *target,
			struct error *err)
{
	const char *params[] = { target->pipeline, place->table };
	struct mysql_client_result *r = NULL;
	char *sql;
	int rc;

	if (!plan->has_watermark)
		return 0;
	sql = xstrfmt("SELECT created_target, watermark IS NOT NULL,\n"
		      "  target_rows FROM %s\n"
		      "WHERE pipeline = ? AND target = ?",
		      place->watermark);
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
			      const char *name, const struct target *target)
{
	char *fix, *what;

	if (!engine || !strcasecmp(engine, "InnoDB"))
		return;
	fix = xstrfmt("ALTER TABLE %s ENGINE=InnoDB", name);
	what = xstrfmt("%s is kept by the engine %s, which has no "
		       "transactions: a batch could be there without its "
		       "mark, or by half",
		       name, engine);
	plan_error(plan, ERROR_SCHEMA, "not-transactional", fix, target, what);
	free(fix);
	free(what);
}

static void plan_check_kind(struct plan *plan, const struct place *place,
			    const struct target *target,
			    const struct surroundings *around)
{
	const struct catalog_table *t = &plan->table;

	if (t->exists && !t->plain)
		target_refuse_not_a_table(target, &plan->inspection.problems);
	else if (t->exists)
		plan_check_engine(plan, t->engine, place->rows, target);
	plan_check_engine(plan, around->watermark_engine, place->watermark,
			  target);
	if (target->mode != LOAD_APPEND || !around->readable)
		return;
	if (!around->readable_is_view)
		target_refuse_not_a_view(target, &plan->inspection.problems);
	else if (!t->exists)
		target_refuse_view_of_others(target,
					     &plan->inspection.problems);
}

static void plan_check_owners(struct plan *plan, const struct place *place,
			      const struct target *target,
			      const struct surroundings *around)
{
	struct error err = ERROR_INIT;

	if (mysql_target_owned_refuse(around->mark_fault, place, &err))
		problems_add_error(&plan->inspection.problems, "unsafe-marks",
				   &err);
	mysql_target_owned_look(around->invoker, target,
				&plan->inspection.problems);
}

/* What a unique index on the key would be of: no text without a bound. */
static bool plan_has_key_columns(const struct plan *plan,
				 const struct schema *s)
{
	for (size_t i = 0; i < s->n_key; i++)
		if (!mysql_target_catalog_find(&plan->table,
					       s->columns[s->key[i]].name))
			return false;
	return true;
}

static bool plan_key_is_open(const struct plan *plan, const struct schema *s)
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

static void plan_check_key(struct plan *plan, const struct place *place,
			   const struct target *target)
{
	const struct schema *s = target->schema;
	struct strbuf fix = STRBUF_INIT;

	if (target_refuse_keyless(target, &plan->inspection.problems))
		return;
	if (!plan->table.exists || target->mode == LOAD_APPEND ||
	    !plan_has_key_columns(plan, s))
		return;
	if (!plan->table.has_key || plan_key_is_open(plan, s)) {
		strbuf_addf(&fix, "CREATE UNIQUE INDEX tidemark_key ON %s (",
			    place->rows);
		mysql_target_ddl_key(&fix, s);
		strbuf_addstr(&fix, ")");
		plan_error(plan, ERROR_SCHEMA, "key-not-unique", fix.data,
			   target,
			   "no unique index is on exactly the key's columns "
			   "and all of their values, so a key could come "
			   "twice");
		strbuf_release(&fix);
	}
	if (plan->table.other_unique)
		target_warn_unique(target, &plan->inspection.problems);
}

/* A row that is deleted takes along, or is held by, those that point at it. */
static void plan_check_referenced(struct plan *plan,
				  const struct target *target)
{
	char *what;

	if (plan->table.referenced_by) {
		what = xstrfmt("a foreign key of %s points at it, so its rows "
			       "cannot be deleted and inserted again",
			       plan->table.referenced_by);
		plan_error(plan, ERROR_SCHEMA, "referenced",
			   "load it with mode upsert", target, what);
		free(what);
	}
}

static void plan_check_changes(struct plan *plan, const struct mysql_target *d,
			       const struct target *target)
{
	if (target->mode == LOAD_DELETE_INSERT)
		plan_check_referenced(plan, target);
	mysql_target_watchers_unseen(d->db, target, &plan->table,
				     &plan->inspection.problems);
	if (target->mode == LOAD_APPEND)
		target_refuse_reserved(target, &plan->inspection.problems);
}

/* Worth a look only when the mark says that rows are there. */
static int plan_check_emptied(struct plan *plan, struct mysql_client *db,
			      const struct place *place,
			      const struct target *target, struct error *err)
{
	struct mysql_client_result *r = NULL;
	char *sql;
	int rc;

	if (target->refresh || !plan->known || !plan->marked ||
	    !plan->delivered || !plan->table.plain || plan->inspection.added.n)
		return 0;
	sql = xstrfmt("SELECT 1 FROM %s LIMIT 1", place->rows);
	rc = mysql_client_query(db, &r, sql, "t", 0, NULL, err);
	if (!rc && !mysql_client_rows(r))
		target_refuse_emptied(target, plan->delivered,
				      &plan->inspection.problems);
	mysql_client_result_free(r);
	free(sql);
	return rc;
}

static void plan_check_refresh(struct plan *plan, struct mysql_target *d,
			       const struct place *place,
			       const struct target *target)
{
	if (!target->refresh || !plan->table.exists)
		return;
	if (!plan->created && !target->force)
		target_refuse_not_ours(target, &plan->inspection.problems);
	mysql_target_swap_inspect(d, place, &plan->table, target,
				  &plan->inspection.problems);
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

static void plan_fit(const struct plan *plan, const struct target *target,
		     size_t i, struct drift_column *out, char **grown)
{
	const struct column *source = &target->schema->columns[i];
	const struct catalog_column *c =
		mysql_target_catalog_find(&plan->table, source->name);

	*out = (struct drift_column){ .wanted = plan->wanted[i].name,
				      .mapping = plan->mappings[i] };
	*grown = NULL;
	if (!c)
		return;
	out->actual = c->type.name;
	out->not_null = c->not_null;
	out->generated = c->generated;
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
		bool theirs = true;

		for (size_t k = 0; k < target->schema->n_columns; k++)
			if (!strcasecmp(target->schema->columns[k].name,
					c->name))
				theirs = false;
		if (theirs &&
		    (target->mode != LOAD_APPEND || !name_is_own(c->name)))
			out[n++] = (struct drift_extra){
				.name = c->name,
				.not_null = c->not_null,
				.has_default =
					c->default_text || c->auto_increment,
				.generated = c->generated,
			};
	}
	return n;
}

static int plan_drift(struct plan *plan, const struct mysql_target *d,
		      const struct place *place, const struct target *target,
		      struct error *err)
{
	size_t n = target->schema->n_columns;
	struct drift_column *columns = xcalloc(n + 1, sizeof(*columns));
	char **grown = xcalloc(n + 1, sizeof(*grown));
	struct drift_extra *extras =
		xcalloc(plan->table.n_columns + 1, sizeof(*extras));
	enum drift_step *steps = xcalloc(n + 1, sizeof(*steps));
	struct drift_table table = {
		.columns = columns,
		.extras = extras,
		.exists = plan->table.exists,
		.known = plan->known || target->refresh,
		.created = plan->created,
	};
	bool widens = false;
	int rc = 0;

	for (size_t i = 0; i < n; i++)
		plan_fit(plan, target, i, &columns[i], &grown[i]);
	table.n_extras = plan_extras(plan, target, extras);
	drift_decide(target, &table, steps, &plan->inspection);
	for (size_t i = 0; i < n; i++)
		widens |= steps[i] == STEP_WIDEN;
	if (widens && plan->table.exists)
		rc = mysql_target_catalog_clauses(d->db, place->rows,
						  &plan->table, err);
	mysql_target_ddl(plan, d, place, target, steps, grown);
	plan->inspection.anew =
		!plan->known || !plan->table.exists || plan->inspection.added.n;
	if (target->preview)
		mysql_target_ddl_copy(plan, d, place, target, steps, grown);
	for (size_t i = 0; i < n; i++)
		free(grown[i]);
	free(columns);
	free(grown);
	free(extras);
	free(steps);
	return rc;
}

/* The view shows each column that the raw table has from the source. */
static bool plan_view_is_whole(const struct plan *plan,
			       const struct surroundings *around)
{
	int64_t n = 0;

	for (size_t i = 0; i < plan->table.n_columns; i++)
		n += !name_is_own(plan->table.columns[i].name);
	return around->readable_is_view && around->view_columns == n;
}

void mysql_target_plan_init(struct plan *plan)
{
	memset(plan, 0, sizeof(*plan));
	inspection_init(&plan->inspection);
}

void mysql_target_plan_release(struct plan *plan)
{
	for (size_t i = 0; i < plan->n_wanted; i++)
		mysql_target_type_release(&plan->wanted[i]);
	free(plan->wanted);
	free(plan->mappings);
	inspection_release(&plan->inspection);
	mysql_target_catalog_release(&plan->table);
	strlist_release(&plan->copy);
	strlist_release(&plan->pulled);
	mysql_target_plan_init(plan);
}

static void plan_wanted(struct plan *plan, const struct mysql_target *d,
			const struct target *target)
{
	const struct schema *s = target->schema;

	plan->n_wanted = s->n_columns;
	plan->wanted = xcalloc(s->n_columns + 1, sizeof(*plan->wanted));
	plan->mappings = xcalloc(s->n_columns + 1, sizeof(*plan->mappings));
	if (!mysql_target_types_wanted(s, &d->dialect, plan->wanted,
				       plan->mappings) &&
	    !plan->table.exists)
		plan_error(plan, ERROR_SCHEMA, "key-too-long",
			   "choose a shorter key, or shorten it under "
			   "source.expressions",
			   target,
			   "its key columns are longer than the 3072 bytes "
			   "that an index takes");
}

int mysql_target_plan_make(struct plan *plan, struct mysql_target *d,
			   const struct place *place,
			   const struct target *target, struct error *err)
{
	struct surroundings around = { .watermark_engine = NULL };
	int rc;

	rc = mysql_target_catalog_read(d->db, place->database, place->base,
				       target->schema, &plan->table, err);
	if (!rc)
		rc = mysql_target_watchers_read(d->db, place->database,
						place->base, target,
						&plan->table, err);
	if (!rc)
		rc = plan_surroundings(plan, d->db, place, &around, err);
	if (!rc)
		rc = plan_history(plan, d->db, place, target, err);
	if (!rc) {
		plan_wanted(plan, d, target);
		plan->inspection.table_exists = plan->table.exists;
		plan->has_view = plan_view_is_whole(plan, &around);
		plan_check_owners(plan, place, target, &around);
		plan_check_kind(plan, place, target, &around);
		plan_check_key(plan, place, target);
		plan_check_changes(plan, d, target);
		plan_check_refresh(plan, d, place, target);
		rc = plan_drift(plan, d, place, target, err);
	}
	if (!rc)
		rc = plan_check_emptied(plan, d->db, place, target, err);
	free(around.watermark_engine);
	free(around.mark_fault);
	return rc;
}
