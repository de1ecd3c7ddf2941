#include "clients/pg.h"

#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>

#include "clients/answer.h"
#include "clients/pg_ahead.h"
#include "clients/pg_cancel.h"
#include "clients/pg_message.h"
#include "clients/pg_session.h"
#include "clients/pg_sqlstate.h"
#include "core/base/alloc.h"
#include "core/base/strbuf.h"

void pg_interrupt(struct pg *pg)
{
	PGcancel *cancel;

	pthread_mutex_lock(&pg->cancel_lock);
	atomic_store(&pg->waiter.interrupted, true);
	cancel = pg->cancel;
	pg->cancel = NULL;
	pthread_mutex_unlock(&pg->cancel_lock);
	pg_cancel_end(pg_cancel_begin(cancel), 0);
	pg_waiter_wake(&pg->waiter);
}

bool pg_is_new(const struct pg *pg)
{
	return !pg->pid;
}

int pg_server_version(const struct pg *pg)
{
	return PQserverVersion(pg->conn);
}

bool pg_alive(const struct pg *pg)
{
	return !pg->lost && PQstatus(pg->conn) == CONNECTION_OK;
}

bool pg_in_transaction(const struct pg *pg)
{
	return PQtransactionStatus(pg->conn) != PQTRANS_IDLE;
}

bool pg_has_failed(const struct pg *pg)
{
	return PQtransactionStatus(pg->conn) == PQTRANS_INERROR;
}

int pg_lost(struct pg *pg, struct error *err)
{
	char *text = xstrdup(PQerrorMessage(pg->conn));
	int rc;

	pg->lost = true;
	pg_one_line(text);
	rc = atomic_load(&pg->waiter.interrupted)
		     ? pg_stopped(pg, err)
		     : error_set(err, ERROR_TRANSIENT,
				 "%s: connection lost: %s", pg->where, text);
	free(text);
	return rc;
}

int pg_flush(struct pg *pg, struct error *err)
{
	int rc;

	pg->unflushed = 0;
	while ((rc = PQflush(pg->conn)) > 0) {
		rc = pg_wait(pg, PQsocket(pg->conn), true, err);
		if (rc)
			return rc;
		/* A server that reports an error stops reading. Take the error
		 * in, or both sides wait for ever. */
		if (!PQconsumeInput(pg->conn))
			return pg_lost(pg, err);
	}
	return rc < 0 ? pg_lost(pg, err) : 0;
}

int pg_take(struct pg *pg, PGresult **out, struct error *err)
{
	while (PQisBusy(pg->conn)) {
		int rc = pg_wait(pg, PQsocket(pg->conn), false, err);
		if (rc)
			return rc;
		if (!PQconsumeInput(pg->conn))
			return pg_lost(pg, err);
	}
	*out = PQgetResult(pg->conn);
	return 0;
}

int pg_result_error(struct pg *pg, const PGresult *result, struct error *err)
{
	const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
	struct strbuf text = STRBUF_INIT;
	enum error_code code;
	int rc;

	if (!state && PQstatus(pg->conn) != CONNECTION_OK)
		return pg_lost(pg, err);
	/* libpq's own words: the bytes did not follow the protocol. So later
	 * bytes are no answer to the next question. */
	if (!state)
		return pg_lost(pg, err);
	if (atomic_load(&pg->waiter.interrupted) && !strcmp(state, "57014"))
		return pg_stopped(pg, err);
	code = pg_message_code(result);
	pg_message_add(&text, result, code, pg->sql);
	pg_one_line(text.data);
	rc = pg_refused(pg, code, state, text.data, err);
	strbuf_release(&text);
	return rc;
}

bool pg_failed(const PGresult *result)
{
	ExecStatusType status = PQresultStatus(result);

	return status == PGRES_FATAL_ERROR || status == PGRES_BAD_RESPONSE ||
	       status == PGRES_NONFATAL_ERROR;
}

