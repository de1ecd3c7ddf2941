#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>

#include "clients/pg_ahead.h"
#include "clients/pg_session.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/stop.h"

void pg_pool_key(struct strbuf *key, const struct connection *conn,
		 const struct pg_options *options)
{
	strbuf_addstr(key, "postgres ");
	pool_key(key, conn);
	strbuf_addf(key, "%d%d %s", options->read_only, options->pin,
		    options->application);
}

/* Nobody has cancelled anything that could still meet the next user. Without
 * pins we could not say that it is as it should be. */
static bool pg_is_healthy(struct pg *pg)
{
	return pg->conn && !pg->owed.conn && pg_alive(pg) && pg->n_pins &&
	       !pg->streaming && pg->cancel &&
	       !atomic_load(&pg->waiter.interrupted) && !stop_requested();
}

/* They do what DISCARD ALL does, but keep statements that are prepared and
 * their plans: all of them are ours, pg_named.h. */
static const char *const pg_resets[] = {
	"CLOSE ALL",
	"SET SESSION AUTHORIZATION DEFAULT",
	"RESET ALL",
	"UNLISTEN *",
	"SELECT pg_catalog.pg_advisory_unlock_all()",
	"DISCARD SEQUENCES",
	"DISCARD TEMP",
};

static bool pg_send_part(struct pg *pg, const char *sql)
{
	return PQsendQueryParams(pg->conn, sql, 0, NULL, NULL, NULL, NULL, 0);
}

/* Plans follow the size that the catalogs had when they were made. */
#define PG_PLANS_US (60 * US_PER_SECOND)

static bool pg_send_resets(struct pg *pg)
{
	int64_t now = clock_monotonic_us();
	bool ok = true;

	if (now - pg->planned_us > PG_PLANS_US) {
		ok = pg_send_part(pg, "DISCARD PLANS");
		pg->planned_us = now;
	}
	for (size_t i = 0; ok && i < ARRAY_SIZE(pg_resets); i++)
		ok = pg_send_part(pg, pg_resets[i]);
	return ok && PQpipelineSync(pg->conn);
}

/* The answers are read by pg_talk(). So the server lets go of locks and
 * temporary tables now, and nobody waits for it. */
bool pg_lay_down(struct pg *pg)
{
	PGTransactionStatusType status;
	bool ok;

	if (!pg_is_healthy(pg))
		return false;
	status = PQtransactionStatus(pg->conn);
	if (status != PQTRANS_IDLE && status != PQTRANS_INTRANS &&
	    status != PQTRANS_INERROR)
		return false;
	ok = PQenterPipelineMode(pg->conn) &&
	     (status == PQTRANS_IDLE ||
	      (pg_send_part(pg, "ROLLBACK") && PQpipelineSync(pg->conn))) &&
	     pg_send_resets(pg) && PQflush(pg->conn) == 0;
	pg->resets = status == PQTRANS_IDLE ? 1 : 2;
	pg_ahead_drop(pg);
	pg->foreseen = false;
	pg_row_release(&pg->row);
	pg_fields_free(pg->shape, pg->n_shape);
	pg->shape = NULL;
	pg->n_shape = 0;
	free(pg->sql);
	pg->sql = NULL;
	return ok;
}

/* The end of each message, and no failure before it. */
int pg_take_resets(struct pg *pg, struct error *err)
{
	bool none = false;
	int rc = 0;

	while (!rc && pg->resets) {
		PGresult *r = NULL;

		rc = pg_take(pg, &r, err);
		if (!rc && !r && none)
			rc = pg_lost(pg, err);
		none = !r;
		if (!rc && r && pg_failed(r))
			rc = pg_result_error(pg, r, err);
		if (r && PQresultStatus(r) == PGRES_PIPELINE_SYNC)
			pg->resets--;
		PQclear(r);
	}
	return rc;
}

int pg_end_resets(struct pg *pg, struct error *err)
{
	int64_t silence_us = pg_first_wait(pg);
	int rc = pg_take_resets(pg, err);

	pg->waiter.silence_us = silence_us;
	if (!rc && PQpipelineStatus(pg->conn) != PQ_PIPELINE_OFF &&
	    !PQexitPipelineMode(pg->conn))
		rc = pg_lost(pg, err);
	return rc;
}

/* Its end may have come, and its last words before. */
static bool pg_is_open(struct pg *pg)
{
	return PQconsumeInput(pg->conn) && PQconsumeInput(pg->conn) &&
	       PQstatus(pg->conn) == CONNECTION_OK;
}

bool pg_rouse(struct pg *pg)
{
	return pg_is_open(pg) && pg_is_healthy(pg);
}
