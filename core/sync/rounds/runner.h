/*
 * All pipelines of one `tidemark run`: side by side (jobs.h), each whatever
 * happens to the others, and again every `watch_us`.
 */
#ifndef TIDEMARK_CORE_SYNC_ROUNDS_RUNNER_H
#define TIDEMARK_CORE_SYNC_ROUNDS_RUNNER_H

#include "core/sync/run/pipeline.h"

struct runner_options {
	struct run_options run;
	int64_t watch_us; /* 0: once */
	size_t jobs; /* so many at once; 0: as the settings say */
	/* Called after each pipeline has ended, in the thread that calls
	 * runner_run(); may be NULL. run.progress is called in many. */
	void (*finished)(const struct run_result *r, void *ctx);
	/* Called after each round over all pipelines (once without watch). */
	void (*round)(const struct run_result *results, size_t n, void *ctx);
	/* With a watch, before each round but the first: its pipelines. If it
	 * returns 0 those given before are void. An error is logged, and they
	 * are run again. May be NULL. */
	int (*renew)(void *ctx, const struct pipeline_settings *const **out,
		     size_t *n, struct error *err);
	void *ctx;
};

/* Run the named pipelines (n == 0: all). Opens the state store and migrates
 * it. Returns 0, or the negative code of the first pipeline that failed in
 * config order (of the last round), with `err` set to its error. With watch:
 * until stop is requested (then 0... or STOPPED if a batch was cut short). A
 * pipeline that fails for good in a watch is logged and tried again next
 * round, except CONFIG errors. */
int runner_run(const struct settings *s,
	       const struct pipeline_settings *const *pipelines, size_t n,
	       const struct runner_options *options, struct error *err);

#endif
