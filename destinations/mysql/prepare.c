#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/failpoint.h"
#include "core/base/log.h"
#include "destinations/mysql/internal.h"

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

static int prepare_row(struct mysql_target *d,
		       const struct mysql_target_plan *plan,
		       const struct target *target, struct error *err)
{
	const char *created =
		!plan->table.exists && !target->refresh ? "1" : "0";
	const char *params[] = { target->pipeline, created,
				 d->place.table,   created,
				 d->place.table,   plan->base.known ? "1" : "0",
				 d->place.table };
	char *sql = xstrfmt(row_sql, d->place.watermark);
	int rc = mysql_client_exec_count(d->db, sql, ARRAY_SIZE(params), params,
					 NULL, err);

	free(sql);
	if (rc || target->mode != LOAD_APPEND || !plan->table.exists)
		return rc;
	sql = xstrfmt(numbers_sql, d->place.watermark, d->place.rows);
	rc = mysql_client_exec_count(d->db, sql, 1, params, NULL, err);
	free(sql);
	return rc;
}

static int prepare_statement(struct mysql_target *d, const char *sql,
			     struct error *err)
{
	int rc = mysql_client_exec(d->db, sql, err);

	if (rc && !error_may_pass(err->code) && rc != -ERROR_STOPPED &&
	    rc != -ERROR_ACCESS) {
		err->code = ERROR_SCHEMA;
		rc = error_prefix(err, "%.200s", sql);
	}
	return rc ? rc : failpoint("mid_alter", err);
}

/* Each statement commits, so their order has to be one in which any of them
 * may be the last. The mark is forgotten before a column is added that it
 * would be taken to speak of; and the row says that a table is Tidemark's
 * before that is made. */
static int prepare_ddl(struct mysql_target *d,
		       const struct mysql_target_plan *plan,
		       const struct target *target, struct error *err)
{
	const struct strlist *ddl = &plan->base.inspection.ddl;
	size_t first = !plan->has_database + !plan->base.has_watermark;
	int rc = 0;

	for (size_t i = 0; !rc && i < first; i++)
		rc = prepare_statement(d, ddl->items[i], err);
	if (!rc && plan_needs_row(&plan->base))
		rc = prepare_row(d, plan, target, err);
	for (size_t i = first; !rc && i < ddl->n; i++)
		rc = prepare_statement(d, ddl->items[i], err);
	return rc;
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

static int prepare_plan(struct mysql_target *d, const struct target *target,
			struct mysql_target_plan *plan, struct error *err)
{
	int rc;

	mysql_target_plan_release(plan);
	rc = mysql_target_plan_make(plan, d, &d->place, target, err);
	return rc ? rc
		  : problems_to_error(&plan->base.inspection.problems, err);
}

/* Planned again under the lock: another process may have been quicker. */
static int prepare_write(struct mysql_target *d, const struct target *target,
			 struct mysql_target_plan *plan, struct error *err)
{
	const char *pipeline = target->pipeline;
	int rc = mysql_target_lock_take(d, LOCK_DDL, pipeline, PREPARE_WAIT,
					err);

	if (!rc)
		rc = mysql_target_lock_take(d, LOCK_LOAD, pipeline,
					    PREPARE_WAIT, err);
	if (!rc)
		rc = prepare_plan(d, target, plan, err);
	if (!rc && plan->base.has_watermark)
		rc = mysql_target_mark_check_fence(d, target, err);
	if (!rc)
		rc = prepare_ddl(d, plan, target, err);
	if (!rc && target->writer.fence)
		rc = mysql_target_mark_claim(d, target, err);
	if (!rc && target->refresh)
		rc = prepare_try_swap(d, err);
	if (!rc && target->refresh)
		rc = mysql_target_refresh_take_over(d, target, err);
	mysql_target_lock_release(d, LOCK_LOAD);
	mysql_target_lock_release(d, LOCK_DDL);
	if (!rc && !target->refresh && plan->base.marked && !plan->table.exists)
		target_say_again(target, "is gone");
	return rc;
}

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
	rc = prepare_plan(d, target, plan, err);
	if (!rc && !target->preview && plan_needs_write(&plan->base)) {
		rc = prepare_write(d, target, plan, err);
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
	struct mysql_target_plan plan;
	int rc;

	mysql_target_plan_init(&plan);
	mysql_target_lock_release(d, LOCK_REFRESH);
	d->target = NULL;
	d->refreshed = 0;
	d->built = 0;
	rc = mysql_target_place_set(&d->place, d->db, target, err);
	if (!rc)
		prepare_end_predecessor(d, target);
	if (!rc)
		rc = mysql_target_session_lease(d, target->writer.lease_us,
						err);
	if (!rc && target->refresh && !target->preview)
		rc = mysql_target_lock_take(d, LOCK_REFRESH, target->pipeline,
					    REFRESH_WAIT, err);
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
	mysql_target_plan_release(&plan);
	return mysql_target_blame(d, target, rc, err);
}
