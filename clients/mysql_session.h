/*
 * A session as clients/mysql.c keeps it, and its work without the client
 * library: errors, settings, small results. Nobody else includes this.
 */
#ifndef TIDEMARK_CLIENTS_MYSQL_SESSION_H
#define TIDEMARK_CLIENTS_MYSQL_SESSION_H

#include <stdatomic.h>

#include "clients/mysql.h"
#include "clients/mysql_target.h"
#include "core/base/pool.h"

struct mysql_client_column; /* a stream's column */
struct mysql_client_local; /* the bytes that LOAD DATA LOCAL reads */

/* The reset of a session that rests. */
enum mysql_client_reset {
	RESET_NONE, /* done, or none is due */
	RESET_DUE, /* to be sent before anything else */
	RESET_SENT, /* its answer is to be read before any other */
};

struct mysql_client {
	void *conn; /* MYSQL */
	struct pool_slot slot;
	struct mysql_client_target target;
	char *sql; /* the last statement sent; owned; NULL: none */
	bool mariadb;
	bool reads; /* its transactions are READ ONLY */
	bool lost; /* fit only for mysql_client_close */
	bool pinned; /* its settings are ours */
	/* A right was missing, and a session keeps those it began with: it is
	 * not used again. */
	bool refused;
	bool takes_many; /* statements in one text */
	enum mysql_client_reset reset;
	bool bare; /* mysql_client_holds_nothing() */
	/* Asked ahead, and not asked for yet. */
	struct strlist ahead; /* the statements */
	struct mysql_client_result **answers; /* to them; NULL: taken */
	size_t n_answers, n_taken;
	char *session; /* CONNECTION_ID() as it was then */
	char *user, *writes; /* and other facts; NULL: not asked yet */
	unsigned charset; /* the server's number of the results' charset */
	bool folds; /* mysql_client_set_folds() */
	unsigned long version, id;
	atomic_bool interrupted;
	/* The stream. */
	void *stmt; /* MYSQL_STMT; NULL: none is open */
	void *binds; /* MYSQL_BIND, one a column */
	struct mysql_client_column *columns;
	struct mysql_client_cell *cells;
	const enum mysql_client_form *forms; /* NULL: bytes */
	struct mysql_client_field *fields; /* one a column */
	size_t n_columns;
	/* Used by mysql_load.c. */
	struct mysql_client_local *local; /* NULL: no LOCAL INFILE at all */
	void *insert; /* MYSQL_STMT that stays prepared, or NULL */
	char *insert_sql;
};

/* In mysql_pool.c: all that shapes a session. */
void mysql_client_pool_key(struct strbuf *key, const struct connection *conn,
			   const struct mysql_client_options *options);
/* Reset the session; nobody waits for the answer. A session that holds nothing
 * is reset by its next user. False: it is fit only to be closed. */
bool mysql_client_lay_down(struct mysql_client *db);
/* Is a session that was laid down as a new one would be? It was reset, and the
 * settings are pinned and read back. False: it is fit only to be closed. */
bool mysql_client_rouse(struct mysql_client *db, const struct connection *conn,
			const struct mysql_client_options *options);

/* In mysql_reset.c. Send the reset, which ends the transaction and gives up
 * locks and temporary tables. Its answer is taken later, before any other,
 * unless the library has waited for it. */
int mysql_client_reset_send(struct mysql_client *db, struct error *err);
int mysql_client_reset_take(struct mysql_client *db, struct error *err);
/* Has it no transaction, no lock and no temporary table? */
bool mysql_client_is_bare(const struct mysql_client *db);
/* Before the session is closed: read the answer if it is here. */
void mysql_client_reset_drop(struct mysql_client *db);

/* An error of the server or the library as ours. */
int mysql_client_refused(struct mysql_client *db, unsigned number,
			 const char *state, const char *text,
			 struct error *err);
/* The server's text as an error may tell it: without values of rows, unless
 * they are to be shown. Caller frees. */
char *mysql_client_told(const struct mysql_client *db, unsigned number,
			const char *state, const char *text);
