#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "clients/pg_ahead.h"
#include "clients/pg_shared.h"
#include "core/base/alloc.h"
#include "core/base/failpoint.h"
#include "core/base/log.h"
#include "destinations/common/prepare.h"
#include "destinations/postgres/owned.h"
#include "destinations/postgres/postgres.h"

/* A table that is new, is not the one the row was about, or has got a column:
 * all rows have to be read again. */
static const char row_sql[] =
	"INSERT INTO %s AS w (pipeline, created_target, target, rows_total)\n"
	"VALUES ($1, $2, $3, %s)\n"
	"ON CONFLICT (pipeline) DO UPDATE SET watermark = NULL,\n"
	"  created_target = $2 OR\n"
	"    (w.created_target AND w.target = $3 AND $4),\n"
	"  target = $3, target_id = '', target_rows = 0,\n"
	"  updated_at = clock_timestamp()";

static struct postgres_destination *prepare_target(const struct plan *plan)
{
	return (struct postgres_destination *)plan->destination;
}

static int prepare_row(struct plan *plan, bool due, struct error *err)
{
	const struct target *target = plan->target;
	const struct place *place = plan->place;
	bool created = !plan->exists && !target->refresh;
	const char *params[] = { target->pipeline, created ? "t" : "f",
				 place->table, plan->known ? "t" : "f" };
	char *base, *sql;
	int rc;

	if (!due)
		return 0;
	/* Numbers of a raw table go on where they were, whatever became of
	 * the row. */
	if (target->mode == LOAD_APPEND && plan->exists)
		base = xstrfmt("(SELECT coalesce(max(" NAME_RAW_SEQ
			       "), 0) FROM %s)",
			       place->rows);
	else
		base = xstrdup("0");
	sql = xstrfmt(row_sql, place->watermark, base);
	rc = pg_exec_count(prepare_target(plan)->pg, sql, 4, params, NULL, err);
	free(sql);
	free(base);
	return rc;
}

static int prepare_run(struct plan *plan, const char *sql, struct error *err)
{
	int rc = pg_exec(prepare_target(plan)->pg, sql, err);

	return rc ? prepare_blame(rc, sql, err) : 0;
}

/* One transaction holds all. */
static size_t prepare_before_row(const struct plan *plan)
{
	return plan->inspection.ddl.n;
}

static int prepare_claim(struct plan *plan, struct error *err)
{
	return postgres_mark_claim(prepare_target(plan), plan->target, err);
}

static int prepare_take_over(struct plan *plan, struct error *err)
{
	return postgres_refresh_take_over(prepare_target(plan), plan->target,
					  err);
}

static int prepare_plan(struct postgres_destination *d,
			const struct target *target, struct postgres_plan *plan,
			struct error *err)
{
	int rc = plan_make_sure(&plan->base, &postgres_plan_engine,
				&d->mark.keeper.base, &d->place, target, err);
	free(d->signature);
	d->signature = xstrdup(plan->table.signature);
	return rc;
}

/* The altered table is the planned one: nobody else alters it in between. */
static int prepare_lock_table(struct postgres_destination *d,
			      const struct plan *plan, struct error *err)
{
	if (!plan->inspection.ddl.n || !plan->exists)
		return 0;
	return pg_execf(d->pg, err, "LOCK TABLE %s IN ROW EXCLUSIVE MODE",
			d->place.rows);
}

/* DDL is planned again under the lock: another writer, of a backfill beside,
 * may have been quicker. */
static int prepare_hold(struct plan *plan, struct error *err)
{
	struct postgres_destination *d = prepare_target(plan);
	struct postgres_plan *own = (struct postgres_plan *)plan;
	const struct target *target = plan->target;
	bool held = plan->has_watermark;
	int rc =
		postgres_lock_begin(d, target->pipeline,
				    held ? LOCK_DDL | LOCK_ROW : LOCK_DDL, err);

	if (!rc)
		rc = prepare_lock_table(d, plan, err);
	if (!rc && plan->inspection.ddl.n)
		rc = prepare_plan(d, target, own, err);
	own->held = held;
	return rc;
}

/* From now on the table is as our own DDL has made it. */
static int prepare_sign(struct postgres_destination *d,
			const struct postgres_plan *plan,
			const struct target *target, struct error *err)
{
	const char *table = target->refresh ? d->place.building : d->place.rows;

	if (target->refresh) {
		free(d->replaced);
		d->replaced = xstrdup(plan->table.signature);
		d->refill = plan->refill;
	}
	if (!plan->base.inspection.ddl.n)
		return 0;
	return postgres_signature_read(d->pg, table, &d->signature, err);
}

static int prepare_made(struct plan *plan, struct error *err)
{
	struct postgres_destination *d = prepare_target(plan);
	struct postgres_plan *own = (struct postgres_plan *)plan;
	int rc = own->held ? 0 : postgres_owned_check(d, &d->place, err);

	return rc ? rc : prepare_sign(d, own, plan->target, err);
}

static int prepare_let_go(struct destination *base, int rc, struct error *err)
{
	return sql_mark_end((struct sql_mark *)base, rc, err);
}

static const struct prepare_engine postgres_prepare_engine = {
	.hold = prepare_hold,
	.run = prepare_run,
	.before_row = prepare_before_row,
	.made = prepare_made,
	.row = prepare_row,
	.claim = prepare_claim,
	.take_over = prepare_take_over,
	.let_go = prepare_let_go,
};

