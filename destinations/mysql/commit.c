#include <stdlib.h>

#include "core/base/alloc.h"
#include "destinations/common/sql_commit.h"
#include "destinations/mysql/internal.h"

#define SETTLE_TRIES 20
#define SETTLE_WAIT  5 /* seconds, for the old session's lock */

static int commit_send(struct sql_mark *m, struct error *err)
{
	return mysql_client_exec_begin(((struct mysql_target *)m)->db, "COMMIT",
				       err);
}

static int commit_answer(struct sql_mark *m, struct error *err)
{
	return mysql_client_exec_end(((struct mysql_target *)m)->db, err);
}

static bool commit_alive(const struct sql_mark *m)
{
	return mysql_client_alive(((const struct mysql_target *)m)->db);
}

static int commit_reconnect(struct sql_mark *m, struct error *err)
{
	struct mysql_target *d = (struct mysql_target *)m;
	struct mysql_client *db = NULL, *old;
	int rc = mysql_target_session_open(d, &db, err);

	if (rc)
		return rc;
	pthread_mutex_lock(&d->swapping);
	old = d->db;
	d->db = db;
	pthread_mutex_unlock(&d->swapping);
	free(d->session);
	d->session = xstrfmt("%lu", mysql_client_session(db));
	d->lost = mysql_client_session(old);
	mysql_client_close(old);
	mysql_target_lock_forget(d);
	d->staged = false;
	return 0;
}

/* The old session holds the lock until it is over, one way or the other. It may
 * live for long although nobody talks to it any more, so it is ended. A COMMIT
 * that is under way ends as it would. The server does not give session numbers
 * out again before it restarts. */
static int commit_wait(struct mysql_target *d, struct error *err)
{
	char *name = mysql_target_lock_name(&d->place, LOCK_LOAD,
					    d->target->pipeline);
	char *wait = xstrfmt("%d", SETTLE_WAIT);
	const char *params[] = { name, wait }, *got = NULL;
	struct error ignored = ERROR_INIT;
	struct mysql_client_result *r = NULL;
	int rc = 0;

	for (int try = 0; !rc && !got && try < SETTLE_TRIES; try++) {
		mysql_target_execf(d->db, &ignored, "KILL %lu", d->lost);
		error_clear(&ignored);
		rc = mysql_client_query(d->db, &r,
					"SELECT NULLIF(GET_LOCK(?, ?), 0)",
					"1?", 2, params, err);
		got = rc ? NULL : mysql_client_value(r, 0, 0) ? "1" : NULL;
		mysql_client_result_free(r);
		r = NULL;
	}
	if (got)
		mysql_client_query(d->db, &r, "SELECT RELEASE_LOCK(?)", "1?", 1,
				   params, &ignored);
	mysql_client_result_free(r);
	free(name);
	free(wait);
	return rc;
}

static int commit_settle(struct sql_mark *m, const struct target *target,
			 struct checkpoint *now, struct error *err)
{
	struct mysql_target *d = (struct mysql_target *)m;
	int rc = commit_wait(d, err);

	return rc ? rc : mysql_target_mark_read(d, target->pipeline, now, err);
}

static const struct sql_commit_engine commit_engine = {
	.send = commit_send,
	.answer = commit_answer,
	.alive = commit_alive,
	.reconnect = commit_reconnect,
	.settle = commit_settle,
};

/* In a new session the stage is made anew with the next batch. */
int mysql_target_mark_commit(struct sql_mark *m, const struct checkpoint *next,
			     struct error *err)
{
	struct mysql_target *d = (struct mysql_target *)m;
	int rc = sql_commit(m, &commit_engine, d->target, next, err);

	if (rc < 0)
		return rc;
	mysql_target_session_end(d);
	return 0;
}
