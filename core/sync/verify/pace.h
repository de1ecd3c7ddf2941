/*
 * A `verify` reads the source as gently as a run does: by the pipeline's pace,
 * and by the settings of `tidemark pace`. There is one for all tries of one
 * pipeline. Its hold goes into the progress.
 *
 * One statement reads a whole table, and stays open while the pace waits. Only
 * its rows are taken more slowly, or not at all.
 */
#ifndef TIDEMARK_CORE_SYNC_VERIFY_PACE_H
#define TIDEMARK_CORE_SYNC_VERIFY_PACE_H

#include "core/sync/ledger/run_pace.h"
#include "core/sync/verify/progress.h"

struct verify_pace {
	struct run_result held; /* nothing but what holds it */
	struct run_pace pacing;
	struct verify_progress *progress;
	/* The receiver of the progress. */
	void (*tell)(const struct verify_progress *so_far, void *ctx);
	void *ctx;
};

/* `looked_at` may be NULL: the config's pace alone. It stays where it is from
 * here on. */
void verify_pace_init(struct verify_pace *v, const struct pipeline_settings *p,
		      struct store *looked_at);
/* Begin a try: wait until `pace` lets it. From here on `v` hears of `progress`
 * first, adds what holds it, and passes it on. */
int verify_pace_begin(struct verify_pace *v, struct verify_progress *progress,
		      struct error *err);
void verify_pace_release(struct verify_pace *v);

#endif
