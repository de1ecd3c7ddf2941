#include "clients/pg_session.h"
#include "clients/pg_named.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clients/pg_ahead.h"
#include "clients/pg_named.h"
#include "clients/pg_sqlstate.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/strbuf.h"

/* COPY data handed to libpq between two waits for the socket. */
#define PG_COPY_WINDOW ((size_t)64 << 10)

static void pg_interrupt_from_wait(void *pg)
{
	pg_interrupt(pg);
}

struct pg *pg_new(const struct connection *conn)
{
	struct pg *pg = xcalloc(1, sizeof(*pg));

	pg->where = xstrfmt("connection %s (%s)", conn->name, conn->url.shown);
	pg_waiter_init(&pg->waiter);
	pg->waiter.silence_us = conn->silence_timeout_us;
	pg->waiter.interrupt = pg_interrupt_from_wait;
	pg->waiter.ctx = pg;
	pthread_mutex_init(&pg->cancel_lock, NULL);
	pg->named = pg_named_new();
	pg->planned_us = clock_monotonic_us();
	return pg;
}

int pg_stopped(struct pg *pg, struct error *err)
{
	return error_set(err, ERROR_STOPPED, "%s: interrupted", pg->where);
}

int pg_refused(struct pg *pg, enum error_code code, const char *state,
	       const char *text, struct error *err)
{
	if (err && !err->code)
		snprintf(err->server_code, sizeof(err->server_code), "%s",
			 state);
	error_set(err, code, "%s: %s", pg->where, text);
	if (*pg_sqlstate_hint(state))
		error_hint(err, "%s", pg_sqlstate_hint(state));
	return -(int)code;
}

/* A server that has let nobody in yet knows no tables. Names and values that it
 * refuses are from the URL (options=-c ...). */
int pg_turned_away(struct pg *pg, const char *state, const char *text,
		   struct error *err)
{
	/* A database that is closed for now, or half dropped. */
	if (!strcmp(state, "55000"))
		return error_set(err, ERROR_ACCESS, "%s: %s", pg->where, text);
	switch (pg_sqlstate_code(state)) {
	case ERROR_SCHEMA:
	case ERROR_DATA:
	case ERROR_BUG:
		return error_set(err, ERROR_CONFIG, "%s: %s", pg->where, text);
	default:
		return pg_refused(pg, pg_sqlstate_code(state), state, text,
				  err);
	}
}

int pg_connect_wait(struct pg *pg, int fd, bool reading, int64_t deadline_us,
		    struct error *err)
{
	switch (pg_wait_connect(fd, reading ? POLLIN : POLLOUT, deadline_us)) {
	case PG_WAIT_STOPPED:
		return error_set(err, ERROR_STOPPED,
				 "%s: stopped while connecting", pg->where);
	case PG_WAIT_SILENT:
		return error_set(err, ERROR_TRANSIENT,
				 "%s: no answer to the connection attempt in "
				 "time (timeout.connect)",
				 pg->where);
	case PG_WAIT_READY:
		break;
	}
	return 0;
}

int pg_wait(struct pg *pg, int fd, bool writing, struct error *err)
{
	short events = writing ? POLLIN | POLLOUT : POLLIN;

	switch (pg_waiter_wait(&pg->waiter, fd, events)) {
	case PG_WAIT_STOPPED:
		pg->lost = true;
		return pg_stopped(pg, err);
	case PG_WAIT_SILENT:
		pg->lost = true;
		return error_set(
			err, ERROR_TRANSIENT,
			"%s: the server said nothing for %lld s "
			"(timeout.silence)",
			pg->where,
			(long long)(pg->waiter.silence_us / US_PER_SECOND));
	case PG_WAIT_READY:
		break;
	}
	return 0;
}

int pg_ready(struct pg *pg, struct error *err)
{
	if (atomic_load(&pg->waiter.interrupted))
		return pg_stopped(pg, err);
	if (pg->owed.conn)
		return pg->owed.pay(pg, err);
	if (!pg_alive(pg))
		return error_set(err, ERROR_TRANSIENT,
				 "%s: the connection was lost", pg->where);
	if (pg->streaming)
		return error_set(err, ERROR_BUG,
				 "%s: a statement inside a stream", pg->where);
	return 0;
}

int pg_execf(struct pg *pg, struct error *err, const char *fmt, ...)
{
	struct strbuf sql = STRBUF_INIT;
	va_list ap;
	int rc;

	va_start(ap, fmt);
	strbuf_vaddf(&sql, fmt, ap);
	va_end(ap);
	rc = pg_exec(pg, sql.data, err);
	strbuf_release(&sql);
	return rc;
}

int pg_exec_list(struct pg *pg, const struct strlist *sql, struct error *err)
{
	struct strbuf text = STRBUF_INIT;
	int rc;

	for (size_t i = 0; i < sql->n; i++)
		strbuf_addf(&text, "%s%s", i ? ";\n" : "", sql->items[i]);
	rc = pg_exec(pg, text.data, err);
	strbuf_release(&text);
	return rc;
}

void pg_fields_free(struct pg_field *fields, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(fields[i].name);
	free(fields);
}

int pg_exec_count(struct pg *pg, const char *sql, int n,
		  const char *const *params, int64_t *rows, struct error *err)
{
	struct pg_result *result = NULL;
	int rc;

	pg_ahead_drop(pg);
	rc = pg_query(pg, &result, sql, NULL, n, params, err);
	if (!rc && rows)
		*rows = pg_touched(result);
	pg_result_free(result);
	return rc;
}

int pg_copy_data(struct pg *pg, const void *data, size_t n, struct error *err)
{
	const char *at = data;

	/* A non-blocking libpq takes all data into memory. So we wait for the
	 * socket ourselves, once a window. */
	while (n) {
		size_t room = PG_COPY_WINDOW - pg->unflushed;
		size_t piece = n < room ? n : room;
		int rc = pg_copy_put(pg, at, piece, err);
		if (!rc && pg->unflushed >= PG_COPY_WINDOW)
			rc = pg_flush(pg, err);
		if (rc)
			return rc;
		at += piece;
		n -= piece;
	}
	return atomic_load(&pg->waiter.interrupted) ? pg_stopped(pg, err) : 0;
}