/* Whatever makes statements may rely on a column's being in the catalog. */
static int prepare_encoder(struct postgres_destination *d, struct error *err)
{
	const struct schema *s = d->target->schema;
	enum wire *wires = xcalloc(s->n_columns + 1, sizeof(*wires));
	int rc = 0;

	for (size_t i = 0; !rc && i < s->n_columns; i++) {
		const struct catalog_column *c =
			postgres_catalog_find(&d->table, s->columns[i].name);

		if (c)
			wires[i] = postgres_type_wire(s->columns[i].type.kind,
						      &c->type);
		else
			rc = error_set(
				err, ERROR_SCHEMA,
				"table %s has no column \"%s\", though "
				"it was to have it: somebody has dropped "
				"or renamed it; run again",
				d->target->table, s->columns[i].name);
	}
	if (!rc)
		postgres_encoder_set(&d->encoder, wires, s->n_columns);
	free(wires);
	return rc;
}

/* Rows can go straight into an empty table that treats COPY like INSERT. It has
 * no rules and no row security (COPY FROM refuses it), nor a trigger whose work
 * is to be looked at. */
static int prepare_direct(struct postgres_destination *d, struct error *err)
{
	/* A copy has no rows yet: those of the table itself count. */
	const char *rows = d->sql_pull ? d->place.rows : d->rows;
	struct pg_result *r = NULL;
	char *sql;
	int rc;

	d->direct = d->probes = false;
	if (d->target->mode == LOAD_APPEND || d->target->mode == LOAD_UPDATE ||
	    d->table.filters)
		return 0;
	sql = xstrfmt("SELECT NOT EXISTS (SELECT FROM %s)", rows);
	rc = pg_query(d->pg, &r, sql, "1t", 0, NULL, err);
	if (!rc)
		d->direct = *pg_value(r, 0, 0) == 't';
	d->probes = !rc && !d->direct && !d->sql_pull;
	pg_result_free(r);
	free(sql);
	return rc;
}

int postgres_prepare_stage(struct postgres_destination *d, struct error *err)
{
	int rc = d->staged ? 0 : postgres_stage_create(d, err);

	return rc ? rc : prepare_direct(d, err);
}

/* Nothing was altered since the plan was made. */
static void prepare_take_table(struct postgres_destination *d,
			       struct postgres_plan *plan)
{
	postgres_catalog_table_release(&d->table);
	d->table = plan->table;
	postgres_catalog_table_init(&plan->table);
}

static int prepare_session(struct postgres_destination *d,
			   struct postgres_plan *plan, struct error *err)
{
	const char *table = d->target->refresh ? d->place.build : d->place.base;
	int rc = 0;

	if (d->target->preview)
		rc = postgres_preview_make(d, plan, err);
	else if (d->target->refresh || plan->base.inspection.ddl.n)
		rc = postgres_catalog_read(d->pg, d->place.schema, table,
					   d->target->schema, &d->table, err);
	else
		prepare_take_table(d, plan);
	if (!rc && !d->table.exists)
		rc = error_set(err, ERROR_SCHEMA, "table %s has disappeared",
			       d->rows);
	if (!rc && !d->target->preview)
		rc = postgres_signature_compare(d->target, d->signature,
						d->table.signature, err);
	if (!rc)
		rc = prepare_encoder(d, err);
	if (rc)
		return rc;
	postgres_statements_make(d, plan);
	d->staged = false;
	return d->target->preview ? postgres_prepare_stage(d, err) : 0;
}

/* It writes nothing any more, and is not to hold what it has locked. Where
 * the role may not end it, its locks are waited for. */
static void prepare_end_predecessor(struct postgres_destination *d,
				    const struct writer *w)
{
	struct error err = ERROR_INIT;

	if (!w->claim || !w->predecessor || !*w->predecessor)
		return;
	if (postgres_session_end(d->pg, w->predecessor, &err))
		log_debug("session %s of the run before: %s", w->predecessor,
			  err.message);
	/* It may have been at work when recover() looked. */
	pg_ahead_drop(d->pg);
}

static int prepare_all(struct postgres_destination *d,
		       const struct target *target, struct error *err)
{
	struct postgres_plan plan = { .base = { .engine = NULL } };
	int rc;

	postgres_refresh_unlock(d);
	d->target = NULL;
	d->mark.refreshed = d->mark.built = 0;
	d->lease_us = target->writer.lease_us;
	/* An unclear COMMIT would want to end it. */
	rc = *d->session ? 0 : postgres_session_start(d, err);
	if (rc)
		return rc;
	prepare_end_predecessor(d, &target->writer);
	rc = postgres_place_set(&d->place, d->pg, target, err);
	if (!rc && target->refresh && !target->preview)
		rc = postgres_refresh_lock(d, target, err);
	if (!rc)
		rc = prepare_plan(d, target, &plan, err);
	if (!rc && !target->preview && plan_needs_write(&plan.base)) {
		rc = prepare_write(&plan.base, &postgres_prepare_engine, err);
		pg_shared_clear();
	}
	if (!rc) {
		d->target = target;
		d->rows = target->preview   ? PREVIEW_COPY
			  : target->refresh ? d->place.building
					    : d->place.rows;
		rc = prepare_session(d, &plan, err);
	}
	plan_release(&plan.base);
	return rc;
}

/* Names of a table that was foreseen may be gone by now: the next try asks
 * anew. Class 42: a name or a type that a statement relies on is not there. */
int postgres_prepare(struct destination *base, const struct target *target,
		     struct error *err)
{
	struct postgres_destination *d = (struct postgres_destination *)base;
	int rc = prepare_all(d, target, err);

	if (rc != -ERROR_SCHEMA || !pg_has_foreseen(d->pg) ||
	    strncmp(err->server_code, "42", 2) != 0)
		return rc;
	pg_shared_clear();
	err->code = ERROR_TRANSIENT;
	return -ERROR_TRANSIENT;
}
