#include "destinations/mysql/ahead.h"

#include <stdlib.h>

#include "core/base/alloc.h"

const char mysql_target_around_sql[] =
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

char *mysql_target_history_sql(const struct place *place)
{
	return xstrfmt("SELECT created_target, watermark IS NOT NULL,\n"
		       "  target_rows FROM %s\n"
		       "WHERE pipeline = ? AND target = ?",
		       place->watermark);
}

char *mysql_target_rows_sql(const char *table)
{
	return xstrfmt("SELECT 1 FROM %s LIMIT 1", table);
}

/* A subquery of two rows fails, and ends the text: nothing is read from what
 * runs code of others. */
#define AHEAD_STOP "(SELECT 1 UNION ALL SELECT 2)"

static const char fault_stop_sql[] =
	"SELECT IF(" OWNED_MARK_FAULT " IS NULL, 1, " AHEAD_STOP ")";

static const char view_stop_sql[] =
	"SELECT IF(EXISTS (SELECT 1 FROM information_schema.tables\n"
	"  WHERE table_schema = ? AND table_name = ?\n"
	"    AND table_type LIKE '%VIEW%'), " AHEAD_STOP ", 1)";

static void ahead_told(struct sql_mark *m, const char *sql,
		       const struct sql_values *values)
{
	struct mysql_target *d = (struct mysql_target *)m;

	mysql_client_foresee(d->db, &d->ahead, sql, (int)values->n,
			     values->texts);
}

/* MySQL is asked for the user's rights in between. */
static void ahead_plan(struct mysql_target *d, const struct place *place,
		       const struct target *target)
{
	const char *around[] = { AHEAD_AROUND_PARAMS(place) };
	const char *history[] = { target->pipeline, place->table };
	char *known = mysql_target_history_sql(place);

	mysql_target_catalog_foresee(d->db, place->database, place->base,
				     &d->ahead);
	if (!d->dialect.mariadb)
		mysql_client_foresee(d->db, &d->ahead, "SHOW GRANTS", 0, NULL);
	mysql_client_foresee(d->db, &d->ahead, mysql_target_around_sql,
			     ARRAY_SIZE(around), around);
	mysql_client_foresee(d->db, &d->ahead, known, ARRAY_SIZE(history),
			     history);
	free(known);
}

/* By the plan and by the load. They are asked for last: the table may not be
 * there. */
static void ahead_rows(struct mysql_target *d, const struct place *place)
{
	const char *params[] = { place->database, place->base };
	char *rows = mysql_target_rows_sql(place->rows);

	mysql_client_foresee(d->db, &d->ahead, view_stop_sql, 2, params);
	mysql_client_foresee(d->db, &d->ahead, rows, 0, NULL);
	mysql_client_foresee(d->db, &d->ahead, rows, 0, NULL);
	free(rows);
}

/* A run with nothing to do has no other questions. */
static void ahead_prepare(struct mysql_target *d, const struct place *place,
			  const struct target *target)
{
	mysql_target_refresh_foresee(d->db, place, target->pipeline, &d->ahead);
	ahead_plan(d, place, target);
	ahead_rows(d, place);
}

/* A lock that somebody else holds is not had by then, and its release does
 * nothing. */
static void ahead_resume(struct mysql_target *d, const struct place *place,
			 const char *pipeline)
{
	const struct mark_place at = mark_place_of(place);
	const struct mark_facts facts = sql_mark_of(pipeline);

	mysql_target_lock_foresee(d, place, LOCK_LOAD, pipeline,
				  MYSQL_TARGET_LOAD_WAIT, true, &d->ahead);
	sql_mark_tell(&d->mark, &mysql_target_read_mark, &at, &facts,
		      ahead_told);
	mysql_target_lock_foresee(d, place, LOCK_LOAD, pipeline,
				  MYSQL_TARGET_LOAD_WAIT, false, &d->ahead);
}

