/*
 * How gently a pipeline reads. It reads no faster than its rates. It does not
 * read while a file exists, a replica is behind, the source is busy or the
 * user's own probe says so. The reader asks between two batches, when nothing
 * is open: one reader, or two at a time. The writer's thread looks at the hold.
 * A probe that fails holds the run.
 */
#ifndef TIDEMARK_CORE_SYNC_PACE_PACE_H
#define TIDEMARK_CORE_SYNC_PACE_PACE_H

#include <jansson.h>

#include "core/data/batch.h"
#include "core/settings/settings.h"

struct pace;

/* The `by` of a hold that is a person's. */
#define PACE_PAUSE "pause"
/* For messages, before the `by` of a hold: the rest of it is a key. */
const char *pace_prefix(const char *by);

/* The waiting reader's callbacks. */
struct pace_waiter {
	/* Called once before anything takes time: leave nothing open. */
	int (*idle)(void *ctx, struct error *err);
	/* Asked about ten times a second: true ends the wait. */
	bool (*over)(void *ctx);
	void *ctx;
};

/* The settings outlive it. `share`: so many share the rates, which are whole
 * for 0 and 1. */
struct pace *pace_new(const struct pipeline_settings *p, int64_t share);
/* Go by other limits, which are taken over, from any thread: a wait that is
 * under way looks at them as well. */
void pace_change(struct pace *pace, struct pace_limits *limits);
/* Hold it for a reason of a person's, from any thread; NULL: no longer. */
void pace_pause(struct pace *pace, const char *reason);
/* From now on such a hold ends each wait at once, as a stop does: somebody
 * begins the rest anew. Before the first wait. */
void pace_yield(struct pace *pace);
void pace_free(struct pace *pace); /* NULL is fine */

/* Wait until the next batch may be read. STOPPED by a signal, or see
 * pace_yield(); CONFIG if the source or a replica can never answer. NULL never
 * waits. */
int pace_wait(struct pace *pace, const struct pace_waiter *waiter,
	      struct error *err);
/* Begin this batch: lower its bounds so that the rates hold within seconds. */
void pace_open(struct pace *pace, struct batch *b);
/* This batch was read. */
void pace_count(struct pace *pace, const struct batch *b);
/* A batch took so long to load, from any thread: the rates give way while that
 * is longer than it should be. */
void pace_loaded(struct pace *pace, int64_t load_us);

/* Nobody waits any more, in no thread: nothing holds. */
void pace_rest(struct pace *pace);

/* The hold that has lasted for a second or longer, from any thread: a new
 * reference to {"by","reason","since"}, or NULL. `*change` is set to a number
 * that changes with the answer. */
json_t *pace_held(struct pace *pace, int64_t *change);

#endif
