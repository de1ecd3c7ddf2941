/*
 * How the runs of a pipeline have gone, from the history: the few attempts that
 * tell it, however long the history is.
 *
 * An attempt worked if it caught up, or was stopped with batches behind it. One
 * that loaded rows by their keys (`dead-letters replay`, `verify --repair`) or
 * a window of the past (`runs replay`) says nothing, nor does one that was
 * retried. One whose lease was lost has failed.
 */
#ifndef TIDEMARK_CORE_STORE_STANDING_H
#define TIDEMARK_CORE_STORE_STANDING_H

#include "core/plugin/store.h"

enum standing_role {
	STANDING_FIRST, /* the oldest on record */
	STANDING_NEWEST,
	STANDING_SUCCESS, /* the newest that caught up */
	STANDING_MENDED, /* the first that worked behind the newest failure */
	STANDING_BROKE, /* the first that failed behind the newest that worked
			 */
	STANDING_FAILED, /* the newest that failed behind that */
	STANDING_ROLES,
};

/* Owned texts; times in µs since 1970, 0: not yet. */
struct standing_attempt {
	bool known; /* false: no such attempt, and the other members are 0 */
	bool aside; /* it says nothing, as above */
	char *attempt_id, *run_id;
	char *state, *outcome; /* as in an attempt of history.h */
	int64_t started_at, ended_at, heartbeat_at;
	char *error_code, *error_message; /* or NULL */
	char *paused; /* its present hold, JSON text, or NULL */
};

struct standing {
	struct standing_attempt of[STANDING_ROLES];
};

/* Release `out` in any case. */
int store_standing_get(struct store *s, const char *pipeline,
		       struct standing *out, struct error *err);
void standing_release(struct standing *s);

#endif
