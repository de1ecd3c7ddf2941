/*
 * The only file pair that knows libmysqlclient's API, in MariaDB's or Oracle's
 * edition. A connection, small results, streamed binary results, and the
 * library's errors as struct error: errno, class, the server's own text, never
 * a secret. Names begin with mysql_client_, since the library owns mysql_.
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
#include "core/base/strlist.h"

struct mysql_client;
struct mysql_client_result;

struct mysql_client_options {
	bool read_only; /* transactions are READ ONLY */
	bool load; /* for mysql_load.h: LOCAL INFILE, from memory alone, and
		    * MYSQL_CLIENT_SQL_MODE_LOAD */
	const char *application; /* program_name: "tidemark/<this>" */
	bool replaces; /* a lost session: conn->sessions does not count it */
	/* Questions that travel with the settings, and are asked ahead (below).
	 * NULL: none. The session knows its server's version by then. */
	void (*foresee)(struct mysql_client *db, struct strlist *out,
			void *ctx);
	void *foresee_ctx;
};

/* The session is pinned once it is up, and read back: utf8mb4, time_zone
 * +00:00, MYSQL_CLIENT_SQL_MODE, repeatable read, autocommit and more
 * (mysql_pin.c). LOCAL INFILE never opens a file. Backslashes in literals are
 * escapes. MySQL 9.7 stores the expressions of columns and constraints as they
 * are written that way, and reads them wrongly under NO_BACKSLASH_ESCAPES. A
 * generated column then has other values, or its table cannot be opened. */
#define MYSQL_CLIENT_SQL_MODE                                                  \
	"STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"
/* With `load`: the key 0 is a key like any other. The modes stand in the
 * server's own order. */
#define MYSQL_CLIENT_SQL_MODE_LOAD                                             \
	"NO_AUTO_VALUE_ON_ZERO," MYSQL_CLIENT_SQL_MODE
/* Append a text as a literal of such a session. */
void mysql_client_quote(struct strbuf *sb, const char *text);
/* The session may be one that has rested (core/base/pool.h): reset, alive, and
 * pinned like a new one. Closing a healthy session lets it rest, without a
 * transaction, a lock or a temporary table. */
int mysql_client_open(struct mysql_client **out, const struct connection *conn,
		      const struct mysql_client_options *options,
		      struct error *err);
void mysql_client_close(struct mysql_client *db); /* NULL is fine */
/* No lock and no temporary table is left in it, say its users. It may rest as
 * it is, and its next user waits for the reset, together with the settings. */
void mysql_client_holds_nothing(struct mysql_client *db);
/* As the server's last answer has it. */
bool mysql_client_in_transaction(const struct mysql_client *db);
/* End what is running by KILL QUERY from a second connection, or else cut the
 * connection; safe from another thread. */
void mysql_client_interrupt(struct mysql_client *db);
/* lower_case_table_names: names of tables are case-blind there. */
void mysql_client_set_folds(struct mysql_client *db, bool folds);
bool mysql_client_folds(const struct mysql_client *db);
bool mysql_client_is_mariadb(const struct mysql_client *db);
unsigned long
mysql_client_version(const struct mysql_client *db); /* 101115, 90704 */
/* The variable with the isolation level, whose name depends on the version. */
const char *mysql_client_isolation_name(const struct mysql_client *db);
unsigned long
mysql_client_session(const struct mysql_client *db); /* CONNECTION_ID() */
/* Has the session that was pinned this CONNECTION_ID(), as a statement has just
 * told it? */
int mysql_client_check_session(struct mysql_client *db, const char *id,
			       struct error *err);
const char *
mysql_client_database(const struct mysql_client *db); /* the URL's; or "" */
bool mysql_client_alive(
	const struct mysql_client *db); /* false once the connection is lost */
bool mysql_client_failed_with(const struct error *err, unsigned number);

/* One command, its rows dropped. */
int mysql_client_exec(struct mysql_client *db, const char *sql,
		      struct error *err);
/* A whole small result in text form. `shape` is the expected answer, see
 * answer.h. Parameters ("?") are text, NULL is NULL. They travel as literals of
 * the statement, which is ours: no part of it was written by a user. */
int mysql_client_query(struct mysql_client *db,
		       struct mysql_client_result **out, const char *sql,
		       const char *shape, int n, const char *const *params,
		       struct error *err);
/* The same for a statement with SQL of a user. Values travel apart from it. */
int mysql_client_query_user(struct mysql_client *db,
			    struct mysql_client_result **out, const char *sql,
			    const char *shape, int n, const char *const *params,
			    struct error *err);

/* Questions of ours, each as for mysql_client_query(), that travel together:
 * one round trip. The server answers them in turn. The first one that fails
 * ends it, and no later one is carried out. `answered`: how many were. */
struct mysql_client_question {
	const char *sql;
	const char *shape; /* NULL: any answer, also none */
	int n;
	const char *const *params;
	struct mysql_client_result *answer; /* out */
};
int mysql_client_ask(struct mysql_client *db, struct mysql_client_question *q,
		     size_t n, size_t *answered, struct error *err);
/* Also those of a call that has failed. */
void mysql_client_answers_free(struct mysql_client_question *q, size_t n);

/* Questions that are about to be asked one by one, in this order, are asked
 * ahead, in one round trip. mysql_client_query() and mysql_client_exec() then
 * take the answer from here, and drop those before it, which were not needed.
 * Any statement that was not foreseen drops the rest. So do the first one that
 * the server refuses, which is asked again when its turn comes, and
 * mysql_client_forget_ahead(). Only what may be done twice has a place here.
 */
void mysql_client_foresee(struct mysql_client *db, struct strlist *questions,
			  const char *sql, int n, const char *const *params);
