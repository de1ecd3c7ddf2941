/*
 * One try of one run: both ends opened anew, from the destination's mark to
 * the end of the pass. Whether another try follows is decided in pipeline.c.
 */
#ifndef TIDEMARK_CORE_SYNC_RUN_TRY_H
#define TIDEMARK_CORE_SYNC_RUN_TRY_H

#include "core/store/letters.h"
#include "core/sync/ledger/run_pace.h"
#include "core/sync/parts/tries.h"
#include "core/sync/run/hooks.h"
#include "core/sync/run/pipeline.h"
#include "core/sync/run/verify.h"

/* Shared by all tries of a run. */
struct run_context {
	const struct pipeline_settings *p;
	struct store *store; /* may be NULL */
	const struct run_options *options;
	struct lease_keeper keeper;
	struct tries tries;
	/* Until when a file that another process has is waited for, monotonic;
	 * 0: none was met. */
	int64_t file_until_us;
	/* The connection that was refused in the last try; NULL: none. */
	const struct connection *refused;
	/* By clock_monotonic_us(): nothing is begun from then on. 0: never */
	int64_t deadline_us;
	/* Letters whose rows were loaded, and that are not deleted yet: no try
	 * after this one reads the rows again. */
	struct dead_letter_list over;
	struct run_hooks hooks;
	bool verifies; /* behind the load */
	struct run_verify verify;
	struct run_pace pacing;
};

/* Adds to the counts of `out` and sets its marks, guarantee and outcome; an
 * error leaves them as they stood at the last durable batch. A batch that a
 * CONFLICT rolled back is loaded again here, counted by the tries. Any code. */
int pipeline_try(struct run_context *c, struct run_result *out,
		 struct error *err);

#endif
