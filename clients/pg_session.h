/*
 * A session as clients/pg.c keeps it, and its work without libpq: waiting,
 * settings, errors. Nobody else includes this. The tags of its pointers are
 * libpq's own.
 */
#ifndef TIDEMARK_CLIENTS_PG_SESSION_H
#define TIDEMARK_CLIENTS_PG_SESSION_H

#include <pthread.h>

#include "clients/pg.h"
#include "clients/pg_row.h"
#include "clients/pg_wait.h"
#include "core/base/pool.h"
#include "core/base/strbuf.h"

struct pg_conn;
struct pg_cancel;
struct pg_named;

/* A question and its answer, and all of a message: pg_questions.c. */
struct pg_asked {
	char *sql;
	char **params;
	int n;
	bool prepares; /* the message prepares it first */
	bool given; /* another session has got the answer */
	int64_t asked_us; /* when that asked, monotonic */
	struct pg_result *answer; /* NULL: none yet, or it is taken */
	struct error *failed; /* in place of an answer, or NULL */
};

struct pg_questions {
	struct pg_asked *items;
	size_t n;
	bool sent;
	int64_t ready_us; /* since when the answers are here, monotonic */
};

/* Sends a message, and pins what is owed with it. */
typedef int pg_talker(struct pg *pg, void *ctx, struct error *err);

/* The settings of a session that are not pinned yet. They travel with its first
 * message. */
struct pg_owed {
	const struct connection *conn; /* NULL: nothing is owed */
	struct pg_options options;
	bool rested; /* the session may be dead: open another in its place */
	/* Pin them in a message of their own. */
	int (*pay)(struct pg *pg, struct error *err);
	/* `talk` to such a session. */
	int (*ask)(struct pg *pg, pg_talker *talk, void *ctx,
		   struct error *err);
};

struct pg {
	struct pg_conn *conn;
	char *sql; /* the last statement sent; owned */
	char *where; /* "connection shop (postgresql://...)" */
	bool streaming;
	struct pg_row row; /* the stream's */
	struct pg_field *shape; /* the stream's; owned */
	size_t n_shape;
	char *row_bytes; /* libpq's, that `row` points into; NULL: none */
	unsigned stream_growths; /* growths of libpq's buffer by streams */
	size_t stream_bytes; /* taken since the last wait */
	bool lost; /* given up: fit only for pg_close */
	size_t n_pins; /* settings that are pinned */
	char *user; /* current_user when it was pinned first; owned */
	char *pid; /* the server's process, at the same time; owned */
	char *server; /* since when it runs, at the same time; owned */
	char *writes; /* a primary, and may it write? The same; owned */
	struct pool_slot slot;
	unsigned resets; /* sent, and not answered yet, while it rests */
	size_t unflushed;
	struct pg_questions *ahead; /* pg_ahead.c; NULL: nothing was asked */
	struct pg_questions *many; /* pg_many.c collects them; or NULL */
	int64_t asked_us; /* the last message of questions, monotonic */
	bool shares; /* it may have answers that another session gets */
	bool foreseen; /* it has answers that another session got */
	struct pg_owed owed;
	struct pg_named *named;
	int64_t planned_us; /* since when its plans are kept, monotonic */
	struct pg_waiter waiter;
	pthread_mutex_t cancel_lock;
	struct pg_cancel *cancel;
};

/* In pg_ahead.c: an answer that is ready, which the caller owns; NULL: none is.
 * A question that has failed gives its error. */
int pg_ahead_take(struct pg *pg, struct pg_result **out, const char *sql, int n,
		  const char *const *params, struct error *err);

struct pg *pg_new(const struct connection *conn);
/* In pg_open.c: connect. */
int pg_sign_in(struct pg *pg, const struct connection *conn,
	       const struct pg_options *options, struct error *err);
/* In pg_open.c: close the session itself. */
void pg_end(void *session);
/* In pg_questions.c: a message. */
struct pg_questions *pg_questions_new(void);
void pg_questions_free(struct pg_questions *q); /* NULL is fine */
/* All is copied. */
void pg_questions_add(struct pg_questions *q, const char *sql, int n,
		      const char *const *params);
/* The first error among the answers, which stays what it is. */
int pg_questions_failed(const struct pg_questions *q, struct error *err);
/* In pg_talk.c: ask those without an answer, behind what the session owes, and
 * read all answers. Only a lost connection and settings that cannot be pinned
 * are errors here. */
