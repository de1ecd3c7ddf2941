/*
 * What kind of server the source is: one that alone takes the writes, or one
 * where transactions of elsewhere arrive. Their open transactions do not show
 * here, and their rows carry an older NOW() when they come.
 */
#ifndef TIDEMARK_CONNECTORS_MYSQL_SERVER_H
#define TIDEMARK_CONNECTORS_MYSQL_SERVER_H

#include "clients/mysql.h"

/* As the server shows its variables; NULL: it has none of that name. */
struct mysrc_server {
	char *wsrep_on, *wsrep_provider;
	char *group_name, *group_single_primary;
	char *read_only, *innodb_read_only;
	bool has_primary; /* one is named, whether it is followed or not */
	bool had_primary; /* the same, or no more: no right to see which */
	bool flushes; /* a commit is on disk before its statement ends */
};

int mysrc_server_read(struct mydb *db, struct mysrc_server *out,
		      struct error *err);
void mysrc_server_release(struct mysrc_server *s);
/* What of elsewhere arrives here, to follow "the source is"; NULL: nothing.
 * `applies`: a thread that applies another server's changes was seen. */
const char *mysrc_server_shares(const struct mysrc_server *s, bool applies);

#endif
