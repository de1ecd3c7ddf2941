#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/failpoint.h"
#include "core/base/log.h"
#include "destinations/mysql/internal.h"

#define RESOLVE_TRIES	 20
#define RESOLVE_PAUSE_US (US_PER_SECOND / 2)
#define RESOLVE_WAIT	 5 /* seconds, for the old session's lock */

/* The old session holds the lock until it is over, one way or the other. It
 * may be there for long although nobody talks to it any more, so it is ended:
 * a COMMIT that is under way ends as it would. Numbers of sessions are not
 * given out again before the server restarts. */
static int commit_wait(struct mysql_target *d, struct mysql_client *db,
		       unsigned long old, struct error *err)
{
	char *name = mysql_target_lock_name(&d->place, LOCK_LOAD,
					    d->target->pipeline);
	char *wait = xstrfmt("%d", RESOLVE_WAIT);
	const char *params[] = { name, wait }, *got = NULL;
	struct error ignored = ERROR_INIT;
	struct mysql_client_result *r = NULL;
	int rc = 0;

	for (int try = 0; !rc && !got && try < RESOLVE_TRIES; try++) {
		mysql_target_execf(db, &ignored, "KILL %lu", old);
		error_clear(&ignored);
		rc = mysql_client_query(db, &r,
					"SELECT NULLIF(GET_LOCK(?, ?), 0)",
					"1?", 2, params, err);
		got = rc ? NULL : mysql_client_value(r, 0, 0) ? "1" : NULL;
		mysql_client_result_free(r);
		r = NULL;
	}
	if (got)
		mysql_client_query(db, &r, "SELECT RELEASE_LOCK(?)", "1?", 1,
				   params, &ignored);
	mysql_client_result_free(r);
	free(name);
	free(wait);
	return rc;
}

/* A server that restarts takes some seconds. */
static int commit_reconnect(struct mysql_target *d, struct mysql_client **out,
			    struct error *err)
{
	int rc = -ERROR_TRANSIENT;

	for (int try = 0; try < RESOLVE_TRIES; try++) {
		error_clear(err);
		rc = mysql_target_session_open(d, out, err);
		if (rc != -ERROR_TRANSIENT || clock_sleep_us(RESOLVE_PAUSE_US))
			break;
	}
	return rc;
}

static void commit_take(struct mysql_target *d, struct mysql_client *db)
{
	struct mysql_client *old;

	pthread_mutex_lock(&d->swapping);
	old = d->db;
	d->db = db;
	pthread_mutex_unlock(&d->swapping);
	mysql_client_close(old);
	mysql_target_lock_forget(d);
	d->staged = false;
}

/* An identity that was there before (a batch that is replayed) says nothing.
 */
static bool commit_is_there(const struct mysql_target *d,
			    const struct checkpoint *next,
			    const struct checkpoint *now)
{
	return next->batch_id && !d->target->refresh &&
	       !strcmp(now->batch_id, next->batch_id) &&
	       strcmp(d->seen.batch_id, next->batch_id) != 0;
}

/* The connection was lost between COMMIT and its answer: only the row knows
 * what happened. */
static int commit_resolve(struct mysql_target *d, const struct checkpoint *next,
			  struct error *err)
{
	unsigned long old = mysql_client_session(d->db);
	struct error lost = *err;
	struct checkpoint now;
	struct mysql_client *db = NULL;
	int rc;

	checkpoint_init(&now);
	log_warn("%s: the answer to COMMIT was lost; asking what happened",
		 d->target->table);
	rc = commit_reconnect(d, &db, err);
	if (!rc)
		rc = commit_wait(d, db, old, err);
	if (!rc)
		rc = mysql_target_mark_read(db, &d->place, d->target->pipeline,
					    &now, err);
	if (!rc && now.found && commit_is_there(d, next, &now)) {
		commit_take(d, db);
		db = NULL;
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
	mysql_client_close(db);
	checkpoint_release(&now);
	return rc;
}

int mysql_target_mark_commit(struct mysql_target *d,
			     const struct checkpoint *next, struct error *err)
{
	int rc = writer_check(&d->target->writer, err);
	bool unclear;

	if (rc)
		return rc;
	rc = mysql_client_exec_begin(d->db, "COMMIT", err);
	unclear = !mysql_client_alive(d->db);

	/* Between the question and its answer. */
	if (!rc) {
		rc = failpoint("commit_sent", err);
		unclear = rc != 0;
	}
	if (!rc) {
		rc = mysql_client_exec_end(d->db, err);
		unclear = rc < 0 && !mysql_client_alive(d->db);
	}
	if (unclear)
		rc = commit_resolve(d, next, err);
	if (!rc)
		mysql_target_session_end(d);
	return rc ? rc : failpoint("commit_acked", err);
}
