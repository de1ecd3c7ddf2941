/* Pipelines that are due at one time, begun together. */
#ifndef TIDEMARK_CORE_SERVE_WAVE_H
#define TIDEMARK_CORE_SERVE_WAVE_H

#include "core/serve/generation.h"
#include "core/sync/parts/result.h"
#include "core/sync/rounds/jobs.h"

struct wave_hooks {
	/* As run_options.progress, in the threads that run. */
	void (*follow)(const struct run_result *so_far, void *ctx);
	/* For each, in the thread that calls jobs_go(). */
	void (*finished)(void *ctx, const struct run_result *r);
	void *ctx;
};

/* Run each of `due`, pipelines of `g`, which stays until they have ended. One
 * whose turn another has taken since `turns` is busy (lease_terms.turn_us; 0:
 * whatever others did). */
void wave_begin(struct jobs *jobs, struct generation *g,
		const struct pipeline_settings *const *due,
		const int64_t *turns, size_t n, const struct wave_hooks *hooks);

#endif
