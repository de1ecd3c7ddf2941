/*
 * It works on chunks of backfills, and on pipelines that are due: the process
 * of `worker`, and each thread of a `backfill` (crew.h). There may be any
 * number of them, on any machines that share a store. A chunk is claimed under
 * the store's lock, a pipeline by its lease.
 */
#ifndef TIDEMARK_CORE_SYNC_ROUNDS_WORKER_H
#define TIDEMARK_CORE_SYNC_ROUNDS_WORKER_H

#include "core/settings/settings.h"
#include "core/store/chunks.h"
#include "core/sync/parts/result.h"

struct crew_room;

struct worker_options {
	/* A pipeline is due when its last run ended so long ago; 0: chunks
	 * alone are worked on. */
	int64_t interval_us;
	/* Until no chunk is queued or running, and each pipeline was run when
	 * it was due; else until a signal. */
	bool once;
	int64_t share; /* part of the pipelines' rates: one of so many; 0: all
			*/
	/* It has others of its process beside it; NULL: it is alone. */
	struct crew_room *room;
	/* Runs and chunks as they go on, and when they have ended; and each
	 * look for work. May be NULL. */
	void (*follow)(const struct run_result *so_far, void *ctx);
	void (*ended)(const struct run_result *r, void *ctx);
	void (*looked)(void *ctx);
	void *ctx;
};

/* The sums of its work. */
struct worker_sums {
	int64_t done, failed; /* chunks */
	int64_t runs;
};

/* One chunk, `chunk_id` or the first characters of it that only it has. `out`
 * is the chunk as it is then, and to be released in any case. Returns 0 if it
 * is done, by this call or before it. CONFIG: there is none, its pipeline is
 * not among these, or it was queued under another config. STATE: another worker
 * has it. */
int worker_run_named(const struct settings *s,
		     const struct pipeline_settings *const *pipelines, size_t n,
		     const char *chunk_id, const struct worker_options *options,
		     struct chunk *out, struct error *err);

/* Returns 0, or the negative code of the first failure, which is logged; `err`
 * is set only where the code alone would say too little. STOPPED after a
 * signal: the batch in hand is finished, and the chunk given back. */
int worker_run(const struct settings *s,
	       const struct pipeline_settings *const *pipelines, size_t n,
	       const struct worker_options *options, struct worker_sums *out,
	       struct error *err);

#endif
