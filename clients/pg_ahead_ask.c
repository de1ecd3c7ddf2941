#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>

#include "clients/pg_ahead.h"
#include "clients/pg_named.h"
#include "clients/pg_session.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"

/* The first version with plan_cache_mode. */
#define AHEAD_PLAN_MODE 120000

/* Until the end of the transaction. Else the server plans a text five times
 * before it keeps a plan. */
static int ahead_plan_mode(struct pg *pg, const char *mode)
{
	const char *sql = "SELECT set_config('plan_cache_mode', $1, true)";

	return PQsendQueryParams(pg->conn, sql, 1, NULL, &mode, NULL, NULL, 0);
}

static int ahead_send_one(struct pg *pg, struct pg_asked *a)
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

/* BEGIN with a level of isolation has to be the first of its transaction. */
static bool ahead_has_modes(const struct pg *pg)
{
	return pg_server_version(pg) >= AHEAD_PLAN_MODE &&
	       strncmp(pg->ahead->items[0].sql, "BEGIN", 5) != 0;
}

static int ahead_send(struct pg *pg, bool modes, struct error *err)
{
	struct pg_ahead *ahead = pg->ahead;
	int sent = PQenterPipelineMode(pg->conn);

	if (sent && modes)
		sent = ahead_plan_mode(pg, "force_generic_plan");
	for (size_t i = 0; sent && i < ahead->n; i++)
		sent = ahead_send_one(pg, &ahead->items[i]);
	if (sent && modes)
		sent = ahead_plan_mode(pg, "auto");
	return pg_sent(pg, sent && PQpipelineSync(pg->conn), err);
}

/* Is it the name that failed? The text itself may be all right: pg_query() asks
 * it again. A function of a view can drop names by DEALLOCATE, and a column of
 * the answer may have another type now. */
static bool ahead_name_failed(struct pg *pg, const struct pg_asked *a,
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

static void ahead_fail(struct pg *pg, struct pg_asked *a, const PGresult *r)
{
	if (ahead_name_failed(pg, a, r))
		return;
	a->failed = xcalloc(1, sizeof(*a->failed));
	xassign(&pg->sql, a->sql);
	pg_result_error(pg, r, a->failed);
}

static void ahead_keep(struct pg *pg, struct pg_asked *a, PGresult *r)
{
	ExecStatusType status = PQresultStatus(r);

	if (!a->answer &&
	    (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK)) {
		a->answer = r;
		return;
	}
	if (status == PGRES_FATAL_ERROR && !a->failed)
		ahead_fail(pg, a, r);
	PQclear(r);
}

/* A text that cannot be prepared fails as it would by itself. */
static int ahead_read_prepared(struct pg *pg, struct pg_asked *a,
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
			ahead_fail(pg, a, r);
		}
		PQclear(r);
		r = NULL;
		rc = pg_take(pg, &r, err);
	}
	return rc;
}

/* One statement's answer; its end is a NULL. */
static int ahead_read(struct pg *pg, struct pg_asked *a, struct error *err)
{
	PGresult *r = NULL;
	int rc = a->prepares ? ahead_read_prepared(pg, a, err) : 0;

	if (!rc)
		rc = pg_take(pg, &r, err);
	while (!rc && r) {
		ahead_keep(pg, a, r);
		rc = pg_take(pg, &r, err);
	}
	return rc;
}

/* The mode's answer: as good as none. */
static int ahead_skip(struct pg *pg, struct error *err)
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

/* The end of the message. */
static int ahead_end(struct pg *pg, struct error *err)
{
	PGresult *r = NULL;
	int rc = pg_take(pg, &r, err);
	bool ended = !rc && r && PQresultStatus(r) == PGRES_PIPELINE_SYNC;

	PQclear(r);
	if (!rc && (!ended || !PQexitPipelineMode(pg->conn)))
		rc = pg_lost(pg, err);
	return rc;
}

int pg_ahead_ask_kept(struct pg *pg, struct error *err)
{
	int rc = pg_ahead_ask(pg, err);

	if (!rc && pg->ahead)
		pg->ahead->ready_us = INT64_MAX;
	return rc;
}

int pg_ahead_ask(struct pg *pg, struct error *err)
{
	struct pg_ahead *ahead = pg->ahead;
	bool modes = ahead && ahead_has_modes(pg);
	int rc = pg_ready(pg, err);

	if (!rc && !ahead)
		return 0;
	if (!rc) {
		ahead->sent = true;
		rc = ahead_send(pg, modes, err);
	}
	if (!rc && modes)
		rc = ahead_skip(pg, err);
	for (size_t i = 0; !rc && i < ahead->n; i++)
		rc = ahead_read(pg, &ahead->items[i], err);
	if (!rc && modes)
		rc = ahead_skip(pg, err);
	if (!rc)
		rc = ahead_end(pg, err);
	if (rc)
		pg_ahead_drop(pg);
	else
		ahead->ready_us = clock_monotonic_us();
	return rc;
}