/* Errors from now on may tell the names that this statement has. */
void mysql_client_note(struct mysql_client *db, const char *sql);
/* May a command begin? */
int mysql_client_ready(struct mysql_client *db, struct error *err);
/* In mysql_pin.c: set the session's settings and read them back. The reset that
 * is owed, and what the options foresee, take part in the one round trip.
 * ACCESS if the server keeps another value. */
int mysql_client_pin(struct mysql_client *db,
		     const struct mysql_client_options *options,
		     struct error *err);
/* Has a result's column the character set that was pinned? The check costs
 * nothing, and each result is checked. */
int mysql_client_check_charset(struct mysql_client *db, unsigned charset,
			       struct error *err);
/* The server's number of the character set "binary", which bytes and numbers
 * have. */
#define MYSQL_CLIENT_BINARY 63

/* In mysql_load.c. */
void mysql_client_insert_end(
	struct mysql_client *db); /* harmless without any */

/* In mysql_owed.c. Between begin and end the server owes answers to a text of
 * several statements. A thread looks now and then, over a second connection,
 * whether the session has nothing to do. If so it is cut, and the end is
 * TRANSIENT in place of `rc`, unless that is STOPPED. */
struct mysql_client_owed {
	struct mysql_client *db;
	bool known; /* by its number: others can ask of it */
	/* A second name of the session's socket: the library may close its own
	 * while another thread looks. */
	int socket;
	bool looking; /* a look is under way */
	bool waits; /* it had nothing to do at the last look */
	bool cut;
	int looks; /* in a row that found nothing to do */
	int64_t look_us, pause_us; /* the next look, and the pause before it */
	struct mysql_client_owed *next;
};
void mysql_client_owed_begin(struct mysql_client_owed *o,
			     struct mysql_client *db);
int mysql_client_owed_end(struct mysql_client_owed *o, int rc,
			  struct error *err);

/* In mysql_ask.c. A MYSQL_RES: has each column the pinned character set? */
int mysql_client_check_columns(struct mysql_client *db, void *result,
			       struct error *err);
/* Append a statement with its values in place of each "?". BUG if there are
 * more or fewer, or if a ";" outside of quotes would end it. */
int mysql_client_fill(struct mysql_client *db, struct strbuf *out,
		      const char *sql, int n, const char *const *params,
		      struct error *err);
/* Keep the first `answered` answers for mysql_client_query(). The questions are
 * as they were sent, and `q` has their answers. Takes over both. */
void mysql_client_keep_ahead(struct mysql_client *db, struct strlist *questions,
			     struct mysql_client_question *q, size_t answered);
/* Has an answer its shape? */
int mysql_client_check_answer(struct mysql_client *db,
			      struct mysql_client_result *r, const char *shape,
			      struct error *err);

/* In mysql.c: the last error of the connection or of a MYSQL_STMT, a statement
 * without parameters, and the steps of one with them.
 * mysql_client_stream_abort() ends the steps. */
int mysql_client_fail(struct mysql_client *db, struct error *err);
int mysql_client_stmt_fail(struct mysql_client *db, void *stmt,
			   struct error *err);
int mysql_client_plain(struct mysql_client *db, const char *sql,
		       struct mysql_client_result **out, struct error *err);
int mysql_client_prepare(struct mysql_client *db, const char *sql,
			 struct error *err);
unsigned long mysql_client_parameters(struct mysql_client *db);
struct mysql_client_field *mysql_client_fields_read(struct mysql_client *db,
						    size_t *n);
int mysql_client_execute(struct mysql_client *db, int n,
			 const char *const *params, struct error *err);
int mysql_client_bind_all(struct mysql_client *db, struct error *err);
enum mysql_client_form mysql_client_form_of(const struct mysql_client *db,
					    size_t column);

struct mysql_client_result {
	size_t n_columns, n_values;
	char **values; /* row by row; owned */
	char **names; /* the columns', each NULL if not kept; owned */
	size_t capacity;
};

struct mysql_client_result *mysql_client_result_new(size_t n_columns);
void mysql_client_result_name(struct mysql_client_result *r, size_t column,
			      const char *name);
/* Append the next value, row by row; NULL is NULL. */
void mysql_client_result_add(struct mysql_client_result *r, const char *text,
			     size_t n);

#endif
