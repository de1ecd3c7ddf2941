/*
 * The only file pair that knows libmysqlclient's API, in MariaDB's or Oracle's
 * edition. A connection, small results, streamed binary results, and the
 * library's errors as struct error: errno, class, the server's own text, never
 * a secret. Names begin with mydb_, since the library owns mysql_.
 */
#ifndef TIDEMARK_CLIENTS_MYSQL_H
#define TIDEMARK_CLIENTS_MYSQL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/connection.h"
#include "core/base/error.h"
#include "core/base/strbuf.h"

struct mydb;
struct mydb_result;

struct mydb_options {
	bool read_only; /* transactions are READ ONLY */
	bool load; /* for mysql_load.h: LOCAL INFILE, from memory alone, and
		    * MYDB_SQL_MODE_LOAD */
	const char *application; /* program_name: "tidemark/<this>" */
};

/* The session is pinned after it is up, and read back: utf8mb4, time_zone
 * +00:00, MYDB_SQL_MODE, repeatable read, autocommit and more (mysql_pin.c);
 * LOCAL INFILE never opens a file. Backslashes in literals
 * are escapes: MySQL 9.7 keeps the expressions of columns and constraints as
 * they are written that way, and under NO_BACKSLASH_ESCAPES reads them wrongly,
 * so that a generated column has other values, or its table is out of reach. */
#define MYDB_SQL_MODE                                                          \
	"STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"
/* With `load`: 0 is a key like any other. In the server's own order. */
#define MYDB_SQL_MODE_LOAD "NO_AUTO_VALUE_ON_ZERO," MYDB_SQL_MODE
/* Append a text as a literal of such a session. */
void mydb_quote(struct strbuf *sb, const char *text);
int mydb_open(struct mydb **out, const struct connection *conn,
	      const struct mydb_options *options, struct error *err);
void mydb_close(struct mydb *db); /* NULL is fine */
/* End what is running by KILL QUERY from a second connection, or else cut the
 * connection; safe from another thread. */
void mydb_interrupt(struct mydb *db);
/* lower_case_table_names: names of tables are case-blind there. */
void mydb_set_folds(struct mydb *db, bool folds);
bool mydb_folds(const struct mydb *db);
bool mydb_is_mariadb(const struct mydb *db);
unsigned long mydb_version(const struct mydb *db); /* 101115, 90704 */
unsigned long mydb_session(const struct mydb *db); /* CONNECTION_ID() */
/* Is this CONNECTION_ID(), as a statement has just told it, that of the session
 * that was pinned? */
int mydb_check_session(struct mydb *db, const char *id, struct error *err);
const char *mydb_database(const struct mydb *db); /* of the URL; or "" */
bool mydb_alive(const struct mydb *db); /* false once the connection is lost */
bool mydb_failed_with(const struct error *err, unsigned number);

/* One command, its rows dropped. */
int mydb_exec(struct mydb *db, const char *sql, struct error *err);
/* A whole small result in text form. `shape`: what is due, see answer.h.
 * Parameters ("?") are text, NULL is NULL; without any the statement is not
 * prepared. */
int mydb_query(struct mydb *db, struct mydb_result **out, const char *sql,
	       const char *shape, int n, const char *const *params,
	       struct error *err);
void mydb_result_free(struct mydb_result *r); /* NULL is fine */
size_t mydb_rows(const struct mydb_result *r);
size_t mydb_columns(const struct mydb_result *r);
/* Of a column; "" if the statement had parameters. */
const char *mydb_name(const struct mydb_result *r, size_t column);
/* NULL: NULL, or there is no such row or column. */
const char *mydb_value(const struct mydb_result *r, size_t row, size_t column);

/* The columns of a query, without running it. */
struct mydb_field {
	char *name;
	int type; /* the protocol's: MYDB_TYPE_... */
	bool is_unsigned, nullable, binary, is_enum, is_set;
	unsigned long length; /* bytes at most */
	unsigned decimals;
};
enum mydb_type {
	MYDB_TYPE_DECIMAL = 0,
	MYDB_TYPE_TINY = 1,
	MYDB_TYPE_SHORT = 2,
	MYDB_TYPE_LONG = 3,
	MYDB_TYPE_FLOAT = 4,
	MYDB_TYPE_DOUBLE = 5,
	MYDB_TYPE_NULL = 6,
	MYDB_TYPE_TIMESTAMP = 7,
	MYDB_TYPE_LONGLONG = 8,
	MYDB_TYPE_INT24 = 9,
	MYDB_TYPE_DATE = 10,
	MYDB_TYPE_TIME = 11,
	MYDB_TYPE_DATETIME = 12,
	MYDB_TYPE_YEAR = 13,
	MYDB_TYPE_BIT = 16,
	MYDB_TYPE_JSON = 245,
	MYDB_TYPE_NEWDECIMAL = 246,
	MYDB_TYPE_GEOMETRY = 255,
};
/* `parameters`: how many "?" it has, or NULL. */
int mydb_describe(struct mydb *db, const char *sql, struct mydb_field **out,
		  size_t *n, unsigned long *parameters, struct error *err);
void mydb_fields_free(struct mydb_field *fields, size_t n);

/* How a column of a stream is handed out. */
enum mydb_form {
	MYDB_INTEGER, /* int64_t */
	MYDB_UNSIGNED, /* the same, as uint64_t */
	MYDB_FLOAT,
	MYDB_DOUBLE,
	MYDB_TIME, /* DATE, TIME, DATETIME, TIMESTAMP */
	MYDB_BYTES, /* everything else: text in utf8mb4, or bytes */
};
/* Is a column of this type (MYDB_TYPE_...) what the form was chosen for? */
bool mydb_form_fits(enum mydb_form form, int type);
struct mydb_time {
	unsigned year, month, day, hour, minute, second, microsecond;
	bool negative;
};
struct mydb_cell {
	bool null;
	union {
		int64_t integer;
		float float32;
		double float64;
		struct mydb_time time;
	};
	const uint8_t *bytes; /* MYDB_BYTES */
	size_t n;
};

/* Stream a query's rows from a prepared statement, binary and unbuffered: one
 * row at a time. SCHEMA error if a column's type is not of its form (the table
 * was altered). Between begin and the end nothing else may run. */
int mydb_stream_begin(struct mydb *db, const char *sql, int n,
		      const char *const *params, const enum mydb_form *forms,
		      size_t n_columns, struct error *err);
/* 1: a row is ready, valid until the next call; 0: the end; negative: error.
 * The end is only the end if the server said so. */
int mydb_stream_next(struct mydb *db, struct error *err);
const struct mydb_cell *mydb_stream_row(const struct mydb *db);
/* The columns of the stream, as the server described them with its rows. */
const struct mydb_field *mydb_stream_fields(const struct mydb *db);
/* Drop what is left; harmless after the end. */
void mydb_stream_abort(struct mydb *db);

/* Nobody can interrupt a session that is still being opened. Between begin and
 * end a stop that is requested while the server is silent cuts it. */
struct mydb_watch {
	struct mydb *db;
	int socket;
	int end[2]; /* a pipe: closed at its writing end, the thread ends */
	pthread_t thread;
	bool started;
};
void mydb_watch_begin(struct mydb_watch *w, struct mydb *db);
/* `rc` of what was asked meanwhile; STOPPED if it failed in a stop. */
int mydb_watch_end(struct mydb_watch *w, int rc, struct error *err);

#endif
