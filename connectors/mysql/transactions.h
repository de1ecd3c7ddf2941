/*
 * The transactions that InnoDB has open, by information_schema.innodb_trx.
 * While that table is an old copy, by SHOW ENGINE INNODB STATUS. A part of
 * mysql_source_activity_read().
 */
#ifndef TIDEMARK_CONNECTORS_MYSQL_TRANSACTIONS_H
#define TIDEMARK_CONNECTORS_MYSQL_TRANSACTIONS_H

#include "connectors/mysql/activity.h"

/* A statement in the list holds a character of four bytes, for which the list's
 * own column is too narrow (MySQL 9.7). The server then shows no statement,
 * however it is asked. */
#define MYSQL_SOURCE_ERRNO_NARROW 3854

/* One look, which no other look resembles. Caller frees. */
char *mysql_source_transactions_sql(struct mysql_client *db);
/* The questions of a read whose first look is `look`, for
 * mysql_client_ask_ahead(). */
void mysql_source_transactions_foresee(struct mysql_client *db,
				       const char *look, struct strlist *out);
/* Fills may_see, stale, held_by, oldest_us, open. `look`: what was asked ahead,
 * perhaps. */
int mysql_source_transactions_read(struct mysql_client *db, const char *look,
				   struct mysql_source_activity *a,
				   struct error *err);
/* Take the answer of SHOW ENGINE INNODB STATUS into `a`, but for thread `mine`.
 * False, and nothing is taken, if the text is not whole. */
bool mysql_source_transactions_parse(struct mysql_source_activity *a,
				     const char *status, unsigned long mine);

/* In activity.c: an instant of the server's, or one long ago if there is none.
 * Then add one more transaction that holds the mark. */
int64_t mysql_source_activity_time(const char *text);
void mysql_source_activity_hold(struct mysql_source_activity *a,
				int64_t since_us, const char *id,
				const char *state, const char *query);

#endif
