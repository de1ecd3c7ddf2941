/*
 * Making a connection, by a thread of its own: the library waits where nobody
 * can wake it. Called by clients/mysql.c alone.
 */
#ifndef TIDEMARK_CLIENTS_MYSQL_CONNECT_H
#define TIDEMARK_CLIENTS_MYSQL_CONNECT_H

#include <stdbool.h>

#include "clients/mysql_session.h"

/* One attempt: a MYSQL, signed in (`ok`) or with its error in it. NULL: given
 * up after `limit_ms` (-1: none but the library's own), or, if that is to be
 * heeded, because a stop was requested. */
void *mydb_connect(const struct mydb_target *t, enum tls_mode mode,
		   struct mydb_local *local, bool heed_stop, int limit_ms,
		   bool *ok);
int mydb_socket(void *conn);

/* mysql_guard.c: no password without TLS where TLS was asked for, and none in
 * clear to a server that is not verified. Once; for a connection to be made;
 * and, by the thread that makes it, what to give the library as password,
 * whether the connection made has TLS: else the error is in it; and that error
 * in plain words. */
void mydb_guard_library(void);
void mydb_guard_set(void *conn, enum tls_mode mode);
const char *mydb_guard_take(const char *password);
bool mydb_guard_holds(void *conn);
void mydb_guard_explain(void *conn);

#endif
