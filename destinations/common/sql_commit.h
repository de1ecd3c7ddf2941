/*
 * COMMIT of a load at a server, where its answer may be lost with the
 * connection. Only the pipeline's row tells its outcome, and is read once the
 * lost session is over. Nothing is ever sent again blindly.
 */
#ifndef TIDEMARK_DESTINATIONS_COMMON_SQL_COMMIT_H
#define TIDEMARK_DESTINATIONS_COMMON_SQL_COMMIT_H

#include "destinations/common/sql_mark.h"

/* An engine brings these. No slot is NULL. */
struct sql_commit_engine {
	/* COMMIT in two steps, the question and its answer. */
	int (*send)(struct sql_mark *m, struct error *err);
	int (*answer)(struct sql_mark *m, struct error *err);
	bool (*alive)(const struct sql_mark *m);
	/* Take a new session in place of the one that was lost. */
	int (*reconnect)(struct sql_mark *m, struct error *err);
	/* Wait until the lost one is over, one way or the other, and read the
	 * row. */
	int (*settle)(struct sql_mark *m, const struct target *target,
		      struct checkpoint *now, struct error *err);
};

/* `next`: the mark that the transaction has written; NULL: none, and then only
 * an answer says that it was committed. 1: it was, and this is a new session;
 * TRANSIENT: it was not; STATE: another writer was here. */
int sql_commit(struct sql_mark *m, const struct sql_commit_engine *engine,
	       const struct target *target, const struct checkpoint *next,
	       struct error *err);

#endif