/* Releases `questions`. An error only if the connection is lost. */
int mysql_client_ask_ahead(struct mysql_client *db, struct strlist *questions,
			   struct error *err);
/* Would its answer be taken from there? */
bool mysql_client_is_ahead(const struct mysql_client *db, const char *sql);
void mysql_client_forget_ahead(struct mysql_client *db);

void mysql_client_result_free(struct mysql_client_result *r); /* NULL is fine */
size_t mysql_client_rows(const struct mysql_client_result *r);
size_t mysql_client_columns(const struct mysql_client_result *r);
/* A column's name; "" if the statement had parameters. */
const char *mysql_client_name(const struct mysql_client_result *r,
			      size_t column);
/* NULL: NULL, or there is no such row or column. */
const char *mysql_client_value(const struct mysql_client_result *r, size_t row,
			       size_t column);

/* The columns of a query, without running it. */
struct mysql_client_field {
	char *name;
	int type; /* the protocol's: MYSQL_CLIENT_TYPE_... */
	bool is_unsigned, nullable, binary, is_enum, is_set;
	unsigned long length; /* bytes at most */
	unsigned decimals;
};
enum mysql_client_type {
	MYSQL_CLIENT_TYPE_DECIMAL = 0,
	MYSQL_CLIENT_TYPE_TINY = 1,
	MYSQL_CLIENT_TYPE_SHORT = 2,
	MYSQL_CLIENT_TYPE_LONG = 3,
	MYSQL_CLIENT_TYPE_FLOAT = 4,
	MYSQL_CLIENT_TYPE_DOUBLE = 5,
	MYSQL_CLIENT_TYPE_NULL = 6,
	MYSQL_CLIENT_TYPE_TIMESTAMP = 7,
	MYSQL_CLIENT_TYPE_LONGLONG = 8,
	MYSQL_CLIENT_TYPE_INT24 = 9,
	MYSQL_CLIENT_TYPE_DATE = 10,
	MYSQL_CLIENT_TYPE_TIME = 11,
	MYSQL_CLIENT_TYPE_DATETIME = 12,
	MYSQL_CLIENT_TYPE_YEAR = 13,
	MYSQL_CLIENT_TYPE_BIT = 16,
	MYSQL_CLIENT_TYPE_JSON = 245,
	MYSQL_CLIENT_TYPE_NEWDECIMAL = 246,
	MYSQL_CLIENT_TYPE_GEOMETRY = 255,
};
/* `parameters`: how many "?" it has, or NULL. */
int mysql_client_describe(struct mysql_client *db, const char *sql,
			  struct mysql_client_field **out, size_t *n,
			  unsigned long *parameters, struct error *err);
void mysql_client_fields_free(struct mysql_client_field *fields, size_t n);

/* How a column of a stream is handed out. */
enum mysql_client_form {
	MYSQL_CLIENT_INTEGER, /* int64_t */
	MYSQL_CLIENT_UNSIGNED, /* the same, as uint64_t */
	MYSQL_CLIENT_FLOAT,
	MYSQL_CLIENT_DOUBLE,
	MYSQL_CLIENT_TIME, /* DATE, TIME, DATETIME, TIMESTAMP */
	MYSQL_CLIENT_BYTES, /* everything else: text in utf8mb4, or bytes */
};
/* Is a column of this type (MYSQL_CLIENT_TYPE_...) one for which the form was
 * chosen? */
bool mysql_client_form_fits(enum mysql_client_form form, int type);
struct mysql_client_time {
	unsigned year, month, day, hour, minute, second, microsecond;
	bool negative;
};
struct mysql_client_cell {
	bool null;
	union {
		int64_t integer;
		float float32;
		double float64;
		struct mysql_client_time time;
	};
	const uint8_t *bytes; /* MYSQL_CLIENT_BYTES */
	size_t n;
};

/* Stream a query's rows from a prepared statement, binary and unbuffered: one
 * row at a time. SCHEMA error if a column's type is not of its form (the table
 * was altered). Between begin and the end nothing else may run. */
int mysql_client_stream_begin(struct mysql_client *db, const char *sql, int n,
			      const char *const *params,
			      const enum mysql_client_form *forms,
			      size_t n_columns, struct error *err);
/* 1: a row is ready, valid until the next call; 0: the end; negative: error. A
 * broken connection is never taken for the end. */
int mysql_client_stream_next(struct mysql_client *db, struct error *err);
const struct mysql_client_cell *
mysql_client_stream_row(const struct mysql_client *db);
/* The columns of the stream, as the server described them with its rows. */
const struct mysql_client_field *
mysql_client_stream_fields(const struct mysql_client *db);
/* Drop what is left; harmless after the end. */
void mysql_client_stream_abort(struct mysql_client *db);

/* Nobody can interrupt a session that is still being opened. Between begin and
 * end, a stop that is requested while the server is silent cuts the session. */
struct mysql_client_watch {
	struct mysql_client *db;
	int socket;
	int limit_ms; /* -1: none */
	int end[2]; /* a pipe: closed at its writing end, the thread ends */
	pthread_t thread;
	bool started;
};
void mysql_client_watch_begin(struct mysql_client_watch *w,
			      struct mysql_client *db);
/* The same, and cut it after `limit_ms` whether or not a stop is requested. */
void mysql_client_watch_begin_for(struct mysql_client_watch *w,
				  struct mysql_client *db, int limit_ms);
/* Pass on `rc` of a statement that ran meanwhile; STOPPED if it failed in a
 * stop. */
int mysql_client_watch_end(struct mysql_client_watch *w, int rc,
			   struct error *err);

#endif
