#include <inttypes.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "destinations/postgres/owned.h"
#include "destinations/postgres/postgres.h"

static const char make_sql[] = "INSERT INTO %s (pipeline, target)\n"
			       "VALUES ($1, $2)\n"
			       "ON CONFLICT (pipeline) DO NOTHING";

static const char raise_sql[] =
	"UPDATE ONLY %s SET watermark = $2::json WHERE pipeline = $1";

static const char set_sql[] =
	"INSERT INTO %s AS w (pipeline, watermark, batch_id, target)\n"
	"VALUES ($1, $2::json, $3, $4)\n"
	"ON CONFLICT (pipeline) DO UPDATE SET watermark = $2::json,\n"
	"  batch_id = $3, updated_at = clock_timestamp(), target = $4,\n"
	"  created_target = w.created_target AND w.target = $4,\n"
	"  target_id = '', target_rows = 0";

static int raise_write(struct postgres_destination *d,
		       const struct place *place, const char *pipeline,
		       const char *watermark, struct error *err)
{
	const char *params[] = { pipeline, watermark };
	char *sql = xstrfmt(raise_sql, place->watermark);
	int rc = pg_exec_count(d->pg, sql, 2, params, NULL, err);

	free(sql);
	return rc;
}

/* The row's lock waits for the batch of a run that is under way. */
static int raise_locked(struct postgres_destination *d,
			const struct place *place, const char *pipeline,
			const char *mark, struct error *err)
{
	const char *params[] = { pipeline, place->table };
	char *sql = xstrfmt(make_sql, place->watermark), *raised = NULL;
	struct checkpoint now;
	int rc = pg_exec_count(d->pg, sql, 2, params, NULL, err);

	free(sql);
	checkpoint_init(&now);
	if (!rc)
		rc = postgres_mark_read(d->pg, place, pipeline, true, &now,
					err);
	if (!rc)
		raised = watermark_raise_text(now.watermark, mark);
	if (raised)
		rc = raise_write(d, place, pipeline, raised, err);
	free(raised);
	checkpoint_release(&now);
	return rc;
}

int postgres_raise(struct destination *base, const struct target *target,
		   const char *mark, struct error *err)
{
	struct postgres_destination *d = (struct postgres_destination *)base;
	struct place place = { .schema = NULL };
	int rc = postgres_place_set(&place, d->pg, target, err);

	if (!rc)
		rc = postgres_lock_begin(d, target->pipeline, 0, err);
	if (!rc)
		rc = postgres_owned_check(d, &place, err);
	if (!rc) {
		rc = raise_locked(d, &place, target->pipeline, mark, err);
		if (!rc)
			rc = pg_exec(d->pg, "COMMIT", err);
		if (rc)
			postgres_session_rollback(d);
	}
	postgres_place_release(&place);
	return rc;
}

static int set_write(struct postgres_destination *d, const struct place *place,
		     const char *pipeline, const char *watermark,
		     struct error *err)
{
	/* Another identity: a run that is under way notices. */
	char *batch_id = xstrfmt("set-%" PRId64, clock_now_us());
	const char *params[] = { pipeline, watermark, batch_id, place->table };
	char *sql = xstrfmt(set_sql, place->watermark);
	int rc = pg_exec_count(d->pg, sql, ARRAY_SIZE(params), params, NULL,
			       err);

	free(sql);
	free(batch_id);
	return rc;
}

/* A table that somebody has made since we looked for it is looked at. */
static int set_locked(struct postgres_destination *d, const struct place *place,
		      bool has_watermark, const char *pipeline,
		      const char *watermark, struct error *err)
{
	struct strbuf sql = STRBUF_INIT;
	int rc = pg_exec(d->pg, "BEGIN", err);

	if (!rc && !has_watermark) {
		postgres_mark_table_sql(&sql, place);
		rc = pg_exec(d->pg, sql.data, err);
	}
	if (!rc)
		rc = postgres_owned_check(d, place, err);
	if (!rc)
		rc = set_write(d, place, pipeline, watermark, err);
	if (!rc)
		rc = pg_exec(d->pg, "COMMIT", err);
	if (rc)
		postgres_session_rollback(d);
	strbuf_release(&sql);
	return rc;
}

int postgres_set_watermark(struct destination *base,
			   const struct target *target, const char *watermark,
			   struct error *err)
{
	struct postgres_destination *d = (struct postgres_destination *)base;
	struct place place = { .schema = NULL };
	bool has_target = false, has_watermark = false;
	int rc = postgres_place_set(&place, d->pg, target, err);

	if (!rc)
		rc = postgres_mark_has_tables(d->pg, &place, &has_target,
					      &has_watermark, err);
	if (!rc && !has_target)
		rc = error_set(err, ERROR_SCHEMA,
			       "table %s is not in the destination: there is "
			       "no mark to set before a first run",
			       target->table);
	if (!rc)
		rc = set_locked(d, &place, has_watermark, target->pipeline,
				watermark, err);
	postgres_place_release(&place);
	return rc;
}