int pg_ask_all(struct pg *pg, struct pg_questions *q, struct error *err);
/* In pg_shared.c: the answer becomes the caller's; it is given away. None that
 * was asked for before `*asked_us`, which is set to when it was. */
struct pg_result *pg_shared_take(const struct pg *pg, const char *sql, int n,
				 const char *const *params, int64_t *asked_us);
/* A value of its first row; NULL: NULL, or there is none. */
const char *pg_answer_value(const struct pg_result *answer, int column);
/* The same of one that is there; caller frees. */
char *pg_shared_value(const struct pg *pg, const char *sql, int n,
		      const char *const *params, int column);
bool pg_shared_has(const struct pg *pg, const char *sql, int n,
		   const char *const *params);
/* An answer has come to a question without values. If an older one was shared,
 * it takes its place. It stays the caller's. */
void pg_shared_renew(const struct pg *pg, const char *sql,
		     struct pg_result *answer);
void pg_shared_put(const struct pg *pg, const char *sql, int n,
		   const char *const *params, struct pg_result *answer,
		   bool again);
/* In pg_talk.c: the first wait of a session that has rested is as long as that
 * for a new one. The bound that it had before; then put it back. */
int64_t pg_first_wait(struct pg *pg);
/* In pg_pool.c: all that shapes a session. */
void pg_pool_key(struct strbuf *key, const struct connection *conn,
		 const struct pg_options *options);
/* Send what resets the session, and wait for nothing. False: it is fit only for
 * pg_end(). */
bool pg_lay_down(struct pg *pg);
/* May a session that was laid down be used again, once it has been pinned?
 * False: it is fit only for pg_end(). */
bool pg_rouse(struct pg *pg);
/* The answers of a reset, if it is not read yet. */
int pg_take_resets(struct pg *pg, struct error *err);
/* The same, where no further questions follow in that message. */
int pg_end_resets(struct pg *pg, struct error *err);
/* In pg_pin.c: what pins the settings and reads them back; caller frees. They
 * make text forms the same everywhere, and names mean what they say. Behind the
 * answers: ACCESS if the server keeps another value. */
struct pg_questions *pg_pin_questions(struct pg *pg,
				      const struct pg_options *options);
int pg_pin_judge(struct pg *pg, const struct pg_questions *pins,
		 struct error *err);
/* Append the statement that reads them, with `more` columns behind; compare its
 * row. */
void pg_pin_ask(const struct pg *pg, const char *more, struct strbuf *sql);
int pg_pin_compare(struct pg *pg, const struct pg_result *row,
		   struct error *err);

/* Errors: interrupted; what the server reported. */
int pg_stopped(struct pg *pg, struct error *err);
int pg_refused(struct pg *pg, enum error_code code, const char *state,
	       const char *text, struct error *err);
/* The same while connecting. */
int pg_turned_away(struct pg *pg, const char *state, const char *text,
		   struct error *err);
/* May a command begin? */
int pg_ready(struct pg *pg, struct error *err);
/* Until the socket can be read, or also written; the same while connecting. */
int pg_wait(struct pg *pg, int fd, bool writing, struct error *err);
int pg_connect_wait(struct pg *pg, int fd, bool reading, int64_t deadline_us,
		    struct error *err);
/* In pg.c: a command's answers. `sent`: what PQsend... returned. */
int pg_sent(struct pg *pg, int sent, struct error *err);
/* The next result, NULL at the end of the command. */
int pg_take(struct pg *pg, struct pg_result **out, struct error *err);
/* Send commands in one text, whatever the session owes. */
int pg_send(struct pg *pg, const char *sql, struct error *err);
/* Read a command to its end: the first error counts, the last result is
 * handed out. `out` may be NULL. */
int pg_finish(struct pg *pg, struct pg_result **out, struct error *err);
bool pg_failed(const struct pg_result *result);
int pg_result_error(struct pg *pg, const struct pg_result *result,
		    struct error *err);
int pg_lost(struct pg *pg, struct error *err);
/* In pg.c: the columns of a result; caller frees with pg_fields_free(). */
struct pg_field *pg_fields_read(const struct pg_result *result, size_t *n);
/* In pg.c: hand COPY data to libpq; send everything handed to it. */
int pg_copy_put(struct pg *pg, const char *data, size_t n, struct error *err);
int pg_flush(struct pg *pg, struct error *err);

#endif
