#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "destinations/common/prepare.h"
#include "destinations/mysql/ahead.h"

/* Seconds that another one's DDL may take, or a killed one's transaction. */
#define PREPARE_WAIT 10
#define REFRESH_WAIT 5

/* A table that is new, is not the one the row was about, or has got a column:
 * all rows have to be read again. */
static const char row_sql[] =
	"INSERT INTO %s\n"
	"  (pipeline, created_target, target, rows_total, updated_at)\n"
	"VALUES (?, ? = '1', ?, 0, UTC_TIMESTAMP(6))\n"
	"ON DUPLICATE KEY UPDATE watermark = NULL,\n"
	"  created_target = ? = '1' OR\n"
	"    (created_target AND target = ? AND ? = '1'),\n"
	"  target = ?, target_rows = 0, updated_at = UTC_TIMESTAMP(6)";

/* Numbers of a raw table go on where they were, whatever became of the row, or
 * whichever pipeline wrote them. */
static const char numbers_sql[] =
	"UPDATE %s SET rows_total = GREATEST(rows_total,\n"
	"  (SELECT COALESCE(MAX(" NAME_RAW_SEQ "), 0) FROM %s))\n"
	"WHERE pipeline = ?";

static struct mysql_target *prepare_target(const struct plan *plan)
{
	return (struct mysql_target *)plan->destination;
}

static int prepare_row(struct plan *plan, bool due, struct error *err)
{
	const struct target *target = plan->target;
	const struct place *place = plan->place;
	struct mysql_client *db = prepare_target(plan)->db;
	const char *created = !plan->exists && !target->refresh ? "1" : "0";
	const char *params[] = { target->pipeline, created,
				 place->table,	   created,
				 place->table,	   plan->known ? "1" : "0",
				 place->table };
	char *sql;
	int rc;

	if (!due)
		return 0;
	sql = xstrfmt(row_sql, place->watermark);
	rc = mysql_client_exec_count(db, sql, ARRAY_SIZE(params), params, NULL,
				     err);
	free(sql);
	if (rc || target->mode != LOAD_APPEND || !plan->exists)
		return rc;
	sql = xstrfmt(numbers_sql, place->watermark, place->rows);
	rc = mysql_client_exec_count(db, sql, 1, params, NULL, err);
	free(sql);
	return rc;
}

static int prepare_run(struct plan *plan, const char *sql, struct error *err)
{
	int rc = mysql_client_exec(prepare_target(plan)->db, sql, err);

	return rc ? prepare_blame(rc, sql, err) : 0;
}

/* Each statement commits, so any of them may be the last. */
static size_t prepare_before_row(const struct plan *plan)
{
	const struct mysql_target_plan *own =
		(const struct mysql_target_plan *)plan;

	return !own->has_database + !plan->has_watermark;
}

/* Nothing is to be remembered before all has been made. */
static int prepare_made(struct plan *plan, struct error *err)
{
	(void)plan;
	(void)err;
	return 0;
}

static int prepare_claim(struct plan *plan, struct error *err)
{
	return mysql_target_mark_claim(prepare_target(plan), plan->target, err);
}

/* The swap takes rights that to build does not: better said now than when all
 * rows are there. */
static int prepare_try_swap(struct mysql_target *d, struct error *err)
{
	const struct place *p = &d->place;
	struct error ignored = ERROR_INIT;
	int rc = mysql_target_execf(
		d->db, err, "RENAME TABLE %s TO %s, %s TO %s", p->building,
		p->retired, p->retired, p->building);

	if (rc)
		mysql_target_execf(d->db, &ignored, "DROP TABLE IF EXISTS %s",
				   p->building);
	return rc;
}

static int prepare_take_over(struct plan *plan, struct error *err)
{
	struct mysql_target *d = prepare_target(plan);
	int rc = prepare_try_swap(d, err);

	return rc ? rc : mysql_target_refresh_take_over(d, plan->target, err);
}

static int prepare_hold(struct plan *plan, struct error *err)
{
	struct mysql_target *d = prepare_target(plan);
	const struct target *target = plan->target;
	int rc = mysql_target_lock_take(d, LOCK_DDL, target->pipeline,
					PREPARE_WAIT, err);

	if (!rc)
		rc = mysql_target_lock_take(d, LOCK_LOAD, target->pipeline,
					    PREPARE_WAIT, err);
	if (!rc)
		rc = plan_make_sure(plan, &mysql_target_plan_engine,
				    &d->mark.keeper.base, &d->place, target,
				    err);
	if (!rc && plan->has_watermark)
		rc = mysql_target_mark_check_fence(d, target, err);
	return rc;
}

static int prepare_let_go(struct destination *base, int rc, struct error *err)
{
	struct mysql_target *d = (struct mysql_target *)base;

	(void)err;
	mysql_target_lock_release(d, LOCK_LOAD);
	mysql_target_lock_release(d, LOCK_DDL);
	return rc;
}

