#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/failpoint.h"
#include "core/base/log.h"
#include "destinations/common/refresh.h"
#include "destinations/mysql/owned.h"

/* A foreign key is on a table that is to be dropped. */
#define ERRNO_KEY_MARIADB 1451
#define ERRNO_KEY_MYSQL	  3730

static const char announce_sql[] =
	"UPDATE %s SET next_watermark = ?, next_batch_id = ?, next_fence = ?,\n"
	"  next_rows = ?\n"
	"WHERE pipeline = ? AND batch_id = ?";

static const char conclude_sql[] =
	"UPDATE %s SET watermark = next_watermark, batch_id = next_batch_id,\n"
	"  fence = next_fence, rows_total = rows_total + next_rows,\n"
	"  target_rows = next_rows, created_target = 1,\n"
	"  updated_at = UTC_TIMESTAMP(6),\n"
	"  next_watermark = NULL, next_batch_id = NULL\n"
	"WHERE pipeline = ? AND next_batch_id IS NOT NULL";

static const char forget_sql[] =
	"UPDATE %s SET next_watermark = NULL, next_batch_id = NULL\n"
	"WHERE pipeline = ?";

static const char aside_sql[] =
	"SELECT COALESCE(SUM(table_name = ?), 0), COUNT(*),\n"
	"  " OWNED_MARK_FAULT "\n"
	"FROM information_schema.tables\n"
	"WHERE table_schema = ? AND table_name IN (?, ?)";

int mysql_target_refresh_take_over(struct mysql_target *d,
				   const struct target *target,
				   struct error *err)
{
	char *id = refresh_id_new();
	char *sql = xstrfmt("UPDATE %s SET batch_id = ?,\n"
			    "  updated_at = UTC_TIMESTAMP(6)\n"
			    "WHERE pipeline = ?",
			    d->place.watermark);
	const char *params[] = { id, target->pipeline };
	struct checkpoint now;
	int rc = mysql_client_exec_count(d->db, sql, 2, params, NULL, err);

	checkpoint_init(&now);
	if (!rc)
		rc = mysql_target_mark_read(d, target->pipeline, &now, err);
	if (!rc && !now.found)
		rc = writer_overtaken(target->pipeline, d->place.watermark,
				      "this refresh is given up", &now, &now,
				      err);
	if (!rc)
		sql_mark_remember(&d->mark, id, now.fence, now.rows_total);
	checkpoint_release(&now);
	free(sql);
	free(id);
	return rc;
}

static char *refresh_announced_sql(const struct place *place)
{
	return xstrfmt("SELECT next_batch_id IS NOT NULL FROM %s\n"
		       "WHERE pipeline = ?",
		       place->watermark);
}

void mysql_target_refresh_foresee(struct mysql_client *db,
				  const struct place *place,
				  const char *pipeline, struct strlist *out)
{
	char *retired = xstrfmt("%s_old", place->build);
	const char *params[] = { place->build, OWNED_MARK_PARAMS(place),
				 place->database, place->build, retired };
	char *announced = refresh_announced_sql(place);

	mysql_client_foresee(db, out, aside_sql, ARRAY_SIZE(params), params);
	mysql_client_foresee(db, out, announced, 1, &pipeline);
	free(announced);
	free(retired);
}

bool mysql_target_refresh_is_ahead(struct mysql_client *db,
				   const struct place *place,
				   const char *pipeline)
{
	struct strlist ahead = STRLIST_INIT;
	bool yes;

	mysql_target_refresh_foresee(db, place, pipeline, &ahead);
	yes = ahead.n && mysql_client_is_ahead(db, ahead.items[0]);
	strlist_release(&ahead);
	return yes;
}

/* Look which of the two tables aside exist. The mark is read behind this. */
static int refresh_look(struct mysql_client *db, const struct place *place,
			bool *building, bool *any, struct error *err)
{
	char *retired = xstrfmt("%s_old", place->build);
	const char *params[] = { place->build, OWNED_MARK_PARAMS(place),
				 place->database, place->build, retired };
	struct mysql_client_result *r = NULL;
	int rc = mysql_client_query(db, &r, aside_sql, "1tt?",
				    ARRAY_SIZE(params), params, err);

	if (!rc)
		rc = mysql_target_owned_refuse(mysql_client_value(r, 0, 2),
					       place, err);
	if (!rc) {
		*building = *mysql_client_value(r, 0, 0) != '0';
		*any = *mysql_client_value(r, 0, 1) != '0';
	}
	mysql_client_result_free(r);
	free(retired);
	return rc;
}

/* Is there a mark that was to be that of a table swapped in? */
static int refresh_announced(struct mysql_client *db, const struct place *place,
			     const char *pipeline, bool *out, struct error *err)
{
	struct mysql_client_result *r = NULL;
	char *sql = refresh_announced_sql(place);
	int rc = mysql_client_query(db, &r, sql, "t", 1, &pipeline, err);

	if (!rc && mysql_client_rows(r))
		*out = *mysql_client_value(r, 0, 0) == '1';
	mysql_client_result_free(r);
	free(sql);
	/* No table of marks, or no database, yet. */
	if (rc && (mysql_client_failed_with(err, 1146) ||
		   mysql_client_failed_with(err, 1049))) {
		error_clear(err);
		rc = 0;
	}
	return rc;
}

