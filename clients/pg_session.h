/*
 * A session as clients/pg.c keeps it, and what it does without libpq: waiting,
 * settings, errors. Nobody else includes this. The tags of its pointers are
 * libpq's own.
 */
#ifndef TIDEMARK_CLIENTS_PG_SESSION_H
#define TIDEMARK_CLIENTS_PG_SESSION_H

#include <pthread.h>

#include "clients/pg.h"
#include "clients/pg_wait.h"

struct pg_conn;
struct pg_cancel;

struct pg {
	struct pg_conn *conn;
	char *where; /* "connection shop (postgresql://...)" */
	struct pg_result *row; /* of the stream */
	bool streaming;
	bool lost; /* given up: fit only for pg_close */
	size_t unflushed;
	struct pg_waiter waiter;
	pthread_mutex_t cancel_lock;
	struct pg_cancel *cancel;
};

struct pg *pg_new(const struct connection *conn);
/* libpq's notice processor: to the debug log. */
void pg_notice(void *ctx, const char *text);
/* Settings pinned so that text forms are the same everywhere and names mean
 * what they say; in one round trip. */
int pg_pin(struct pg *pg, const struct pg_options *options, struct error *err);

/* Errors: interrupted; what the server reported. */
int pg_stopped(struct pg *pg, struct error *err);
int pg_refused(struct pg *pg, const char *state, const char *text,
	       struct error *err);
/* The same while connecting. */
int pg_turned_away(struct pg *pg, const char *state, const char *text,
		   struct error *err);
/* May a command begin? */
int pg_ready(struct pg *pg, struct error *err);
/* Until the socket can be read, or also written; the same while connecting. */
int pg_wait(struct pg *pg, int fd, bool writing, struct error *err);
int pg_connect_wait(struct pg *pg, int fd, bool reading, int64_t deadline_us,
		    struct error *err);
/* In pg.c: hand COPY data to libpq; send everything handed to it. */
int pg_copy_put(struct pg *pg, const char *data, size_t n, struct error *err);
int pg_flush(struct pg *pg, struct error *err);

#endif