/* The text may have ended between the lock and its release. A lock that is not
 * known to be held would never be given up. */
static int ahead_ask(struct mysql_target *d, const struct place *place,
		     const char *pipeline, struct error *err)
{
	struct strlist lock = STRLIST_INIT;
	int rc = mysql_client_ask_ahead(d->db, &d->ahead, err);

	mysql_target_lock_foresee(d, place, LOCK_LOAD, pipeline,
				  MYSQL_TARGET_LOAD_WAIT, true, &lock);
	mysql_target_lock_foresee(d, place, LOCK_LOAD, pipeline,
				  MYSQL_TARGET_LOAD_WAIT, false, &lock);
	if (!rc && lock.n == 2 && mysql_client_is_ahead(d->db, lock.items[0]) &&
	    !mysql_client_is_ahead(d->db, lock.items[1])) {
		/* If this fails, the session is reset before it rests. */
		d->used = true;
		rc = mysql_client_exec(d->db, lock.items[1], err);
	}
	strlist_release(&lock);
	return rc;
}

/* Does a run ask the same as one that has nothing to do? */
static bool ahead_is_plain(const struct target *target)
{
	return target->schema && !target->preview && !target->refresh;
}

/* The read under the lock can come along if no predecessor is to be ended
 * first, and if the row is this writer's already. */
static bool ahead_is_held(const struct target *target)
{
	const struct writer *w = &target->writer;

	return w->fence && !w->claim && !(w->predecessor && *w->predecessor);
}

/* The plan that is made of these answers is compared with the table in each
 * transaction that loads. Once prepare() writes anything, what is left is asked
 * again. */
int mysql_target_ahead_recover(struct mysql_target *d,
			       const struct place *place,
			       const struct target *target,
			       const struct mysql_target_look *look,
			       struct error *err)
{
	const char *faults[] = { OWNED_MARK_PARAMS(place) };
	const struct mark_place at = mark_place_of(place);
	const struct mark_facts facts = sql_mark_of(target->pipeline);

	mysql_client_foresee(d->db, &d->ahead, look->sql, look->n,
			     look->params);
	mysql_client_foresee(d->db, &d->ahead, fault_stop_sql,
			     ARRAY_SIZE(faults), faults);
	sql_mark_tell(&d->mark, &mysql_target_read_all, &at, &facts,
		      ahead_told);
	if (ahead_is_plain(target) && ahead_is_held(target)) {
		mysql_target_session_lease_foresee(d, target->writer.lease_us,
						   &d->ahead);
		ahead_prepare(d, place, target);
		ahead_resume(d, place, target->pipeline);
	}
	return ahead_ask(d, place, target->pipeline, err);
}

int mysql_target_ahead_prepare(struct mysql_target *d,
			       const struct target *target, struct error *err)
{
	const char *faults[] = { OWNED_MARK_PARAMS(&d->place) };

	if (!ahead_is_plain(target) ||
	    mysql_target_refresh_is_ahead(d->db, &d->place, target->pipeline))
		return 0;
	mysql_client_foresee(d->db, &d->ahead, fault_stop_sql,
			     ARRAY_SIZE(faults), faults);
	ahead_prepare(d, &d->place, target);
	return ahead_ask(d, &d->place, target->pipeline, err);
}

int mysql_target_ahead_resume(struct mysql_target *d, struct error *err)
{
	const char *pipeline = d->target->pipeline;
	struct strlist lock = STRLIST_INIT;
	bool ahead;

	mysql_target_lock_foresee(d, &d->place, LOCK_LOAD, pipeline,
				  MYSQL_TARGET_LOAD_WAIT, true, &lock);
	ahead = lock.n && mysql_client_is_ahead(d->db, lock.items[0]);
	strlist_release(&lock);
	if (ahead)
		return 0;
	ahead_resume(d, &d->place, pipeline);
	return ahead_ask(d, &d->place, pipeline, err);
}
