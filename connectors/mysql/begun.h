/*
 * Transactions that were begun and have not touched a table yet: they may have
 * taken their NOW() into a variable, and write it later. InnoDB does not know
 * them (nor, on MySQL, when one that has only read was begun, once it writes);
 * the performance schema does. Of mysrc_activity_read; nobody else calls this.
 */
#ifndef TIDEMARK_CONNECTORS_MYSQL_BEGUN_H
#define TIDEMARK_CONNECTORS_MYSQL_BEGUN_H

#include "connectors/mysql/activity.h"

/* The server's clock and our user, with `begun` in the same statement what the
 * performance schema has, for mysrc_begun_take. Without the right to ask it,
 * `denied` is set and nothing asked again. */
int mysrc_begun_ask(struct mydb *db, bool begun, bool *denied,
		    struct mydb_result **out, struct error *err);
/* Whoever has begun holds the mark; sets begun. */
void mysrc_begun_take(struct mysrc_activity *a, bool mariadb,
		      const struct mydb_result *r);
/* Why they do not show, to stand in a sentence, and what to do; NULL: they
 * do. Caller frees both. */
char *mysrc_begun_explain(const struct mysrc_activity *a, char **fix);

#endif
