#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>

#include "clients/pg_ahead.h"
#include "clients/pg_named.h"
#include "clients/pg_session.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"

/* The first version with plan_cache_mode. */
#define TALK_PLAN_MODE 120000

/* Until the end of the transaction. Else the server plans a text five times
 * before it keeps a plan. */
static int talk_plan_mode(struct pg *pg, const char *mode)
{
	const char *sql = "SELECT set_config('plan_cache_mode', $1, true)";

	return PQsendQueryParams(pg->conn, sql, 1, NULL, &mode, NULL, NULL, 0);
}

static int talk_send_one(struct pg *pg, struct pg_asked *a)
{
	const char *const *params = (const char *const *)a->params;
	char name[PG_NAMED_SIZE];
	enum pg_named_step step = pg_named_step(pg->named, a->sql, name);

	a->prepares = step == PG_NAMED_PREPARE;
	if (step == PG_NAMED_NOT)
		return PQsendQueryParams(pg->conn, a->sql, a->n, NULL, params,
					 NULL, NULL, 0);
	if (a->prepares && !PQsendPrepare(pg->conn, name, a->sql, 0, NULL))
		return 0;
	return PQsendQueryPrepared(pg->conn, name, a->n, params, NULL, NULL, 0);
}

/* BEGIN with a level of isolation has to be the first of its transaction, and a
 * statement without values has no other plan. */
static bool talk_has_modes(const struct pg *pg, const struct pg_questions *q)
{
	return q->n && pg_server_version(pg) >= TALK_PLAN_MODE &&
	       strncmp(q->items[0].sql, "BEGIN", 5) != 0;
}

/* One transaction, unless they have their own. */
static bool talk_send(struct pg *pg, struct pg_questions *q, bool modes)
{
	bool sent = !modes || talk_plan_mode(pg, "force_generic_plan");

	for (size_t i = 0; sent && i < q->n; i++)
		sent = q->items[i].answer || talk_send_one(pg, &q->items[i]);
	if (sent && modes)
		sent = talk_plan_mode(pg, "auto");
	return sent && PQpipelineSync(pg->conn);
}

/* Is it the name that failed? The text itself may be all right: pg_query() asks
 * it again. A function of a view can drop names by DEALLOCATE, and a column of
 * the answer may have another type now. */
static bool talk_name_failed(struct pg *pg, const struct pg_asked *a,
			     const PGresult *r)
{
	const char *state = PQresultErrorField(r, PG_DIAG_SQLSTATE);

	if (state && !strcmp(state, "26000"))
		pg_named_lost(pg->named);
	else if (state && !strcmp(state, "0A000"))
		pg_named_forget(pg->named, a->sql);
	else
		return false;
	return true;
}

static void talk_fail(struct pg *pg, struct pg_asked *a, const PGresult *r)
{
	if (talk_name_failed(pg, a, r))
		return;
	a->failed = xcalloc(1, sizeof(*a->failed));
	xassign(&pg->sql, a->sql);
	pg_result_error(pg, r, a->failed);
}

static void talk_keep(struct pg *pg, struct pg_asked *a, PGresult *r)
{
	ExecStatusType status = PQresultStatus(r);

	if (!a->answer &&
	    (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK)) {
		a->answer = r;
		return;
	}
	if (status == PGRES_FATAL_ERROR && !a->failed)
		talk_fail(pg, a, r);
	PQclear(r);
}

/* A text that cannot be prepared fails as it would by itself. */
static int talk_read_prepared(struct pg *pg, struct pg_asked *a,
			      struct error *err)
{
	PGresult *r = NULL;
	int rc = pg_take(pg, &r, err);

	while (!rc && r) {
		ExecStatusType status = PQresultStatus(r);

		if (status != PGRES_COMMAND_OK)
			pg_named_not_yet(pg->named, a->sql);
		if (status == PGRES_FATAL_ERROR && !a->failed) {
			pg_named_forget(pg->named, a->sql);
			talk_fail(pg, a, r);
		}
		PQclear(r);
		r = NULL;
		rc = pg_take(pg, &r, err);
	}
	return rc;
}

/* One statement's answer; its end is a NULL. */
static int talk_read(struct pg *pg, struct pg_asked *a, struct error *err)
{
	PGresult *r = NULL;
	int rc = a->prepares ? talk_read_prepared(pg, a, err) : 0;

	if (!rc)
		rc = pg_take(pg, &r, err);
	while (!rc && r) {
		talk_keep(pg, a, r);
		rc = pg_take(pg, &r, err);
	}
	return rc;
}

/* The mode's answer: as good as none. */
static int talk_skip(struct pg *pg, struct error *err)
{
	PGresult *r = NULL;
	int rc = pg_take(pg, &r, err);

	while (!rc && r) {
		PQclear(r);
		r = NULL;
		rc = pg_take(pg, &r, err);
	}
	return rc;
}

/* The end of a transaction's part of the message. */
static int talk_end(struct pg *pg, struct error *err)
{
	PGresult *r = NULL;
	int rc = pg_take(pg, &r, err);
	bool ended = !rc && r && PQresultStatus(r) == PGRES_PIPELINE_SYNC;

	PQclear(r);
	return rc || ended ? rc : pg_lost(pg, err);
}

