/*
 * Has the server written to disk what we have seen? One that does not flush its
 * log with each commit gives ids out again after a crash, and rows go back to
 * what they were: behind a mark that has passed them.
 */
#ifndef TIDEMARK_CONNECTORS_MYSQL_DURABLE_H
#define TIDEMARK_CONNECTORS_MYSQL_DURABLE_H

#include "connectors/mysql/server.h"

enum mysql_source_durable {
	DURABLE_YES,
	DURABLE_NOT_YET, /* the mark has to wait */
	DURABLE_UNKNOWN, /* the server does not tell */
};

/* Of all that is committed now. Waits a moment for a server that flushes its
 * log once a second; asks nothing of one that flushes with each commit. */
int mysql_source_durable(struct mysql_client *db,
			 const struct mysql_source_server *server,
			 enum mysql_source_durable *out, struct error *err);

#endif
