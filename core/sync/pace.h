/*
 * How gently a pipeline reads: no faster than its rates, and not at all while
 * a file exists, a replica is behind or the source is busy. Asked by the
 * reader between two batches, when nothing is open; what holds the run is
 * looked at from the writer's thread. A probe that fails holds the run.
 */
#ifndef TIDEMARK_CORE_SYNC_PACE_H
#define TIDEMARK_CORE_SYNC_PACE_H

#include <jansson.h>

#include "core/data/batch.h"
#include "core/sync/settings.h"

struct pace;

/* Of who waits. */
struct pace_waiter {
	/* Called once before anything takes time: leave nothing open. */
	int (*idle)(void *ctx, struct error *err);
	/* Asked about ten times a second: true ends the wait. */
	bool (*over)(void *ctx);
	void *ctx;
};

/* NULL if the pipeline sets no pace. The settings outlive it. */
struct pace *pace_new(const struct pipeline_settings *p);
void pace_free(struct pace *pace); /* NULL is fine */

/* Wait until the next batch may be read. STOPPED by a signal; CONFIG if the
 * source or a replica can never answer. NULL never waits. */
int pace_wait(struct pace *pace, const struct pace_waiter *waiter,
	      struct error *err);
/* Lower the bounds of a batch so that the rates hold within seconds. */
void pace_bound(const struct pace *pace, struct batch *b);
/* This batch was read. */
void pace_count(struct pace *pace, const struct batch *b);

/* What has held the run for a second or longer, from any thread: a new
 * reference to {"by","reason","since"}, or NULL. `*change` is set to a number
 * that is another one whenever the answer is. */
json_t *pace_held(struct pace *pace, int64_t *change);

#endif
