/*
 * How far a look of `verify` is: which pass over the rows is under way, and
 * how many of them either side has brought.
 */
#ifndef TIDEMARK_CORE_SYNC_VERIFY_PROGRESS_H
#define TIDEMARK_CORE_SYNC_VERIFY_PROGRESS_H

#include <jansson.h>

#include "core/settings/settings.h"
#include "core/sync/verify/compare.h"

struct verify_progress {
	const struct pipeline_settings *pipeline;
	const char *pass; /* its work, static */
	int64_t rows[COMPARE_SIDES]; /* brought in this pass */
	int64_t expected[COMPARE_SIDES]; /* by its end, about; -1: not known */
	const json_t *paused; /* as of struct run_result, or NULL */
	/* Called about ten times a second at least, and after each batch; may
	 * be NULL. */
	void (*tell)(const struct verify_progress *so_far, void *ctx);
	void *ctx;
};

/* A pass begins; nothing of it has come, nor is known how much there is. */
void verify_progress_begin(struct verify_progress *p, const char *pass);
/* `p` may be NULL, as in all below. */
void verify_progress_add(struct verify_progress *p, enum compare_side side,
			 size_t rows);
/* The share of the present pass, 0..1, at the side that is behind; -1: not
 * known. */
double verify_progress_share(const struct verify_progress *p);
/* As a reader's tick. */
void verify_progress_tick(void *progress);

#endif
