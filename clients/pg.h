/*
 * The only file pair that knows libpq: a connection, small results, streamed
 * binary results and COPY in. libpq's errors become struct error with SQLSTATE,
 * class, the server's own text, detail and hint. An error never holds a secret.
 */
#ifndef TIDEMARK_CLIENTS_PG_H
#define TIDEMARK_CLIENTS_PG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clients/pg_row.h"
#include "core/base/connection.h"
#include "core/base/error.h"
#include "core/base/strlist.h"

struct pg;
struct pg_result;

struct pg_options {
	bool read_only; /* default_transaction_read_only=on */
	bool pin; /* search_path=pg_catalog, TimeZone=UTC, client_encoding=UTF8
		   * and more (pg_pin.c), also read back; row_security stays as
		   * it is */
	/* With `pin`, one more statement, behind the look at what was pinned;
	 * or NULL. */
	const char *settings;
	const char *application; /* application_name: "tidemark/<this>" */
	bool replaces; /* a lost session: conn->sessions does not count it */
};

/* The session may be one that has rested (core/base/pool.h), reset, and is
 * pinned like a new one. Its first message pins it, or another session in its
 * place if it has died meanwhile. `conn` must last until then. Closing a
 * healthy session lets it rest, without a transaction, a lock or a temporary
 * table. */
int pg_open(struct pg **out, const struct connection *conn,
	    const struct pg_options *options, struct error *err);
void pg_close(struct pg *pg); /* NULL is fine */
/* No message has been sent yet, and the server's process knows no catalog. */
bool pg_is_new(const struct pg *pg);
/* Ask the server to cancel what is running; safe from another thread. */
void pg_interrupt(struct pg *pg);
int pg_server_version(const struct pg *pg); /* 150018 */
/* Has a statement of an open transaction failed? */
bool pg_has_failed(const struct pg *pg);
/* Is a transaction open, by the last answer? */
bool pg_in_transaction(const struct pg *pg);
bool pg_alive(const struct pg *pg); /* false once the connection is lost */

/* One or more commands, results dropped. */
int pg_exec(struct pg *pg, const char *sql, struct error *err);
/* These, in one message. */
int pg_exec_list(struct pg *pg, const struct strlist *sql, struct error *err);
/* The same in two steps, the question and its answer. */
int pg_exec_begin(struct pg *pg, const char *sql, struct error *err);
int pg_exec_end(struct pg *pg, struct error *err);
/* printf-style pg_exec for assembled SQL. */
int pg_execf(struct pg *pg, struct error *err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Rows a command touched: INSERT, UPDATE, DELETE, MERGE, COPY. */
int pg_exec_count(struct pg *pg, const char *sql, int n,
		  const char *const *params, int64_t *rows, struct error *err);

/* A whole small result in text form. `shape`: what is due, see answer.h.
 * Parameters are text, NULL is NULL. */
int pg_query(struct pg *pg, struct pg_result **out, const char *sql,
	     const char *shape, int n, const char *const *params,
	     struct error *err);
/* TRANSIENT: no server gives such a `what` in an answer. */
int pg_refuse_answer(struct pg *pg, const char *what, struct error *err);
void pg_result_free(struct pg_result *r); /* NULL is fine */
int pg_rows(const struct pg_result *r);
int pg_columns(const struct pg_result *r);
int64_t pg_touched(const struct pg_result *r); /* rows of a command */
/* NULL: NULL, or there is no such row or column. */
const char *pg_value(const struct pg_result *r, int row, int column);
/* A column as atttypmod tells it; -1: none. */
int32_t pg_modifier(const struct pg_result *r, int column);

/* Column types of a query, without running it. CONFIG if it has parameters.
 */
struct pg_field {
	char *name;
	uint32_t oid;
	int32_t modifier;
	uint32_t table_oid;
	int16_t attribute;
};
int pg_describe(struct pg *pg, const char *sql, struct pg_field **out,
		size_t *n, struct error *err);
void pg_fields_free(struct pg_field *fields, size_t n);

/* Stream a query's rows by COPY (...) TO STDOUT (FORMAT binary). Rows come one
 * at a time and are not buffered, at a quarter of the work of libpq's
 * single-row mode. COPY takes no parameters: the query reads value i (from 1)
 * as PG_STREAM_VALUE with i, a text. So the statement's text is the same each
 * time, and so is its entry in pg_stat_statements. Nothing else may run between
 * begin and the end of the stream.
 *
 * COPY does not tell the types of its columns, and takes its snapshot before it
 * waits for the table's lock. Rows that an ALTER TABLE rewrote meanwhile are
 * invisible to it. So `shape`, a query without rows over the same table, runs
 * first in the same transaction. It takes the lock, which stays until the
 * stream's end, and pg_stream_shape() has its columns. Each row of `sql` must
 * have `width` columns; any other number is an error. */
#define PG_STREAM_VALUE "pg_catalog.current_setting('tidemark.v%d')"
int pg_stream_begin(struct pg *pg, const char *shape, const char *sql,
		    size_t width, int n, const char *const *values,
		    struct error *err);
/* The columns of `shape`, valid until the next stream begins. */
const struct pg_field *pg_stream_shape(const struct pg *pg, size_t *n);
/* 1: a row is ready, valid until the next call; 0: the end; negative: error. */
int pg_stream_next(struct pg *pg, struct error *err);
/* The columns of the current row: as many as the stream is wide. */
const struct pg_field_bytes *pg_stream_fields(const struct pg *pg);
/* Cancel and drain what is left; harmless after the end. */
void pg_stream_abort(struct pg *pg);

/* COPY ... FROM STDIN. */
int pg_copy_begin(struct pg *pg, const char *sql, struct error *err);
int pg_copy_data(struct pg *pg, const void *data, size_t n, struct error *err);
/* `failure` non-NULL aborts the COPY with that text. */
int pg_copy_end(struct pg *pg, const char *failure, int64_t *rows,
		struct error *err);

#endif