/* libpq may lack the memory to report a COPY. If nobody read it, every later
 * answer would be this COPY. */
static int pg_give_up(struct pg *pg, int rc, struct error *err)
{
	struct error ignored = ERROR_INIT;
	int lost = pg_lost(pg, rc ? &ignored : err);

	return rc ? rc : lost;
}

int pg_finish(struct pg *pg, PGresult **out, struct error *err)
{
	PGresult *last = NULL, *next = NULL;
	int rc = 0;

	for (;;) {
		int failed = pg_take(pg, &next, err);
		if (failed || !next) {
			rc = rc ? rc : failed;
			break;
		}
		if (PQresultStatus(next) == PGRES_COPY_OUT) {
			PQclear(next);
			rc = pg_give_up(pg, rc, err);
			break;
		}
		if (pg_failed(next) && !rc)
			rc = pg_result_error(pg, next, err);
		if (PQresultStatus(next) == PGRES_COPY_IN)
			PQputCopyEnd(pg->conn, "unexpected COPY");
		PQclear(last);
		last = next;
	}
	if (rc || !out)
		PQclear(last);
	else
		*out = last;
	return rc;
}

int pg_sent(struct pg *pg, int sent, struct error *err)
{
	return sent ? pg_flush(pg, err) : pg_lost(pg, err);
}

/* Errors may tell the names that it has. */
static const char *pg_note(struct pg *pg, const char *sql)
{
	free(pg->sql);
	pg->sql = xstrdup(sql);
	return sql;
}

int pg_send(struct pg *pg, const char *sql, struct error *err)
{
	pg_ahead_drop(pg);
	return pg_sent(pg, PQsendQuery(pg->conn, pg_note(pg, sql)), err);
}

int pg_exec_begin(struct pg *pg, const char *sql, struct error *err)
{
	int rc = pg_ready(pg, err);

	return rc ? rc : pg_send(pg, sql, err);
}

int pg_exec_end(struct pg *pg, struct error *err)
{
	return pg_finish(pg, NULL, err);
}

int pg_exec(struct pg *pg, const char *sql, struct error *err)
{
	int rc = pg_exec_begin(pg, sql, err);

	return rc ? rc : pg_exec_end(pg, err);
}

static bool pg_is_null(const void *result, size_t row, size_t column)
{
	return PQgetisnull(result, (int)row, (int)column);
}

static int pg_check_answer(struct pg *pg, const PGresult *r, const char *shape,
			   struct error *err)
{
	struct answer a = { .result = r, .is_null = pg_is_null };

	a.n_rows = (size_t)PQntuples(r);
	a.n_columns = (size_t)PQnfields(r);
	/* No rows, and no columns either: it is the end of another command. */
	if (shape && !a.n_rows && a.n_columns != answer_columns(shape))
		return pg_refuse_answer(pg, "the columns of no row", err);
	return answer_check(&a, shape, pg->where, err);
}

static int pg_ask(struct pg *pg, PGresult **out, const char *sql, int n,
		  const char *const *params, struct error *err)
{
	int rc = pg_sent(pg,
			 PQsendQueryParams(pg->conn, pg_note(pg, sql), n, NULL,
					   params, NULL, NULL, 0),
			 err);

	return rc ? rc : pg_finish(pg, out, err);
}

int pg_query(struct pg *pg, struct pg_result **out, const char *sql,
	     const char *shape, int n, const char *const *params,
	     struct error *err)
{
	PGresult *result = NULL;
	int rc = pg_ahead_take(pg, &result, sql, n, params, err);

	if (!rc && !result)
		rc = pg_ready(pg, err);
	if (!rc && !result)
		rc = pg_ask(pg, &result, sql, n, params, err);
	if (!rc)
		rc = pg_check_answer(pg, result, shape, err);
	if (rc)
		PQclear(result);
	else
		*out = result;
	return rc;
}

