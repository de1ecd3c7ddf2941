/*
 * How often a run has failed since it last got on, and whether another try is
 * worth it. A whole try and one batch count against the same limit.
 */
#ifndef TIDEMARK_CORE_SYNC_PARTS_TRIES_H
#define TIDEMARK_CORE_SYNC_PARTS_TRIES_H

#include "core/base/error.h"
#include "core/base/retry.h"

/* Tries of what failed with a code that no table knows: it is more likely to
 * last than to pass. */
#define TRIES_UNKNOWN 2

struct tries {
	const struct retry_policy *policy;
	int64_t failed; /* in a row */
	/* The breaker is half open: one try until a batch is loaded. */
	bool single;
};

/* Count the failure and sleep before the next try (full jitter). False: there
 * is no next try. The error's class is not worth one, the tries are used up, or
 * the process is to stop. */
bool tries_again(struct tries *t, const struct error *err);
/* A batch was loaded: both ends work; if it lasts, the count begins anew. */
void tries_progress(struct tries *t, bool lasts);

#endif
