/*
 * LOCAL INFILE from memory: a file is offered to the server under a name that
 * nobody can guess, once, and no other one ever is.
 */
#ifndef TIDEMARK_CLIENTS_MYSQL_LOCAL_H
#define TIDEMARK_CLIENTS_MYSQL_LOCAL_H

#include <stdbool.h>
#include <stddef.h>

#include "clients/mysql_load.h"
#include "core/base/strbuf.h"

#define MYSQL_CLIENT_TOKEN_SIZE 33

struct mysql_client_local {
	char token[MYSQL_CLIENT_TOKEN_SIZE];
	bool armed; /* for one file, of this name */
	mysql_client_piece next;
	void *ctx;
	struct strbuf piece;
	size_t at; /* sent of the piece */
	int rc; /* result of `next` */
	struct error *err;
};

struct mysql_client_local *mysql_client_local_new(void);
void mysql_client_local_free(struct mysql_client_local *l); /* NULL is fine */
/* Before the connection is made: NULL switches LOCAL INFILE off, else it is
 * only ever served from memory. */
void mysql_client_local_offer(void *conn, struct mysql_client_local *l);
/* The next file to be asked for under l->token has the pieces of `next`. */
void mysql_client_local_arm(struct mysql_client_local *l,
			    mysql_client_piece next, void *ctx,
			    struct error *err);

#endif
