#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>

#include "clients/libraries.h"
#include "clients/pg_ahead.h"
#include "clients/pg_cancel.h"
#include "clients/pg_message.h"
#include "clients/pg_named.h"
#include "clients/pg_parameters.h"
#include "clients/pg_pooler.h"
#include "clients/pg_resolve.h"
#include "clients/pg_session.h"
#include "clients/pg_sqlstate.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/secret.h"
#include "core/base/stop.h"

static int pg_connect_error(struct pg *pg, struct error *err)
{
	char *text = xstrdup(PQerrorMessage(pg->conn));
	char state[6];
	bool known = pg_take_sqlstate(text, state);
	int rc;

	pg_one_line(text);
	rc = known ? pg_turned_away(pg, state, text, err)
		   : error_set(err, pg_connect_code(text), "%s: %s", pg->where,
			       text);
	if (strstr(text, "no password supplied"))
		error_hint(err, "give the connection one, as password: "
				"\"${SHOP_PASSWORD}\" (docs/passwords.md)");
	free(text);
	return rc;
}

static int pg_connect(struct pg *pg, int64_t timeout_us, struct error *err)
{
	int64_t deadline_us = clock_monotonic_us() + timeout_us;
	PostgresPollingStatusType step = PGRES_POLLING_WRITING;

	if (PQstatus(pg->conn) == CONNECTION_BAD)
		return pg_connect_error(pg, err);
	/* The only way to the SQLSTATE of a refused connection. */
	PQsetErrorVerbosity(pg->conn, PQERRORS_VERBOSE);
	while (step != PGRES_POLLING_OK) {
		int rc = pg_connect_wait(pg, PQsocket(pg->conn),
					 step == PGRES_POLLING_READING,
					 deadline_us, err);
		if (rc)
			return rc;
		step = PQconnectPoll(pg->conn);
		if (step == PGRES_POLLING_FAILED)
			return pg_connect_error(pg, err);
	}
	PQsetErrorVerbosity(pg->conn, PQERRORS_DEFAULT);
	return 0;
}

struct pg_wish {
	const struct connection *conn;
	const struct pg_options *options;
};

/* Another thread may be about to interrupt. */
static void pg_set_cancel(struct pg *pg, PGcancel *cancel)
{
	pthread_mutex_lock(&pg->cancel_lock);
	PQfreeCancel(pg->cancel);
	pg->cancel = cancel;
	pthread_mutex_unlock(&pg->cancel_lock);
}

int pg_sign_in(struct pg *pg, const struct connection *conn,
	       const struct pg_options *options, struct error *err)
{
	struct pg_target target = { .host = NULL };
	int rc = pg_resolve(&target, &conn->url, pg->where, err);

	if (!rc) {
		struct pg_parameters p;
		pg_parameters_fill(&p, conn, &target, options->application,
				   PQlibVersion());
		pg->conn = PQconnectStartParams(p.keywords, p.values, 1);
		pg_parameters_release(&p);
		/* Also of a service or password file. */
		secret_add(PQpass(pg->conn));
		rc = pg_connect(pg, conn->connect_timeout_us, err);
	}
	pg_target_release(&target);
	if (!rc) {
		PQsetnonblocking(pg->conn, 1);
		PQsetNoticeReceiver(pg->conn, pg_notice, &pg->sql);
		pg_set_cancel(pg, PQgetCancel(pg->conn));
	}
	return rc;
}

static void pg_forget(char **text)
{
	free(*text);
	*text = NULL;
}

/* Another session of the server in place of one that is lost. */
static int pg_renew(struct pg *pg, struct error *err)
{
	pg_set_cancel(pg, NULL);
	PQfinish(pg->conn);
	pg->conn = NULL;
	pg_named_free(pg->named);
	pg->named = pg_named_new();
	pg->planned_us = clock_monotonic_us();
	pg_forget(&pg->user);
	pg_forget(&pg->pid);
	pg_forget(&pg->writes);
	pg->resets = 0;
	pg->lost = false;
	pg->owed.rested = false;
	return pg_sign_in(pg, pg->owed.conn, &pg->owed.options, err);
}