int pg_refuse_answer(struct pg *pg, const char *what, struct error *err)
{
	return error_set(err, ERROR_TRANSIENT,
			 "%s: the answer is not what a server tells: %s",
			 pg->where, what);
}

void pg_result_free(struct pg_result *r)
{
	PQclear(r);
}

int pg_rows(const struct pg_result *r)
{
	return PQntuples(r);
}

int pg_columns(const struct pg_result *r)
{
	return PQnfields(r);
}

int64_t pg_touched(const struct pg_result *r)
{
	return strtoll(PQcmdTuples((PGresult *)r), NULL, 10);
}

const char *pg_value(const struct pg_result *r, int row, int column)
{
	if (row >= PQntuples(r) || column >= PQnfields(r) ||
	    PQgetisnull(r, row, column))
		return NULL;
	return PQgetvalue(r, row, column);
}

int32_t pg_modifier(const struct pg_result *r, int column)
{
	return PQfmod(r, column);
}

struct pg_field *pg_fields_read(const PGresult *result, size_t *n)
{
	struct pg_field *fields;

	*n = (size_t)PQnfields(result);
	fields = xcalloc(*n ? *n : 1, sizeof(*fields));
	for (size_t i = 0; i < *n; i++) {
		struct pg_field *field = &fields[i];
		field->name = xstrdup(PQfname(result, (int)i));
		field->oid = PQftype(result, (int)i);
		field->modifier = PQfmod(result, (int)i);
		field->table_oid = PQftable(result, (int)i);
		field->attribute = (int16_t)PQftablecol(result, (int)i);
	}
	return fields;
}

int pg_describe(struct pg *pg, const char *sql, struct pg_field **out,
		size_t *n, struct error *err)
{
	PGresult *result = NULL;
	int rc = pg_ready(pg, err);

	if (!rc)
		rc = pg_sent(
			pg,
			PQsendPrepare(pg->conn, "", pg_note(pg, sql), 0, NULL),
			err);
	rc = rc ? rc : pg_finish(pg, NULL, err);
	if (!rc)
		rc = pg_sent(pg, PQsendDescribePrepared(pg->conn, ""), err);
	rc = rc ? rc : pg_finish(pg, &result, err);
	if (!rc && PQnparams(result) > 0)
		rc = error_set(err, ERROR_CONFIG,
			       "%s: parameters ($1) have no place here",
			       pg->where);
	if (rc) {
		PQclear(result);
		return rc;
	}
	*out = pg_fields_read(result, n);
	PQclear(result);
	return 0;
}

int pg_copy_begin(struct pg *pg, const char *sql, struct error *err)
{
	PGresult *result = NULL;
	int rc = pg_exec_begin(pg, sql, err);

	if (!rc)
		rc = pg_take(pg, &result, err);
	if (!rc && PQresultStatus(result) != PGRES_COPY_IN) {
		rc = pg_failed(result) ? pg_result_error(pg, result, err)
				       : error_set(err, ERROR_BUG,
						   "%s: not a COPY", pg->where);
		PQclear(result);
		result = NULL;
		pg_finish(pg, NULL, err);
	}
	PQclear(result);
	return rc;
}

int pg_copy_put(struct pg *pg, const char *data, size_t n, struct error *err)
{
	if (PQputCopyData(pg->conn, data, (int)n) != 1)
		return pg_lost(pg, err);
	pg->unflushed += n;
	return 0;
}

int pg_copy_end(struct pg *pg, const char *failure, int64_t *rows,
		struct error *err)
{
	PGresult *result = NULL;
	int rc;

	if (PQputCopyEnd(pg->conn, failure) != 1)
		return pg_lost(pg, err);
	rc = pg_flush(pg, err);
	rc = rc ? rc : pg_finish(pg, &result, err);
	if (!rc && rows)
		*rows = pg_touched(result);
	PQclear(result);
	return rc;
}
