#include <libpq-fe.h>
#include <stdlib.h>

#include "clients/pg_ahead.h"
#include "clients/pg_session.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"

static int ahead_send(struct pg *pg, struct error *err)
{
	struct pg_ahead *ahead = pg->ahead;
	int sent = PQenterPipelineMode(pg->conn);

	for (size_t i = 0; sent && i < ahead->n; i++) {
		const struct pg_asked *a = &ahead->items[i];
		sent = PQsendQueryParams(pg->conn, a->sql, a->n, NULL,
					 (const char *const *)a->params, NULL,
					 NULL, 0);
	}
	return pg_sent(pg, sent && PQpipelineSync(pg->conn), err);
}

static void ahead_keep(struct pg *pg, struct pg_asked *a, PGresult *r)
{
	ExecStatusType status = PQresultStatus(r);

	if (!a->answer &&
	    (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK)) {
		a->answer = r;
		return;
	}
	if (status == PGRES_FATAL_ERROR && !a->failed) {
		a->failed = xcalloc(1, sizeof(*a->failed));
		xassign(&pg->sql, a->sql);
		pg_result_error(pg, r, a->failed);
	}
	PQclear(r);
}

/* One statement's answer; its end is a NULL. */
static int ahead_read(struct pg *pg, struct pg_asked *a, struct error *err)
{
	PGresult *r = NULL;
	int rc = pg_take(pg, &r, err);

	while (!rc && r) {
		ahead_keep(pg, a, r);
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
	int rc = pg_ready(pg, err);

	if (!rc && !ahead)
		return 0;
	if (!rc) {
		ahead->sent = true;
		rc = ahead_send(pg, err);
	}
	for (size_t i = 0; !rc && i < ahead->n; i++)
		rc = ahead_read(pg, &ahead->items[i], err);
	if (!rc)
		rc = ahead_end(pg, err);
	if (rc)
		pg_ahead_drop(pg);
	else
		ahead->ready_us = clock_monotonic_us();
	return rc;
}