/* No attempt fails for a session that ended at rest. If the server is not the
 * one that it was, answers that others got from that one do not hold:
 * pg->server stays, and is compared. */
static int pg_talk_renewed(struct pg *pg, pg_talker *talk, void *ctx,
			   struct error *err)
{
	int rc;

	if (!pg->foreseen)
		pg_forget(&pg->server);
	rc = pg_renew(pg, err);
	return rc ? rc : talk(pg, ctx, err);
}

static bool pg_may_renew(const struct pg *pg)
{
	return pg->owed.conn && pg->owed.rested && !stop_requested() &&
	       !atomic_load(&pg->waiter.interrupted);
}

static int pg_ask_first(struct pg *pg, pg_talker *talk, void *ctx,
			struct error *err)
{
	const struct connection *conn = pg->owed.conn;
	bool is_new = !pg->owed.rested;
	struct error why = ERROR_INIT;
	int rc;

	/* Its answers may be those to earlier questions. */
	if (pg->lost)
		return error_set(err, ERROR_TRANSIENT,
				 "%s: the connection was lost", pg->where);
	rc = talk(pg, ctx, &why);
	if (rc && pg_may_renew(pg)) {
		log_debug("a session that has rested is replaced: %s",
			  why.message);
		error_clear(&why);
		is_new = true;
		rc = pg_talk_renewed(pg, talk, ctx, &why);
	}
	if (!rc && is_new) {
		rc = pg_pooler_check(pg, conn, pg->pid, &why);
		pg->lost |= rc != 0;
	}
	pg->lost |= pg->owed.conn != NULL;
	if (rc && err && !err->code)
		*err = why;
	return rc;
}

static int pg_pay(struct pg *pg, struct error *err)
{
	return pg_ask_all(pg, NULL, err);
}

static void pg_owe(struct pg *pg, const struct pg_wish *wish, bool rested)
{
	if (wish->options->pin)
		pg->owed = (struct pg_owed){ wish->conn, *wish->options, rested,
					     pg_pay, pg_ask_first };
}

static int pg_open_new(void **out, struct pool_slot *slot, void *ctx,
		       struct error *err)
{
	const struct pg_wish *wish = ctx;
	struct pg *pg = pg_new(wish->conn);
	int rc;

	pg->slot = *slot;
	rc = pg_sign_in(pg, wish->conn, wish->options, err);
	if (rc) {
		pg_end(pg);
		return rc;
	}
	pg_owe(pg, wish, false);
	*out = pg;
	return 0;
}

void pg_end(void *session)
{
	struct pg *pg = session;

	pg_stream_abort(pg);
	pg_ahead_drop(pg);
	pg_questions_free(pg->many);
	pg_named_free(pg->named);
	pg_row_release(&pg->row);
	pg_fields_free(pg->shape, pg->n_shape);
	pg_set_cancel(pg, NULL);
	PQfinish(pg->conn);
	pool_leave(&pg->slot);
	pg_waiter_release(&pg->waiter);
	pthread_mutex_destroy(&pg->cancel_lock);
	free(pg->where);
	free(pg->user);
	free(pg->pid);
	free(pg->server);
	free(pg->writes);
	free(pg->sql);
	free(pg);
}

static bool pg_open_roused(void *session, void *ctx)
{
	bool fit = pg_rouse(session);

	if (fit)
		pg_owe(session, ctx, true);
	return fit;
}

int pg_open(struct pg **out, const struct connection *conn,
	    const struct pg_options *options, struct error *err)
{
	static const struct pool_client client = { pg_open_roused, pg_open_new,
						   pg_end };
	struct pg_wish wish = { conn, options };
	struct strbuf key = STRBUF_INIT;
	void *session = NULL;
	int rc = library_load(&library_pq, err);

	if (rc)
		return rc;
	pg_pool_key(&key, conn, options);
	rc = pool_open(&session, &client, conn, key.data, options->replaces,
		       &wish, err);
	strbuf_release(&key);
	if (!rc)
		*out = session;
	return rc;
}

void pg_close(struct pg *pg)
{
	if (pg && pg_lay_down(pg))
		pool_give(&pg->slot, pg, pg_end);
	else if (pg)
		pg_end(pg);
}
