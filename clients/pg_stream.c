#include <libpq-fe.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "clients/pg_cancel.h"
#include "clients/pg_session.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/strbuf.h"

/* A server sends 8 KiB at a time. A client that wakes up for each piece changes
 * places with the server every few dozen rows. This costs both a tenth of their
 * time. So where rows flow, the socket may fill for a moment. */
#define STREAM_NAP_US 500
#define STREAM_FLOWS  8192 /* bytes since the last wait */

/* libpq's buffer begins with 16 KiB. It doubles with each read that finds it
 * full of untaken bytes, and never shrinks. Six growths make it 1 MiB, once for
 * each connection, however much a socket may hold. */
#define STREAM_GROWTHS 6
/* So many bytes left in the socket have not just come. */
#define STREAM_LEFT (16 * 1024)

/* The settings that the query reads: gone with the transaction, which is this
 * message's own unless there is one. */
static int pg_stream_write_values(struct pg *pg, struct strbuf *sql, int n,
				  const char *const *values, struct error *err)
{
	for (int i = 0; i < n; i++) {
		char *literal =
			PQescapeLiteral(pg->conn, values[i], strlen(values[i]));

		if (!literal)
			return error_set(
				err, ERROR_BUG, "%s: value %d of a stream: %s",
				pg->where, i + 1, PQerrorMessage(pg->conn));
		strbuf_addf(
			sql,
			"%s pg_catalog.set_config('tidemark.v%d', %s, true)",
			i ? "," : "SELECT", i + 1, literal);
		PQfreemem(literal);
	}
	strbuf_addstr(sql, n ? "; " : "");
	return 0;
}

static void pg_stream_keep_shape(struct pg *pg, const PGresult *result)
{
	pg_fields_free(pg->shape, pg->n_shape);
	pg->n_shape = 0;
	pg->shape = result ? pg_fields_read(result, &pg->n_shape) : NULL;
}

/* In place of the look at what was pinned: a transaction of its own pins it,
 * which the end of the stream cannot undo. */
static void pg_stream_write_pins(const struct pg_questions *pins,
				 struct strbuf *sql)
{
	strbuf_addstr(sql, "BEGIN; ");
	for (size_t i = 0; i < pins->n; i++)
		strbuf_addf(sql, "%s; ", pins->items[i].sql);
	strbuf_addstr(sql, "COMMIT; ");
}

static int pg_stream_take_answer(struct pg *pg, PGresult **out,
				 struct error *err)
{
	int rc = pg_take(pg, out, err);

	if (!rc && !*out)
		rc = pg_lost(pg, err);
	if (!rc && pg_failed(*out))
		rc = pg_result_error(pg, *out, err);
	return rc;
}

/* The answers to all that pg_stream_write_pins() has written. */
static int pg_stream_read_pins(struct pg *pg, struct pg_questions *pins,
			       struct error *err)
{
	int64_t silence_us = pg_first_wait(pg);
	PGresult *begun = NULL, *ended = NULL;
	int rc = pg_stream_take_answer(pg, &begun, err);

	for (size_t i = 0; !rc && i < pins->n; i++)
		rc = pg_stream_take_answer(pg, &pins->items[i].answer, err);
	if (!rc)
		rc = pg_stream_take_answer(pg, &ended, err);
	pg->waiter.silence_us = silence_us;
	PQclear(begun);
	PQclear(ended);
	return rc ? rc : pg_pin_judge(pg, pins, err);
}

/* Answers up to the beginning of COPY: the settings first, the shape last. */
static int pg_stream_enter(struct pg *pg, bool asked, struct error *err)
{
	struct error ignored = ERROR_INIT;
	PGresult *result = NULL;
	int rc = pg_take(pg, &result, err);

	while (!rc && result && PQresultStatus(result) == PGRES_TUPLES_OK) {
		if (asked)
			rc = pg_pin_compare(pg, result, err);
		asked = false;
		pg_stream_keep_shape(pg, result);
		PQclear(result);
		if (!rc)
			rc = pg_take(pg, &result, err);
	}
	if (rc)
		return rc;
	if (!result || PQresultStatus(result) != PGRES_COPY_OUT) {
		rc = result && pg_failed(result)
			     ? pg_result_error(pg, result, err)
			     : error_set(err, ERROR_BUG, "%s: not a COPY",
					 pg->where);
		if (!pg->lost)
			pg_finish(pg, NULL, &ignored);
	}
	PQclear(result);
	return rc;
}

struct pg_stream_text {
	const char *shape, *sql;
	int n;
	const char *const *values;
};

/* A pooler may have given us another session since, or another client's
 * settings. */
static int pg_stream_write(struct pg *pg, const struct pg_stream_text *t,
			   const struct pg_questions *pins, struct strbuf *out,
			   struct error *err)
{
	int rc;

	if (pins)
		pg_stream_write_pins(pins, out);
	else
		pg_pin_ask(pg, "; ", out);
	rc = pg_stream_write_values(pg, out, t->n, t->values, err);
	/* The user's SQL may end in a comment. */
	strbuf_addf(out, "%s\n; COPY (%s\n) TO STDOUT (FORMAT binary)",
		    t->shape, t->sql);
	return rc;
}

static int pg_stream_talk(struct pg *pg, void *ctx, struct error *err)
{
	struct pg_questions *pins =
		pg->owed.conn ? pg_pin_questions(pg, &pg->owed.options) : NULL;
	struct strbuf text = STRBUF_INIT;
	int rc = pins ? pg_end_resets(pg, err) : 0;

	if (!rc)
		rc = pg_stream_write(pg, ctx, pins, &text, err);
	if (!rc)
		rc = pg_send(pg, text.data, err);
	if (!rc && pins)
		rc = pg_stream_read_pins(pg, pins, err);
	if (!rc) {
		pg->owed.conn = NULL;
		rc = pg_stream_enter(pg, !pins && pg->n_pins, err);
	}
	strbuf_release(&text);
	pg_questions_free(pins);
	return rc;
}

