/* Facts of pipelines that decide how they run side by side. */
#ifndef TIDEMARK_CORE_SYNC_ROUNDS_PLAN_H
#define TIDEMARK_CORE_SYNC_ROUNDS_PLAN_H

#include "core/plugin/store.h"
#include "core/settings/settings.h"
#include "core/sync/parts/foresight.h"
#include "core/sync/rounds/jobs.h"

/* One need for each pipeline; plan_free(). `store` knows when each began last;
 * NULL, or one that does not answer: never. */
struct job_need *plan_new(const struct pipeline_settings *const *pipelines,
			  size_t n, struct store *store);
void plan_free(struct job_need *needs, size_t n);

/* All of them, in the order in which jobs_run() begins them. */
struct foresight *
plan_foresight(const struct pipeline_settings *const *pipelines,
	       struct job_need *needs, size_t n);

/* As many of `n` as have room for the files that this process may have open, at
 * least 1. Says so if `them` are fewer than `n`. */
size_t plan_fit(size_t n, const char *them);
/* Limit `jobs` and `most` of the terms to the files that this process may have
 * open. Says so if that are fewer jobs. */
void plan_limit(struct jobs_terms *terms, size_t n);

#endif
