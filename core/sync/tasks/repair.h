/*
 * `verify` that mends the differences it finds. A run of the pipeline does the
 * work under its lease and fence, between one look and another, until nothing
 * is left. Missing and different keys are read from the source again and
 * replace the stored rows. Keys that the source has no longer are removed.
 */
#ifndef TIDEMARK_CORE_SYNC_TASKS_REPAIR_H
#define TIDEMARK_CORE_SYNC_TASKS_REPAIR_H

#include "core/sync/run/pipeline.h"
#include "core/sync/verify/verify.h"

struct repair_terms {
	struct verify_part part; /* as of struct verify_terms */
	bool values;
	bool load; /* missing and different keys */
	bool report; /* name extra keys, and no others */
	bool remove; /* extra keys; of no part, as a share of it says little, */
	struct row_limit most; /* so many of the destination's rows at most, */
	bool most_said; /* and all of them only if somebody has said so */
	/* How far a look is, and a run that mends; either may be NULL. */
	void (*look_progress)(const struct verify_progress *so_far, void *ctx);
	void (*run_progress)(const struct run_result *so_far, void *ctx);
	struct lease_terms lease;
	struct store *store;
	/* Told what the first look has found, and asked whether to go on; may
	 * be NULL: go on. */
	bool (*ask)(void *ctx, const struct verify_result *found);
	void *ctx;
};

/* `out` has the findings of the last look and the work done before it; release
 * it in any case. 0: both sides are equal. DIFFERENT: some differences were not
 * to be mended, or could not be. DATA: more rows were to be removed than are
 * allowed, and nothing is done. CONFIG: rows were to be removed, and another
 * pipeline loads the table, too. Any other code comes from a look or a run. */
int repair_pipeline(const struct pipeline_settings *p,
		    const struct repair_terms *terms, struct verify_result *out,
		    struct error *err);

#endif
