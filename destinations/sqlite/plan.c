#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/data/table_name.h"
#include "destinations/common/refusals.h"
#include "destinations/sqlite/internal.h"

static void plan_error(struct plan *plan, enum error_code error,
		       const char *code, const char *fix,
		       const struct target *target, const char *what)
{
	problems_add(&plan->inspection.problems, SEVERITY_ERROR, error, code,
		     fix, "table %s: %s", target->table, what);
}

static void plan_check_access(struct plan *plan, const struct sqlite_target *d,
			      const struct target *target)
{
	if (d->db && access(d->path, W_OK))
		plan_error(plan, ERROR_ACCESS, "missing-right",
			   "give this user the right to write the file and "
			   "its directory",
			   target, "the SQLite file cannot be written");
}

/* Append needs two names: the raw table's and the view's. */
static int plan_check_view(struct plan *plan, const struct sqlite_target *d,
			   const struct place *place,
			   const struct target *target, struct error *err)
{
	struct catalog_table readable;
	int rc;

	if (target->mode != LOAD_APPEND)
		return 0;
	catalog_init(&readable);
	rc = catalog_read(d->db, "main", place->table, target->schema,
			  &readable, err);
	if (readable.exists && !readable.is_view)
		target_refuse_not_a_view(target, &plan->inspection.problems);
	else if (readable.exists && !plan->table.exists)
		target_refuse_view_of_others(target,
					     &plan->inspection.problems);
	catalog_release(&readable);
	return rc;
}

static void plan_check_raw(struct plan *plan, const struct target *target)
{
	static const char *const needed[] = { NAME_RAW_BATCH, NAME_RAW_SEQ,
					      NAME_RAW_LOADED };

	if (target->mode != LOAD_APPEND || !plan->table.plain)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(needed); i++)
		if (!catalog_find(&plan->table, needed[i]))
			problems_add(&plan->inspection.problems, SEVERITY_ERROR,
				     ERROR_SCHEMA, "not-a-raw-table",
				     "rename it, or name another destination",
				     "table %s" NAME_RAW_SUFFIX
				     " exists and has no column %s",
				     target->table, needed[i]);
}

static bool plan_has_key_columns(const struct plan *plan,
				 const struct schema *s)
{
	for (size_t i = 0; i < s->n_key; i++)
		if (!catalog_find(&plan->table, s->columns[s->key[i]].name))
			return false;
	return true;
}

static void plan_check_unique(struct plan *plan, const struct place *place,
			      const struct target *target)
{
	struct strbuf fix = STRBUF_INIT;
	char *index = xstrfmt("%s_key", place->base);

	strbuf_addstr(&fix, "CREATE UNIQUE INDEX ");
	sql_quote_name(&fix, index, '"');
	strbuf_addstr(&fix, " ON ");
	sql_quote_name(&fix, place->base, '"');
	for (size_t i = 0; i < target->schema->n_key; i++) {
		strbuf_addstr(&fix, i ? ", " : " (");
		sql_quote_name(
			&fix,
			target->schema->columns[target->schema->key[i]].name,
			'"');
	}
	strbuf_addch(&fix, ')');
	plan_error(plan, ERROR_SCHEMA, "key-not-unique", fix.data, target,
		   "no unique index (of collation BINARY, without WHERE) is on "
		   "exactly the key's columns, so a key could come twice");
	strbuf_release(&fix);
	free(index);
}

/* A load compares by BINARY, but the readers' view goes by the column: keys
 * that the source tells apart would be one row of it. */
static void plan_check_folding(struct plan *plan, const struct sqlite_target *d,
			       const struct place *place,
			       const struct target *target)
{
	const struct schema *s = target->schema;

	if (target->mode != LOAD_APPEND || target->refresh ||
	    !plan->table.plain)
		return;
	for (size_t i = 0; i < s->n_key; i++) {
		const char *name = s->columns[s->key[i]].name;

		if (!sqlite_column_folds(d->db, "main", place->base, name))
			continue;
		target_refuse_folding(
			target, name,
			"make the table anew, with collation BINARY",
			&plan->inspection.problems);
	}
}

static void plan_check_key(struct plan *plan, const struct place *place,
			   const struct target *target)
{
	if (target_refuse_keyless(target, &plan->inspection.problems))
		return;
	if (!plan->table.plain || target->mode == LOAD_APPEND ||
	    target->refresh || !plan_has_key_columns(plan, target->schema))
		return;
	if (!plan->table.has_key)
		plan_check_unique(plan, place, target);
	if (plan->table.other_unique)
		target_warn_unique(target, &plan->inspection.problems);
}

/* SQLite folds ASCII letters: two names may be one there. */
static void plan_check_names(struct plan *plan, const struct target *target)
{
	target_refuse_names(target, "SQLite", &plan->inspection.problems);
	if (target->mode == LOAD_APPEND)
		target_refuse_reserved(target, &plan->inspection.problems);
}

static void plan_check_table(struct plan *plan, const struct place *place,
			     const struct target *target)
{
	if (plan->table.exists && !plan->table.plain)
		target_refuse_not_a_table(target, &plan->inspection.problems);
	if (plan->table.plain && target->refresh && !plan->created &&
	    !target->force)
		target_refuse_not_ours(target, &plan->inspection.problems);
	plan_check_key(plan, place, target);
	plan_check_names(plan, target);
	plan_check_raw(plan, target);
}