int pg_stream_begin(struct pg *pg, const char *shape, const char *sql,
		    size_t width, int n, const char *const *values,
		    struct error *err)
{
	struct pg_stream_text text = { shape, sql, n, values };
	int rc = pg->owed.conn ? 0 : pg_ready(pg, err);

	pg_stream_keep_shape(pg, NULL);
	if (!rc)
		rc = pg->owed.conn
			     ? pg->owed.ask(pg, pg_stream_talk, &text, err)
			     : pg_stream_talk(pg, &text, err);
	pg->row.begun = false;
	pg->row.width = width;
	pg->streaming = !rc;
	pg->stream_bytes = 0;
	return rc;
}

const struct pg_field *pg_stream_shape(const struct pg *pg, size_t *n)
{
	*n = pg->n_shape;
	return pg->shape;
}

static int pg_stream_pending(struct pg *pg)
{
	int n = 0;

	return ioctl(PQsocket(pg->conn), FIONREAD, &n) ? 0 : n;
}

static int pg_stream_fill(struct pg *pg, struct error *err)
{
	int rc;

	/* The end that was met below, when all before it has been taken. */
	if (PQstatus(pg->conn) == CONNECTION_BAD)
		return pg_lost(pg, err);
	if (pg->stream_bytes >= STREAM_FLOWS && !pg_stream_pending(pg))
		usleep(STREAM_NAP_US);
	pg->stream_bytes = 0;
	rc = pg_wait(pg, PQsocket(pg->conn), false, err);
	if (rc)
		return rc;
	if (!PQconsumeInput(pg->conn))
		return pg_lost(pg, err);
	/* Take the bytes that came before an end first. */
	while (pg->stream_growths < STREAM_GROWTHS &&
	       pg_stream_pending(pg) >= STREAM_LEFT) {
		pg->stream_growths++;
		if (!PQconsumeInput(pg->conn))
			return 0;
	}
	return 0;
}

/* The next message of the COPY: its length, 0 at the end of all. */
static int pg_stream_take(struct pg *pg, size_t *n, struct error *err)
{
	int got;

	PQfreemem(pg->row_bytes);
	pg->row_bytes = NULL;
	*n = 0;
	while (!(got = PQgetCopyData(pg->conn, &pg->row_bytes, 1))) {
		int rc = pg_stream_fill(pg, err);
		if (rc)
			return rc;
	}
	if (got < -1)
		return pg_lost(pg, err);
	*n = got > 0 ? (size_t)got : 0;
	pg->stream_bytes += *n;
	return 0;
}

int pg_stream_next(struct pg *pg, struct error *err)
{
	int rc = 0;

	while (pg->streaming && !rc) {
		size_t n = 0;

		/* Rows that libpq holds already would never reach the wait. */
		if (atomic_load(&pg->waiter.interrupted))
			rc = pg_stopped(pg, err);
		else
			rc = pg_stream_take(pg, &n, err);
		if (!rc && !n) {
			/* The statement may have failed after its last row. */
			pg->streaming = false;
			return pg_finish(pg, NULL, err);
		}
		if (!rc)
			rc = pg_row_read(&pg->row,
					 (const uint8_t *)pg->row_bytes, n,
					 err);
	}
	if (rc < 0)
		pg_stream_abort(pg);
	return rc;
}

const struct pg_field_bytes *pg_stream_fields(const struct pg *pg)
{
	return pg->row.fields;
}

/* True if the end has arrived already. */
static bool pg_stream_drop_arrived(struct pg *pg)
{
	char *bytes = NULL;
	int got;

	while ((got = PQgetCopyData(pg->conn, &bytes, 1)) > 0)
		PQfreemem(bytes);
	return got < 0;
}

/* Up to the end that the cancel brings, or until patience ends. */
static void pg_stream_drain(struct pg *pg, int64_t until_us)
{
	struct error ignored = ERROR_INIT;
	size_t n = 1;
	int rc = 0;

	while (n && !rc && clock_monotonic_us() < until_us)
		rc = pg_stream_take(pg, &n, &ignored);
	if (n)
		pg->lost = true;
	else if (!pg->lost)
		pg_finish(pg, NULL, &ignored);
}

/* The session is of use again only when the cancel is over: one that comes
 * late would meet the next statement. */
static void pg_stream_cancel(struct pg *pg)
{
	struct pg_canceller *cancel = NULL;
	int64_t patience_us = pg_waiter_cancel_patience(&pg->waiter);
	int64_t until_us = clock_monotonic_us() + patience_us;

	if (!atomic_load(&pg->waiter.interrupted))
		cancel = pg_cancel_begin(PQgetCancel(pg->conn));
	pg->waiter.give_up_us = until_us;
	pg_stream_drain(pg, until_us);
	pg->waiter.give_up_us = 0;
	if (!pg_cancel_end(cancel, until_us))
		pg->lost = true;
}

void pg_stream_abort(struct pg *pg)
{
	struct error ignored = ERROR_INIT;

	PQfreemem(pg->row_bytes);
	pg->row_bytes = NULL;
	if (!pg->streaming || pg->lost)
		return;
	pg->streaming = false;
	if (pg_stream_drop_arrived(pg))
		pg_finish(pg, NULL, &ignored);
	else /* worth a connection only if rows are still to come */
		pg_stream_cancel(pg);
}
