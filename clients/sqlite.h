/*
 * The only file pair that knows sqlite3.h: a connection, statements, and
 * SQLite's errors as struct error (SQLITE_BUSY after the timeout: TRANSIENT;
 * FULL, IOERR, CANTOPEN, READONLY, PERM: ACCESS; CONSTRAINT, MISMATCH, TOOBIG:
 * DATA; NOTADB, CORRUPT: ACCESS naming the file).
 */
#ifndef TIDEMARK_CLIENTS_SQLITE_H
#define TIDEMARK_CLIENTS_SQLITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"

struct sqlite;
struct sqlite_statement;

struct sqlite_options {
	bool create;     /* make the file (0600) and its directory (0700) */
	bool read_only;
	int64_t busy_timeout_us;
};

int sqlite_open(struct sqlite **out, const char *path,
		const struct sqlite_options *options, struct error *err);
void sqlite_close(struct sqlite *db);
void sqlite_interrupt_all(struct sqlite *db); /* safe from another thread */
int sqlite_exec(struct sqlite *db, const char *sql, struct error *err);
int sqlite_execf(struct sqlite *db, struct error *err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int64_t sqlite_changes_count(struct sqlite *db); /* of the last statement */

int sqlite_prepare(struct sqlite *db, struct sqlite_statement **out,
		   const char *sql, struct error *err);
void sqlite_finalize(struct sqlite_statement *st); /* NULL is fine */
/* 1: a row; 0: done (and reset, ready to be bound again); negative: error. */
int sqlite_step(struct sqlite_statement *st, struct error *err);
void sqlite_reset(struct sqlite_statement *st);
/* Positions from 1. Text and bytes are not copied: they must live until the
 * next step has returned 0. */
void sqlite_bind_null_at(struct sqlite_statement *st, int at);
void sqlite_bind_i64(struct sqlite_statement *st, int at, int64_t value);
void sqlite_bind_f64(struct sqlite_statement *st, int at, double value);
void sqlite_bind_str(struct sqlite_statement *st, int at, const char *value, int64_t n); /* n < 0: strlen; NULL: NULL */
void sqlite_bind_bytes(struct sqlite_statement *st, int at, const void *value, size_t n);
/* Columns from 0. */
bool sqlite_is_null(struct sqlite_statement *st, int column);
int64_t sqlite_i64(struct sqlite_statement *st, int column);
double sqlite_f64(struct sqlite_statement *st, int column);
const char *sqlite_str(struct sqlite_statement *st, int column); /* NULL: NULL; valid until the next step */

#endif
