/*
 * `verify` that mends what it finds: one look, the work it found done by a run
 * of the pipeline under its lease and fence, and another look, until nothing
 * of it is left. Missing and different keys are read from the source again and
 * replace what is stored; keys that the source has no longer are removed.
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

/* `out` says what the last look has found, and what was done before it; to be
 * released in any case. 0: both sides are equal; DIFFERENT: not all of it was
 * to be mended, or could be; DATA: there were more to be removed than are
 * allowed, and nothing is done; CONFIG: rows were to be removed, and another
 * pipeline loads the table, too; any other code of a look or a run. */
int repair_pipeline(const struct pipeline_settings *p,
		    const struct repair_terms *terms, struct verify_result *out,
		    struct error *err);

#endif
