/*
 * `tidemark serve`: each pipeline on its schedule, `jobs` at a time, under the
 * same leases as any run. Several of them share the work through the state
 * store: each turn is taken once. One thread schedules, and calls back.
 */
#ifndef TIDEMARK_CORE_SERVE_SERVE_H
#define TIDEMARK_CORE_SERVE_SERVE_H

#include "core/base/post.h"
#include "core/serve/generation.h"
#include "core/sync/parts/result.h"

enum serve_reading {
	SERVE_READ, /* the file, at the begin and after a SIGHUP */
	SERVE_LOOK, /* the tables of wildcards, by the same file */
};

struct serve_options {
	size_t jobs; /* so many at once; 0: as the settings say */
	/* Fill the settings and the pipelines. */
	int (*read)(void *ctx, enum serve_reading why, struct generation *out,
		    struct error *err);
	void (*finished)(void *ctx, const struct run_result *r);
	post_function post; /* for webhooks */
	void *ctx;
};

/* Until a stop is requested: then STOPPED, when all that ran has ended. Any
 * other error is the first reading's. */
int serve_run(const struct serve_options *options, struct error *err);

#endif
