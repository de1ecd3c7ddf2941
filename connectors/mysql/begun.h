/*
 * Transactions that were begun and have not touched a table yet. They may have
 * taken their NOW() into a variable, and write it later. InnoDB does not know
 * them. On MySQL it does not know either when a transaction began that has only
 * read so far, once it writes. The performance schema knows both. A part of
 * mysql_source_activity_read().
 */
#ifndef TIDEMARK_CONNECTORS_MYSQL_BEGUN_H
#define TIDEMARK_CONNECTORS_MYSQL_BEGUN_H

#include "connectors/mysql/activity.h"

/* Ask for the server's clock and our user. With `begun` the same statement asks
 * the performance schema, for mysql_source_begun_take(). Without the right to
 * read it, `denied` is set, and it is not asked again. */
int mysql_source_begun_ask(struct mysql_client *db, bool begun, bool *denied,
			   struct mysql_client_result **out, struct error *err);
/* Its question, for mysql_client_ask_ahead(). `begun`: and not denied. */
void mysql_source_begun_foresee(struct mysql_client *db, bool begun,
				struct strlist *out);
/* Whoever has begun holds the mark; sets begun. */
void mysql_source_begun_take(struct mysql_source_activity *a, bool mariadb,
			     const struct mysql_client_result *r);
/* The reason why they do not show, to stand in a sentence, and the remedy;
 * NULL: they do. Caller frees both. */
char *mysql_source_begun_explain(const struct mysql_source_activity *a,
				 char **fix);

#endif
