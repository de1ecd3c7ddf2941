/*
 * Has the server written to disk what we have seen? One that does not flush its
 * log with each commit gives ids out again after a crash, and rows go back to
 * what they were: behind a mark that has passed them.
 */
#ifndef TIDEMARK_CONNECTORS_MYSQL_DURABLE_H
#define TIDEMARK_CONNECTORS_MYSQL_DURABLE_H

#include "connectors/mysql/server.h"

enum mysrc_durable {
	DURABLE_YES,
	DURABLE_NOT_YET, /* the mark has to wait */
	DURABLE_UNKNOWN, /* the server does not tell */
};

/* Of all that is committed now. Waits a moment for a server that flushes its
 * log once a second; asks nothing of one that flushes with each commit. */
int mysrc_durable(struct mydb *db, const struct mysrc_server *server,
		  enum mysrc_durable *out, struct error *err);

#endif
