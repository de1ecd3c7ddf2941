/*
 * Making a connection, by a thread of its own: nobody can wake the library
 * while it waits.
 */
#ifndef TIDEMARK_CLIENTS_MYSQL_CONNECT_H
#define TIDEMARK_CLIENTS_MYSQL_CONNECT_H

#include <stdbool.h>

#include "clients/mysql_session.h"

/* One attempt: a MYSQL, signed in (`ok`) or with its error in it. NULL if it
 * was given up after `limit_ms` (-1: only the library's own limit). NULL also
 * if a stop was requested and is to be heeded. */
void *mysql_client_connect(const struct mysql_client_target *t,
			   enum tls_mode mode, struct mysql_client_local *local,
			   bool heed_stop, int limit_ms, bool *ok);
int mysql_client_socket(void *conn);

/* mysql_guard.c: a password never goes out without TLS where TLS was asked for,
 * nor in clear to a server that is not verified.
 * - mysql_client_guard_library(): once.
 * - mysql_client_guard_set(): for a connection to be made.
 * - mysql_client_guard_take(): the password to give to the library, in the
 *   thread that connects.
 * - mysql_client_guard_holds(): has the new connection TLS? If not, it holds
 *   the error.
 * - mysql_client_guard_explain(): puts that error into plain words. */
void mysql_client_guard_library(void);
void mysql_client_guard_set(void *conn, enum tls_mode mode);
const char *mysql_client_guard_take(const char *password);
bool mysql_client_guard_holds(void *conn);
void mysql_client_guard_explain(void *conn);

#endif
