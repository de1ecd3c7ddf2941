/*
 * Has the server written to disk what we have seen? A server may not flush its
 * log with each commit. After a crash it gives ids out again, and rows go back
 * to older versions, behind a mark that has passed them.
 */
#ifndef TIDEMARK_CONNECTORS_MYSQL_DURABLE_H
#define TIDEMARK_CONNECTORS_MYSQL_DURABLE_H

#include "connectors/mysql/server.h"

enum mysql_source_durable {
	DURABLE_YES,
	DURABLE_NOT_YET, /* the mark has to wait */
	DURABLE_UNKNOWN, /* the server does not tell */
};

/* Are all present commits on disk? Waits a moment for a server that flushes its
 * log once a second. A server that flushes with each commit is not asked. */
int mysql_source_durable(struct mysql_client *db,
			 const struct mysql_source_server *server,
			 enum mysql_source_durable *out, struct error *err);

#endif
