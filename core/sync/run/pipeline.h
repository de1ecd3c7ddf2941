/*
 * One run of one pipeline: describe, recover, prepare, settle. Then it reads
 * and loads batch by batch until the source has no more. A reader thread and
 * the calling writer thread have two batches between them.
 */
#ifndef TIDEMARK_CORE_SYNC_RUN_PIPELINE_H
#define TIDEMARK_CORE_SYNC_RUN_PIPELINE_H

#include "core/plugin/store.h"
#include "core/settings/settings.h"
#include "core/sync/ledger/lease.h"
#include "core/sync/parts/result.h"

struct foresight;
struct reach;
struct task;

struct run_options {
	struct task *task; /* the work: core/sync/tasks */
	int64_t max_batches; /* 0: no limit */
	/* A dry run reads so many rows at most; 0: no limit. */
	int64_t limit;
	/* It reads rows whose mark is this or more, wherever the pipeline's
	 * mark is; NULL: past the mark. */
	const char *since;
	int64_t max_us; /* from when it has its lease; 0: no limit */
	bool full_refresh;
	/* Verify the loaded window afterwards, even if the pipeline does not
	 * ask for it: see verify.h. */
	bool verify;
	/* Where the store is NULL, this one is asked for the pace. */
	struct store *looked_at;
	struct lease_terms lease;
	struct reach *reach; /* the round's connections; or NULL */
	struct foresight *foresight; /* the round's tables; or NULL */
	/* A server without room for its sessions is not tried again: others
	 * that have them do the work. */
	bool yields;
	int64_t pace_share; /* so many share the pipeline's rates; 0: one */
	/* Called from the writer thread after each batch and about ten times a
	 * second while waiting; may be NULL. */
	void (*progress)(const struct run_result *so_far, void *ctx);
	void *progress_ctx;
};

/* Run once, with retries of transient errors; each retry opens both ends anew
 * and starts where the destination says we are. Never returns with a failure
 * that `out->error` and `out->outcome` do not show. `store` may be NULL. */
int pipeline_run(const struct pipeline_settings *p, struct store *store,
		 const struct run_options *options, struct run_result *out,
		 struct error *err);

/* It is not run for this reason, and its history says so: it counts as a run
 * that failed. `store` may be NULL. */
void pipeline_skip(const struct pipeline_settings *p, struct store *store,
		   const struct error *why, struct run_result *out);

#endif
