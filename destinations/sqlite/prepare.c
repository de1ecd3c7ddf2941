#include "core/base/failpoint.h"
#include "core/data/table_name.h"
#include "destinations/sqlite/internal.h"

static int prepare_ddl(struct sqlite_target *d, const struct sqlite_plan *plan,
		       struct error *err)
{
	const struct strlist *ddl = &plan->base.inspection.ddl;
	int rc = 0;

	for (size_t i = 0; !rc && i < ddl->n; i++) {
		rc = sqlite_exec(d->db, ddl->items[i], err);
		if (rc)
			error_prefix(err, "%.200s", ddl->items[i]);
		else
			rc = failpoint("mid_alter", err);
	}
	return rc;
}

/* The order of a raw table is that of its numbers: they go on where they were,
 * whatever became of the pipeline's row, or whichever pipeline wrote them. */
static int prepare_numbers(struct sqlite_target *d,
			   const struct sqlite_plan *plan,
			   const struct target *target, struct error *err)
{
	struct strbuf name = STRBUF_INIT;
	int rc;

	if (target->mode != LOAD_APPEND || target->refresh ||
	    !plan->table.exists)
		return 0;
	sql_quote_literal(&name, target->pipeline);
	rc = sqlite_execf(d->db, err,
			  "UPDATE main." NAME_WATERMARK_TABLE
			  " SET rows_total = max(rows_total,\n"
			  "  (SELECT coalesce(max(" NAME_RAW_SEQ
			  "), 0) FROM %s))\nWHERE pipeline = %s",
			  d->place.rows, name.data);
	strbuf_release(&name);
	return rc;
}

static int prepare_apply(struct sqlite_target *d,
			 const struct sqlite_plan *plan,
			 const struct target *target, struct error *err)
{
	bool created =
		plan->base.created || (!plan->table.exists && !target->refresh);
	int rc = 0;

	if (target->refresh)
		rc = sqlite_execf(d->db, err, "DROP TABLE IF EXISTS %s",
				  d->place.building);
	if (!rc)
		rc = prepare_ddl(d, plan, err);
	if (!rc && target->refresh)
		rc = failpoint("stage_created", err);
	if (!rc && plan_needs_row(&plan->base))
		rc = mark_put(d, &d->place, target->pipeline, NULL, created,
			      err);
	if (!rc)
		rc = prepare_numbers(d, plan, target, err);
	if (!rc && target->writer.fence)
		rc = mark_claim(d, target, err);
	if (!rc && target->refresh)
		rc = mark_take_over(d, target->pipeline, err);
	return rc;
}

static int prepare_plan(struct sqlite_target *d, const struct target *target,
			struct sqlite_plan *plan, struct error *err)
{
	int rc = signature_read(d->db, d->place.base, &d->signature, err);

	d->schema_version = -1;
	sqlite_plan_release(plan);
	/* Who claims the pipeline knows that no refresh of it is alive. */
	if (!rc && !target->writer.claim)
		rc = mark_check_free(d, target->pipeline, err);
	if (!rc)
		rc = sqlite_plan_make(plan, d, &d->place, target, err);
	return rc ? rc
		  : problems_to_error(&plan->base.inspection.problems, err);
}

/* From now on the table is what our own DDL has made of it. */
static int prepare_sign(struct sqlite_target *d, const struct target *target,
			struct error *err)
{
	if (target->refresh) {
		free(d->replaced);
		d->replaced = d->signature;
		d->signature = NULL;
	}
	return signature_read(d->db,
			      target->refresh ? d->place.build : d->place.base,
			      &d->signature, err);
}

/* Planned again under the lock: another process may have been quicker. */
static int prepare_write(struct sqlite_target *d, const struct target *target,
			 struct sqlite_plan *plan, struct error *err)
{
	int rc = sqlite_target_make(d, err);

	if (!rc)
		rc = sqlite_begin(d->db, err);
	if (rc)
		return rc;
	rc = prepare_plan(d, target, plan, err);
	if (!rc)
		rc = prepare_apply(d, plan, target, err);
	if (!rc)
		rc = prepare_sign(d, target, err);
	if (!rc)
		rc = sqlite_commit(d->db, err);
	if (rc)
		sqlite_rollback(d->db);
	else if (!target->refresh && plan->base.marked && !plan->table.exists)
		target_say_again(target, "is gone");
	return rc;
}

static int prepare_statements(struct sqlite_target *d,
			      const struct target *target, struct error *err)
{
	struct catalog_table there;
	int rc;

	catalog_init(&there);
	rc = catalog_read(d->db, "main",
			  target->refresh ? d->place.build : d->place.base,
			  target->schema, &there, err);
	if (!rc)
		rc = statements_make(
			d, target->refresh ? d->place.building : d->place.rows,
			&there, err);
	catalog_release(&there);
	return rc;
}

int sqlite_target_prepare(struct destination *base, const struct target *target,
			  struct error *err)
{
	struct sqlite_target *d = (struct sqlite_target *)base;
	struct sqlite_plan plan;
	int rc;

	d->target = NULL;
	d->refreshed = d->built = 0;
	sqlite_plan_init(&plan);
	rc = place_set(&d->place, target, err);
	if (!rc && target->preview)
		return sqlite_target_prepare_preview(d, target, err);
	if (!rc)
		rc = prepare_plan(d, target, &plan, err);
	if (!rc && (!d->db || plan_needs_write(&plan.base)))
		rc = prepare_write(d, target, &plan, err);
	sqlite_plan_release(&plan);
	if (rc)
		return rc;
	d->target = target;
	rc = prepare_statements(d, target, err);
	if (rc)
		d->target = NULL;
	return rc;
}
