#include "destinations/common/prepare.h"
#include "core/base/failpoint.h"
#include "core/data/table_name.h"
#include "destinations/sqlite/internal.h"

static struct sqlite_target *prepare_target(const struct plan *plan)
{
	return (struct sqlite_target *)plan->destination;
}

static int prepare_run(struct plan *plan, const char *sql, struct error *err)
{
	int rc = sqlite_exec(prepare_target(plan)->db, sql, err);

	if (rc)
		error_prefix(err, "%.200s", sql);
	return rc;
}

/* One transaction holds all. */
static size_t prepare_before_row(const struct plan *plan)
{
	return plan->inspection.ddl.n;
}

/* The order of a raw table is that of its numbers. They go on where they were,
 * even if the pipeline's row is gone, or other pipelines wrote them. */
static int prepare_numbers(struct sqlite_target *d, const struct plan *plan,
			   const struct target *target, struct error *err)
{
	struct strbuf name = STRBUF_INIT;
	int rc;

	if (target->mode != LOAD_APPEND || target->refresh || !plan->exists)
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

static int prepare_row(struct plan *plan, bool due, struct error *err)
{
	struct sqlite_target *d = prepare_target(plan);
	const struct target *target = plan->target;
	bool created = plan->created || (!plan->exists && !target->refresh);
	int rc = due ? sqlite_target_mark_put(d, &d->place, target->pipeline,
					      NULL, created, err)
		     : 0;

	return rc ? rc : prepare_numbers(d, plan, target, err);
}

static int prepare_claim(struct plan *plan, struct error *err)
{
	return sqlite_target_mark_claim(prepare_target(plan), plan->target,
					err);
}

static int prepare_take_over(struct plan *plan, struct error *err)
{
	return sqlite_target_mark_take_over(prepare_target(plan),
					    plan->target->pipeline, err);
}

static int prepare_plan(struct sqlite_target *d, const struct target *target,
			struct plan *plan, struct error *err)
{
	int rc = sqlite_target_signature_read(d->db, d->place.base,
					      &d->signature, err);

	d->schema_version = -1;
	/* A writer that claims the pipeline knows that no refresh of it is
	 * alive. */
	if (!rc && !target->writer.claim)
		rc = sqlite_target_mark_check_free(d, target->pipeline, err);
	return rc ? rc
		  : plan_make_sure(plan, &sqlite_target_plan_engine,
				   &d->mark.keeper.base, &d->place, target,
				   err);
}

/* From now on the table is as our own DDL has made it. */
static int prepare_sign(struct sqlite_target *d, const struct target *target,
			struct error *err)
{
	if (target->refresh) {
		free(d->replaced);
		d->replaced = d->signature;
		d->signature = NULL;
	}
	return sqlite_target_signature_read(
		d->db, target->refresh ? d->place.build : d->place.base,
		&d->signature, err);
}

static int prepare_made(struct plan *plan, struct error *err)
{
	int rc = prepare_sign(prepare_target(plan), plan->target, err);

	if (!rc && plan->target->refresh)
		rc = failpoint("stage_created", err);
	return rc;
}

static int prepare_hold(struct plan *plan, struct error *err)
{
	struct sqlite_target *d = prepare_target(plan);
	const struct target *target = plan->target;
	int rc = sqlite_target_make(d, err);

	if (!rc)
		rc = sqlite_begin(d->db, err);
	if (!rc)
		rc = prepare_plan(d, target, plan, err);
	if (!rc && target->refresh)
		rc = sqlite_execf(d->db, err, "DROP TABLE IF EXISTS %s",
				  d->place.building);
	return rc;
}

static int prepare_let_go(struct destination *base, int rc, struct error *err)
{
	return sql_mark_end((struct sql_mark *)base, rc, err);
}

static const struct prepare_engine sqlite_prepare_engine = {
	.hold = prepare_hold,
	.run = prepare_run,
	.before_row = prepare_before_row,
	.made = prepare_made,
	.row = prepare_row,
	.claim = prepare_claim,
	.take_over = prepare_take_over,
	.let_go = prepare_let_go,
};

static int prepare_statements(struct sqlite_target *d,
			      const struct target *target, struct error *err)
{
	struct catalog_table there;
	int rc;

	sqlite_target_catalog_init(&there);
	rc = sqlite_target_catalog_read(
		d->db, "main", target->refresh ? d->place.build : d->place.base,
		target->schema, &there, err);
	if (!rc)
		rc = sqlite_target_statements_make(
			d, target->refresh ? d->place.building : d->place.rows,
			&there, err);
	sqlite_target_catalog_release(&there);
	return rc;
}

int sqlite_target_prepare(struct destination *base, const struct target *target,
			  struct error *err)
{
	struct sqlite_target *d = (struct sqlite_target *)base;
	struct sqlite_plan plan = { .base = { .engine = NULL } };
	int rc;

	d->target = NULL;
	d->mark.refreshed = d->mark.built = 0;
	rc = sqlite_target_place_set(&d->place, target, err);
	if (!rc && target->preview)
		return sqlite_target_prepare_preview(d, target, err);
	if (!rc)
		rc = prepare_plan(d, target, &plan.base, err);
	if (!rc && (!d->db || plan_needs_write(&plan.base)))
		rc = prepare_write(&plan.base, &sqlite_prepare_engine, err);
	plan_release(&plan.base);
	if (rc)
		return rc;
	d->target = target;
	rc = prepare_statements(d, target, err);
	if (rc)
		d->target = NULL;
	return rc;
}
