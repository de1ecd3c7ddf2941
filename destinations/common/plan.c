#include "destinations/common/plan.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/data/table_name.h"
#include "destinations/common/refusals.h"

static void plan_forget_columns(struct plan *plan)
{
	free(plan->columns);
	plan->columns = NULL;
	plan->n_columns = 0;
}

void plan_release(struct plan *plan)
{
	const struct plan_engine *engine = plan->engine;

	if (!engine)
		return;
	engine->release(plan);
	inspection_release(&plan->inspection);
	plan_forget_columns(plan);
	drift_release(&plan->drift);
	strlist_release(&plan->copy);
	memset(plan, 0, engine->size);
}

void plan_push(struct strlist *out, struct strbuf *sql)
{
	strlist_add(out, sql->data);
	strbuf_reset(sql);
}

void plan_add_column(struct plan *plan, const struct table_column *column)
{
	struct table_column *c;

	plan->columns = xreallocarray(plan->columns, plan->n_columns + 1,
				      sizeof(*plan->columns));
	c = &plan->columns[plan->n_columns++];
	*c = *column;
	if (plan->target->mode == LOAD_APPEND && name_is_own(c->name))
		c->ours = true;
}

void plan_set_readable(struct plan *plan, bool is_view, bool is_ours)
{
	plan->readable = !is_view  ? READABLE_OTHER
			 : is_ours ? READABLE_OURS
				   : READABLE_VIEW;
}

static struct drift_table plan_table(const struct plan *plan)
{
	return (struct drift_table){
		.columns = plan->columns,
		.n_columns = plan->n_columns,
		.exists = plan->exists,
		.known = plan->known || plan->target->refresh,
		.created = plan->created,
		.case_blind = plan->engine->case_blind,
	};
}

const struct table_column *plan_find(const struct plan *plan, const char *name)
{
	const struct drift_table table = plan_table(plan);

	return drift_find(&table, name);
}

bool plan_needs_row(const struct plan *plan)
{
	return !plan->known ||
	       (!plan->target->refresh && plan->inspection.anew);
}

bool plan_needs_write(const struct plan *plan)
{
	return plan->target->refresh || plan->target->writer.claim ||
	       plan->inspection.ddl.n || plan_needs_row(plan);
}

void plan_refuse(struct plan *plan, enum error_code error, const char *code,
		 const char *fix, const char *what)
{
	problems_add(&plan->inspection.problems, SEVERITY_ERROR, error, code,
		     fix, "table %s: %s", plan->target->table, what);
}

void plan_refuse_marks(struct plan *plan, const struct error *why)
{
	problems_add_error(&plan->inspection.problems, "unsafe-marks", why);
}

void plan_check_kind(struct plan *plan)
{
	if (plan->exists && !plan->plain)
		target_refuse_not_a_table(plan->target,
					  &plan->inspection.problems);
}

void plan_check_view(struct plan *plan)
{
	if (plan->readable == READABLE_OTHER)
		target_refuse_not_a_view(plan->target,
					 &plan->inspection.problems);
	else if (plan->readable == READABLE_VIEW)
		target_refuse_view_of_others(plan->target,
					     &plan->inspection.problems);
}

void plan_check_ours(struct plan *plan)
{
	if (plan->target->refresh && plan->exists && !plan->created &&
	    !plan->target->force)
		target_refuse_not_ours(plan->target,
				       &plan->inspection.problems);
}

void plan_check_names(struct plan *plan)
{
	struct problems *out = &plan->inspection.problems;

	if (plan->engine->case_blind)
		target_refuse_names(plan->target, plan->engine->title, out);
	if (plan->target->mode == LOAD_APPEND)
		target_refuse_reserved(plan->target, out);
}

bool plan_keeps_key(const struct plan *plan)
{
	const struct schema *s = plan->target->schema;

	if (!plan->exists || plan->target->mode == LOAD_APPEND)
		return false;
	for (size_t i = 0; i < s->n_key; i++)
		if (!plan_find(plan, s->columns[s->key[i]].name))
			return false;
	return true;
}

void plan_key_list(struct strbuf *sb, const struct schema *schema, char quote)
{
	for (size_t i = 0; i < schema->n_key; i++) {
		strbuf_addstr(sb, i ? ", " : "");
		sql_quote_name(sb, schema->columns[schema->key[i]].name, quote);
	}
}

void plan_refuse_key(struct plan *plan, const char *create, char quote,
		     const char *what)
{
	struct strbuf fix = STRBUF_INIT;

	strbuf_addf(&fix, "%s (", create);
	plan_key_list(&fix, plan->target->schema, quote);
	strbuf_addch(&fix, ')');
	plan_refuse(plan, ERROR_SCHEMA, "key-not-unique", fix.data, what);
	strbuf_release(&fix);
}

/* Worth a look only when the mark says that rows are there. */
static int plan_check_emptied(struct plan *plan, struct error *err)
{
	const struct target *target = plan->target;
	bool has_rows = false;
	int rc;

	if (target->refresh || !plan->known || !plan->marked ||
	    !plan->delivered || !plan->counts || plan->inspection.added.n)
		return 0;
	rc = plan->engine->has_rows(plan, &has_rows, err);
	if (!rc && !has_rows)
		target_refuse_emptied(target, plan->delivered,
				      &plan->inspection.problems);
	return rc;
}

static void plan_drift(struct plan *plan)
{
	const struct drift_table table = plan_table(plan);
	const struct drift_types types = { plan, plan->engine->fit };

	drift_make(&plan->drift, &table, plan->target, &types,
		   &plan->inspection);
	plan->inspection.anew =
		!plan->known || !plan->exists || plan->inspection.added.n > 0;
}

int plan_make(struct plan *plan, const struct plan_engine *engine,
	      struct destination *destination, const struct place *place,
	      const struct target *target, struct error *err)
{
	int rc;

	plan->engine = engine;
	plan->destination = destination;
	plan->place = place;
	plan->target = target;
	inspection_init(&plan->inspection);
	rc = engine->look(plan, err);
	if (rc)
		return rc;
	plan->inspection.table_exists = plan->exists;
	rc = engine->check(plan, err);
	if (!rc) {
		plan_drift(plan);
		rc = engine->ddl(plan, err);
	}
	plan_forget_columns(plan);
	return rc ? rc : plan_check_emptied(plan, err);
}

int plan_make_sure(struct plan *plan, const struct plan_engine *engine,
		   struct destination *destination, const struct place *place,
		   const struct target *target, struct error *err)
{
	int rc;

	plan_release(plan);
	rc = plan_make(plan, engine, destination, place, target, err);
	return rc ? rc : problems_to_error(&plan->inspection.problems, err);
}

int plan_inspect(const struct plan_engine *engine,
		 struct destination *destination, const struct place *place,
		 const struct target *target, struct inspection *out,
		 struct error *err)
{
	struct plan *plan = xcalloc(1, engine->size);
	int rc = plan_make(plan, engine, destination, place, target, err);

	if (!rc)
		rc = engine->warn(plan, err);
	if (!rc) {
		inspection_release(out);
		*out = plan->inspection;
		inspection_init(&plan->inspection);
	}
	plan_release(plan);
	free(plan);
	return rc;
}