/* Worth a look only when the mark says that rows are there. */
static int plan_check_emptied(struct plan *plan, const struct sqlite_target *d,
			      const struct place *place,
			      const struct target *target, struct error *err)
{
	struct sqlite_statement *st = NULL;
	struct strbuf sql = STRBUF_INIT;
	int rc;

	if (target->refresh || !plan->known || !plan->marked ||
	    !plan->delivered || !plan->table.plain || plan->inspection.added.n)
		return 0;
	strbuf_addf(&sql, "SELECT 1 FROM %s LIMIT 1", place->rows);
	rc = sqlite_prepare(d->db, &st, sql.data, err);
	if (!rc) {
		rc = sqlite_step(st, err);
		if (!rc)
			target_refuse_emptied(target, plan->delivered,
					      &plan->inspection.problems);
	}
	sqlite_finalize(st);
	strbuf_release(&sql);
	return rc < 0 ? rc : 0;
}

static void plan_fit(const struct plan *plan, const struct target *target,
		     size_t i, struct drift_column *out)
{
	const struct column *source = &target->schema->columns[i];
	const struct catalog_column *c =
		catalog_find(&plan->table, source->name);
	enum type_kind kind = source->type.kind;

	*out = (struct drift_column){ .wanted = type_declared(kind),
				      .mapping = type_mapping(kind) };
	if (!c)
		return;
	out->actual = c->type[0] ? c->type : "a column without a type";
	out->not_null = c->not_null;
	out->generated = c->generated;
	out->fit = type_fit(kind, c->type, plan->table.strict);
	/* A table of our own making has the wanted type: the mapping of the
	 * type says how well it holds the source's. */
	if (out->fit == FIT_EXACT && out->mapping != MAPPING_EXACT)
		out->fit = FIT_WIDER;
	/* SQLite cannot alter a type, and what hangs on a table that is built
	 * anew is known of our own ones only. */
	if (out->fit == FIT_GROWS && !plan->created)
		out->fit = FIT_NARROW;
	/* A refresh fills a new table: any type can become any other. */
	if (out->fit == FIT_NARROW && target->refresh)
		out->fit = FIT_GROWS;
	out->grown = out->wanted;
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
				.has_default = c->default_text != NULL,
				.generated = c->generated,
			};
	}
	return n;
}

/* A column keeps the type that it is declared with if that holds all. */
static const char *plan_type(const struct plan *plan,
			     const struct target *target, size_t i,
			     const struct drift_column *d, enum drift_step step)
{
	const struct catalog_column *c =
		catalog_find(&plan->table, target->schema->columns[i].name);

	return c && step != STEP_WIDEN ? c->type : d->wanted;
}

static int plan_drift(struct plan *plan, const struct sqlite_target *d,
		      const struct place *place, const struct target *target,
		      struct error *err)
{
	size_t n = target->schema->n_columns;
	struct drift_column *columns = xcalloc(n + 1, sizeof(*columns));
	struct drift_extra *extras =
		xcalloc(plan->table.n_columns + 1, sizeof(*extras));
	enum drift_step *steps = xcalloc(n + 1, sizeof(*steps));
	const char **types = xcalloc(n + 1, sizeof(*types));
	struct drift_table table = {
		.columns = columns,
		.extras = extras,
		.exists = plan->table.exists,
		.known = plan->known || target->refresh,
		.created = plan->created,
	};
	int rc;

	for (size_t i = 0; i < n; i++)
		plan_fit(plan, target, i, &columns[i]);
	table.n_extras = plan_extras(plan, target, extras);
	drift_decide(target, &table, steps, &plan->inspection);
	for (size_t i = 0; i < n; i++)
		types[i] = plan_type(plan, target, i, &columns[i], steps[i]);
	rc = plan_ddl(plan, d, place, target, steps, types, err);
	if (!rc && target->preview)
		rc = plan_copy(plan, d, place, target, steps, types, err);
	free(columns);
	free(extras);
	free(steps);
	free(types);
	return rc;
}

void plan_init(struct plan *plan)
{
	memset(plan, 0, sizeof(*plan));
	inspection_init(&plan->inspection);
	catalog_init(&plan->table);
}

void plan_release(struct plan *plan)
{
	inspection_release(&plan->inspection);
	catalog_release(&plan->table);
	strlist_release(&plan->copy);
	plan_init(plan);
}

static int plan_check_marks(struct plan *plan, struct sqlite *db,
			    struct error *err)
{
	struct error why = ERROR_INIT;
	int rc = owned_has_marks(db, &plan->has_watermark, &why);

	if (rc != -ERROR_SCHEMA) {
		if (rc)
			*err = why;
		return rc;
	}
	plan->has_watermark = false;
	problems_add_error(&plan->inspection.problems, "unsafe-marks", &why);
	return 0;
}

int plan_make(struct plan *plan, const struct sqlite_target *d,
	      const struct place *place, const struct target *target,
	      struct error *err)
{
	int rc;

	rc = catalog_read(d->db, "main", place->base, target->schema,
			  &plan->table, err);
	if (!rc && d->db)
		rc = plan_check_marks(plan, d->db, err);
	if (!rc && plan->has_watermark)
		rc = mark_history(d->db, place, target->pipeline, plan, err);
	if (!rc)
		rc = plan_check_view(plan, d, place, target, err);
	if (rc)
		return rc;
	plan->inspection.table_exists = plan->table.exists;
	plan->inspection.anew = !plan->known || !plan->table.exists;
	plan_check_access(plan, d, target);
	plan_check_table(plan, place, target);
	plan_check_folding(plan, d, place, target);
	rc = plan_drift(plan, d, place, target, err);
	plan->inspection.anew |= plan->inspection.added.n > 0;
	return rc ? rc : plan_check_emptied(plan, d, place, target, err);
}