static const struct prepare_engine mysql_target_prepare_engine = {
	.hold = prepare_hold,
	.run = prepare_run,
	.before_row = prepare_before_row,
	.made = prepare_made,
	.row = prepare_row,
	.claim = prepare_claim,
	.take_over = prepare_take_over,
	.let_go = prepare_let_go,
};

/* Rows can go straight into an empty table. */
static int prepare_direct(struct mysql_target *d, struct error *err)
{
	bool has_rows = false;
	int rc;

	d->direct = false;
	if (d->target->mode == LOAD_APPEND || d->target->mode == LOAD_UPDATE ||
	    d->table.triggers)
		return 0;
	/* A copy has no rows yet: those of the table itself count. */
	rc = mysql_target_has_rows(d->db, d->pull ? d->place.rows : d->rows,
				   &has_rows, err);
	d->direct = !rc && !has_rows;
	return rc;
}

static int prepare_session(struct mysql_target *d,
			   const struct mysql_target_plan *plan,
			   struct error *err)
{
	const char *table = d->target->refresh ? d->place.build : d->place.base;
	int rc = 0;

	if (!d->table.exists) {
		rc = mysql_target_catalog_read(d->db, d->place.database, table,
					       d->target->schema, &d->table,
					       err);
		if (!rc && !d->target->refresh)
			rc = mysql_target_watchers_read(
				d->db, d->place.database, table, d->target,
				&d->table, err);
	}
	if (!rc && !d->table.exists)
		rc = error_set(err, ERROR_SCHEMA, "table %s has disappeared",
			       d->rows);
	if (!rc)
		rc = mysql_target_stage_describe(d, err);
	if (rc)
		return rc;
	d->staged = false;
	if (d->target->preview)
		rc = mysql_target_preview_make(d, plan, err);
	if (rc)
		return rc;
	return prepare_direct(d, err);
}

/* A table that stays as it is is not asked about again. */
static int prepare_tables(struct mysql_target *d, const struct target *target,
			  struct mysql_target_plan *plan, struct error *err)
{
	int rc;

	mysql_target_catalog_release(&d->table);
	mysql_target_catalog_release(&d->replaced);
	free(d->signature);
	d->signature = NULL;
	rc = plan_make_sure(&plan->base, &mysql_target_plan_engine,
			    &d->mark.keeper.base, &d->place, target, err);
	if (!rc && !target->preview && plan_needs_write(&plan->base)) {
		rc = prepare_write(&plan->base, &mysql_target_prepare_engine,
				   err);
		if (!rc && target->refresh) {
			d->replaced = plan->table;
			memset(&plan->table, 0, sizeof(plan->table));
		}
	} else if (!rc) {
		d->table = plan->table;
		memset(&plan->table, 0, sizeof(plan->table));
	}
	return rc;
}

/* It writes nothing any more, and is not to hold what it has locked. */
static void prepare_end_predecessor(struct mysql_target *d,
				    const struct target *target)
{
	const struct writer *w = &target->writer;
	struct error err = ERROR_INIT;

	if (w->claim && w->predecessor && *w->predecessor &&
	    mysql_target_lock_end_holder(d, w->predecessor, target->pipeline,
					 &err))
		log_debug("session %s of the run before: %s", w->predecessor,
			  err.message);
}

int mysql_target_prepare(struct destination *base, const struct target *target,
			 struct error *err)
{
	struct mysql_target *d = (struct mysql_target *)base;
	struct mysql_target_plan plan = { .base = { .engine = NULL } };
	int rc;

	mysql_target_lock_release(d, LOCK_REFRESH);
	d->target = NULL;
	d->mark.refreshed = d->mark.built = 0;
	rc = mysql_target_place_set(&d->place, d->db, target, err);
	if (!rc)
		prepare_end_predecessor(d, target);
	if (!rc)
		rc = mysql_target_session_lease(d, target->writer.lease_us,
						err);
	if (!rc && target->refresh && !target->preview)
		rc = mysql_target_lock_take(d, LOCK_REFRESH, target->pipeline,
					    REFRESH_WAIT, err);
	if (!rc)
		rc = mysql_target_ahead_prepare(d, target, err);
	if (!rc && !target->preview)
		rc = mysql_target_refresh_settle(d, &d->place, target->pipeline,
						 err);
	if (!rc)
		rc = prepare_tables(d, target, &plan, err);
	if (!rc) {
		d->target = target;
		d->rows = target->preview   ? d->place.copy
			  : target->refresh ? d->place.building
					    : d->place.rows;
		rc = prepare_session(d, &plan, err);
	}
	if (rc)
		mysql_client_forget_ahead(d->db);
	plan_release(&plan.base);
	return mysql_target_blame(d, target, rc, err);
}
