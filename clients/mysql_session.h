/*
 * A session as clients/mysql.c keeps it, and what it does without the client
 * library: errors, settings, small results. Nobody else includes this.
 */
#ifndef TIDEMARK_CLIENTS_MYSQL_SESSION_H
#define TIDEMARK_CLIENTS_MYSQL_SESSION_H

#include <stdatomic.h>

#include "clients/mysql.h"
#include "clients/mysql_target.h"

struct mydb_column; /* of a stream */
struct mydb_local; /* what LOAD DATA LOCAL is served from */

struct mydb {
	void *conn; /* MYSQL */
	struct mydb_target target;
	char *sql; /* the last statement sent; owned; NULL: none */
	bool mariadb;
	bool lost; /* fit only for mydb_close */
	bool pinned; /* its settings are ours */
	char *session; /* CONNECTION_ID() as it was then */
	unsigned charset; /* that results come in: the server's number of it */
	bool folds; /* mydb_set_folds() */
	unsigned long version, id;
	atomic_bool interrupted;
	/* The stream. */
	void *stmt; /* MYSQL_STMT; NULL: none is open */
	void *binds; /* MYSQL_BIND, one a column */
	struct mydb_column *columns;
	struct mydb_cell *cells;
	const enum mydb_form *forms; /* NULL: bytes */
	struct mydb_field *fields; /* one a column */
	size_t n_columns;
	/* Of mysql_load.c. */
	struct mydb_local *local; /* NULL: no LOCAL INFILE at all */
	void *insert; /* MYSQL_STMT that stays prepared, or NULL */
	char *insert_sql;
};

/* An error of the server or the library as ours. */
int mydb_refused(struct mydb *db, unsigned number, const char *state,
		 const char *text, struct error *err);
/* The server's text as an error may tell it: without values of rows, unless
 * they are to be shown. Caller frees. */
char *mydb_told(const struct mydb *db, unsigned number, const char *state,
		const char *text);
/* Errors from now on may tell the names that this statement has. */
void mydb_note(struct mydb *db, const char *sql);
/* May a command begin? */
int mydb_ready(struct mydb *db, struct error *err);
/* In mysql_pin.c: the session's settings, set and read back in two round trips;
 * ACCESS if the server keeps another. */
int mydb_pin(struct mydb *db, const struct mydb_options *options,
	     struct error *err);
/* A column of a result has this character set: is it the one that was pinned?
 * Costs nothing, and is asked of each result. */
int mydb_check_charset(struct mydb *db, unsigned charset, struct error *err);
/* The number of the character set "binary": of bytes, and of numbers. */
#define MYDB_BINARY 63

/* In mysql_load.c. Before the connection is made: NULL switches LOCAL INFILE
 * off, else it is only ever served from memory. */
struct mydb_local *mydb_local_new(void);
void mydb_local_free(struct mydb_local *l); /* NULL is fine */
void mydb_local_offer(void *conn, struct mydb_local *l);
void mydb_insert_end(struct mydb *db); /* harmless without any */

/* In mysql.c: the last error of the connection, or of a MYSQL_STMT; a
 * statement without parameters; the steps of one with them, whose end is
 * mydb_stream_abort. */
int mydb_fail(struct mydb *db, struct error *err);
int mydb_stmt_fail(struct mydb *db, void *stmt, struct error *err);
int mydb_plain(struct mydb *db, const char *sql, struct mydb_result **out,
	       struct error *err);
int mydb_prepare(struct mydb *db, const char *sql, struct error *err);
unsigned long mydb_parameters(struct mydb *db);
struct mydb_field *mydb_fields_read(struct mydb *db, size_t *n);
int mydb_execute(struct mydb *db, int n, const char *const *params,
		 struct error *err);
int mydb_bind_all(struct mydb *db, struct error *err);
enum mydb_form mydb_form_of(const struct mydb *db, size_t column);

struct mydb_result {
	size_t n_columns, n_values;
	char **values; /* row by row; owned */
	char **names; /* of the columns, each NULL if not kept; owned */
	size_t capacity;
};

struct mydb_result *mydb_result_new(size_t n_columns);
void mydb_result_name(struct mydb_result *r, size_t column, const char *name);
/* Append the next value, row by row; NULL is NULL. */
void mydb_result_add(struct mydb_result *r, const char *text, size_t n);

#endif
