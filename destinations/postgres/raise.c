#include <stdlib.h>

#include "core/base/alloc.h"
#include "destinations/postgres/postgres.h"

static const char make_sql[] = "INSERT INTO %s (pipeline, target)\n"
			       "VALUES ($1, $2)\n"
			       "ON CONFLICT (pipeline) DO NOTHING";

static const char raise_sql[] =
	"UPDATE %s SET watermark = $2::json WHERE pipeline = $1";

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
