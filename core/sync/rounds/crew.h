/*
 * The workers of one `backfill`: threads of this process, each of which is a
 * worker (worker.h) with a state store of its own. They share the pool of
 * sessions, and the rates of `pace`.
 */
#ifndef TIDEMARK_CORE_SYNC_ROUNDS_CREW_H
#define TIDEMARK_CORE_SYNC_ROUNDS_CREW_H

#include <stddef.h>

#include "core/settings/settings.h"

struct crew_terms {
	size_t n; /* workers, or fewer if there is room for fewer */
	/* Called some times a second, in the thread that calls crew_run(). */
	void (*tick)(void *ctx);
	void *ctx;
};

/* Work until no chunk of the pipeline is queued or running. Failures of chunks
 * are logged, and are in the store. STOPPED after a signal: each worker has
 * finished its batch, and given its chunk back. Else the first failure that
 * ended a worker, if no other worker has come to the end. */
int crew_run(const struct settings *s, const struct pipeline_settings *p,
	     const struct crew_terms *terms, struct error *err);

#endif
