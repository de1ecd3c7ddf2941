/*
 * A `verify` reads the source as gently as a run does: by the pipeline's pace,
 * and by what `tidemark pace` has set. One for all tries of one pipeline. What
 * holds it goes into the progress.
 *
 * A whole table is read by one statement, which stays open while it is waited:
 * only its rows are taken more slowly, or not at all.
 */
#ifndef TIDEMARK_CORE_SYNC_VERIFY_PACE_H
#define TIDEMARK_CORE_SYNC_VERIFY_PACE_H

#include "core/sync/ledger/run_pace.h"
#include "core/sync/verify/progress.h"

struct verify_pace {
	struct run_result held; /* nothing but what holds it */
	struct run_pace pacing;
	struct verify_progress *progress;
	/* Whom the progress is told. */
	void (*tell)(const struct verify_progress *so_far, void *ctx);
	void *ctx;
};

/* `looked_at` may be NULL: the config's pace alone. It stays where it is from
 * here on. */
void verify_pace_init(struct verify_pace *v, const struct pipeline_settings *p,
		      struct store *looked_at);
/* A try begins: whoever is told of `progress` by then hears it by us, and leave
 * to begin is waited for. */
int verify_pace_begin(struct verify_pace *v, struct verify_progress *progress,
		      struct error *err);
void verify_pace_release(struct verify_pace *v);

#endif
