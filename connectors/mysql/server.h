/*
 * Does the source alone take the writes, or do transactions from another server
 * arrive? Such transactions do not show here while they are open, and their
 * rows carry an older NOW() when they come.
 */
#ifndef TIDEMARK_CONNECTORS_MYSQL_SERVER_H
#define TIDEMARK_CONNECTORS_MYSQL_SERVER_H

#include "clients/mysql.h"

/* As the server shows its variables; NULL: it has none of that name. */
struct mysql_source_server {
	char *wsrep_on, *wsrep_provider;
	char *group_name, *group_single_primary;
	char *read_only, *innodb_read_only;
	bool has_primary; /* one is named, whether it is followed or not */
	bool had_primary; /* the same, or no more: no right to see which */
	bool flushes; /* a commit is on disk before its statement ends */
};

/* Its questions, for mysql_client_ask_ahead(). */
void mysql_source_server_foresee(struct mysql_client *db, struct strlist *out);
int mysql_source_server_read(struct mysql_client *db,
			     struct mysql_source_server *out,
			     struct error *err);
void mysql_source_server_release(struct mysql_source_server *s);
/* The origin of foreign transactions, to follow "the source is"; NULL: none
 * arrive. `applies`: a thread that applies another server's changes was
 * seen. */
const char *mysql_source_server_shares(const struct mysql_source_server *s,
				       bool applies);

#endif
