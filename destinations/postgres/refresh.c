#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "clients/pg_lock.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/failpoint.h"
#include "core/data/digest.h"
#include "destinations/common/refresh.h"
#include "destinations/postgres/postgres.h"

/* The server process of a client that was killed lingers a moment. */
#define LOCK_TRIES    25
#define LOCK_PAUSE_US (US_PER_SECOND / 5)
#define KEY_DIGITS    16

static const char take_sql[] =
	"UPDATE ONLY %s SET batch_id = $2, updated_at = clock_timestamp()\n"
	"WHERE pipeline = $1 RETURNING fence, rows_total";

/* The lock's key, made of the stage's name with its schema. */
static char *refresh_key(const struct place *place)
{
	char hash[DIGEST_TEXT_SIZE];

	digest_hash_text(place->building, strlen(place->building), hash);
	hash[KEY_DIGITS] = '\0';
	return xstrfmt("%" PRId64, (int64_t)strtoull(hash, NULL, 16));
}

static int refresh_try(struct postgres_destination *d, const char *sql,
		       const char *key, bool *got, struct error *err)
{
	struct pg_result *r = NULL;
	int rc = pg_query(d->pg, &r, sql, "1t", 1, &key, err);

	if (!rc)
		*got = *pg_value(r, 0, 0) == 't';
	pg_result_free(r);
	return rc;
}

static int refresh_refuse(struct postgres_destination *d,
			  const struct target *target, const char *key,
			  struct error *err)
{
	char *holder =
		pg_lock_holder(d->pg, postgres_lock_advisory_sql, 1, &key);
	int rc;

	if (holder)
		rc = error_set(err, ERROR_STATE,
			       "pipeline %s: another run of %s is refreshing "
			       "%s: %s; wait for it, or stop it",
			       target->pipeline, target->pipeline,
			       target->table, holder);
	else
		rc = error_set(err, ERROR_STATE,
			       "pipeline %s: another run of %s was refreshing "
			       "%s until now",
			       target->pipeline, target->pipeline,
			       target->table);
	free(holder);
	return rc;
}

int postgres_refresh_lock(struct postgres_destination *d,
			  const struct target *target, struct error *err)
{
	char *key = refresh_key(&d->place);
	bool got = false;
	int rc = 0;

	for (int try = 0; !rc && !got && try < LOCK_TRIES; try++) {
		if (try && clock_sleep_us(LOCK_PAUSE_US))
			break;
		rc = refresh_try(d, "SELECT pg_try_advisory_lock($1)", key,
				 &got, err);
	}
	if (!rc && !got)
		rc = refresh_refuse(d, target, key, err);
	free(d->refresh_key);
	d->refresh_key = rc ? NULL : xstrdup(key);
	free(key);
	return rc;
}

/* The session's end lets go of it as well. */
void postgres_refresh_unlock(struct postgres_destination *d)
{
	struct error ignored = ERROR_INIT;
	bool held;

	if (d->refresh_key && pg_alive(d->pg))
		refresh_try(d, "SELECT pg_advisory_unlock($1)", d->refresh_key,
			    &held, &ignored);
	free(d->refresh_key);
	d->refresh_key = NULL;
}

int postgres_refresh_take_over(struct postgres_destination *d,
			       const struct target *target, struct error *err)
{
	char *id = refresh_id_new();
	char *sql = xstrfmt(take_sql, d->place.watermark);
	const char *params[] = { target->pipeline, id };
	const struct checkpoint gone = { .found = false };
	struct pg_result *r = NULL;
	int rc = pg_query(d->pg, &r, sql, "tt", 2, params, err);

	if (!rc && !pg_rows(r))
		rc = writer_overtaken(target->pipeline, d->place.watermark,
				      "this refresh is given up", &gone, &gone,
				      err);
	if (!rc)
		sql_mark_remember(&d->mark, id,
				  strtoll(pg_value(r, 0, 0), NULL, 10),
				  strtoll(pg_value(r, 0, 1), NULL, 10));
	pg_result_free(r);
	free(sql);
	free(id);
	return rc;
}

/* The lock tells the stage of a killed refresh from the stage of one that is
 * under way. */
int postgres_refresh_drop_leftover(struct postgres_destination *d,
				   struct error *err)
{
	char *key = refresh_key(&d->place);
	bool got = false;
	int rc = pg_exec(d->pg, "BEGIN", err);

	if (!rc)
		rc = refresh_try(d, "SELECT pg_try_advisory_xact_lock($1)", key,
				 &got, err);
	if (!rc && got)
		rc = pg_execf(d->pg, err, "DROP TABLE IF EXISTS %s",
			      d->place.building);
	rc = sql_mark_end(&d->mark, rc, err);
	free(key);
	return rc || !got ? rc : failpoint("stage_dropped", err);
}
