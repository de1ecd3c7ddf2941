#include "core/serve/wave.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/sync/parts/foresight.h"
#include "core/sync/rounds/plan.h"
#include "core/sync/run/pipeline.h"
#include "core/sync/tasks/sync.h"

struct wave {
	struct generation *g;
	const struct pipeline_settings **due;
	int64_t *turns;
	size_t n;
	struct job_need *needs;
	struct foresight *foresight;
	struct run_result *results;
	struct wave_hooks hooks;
};

static void wave_run(void *ctx, size_t i, struct reach *reach)
{
	struct wave *w = ctx;
	const struct run_options options = {
		.task = &sync_task,
		.lease = { .state = w->g->s.state,
			   .lease_us = w->g->s.state_lease_us,
			   .turn_us = w->turns[i] },
		.reach = reach,
		.foresight = w->foresight,
		.progress = w->hooks.follow,
		.progress_ctx = w->hooks.ctx,
	};
	struct error err = ERROR_INIT;

	pipeline_run(w->due[i], w->g->store, &options, &w->results[i], &err);
	error_clear(&err);
}

static void wave_skip(void *ctx, size_t i, const struct error *why)
{
	struct wave *w = ctx;

	/* A stop is no news about the pipeline. */
	pipeline_skip(w->due[i],
		      why->code == ERROR_STOPPED ? NULL : w->g->store, why,
		      &w->results[i]);
}

static void wave_done(void *ctx, size_t i)
{
	struct wave *w = ctx;

	w->hooks.finished(w->hooks.ctx, &w->results[i]);
	run_result_release(&w->results[i]);
}

static void wave_over(void *ctx)
{
	struct wave *w = ctx;

	foresight_free(w->foresight);
	plan_free(w->needs, w->n);
	generation_leave(w->g);
	free(w->results);
	free(w->turns);
	free((void *)w->due);
	free(w);
}

void wave_begin(struct jobs *jobs, struct generation *g,
		const struct pipeline_settings *const *due,
		const int64_t *turns, size_t n, const struct wave_hooks *hooks)
{
	struct wave *w = xcalloc(1, sizeof(*w));
	const struct jobs_work work = { .reach = g->reach,
					.run = wave_run,
					.skip = wave_skip,
					.done = wave_done,
					.over = wave_over,
					.ctx = w };

	*w = (struct wave){ .g = g,
			    .due = xcalloc(n, sizeof(const void *)),
			    .turns = xcalloc(n, sizeof(*w->turns)),
			    .n = n,
			    .results = xcalloc(n, sizeof(*w->results)),
			    .hooks = *hooks };
	memcpy((void *)w->due, due, n * sizeof(const void *));
	memcpy(w->turns, turns, n * sizeof(*turns));
	generation_join(g);
	w->needs = plan_new(w->due, n, g->store);
	w->foresight = plan_foresight(w->due, w->needs, n);
	jobs_add(jobs, &work, w->needs, n);
}