static int refresh_forget(struct mysql_client *db, const struct place *place,
			  const char *pipeline, struct error *err)
{
	char *sql = xstrfmt(forget_sql, place->watermark);
	int rc = mysql_client_exec_count(db, sql, 1, &pipeline, NULL, err);

	free(sql);
	return rc;
}

int mysql_target_refresh_conclude(struct mysql_client *db,
				  const struct place *place,
				  const char *pipeline, struct error *err)
{
	char *sql = xstrfmt(conclude_sql, place->watermark);
	int rc = mysql_client_exec_count(db, sql, 1, &pipeline, NULL, err);

	free(sql);
	return rc;
}

/* The one that was to be replaced takes its place again. */
static int refresh_put_back(struct mysql_client *db, const struct place *place,
			    const char *pipeline, struct error *err)
{
	int rc = mysql_target_execf(db, err, "RENAME TABLE %s TO %s, %s TO %s",
				    place->rows, place->building,
				    place->retired, place->rows);

	if (!rc)
		rc = refresh_forget(db, place, pipeline, err);
	return rc ? rc
		  : mysql_target_execf(db, err, "DROP TABLE IF EXISTS %s",
				       place->building);
}

int mysql_target_refresh_retire(struct mysql_client *db,
				const struct place *place, const char *pipeline,
				struct error *err)
{
	char *grant;
	int rc = mysql_target_execf(db, err, "DROP TABLE IF EXISTS %s",
				    place->retired);

	if (!rc || (!mysql_client_failed_with(err, ERRNO_KEY_MARIADB) &&
		    !mysql_client_failed_with(err, ERRNO_KEY_MYSQL)))
		return rc;
	error_clear(err);
	rc = refresh_put_back(db, place, pipeline, err);
	if (rc)
		return rc;
	grant = mysql_target_rights_grant(db, "PROCESS", "*.*");
	rc = error_set(err, ERROR_SCHEMA,
		       "table %s: a foreign key of a table in another database "
		       "points at it, so it was not replaced: the old rows are "
		       "in place. %s shows which; drop the key, or load with "
		       "mode upsert",
		       place->rows, grant);
	free(grant);
	return rc;
}

/* One statement swaps the tables: the one aside is there, or has become the
 * target. */
static int refresh_mend(struct mysql_client *db, const struct place *place,
			const char *pipeline, bool building, bool announced,
			struct error *err)
{
	int rc = 0;

	if (announced && building)
		rc = refresh_forget(db, place, pipeline, err);
	else if (announced)
		rc = mysql_target_refresh_retire(db, place, pipeline, err);
	if (!rc && announced && !building)
		rc = mysql_target_refresh_conclude(db, place, pipeline, err);
	if (!rc)
		rc = mysql_target_execf(db, err, "DROP TABLE IF EXISTS %s, %s",
					place->building, place->retired);
	return rc ? rc : failpoint("stage_dropped", err);
}

/* The lock tells a killed refresh from one that is under way. */
int mysql_target_refresh_settle(struct mysql_target *d,
				const struct place *place, const char *pipeline,
				struct error *err)
{
	struct error taken = ERROR_INIT;
	bool building = false, any = false, announced = false;
	bool own = d->held[LOCK_REFRESH] != NULL;
	int rc = refresh_look(d->db, place, &building, &any, err);

	if (!rc)
		rc = refresh_announced(d->db, place, pipeline, &announced, err);
	if (rc || (!any && !announced))
		return rc;
	rc = mysql_target_lock_take(d, LOCK_REFRESH, pipeline, 0, &taken);
	if (rc == -ERROR_STATE)
		return 0;
	if (rc) {
		*err = taken;
		return rc;
	}
	/* Again: the other one has just finished, or the server with it. */
	rc = refresh_look(d->db, place, &building, &any, err);
	if (!rc)
		rc = refresh_announced(d->db, place, pipeline, &announced, err);
	if (!rc)
		rc = refresh_mend(d->db, place, pipeline, building, announced,
				  err);
	if (!own)
		mysql_target_lock_release(d, LOCK_REFRESH);
	return rc;
}

int mysql_target_refresh_announce(struct mysql_target *d,
				  const struct checkpoint *next,
				  struct error *err)
{
	char *fence = xstrfmt("%" PRId64, next->fence);
	char *rows = xstrfmt("%" PRId64, d->mark.refreshed);
	const char *params[] = { next->watermark,
				 next->batch_id ? next->batch_id : "",
				 fence,
				 rows,
				 d->target->pipeline,
				 d->mark.seen.batch_id };
	char *sql = xstrfmt(announce_sql, d->place.watermark);
	int64_t touched = 0;
	int rc = writer_check(&d->target->writer, err);

	if (!rc)
		rc = mysql_client_exec_count(d->db, sql, ARRAY_SIZE(params),
					     params, &touched, err);
	if (!rc && touched != 1)
		rc = error_set(err, ERROR_STATE,
			       "pipeline %s: its row in %s has changed hands",
			       d->target->pipeline, d->place.watermark);
	if (!rc)
		rc = mysql_client_exec(d->db, "COMMIT", err);
	free(fence);
	free(rows);
	free(sql);
	return rc;
}
