/*
 * The only file pair that knows sqlite3.h: a connection, statements, and
 * SQLite's errors as struct error:
 * - BUSY after the timeout: STATE naming the file and who uses it, or STOPPED
 *   once a stop is requested
 * - FULL, IOERR, CANTOPEN, READONLY, PERM: ACCESS
 * - CONSTRAINT, MISMATCH, TOOBIG: DATA
 * - NOTADB, CORRUPT: ACCESS with advice
 * - INTERRUPT: STOPPED
 * - no such table or column: SCHEMA
 *
 * One thread uses a connection and its statements; only sqlite_interrupt_all()
 * may come from another.
 */
#ifndef TIDEMARK_CLIENTS_SQLITE_H
#define TIDEMARK_CLIENTS_SQLITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/clock.h"
#include "core/base/error.h"

struct sqlite;
struct sqlite_statement;

struct sqlite_options {
	bool create; /* make the file if it is missing */
	bool private; /* made for its owner alone: file 0600, missing
		       * directories 0700 and made too */
	bool read_only;
	bool wal; /* write-ahead log, synchronous NORMAL; not if read_only */
	bool wal_if_new; /* the same, but only for a file that is made here or
			  * empty: an existing one keeps its journal mode */
	bool keep_log; /* closing leaves the log for the next one to open:
			* saves two fsyncs, the file alone is not up to date */
	int64_t busy_timeout_us; /* a lock of another process is waited for */
};

/* How long a short transaction of another process may take. */
#define SQLITE_BUSY_US (10 * US_PER_SECOND)

/* Also asks for the schema, so that a file that is no database is refused
 * here. The file may be open still: one that is closed rests for a moment
 * (core/base/pool.h). Pragmas may then have the values that the last user with
 * the same options gave them. */
int sqlite_open(struct sqlite **out, const char *path,
		const struct sqlite_options *options, struct error *err);
/* Rolls back what is open. Statements are finalized before. NULL is fine. */
void sqlite_close(struct sqlite *db);
void sqlite_interrupt_all(struct sqlite *db); /* safe from another thread */
const char *sqlite_path(const struct sqlite *db);
/* Another process that has the file locked, one that writes first; 0: none, or
 * the system does not tell. */
int64_t sqlite_user(const struct sqlite *db);

/* Is it that a row has what another has already, where that may not be? */
bool sqlite_is_repeat(const struct error *err);

/* One or more statements, rows dropped. */
int sqlite_exec(struct sqlite *db, const char *sql, struct error *err);
int sqlite_execf(struct sqlite *db, struct error *err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* One statement, rows dropped. CONFIG: it is none, or several. */
int sqlite_exec_one(struct sqlite *db, const char *sql, struct error *err);
bool sqlite_in_transaction(struct sqlite *db);
int64_t sqlite_changes_count(struct sqlite *db); /* by the last statement */
/* The file was deleted, or moved away: nobody else finds what is in it. */
bool sqlite_is_gone(struct sqlite *db);
/* Would a statement that stays open keep a writer of this very process from
 * committing? So it is where the file is open a second time, to be written, and
 * has no write-ahead log. */
bool sqlite_blocks_us(struct sqlite *db);
/* Does a table's column take texts that differ for equal? `in`: "main". */
bool sqlite_column_folds(struct sqlite *db, const char *in, const char *table,
			 const char *column);
/* BEGIN IMMEDIATE: no other process writes until the end. */
int sqlite_begin(struct sqlite *db, struct error *err);
int sqlite_commit(struct sqlite *db, struct error *err);
void sqlite_rollback(struct sqlite *db); /* harmless outside a transaction */

int sqlite_prepare(struct sqlite *db, struct sqlite_statement **out,
		   const char *sql, struct error *err);
void sqlite_finalize(struct sqlite_statement *st); /* NULL is fine */
/* 1: a row; 0: done (and reset, ready to be bound again); negative: error (and
 * reset). */
int sqlite_step(struct sqlite_statement *st, struct error *err);
void sqlite_reset(struct sqlite_statement *st);
/* Positions from 1. Text and bytes are not copied: they must live until the
 * next step has returned 0. A text of more than 2 GiB makes the step fail. */
void sqlite_bind_null_at(struct sqlite_statement *st, int at);
void sqlite_bind_i64(struct sqlite_statement *st, int at, int64_t value);
void sqlite_bind_f64(struct sqlite_statement *st, int at, double value);
void sqlite_bind_str(struct sqlite_statement *st, int at, const char *value,
		     int64_t n); /* n < 0: strlen; NULL: NULL */
void sqlite_bind_bytes(struct sqlite_statement *st, int at, const void *value,
		       size_t n);
/* A text, or bytes, that is copied. */
void sqlite_bind_copy(struct sqlite_statement *st, int at, bool text,
		      const void *value, size_t n);
/* Columns from 0. */
int sqlite_columns(struct sqlite_statement *st);
bool sqlite_is_null(struct sqlite_statement *st, int column);
int64_t sqlite_i64(struct sqlite_statement *st, int column);
double sqlite_f64(struct sqlite_statement *st, int column);
const char *sqlite_str(struct sqlite_statement *st,
		       int column); /* NULL: NULL; valid until the next step */

/* The class of a value, however its column was declared. */
enum sqlite_class {
	SQLITE_CLASS_NULL,
	SQLITE_CLASS_INTEGER,
	SQLITE_CLASS_REAL,
	SQLITE_CLASS_TEXT,
	SQLITE_CLASS_BLOB,
};
enum sqlite_class sqlite_class_of(struct sqlite_statement *st, int column);
/* The bytes of a text or blob; never NULL; valid until the next step. */
const void *sqlite_bytes(struct sqlite_statement *st, int column, size_t *n);
/* As sqlite_step, for a statement that only reads: one that fails on the way
 * (an overflow in the user's SQL) is a DATA error. */
int sqlite_read(struct sqlite_statement *st, struct error *err);
/* The type a result's column was declared with; NULL: it is no column. */
const char *sqlite_column_title(struct sqlite_statement *st, int column);
const char *sqlite_declared(struct sqlite_statement *st, int column);
/* The table and column that a result's column passes on as they are, also
 * through views. *column is NULL if there is none or this library does not
 * tell. Valid until the statement is finalized. */
void sqlite_origin(struct sqlite_statement *st, int at, const char **table,
		   const char **column);
int sqlite_parameters(struct sqlite_statement *st);
const char *sqlite_text(const struct sqlite_statement *st); /* as prepared */

/* Add an SQL function name(a, b) to this connection. It is 1 or 0, as
 * `predicate` says of two texts. They are NUL-terminated; NULL with 0 bytes is
 * SQL NULL; a number comes as its text. SQLite calls it for each row and never
 * folds it away. */
typedef bool (*sqlite_predicate)(void *ctx, const char *a, size_t n_a,
				 const char *b, size_t n_b);
int sqlite_add_predicate(struct sqlite *db, const char *name,
			 sqlite_predicate predicate, void *ctx,
			 struct error *err);

#endif