static int talk_read_all(struct pg *pg, struct pg_questions *q, bool modes,
			 struct error *err)
{
	int rc = modes ? talk_skip(pg, err) : 0;

	for (size_t i = 0; !rc && i < q->n; i++)
		rc = q->items[i].answer ? 0 : talk_read(pg, &q->items[i], err);
	if (!rc && modes)
		rc = talk_skip(pg, err);
	return rc ? rc : talk_end(pg, err);
}

/* A network that lost a session at rest says nothing. This is found out as soon
 * as a new session would find it out. */
int64_t pg_first_wait(struct pg *pg)
{
	const struct pg_owed *owed = &pg->owed;
	int64_t silence_us = pg->waiter.silence_us;

	if (owed->rested && owed->conn->connect_timeout_us < silence_us)
		pg->waiter.silence_us = owed->conn->connect_timeout_us;
	return silence_us;
}

static int talk_pin(struct pg *pg, struct pg_questions *pins, struct error *err)
{
	int64_t silence_us = pg_first_wait(pg);
	int rc;

	rc = pg_take_resets(pg, err);
	if (!rc)
		rc = talk_read_all(pg, pins, false, err);
	pg->waiter.silence_us = silence_us;
	if (!rc)
		rc = pg_pin_judge(pg, pins, err);
	if (!rc)
		pg->owed.conn = NULL;
	return rc;
}

static bool talk_begin(struct pg *pg)
{
	return PQpipelineStatus(pg->conn) != PQ_PIPELINE_OFF ||
	       PQenterPipelineMode(pg->conn);
}

/* A message that is sent once more, by a session in place of a lost one, is
 * sent whole. Later questions may go by what earlier ones left behind in the
 * transaction. */
static void talk_forget(struct pg_questions *q)
{
	for (size_t i = 0; q && i < q->n; i++) {
		struct pg_asked *a = &q->items[i];

		if (a->given)
			continue;
		PQclear(a->answer);
		a->answer = NULL;
		free(a->failed);
		a->failed = NULL;
	}
}

/* Settings have a transaction of their own, which no question can undo. */
static int talk_once(struct pg *pg, struct pg_questions *q, struct error *err)
{
	struct pg_questions *pins =
		pg->owed.conn ? pg_pin_questions(pg, &pg->owed.options) : NULL;
	bool modes = q && talk_has_modes(pg, q);
	bool sent;
	int rc;

	pg->asked_us = clock_monotonic_us();
	sent = talk_begin(pg) && (!pins || talk_send(pg, pins, false)) &&
	       (!q || talk_send(pg, q, modes));
	rc = pg_sent(pg, sent, err);
	if (!rc && pins)
		rc = talk_pin(pg, pins, err);
	if (!rc && q)
		rc = talk_read_all(pg, q, modes, err);
	if (!rc && !PQexitPipelineMode(pg->conn))
		rc = pg_lost(pg, err);
	pg_questions_free(pins);
	return rc;
}

static int talk_all(struct pg *pg, void *questions, struct error *err)
{
	if (atomic_load(&pg->waiter.interrupted))
		return pg_stopped(pg, err);
	talk_forget(questions);
	return talk_once(pg, questions, err);
}

/* Does any have no answer yet? */
static bool talk_needs(const struct pg_questions *q)
{
	for (size_t i = 0; i < q->n; i++)
		if (!q->items[i].answer)
			return true;
	return false;
}

int pg_ask_all(struct pg *pg, struct pg_questions *q, struct error *err)
{
	int rc = pg->owed.conn ? 0 : pg_ready(pg, err);

	if (rc || (q && !talk_needs(q)))
		return rc;
	return pg->owed.conn ? pg->owed.ask(pg, talk_all, q, err)
			     : talk_all(pg, q, err);
}

/* Nobody is to get an answer that is older than our own. */
static void talk_outdate(const struct pg *pg, const struct pg_questions *q)
{
	for (size_t i = 0; i < q->n; i++)
		if (!q->items[i].n && !q->items[i].given && q->items[i].answer)
			pg_shared_renew(pg, q->items[i].sql,
					q->items[i].answer);
}

int pg_ahead_ask(struct pg *pg, struct error *err)
{
	struct pg_questions *ahead = pg->ahead;
	int rc;

	if (!ahead)
		return pg_ready(pg, err);
	ahead->sent = true;
	ahead->ready_us = INT64_MAX; /* they come just now */
	rc = pg_ask_all(pg, ahead, err);
	ahead->ready_us = clock_monotonic_us();
	if (rc)
		pg_ahead_drop(pg);
	else
		talk_outdate(pg, ahead);
	return rc;
}

int pg_ahead_ask_kept(struct pg *pg, struct error *err)
{
	int rc = pg_ahead_ask(pg, err);

	if (!rc && pg->ahead)
		pg->ahead->ready_us = INT64_MAX;
	return rc;
}
