#include "destinations/common/sql_commit.h"
#include "destinations/postgres/postgres.h"

#define SETTLE_TRIES 20

static int commit_send(struct sql_mark *m, struct error *err)
{
	return pg_exec_begin(((struct postgres_destination *)m)->pg, "COMMIT",
			     err);
}

static int commit_answer(struct sql_mark *m, struct error *err)
{
	return pg_exec_end(((struct postgres_destination *)m)->pg, err);
}

static bool commit_alive(const struct sql_mark *m)
{
	return pg_alive(((const struct postgres_destination *)m)->pg);
}

static int commit_reconnect(struct sql_mark *m, struct error *err)
{
	struct postgres_destination *d = (struct postgres_destination *)m;
	struct pg *pg = NULL, *old;
	int rc = postgres_session_open(d, &pg, err);

	if (rc)
		return rc;
	pthread_mutex_lock(&d->swapping);
	old = d->pg;
	d->pg = pg;
	pthread_mutex_unlock(&d->swapping);
	pg_close(old);
	return 0;
}

/* Reading under the row's lock waits until the old transaction is over, one
 * way or the other. */
static int commit_settle(struct sql_mark *m, const struct target *target,
			 struct checkpoint *now, struct error *err)
{
	struct postgres_destination *d = (struct postgres_destination *)m;
	int rc = pg_exec(d->pg, "SET lock_timeout = '5s'", err);

	for (int try = 0; !rc && try < SETTLE_TRIES; try++) {
		error_clear(err);
		rc = postgres_mark_read(d, target->pipeline, true, now, err);
		if (!rc || !error_has_code(err, "55P03"))
			break;
		error_clear(err);
		rc = postgres_session_end(d->pg, d->session, err);
	}
	return rc ? rc : pg_exec(d->pg, "RESET lock_timeout", err);
}

static const struct sql_commit_engine commit_engine = {
	.send = commit_send,
	.answer = commit_answer,
	.alive = commit_alive,
	.reconnect = commit_reconnect,
	.settle = commit_settle,
};

/* In a refresh only the last COMMIT is ever found to have happened. */
static int commit_go_on(struct postgres_destination *d, struct error *err)
{
	int rc = postgres_session_start(d, err);

	return rc || d->target->refresh ? rc : postgres_stage_create(d, err);
}

int postgres_mark_commit(struct sql_mark *m, const struct checkpoint *next,
			 struct error *err)
{
	struct postgres_destination *d = (struct postgres_destination *)m;
	int rc = sql_commit(m, &commit_engine, d->target, next, err);

	return rc > 0 ? commit_go_on(d, err) : rc;
}
