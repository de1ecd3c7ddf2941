#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/failpoint.h"
#include "core/base/log.h"
#include "destinations/postgres/postgres.h"

#define RESOLVE_TRIES	 20
#define RESOLVE_PAUSE_US (US_PER_SECOND / 2)

/* Reading under the row's lock waits until the old transaction is over, one
 * way or the other. */
static int commit_read(struct postgres_destination *d, struct pg *pg,
		       struct checkpoint *now, struct error *err)
{
	int rc = pg_exec(pg, "SET lock_timeout = '5s'", err);

	for (int try = 0; !rc && try < RESOLVE_TRIES; try++) {
		error_clear(err);
		rc = postgres_mark_read(pg, &d->place, d->target->pipeline,
					true, now, err);
		if (!rc || !error_has_code(err, "55P03"))
			break;
		error_clear(err);
		rc = postgres_session_end(pg, d->session, err);
	}
	return rc ? rc : pg_exec(pg, "RESET lock_timeout", err);
}

/* A server that restarts takes some seconds. */
static int commit_reconnect(struct postgres_destination *d, struct pg **out,
			    struct error *err)
{
	int rc = -ERROR_TRANSIENT;

	for (int try = 0; try < RESOLVE_TRIES; try++) {
		error_clear(err);
		rc = postgres_session_open(d, out, err);
		if (rc != -ERROR_TRANSIENT || clock_sleep_us(RESOLVE_PAUSE_US))
			break;
	}
	return rc;
}

static int commit_take(struct postgres_destination *d, struct pg *pg,
		       struct error *err)
{
	struct pg *old;
	int rc;

	pthread_mutex_lock(&d->swapping);
	old = d->pg;
	d->pg = pg;
	pthread_mutex_unlock(&d->swapping);
	pg_close(old);
	rc = postgres_session_start(d, err);
	/* Of a refresh only the last COMMIT is ever found to have happened. */
	return rc || d->target->refresh ? rc : postgres_stage_create(d, err);
}

/* An identity that was there before (a batch that is replayed) says nothing.
 */
static bool commit_is_there(const struct postgres_destination *d,
			    const struct checkpoint *next,
			    const struct checkpoint *now)
{
	return next->batch_id && !strcmp(now->batch_id, next->batch_id) &&
	       strcmp(d->seen.batch_id, next->batch_id) != 0;
}

/* The connection was lost between COMMIT and its answer: only the row knows
 * what happened. */
static int commit_resolve(struct postgres_destination *d,
			  const struct checkpoint *next, struct error *err)
{
	struct error lost = *err;
	struct checkpoint now;
	struct pg *pg = NULL;
	int rc;

	checkpoint_init(&now);
	log_warn("%s: the answer to COMMIT was lost; asking what happened",
		 d->target->table);
	rc = commit_reconnect(d, &pg, err);
	if (!rc)
		rc = commit_read(d, pg, &now, err);
	if (!rc && now.found && commit_is_there(d, next, &now)) {
		rc = commit_take(d, pg, err);
		pg = NULL;
	} else if (!rc && now.found && strcmp(now.batch_id, d->seen.batch_id)) {
		rc = error_set(err, ERROR_STATE,
			       "pipeline %s: another writer has loaded batch "
			       "%s into %s",
			       d->target->pipeline, now.batch_id,
			       d->target->table);
	} else if (!rc) {
		*err = lost;
		err->code = ERROR_TRANSIENT;
		rc = error_prefix(err, "the batch was not committed");
	}
	pg_close(pg);
	checkpoint_release(&now);
	return rc;
}

int postgres_mark_commit(struct postgres_destination *d,
			 const struct checkpoint *next, struct error *err)
{
	int rc = writer_check(&d->target->writer, err);
	bool unclear;

	if (rc)
		return rc;
	rc = pg_exec_begin(d->pg, "COMMIT", err);
	unclear = !pg_alive(d->pg);

	/* Between the question and its answer. */
	if (!rc) {
		rc = failpoint("commit_sent", err);
		unclear = rc != 0;
	}
	if (!rc) {
		rc = pg_exec_end(d->pg, err);
		unclear = rc < 0 && !pg_alive(d->pg);
	}
	if (unclear)
		rc = commit_resolve(d, next, err);
	return rc ? rc : failpoint("commit_acked", err);
}
