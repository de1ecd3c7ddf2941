/*
 * `run --verify`, and `verify: window`. A run has loaded its window, from the
 * mark before it to the last delivered row. The window is then read from the
 * source once more, and its rows are looked up at the destination by their
 * keys. If the window begins with the table, only rows that the sums do not
 * clear are looked up.
 *
 * A different row is looked at again there, and then at the source. It is no
 * difference if it has changed meanwhile, or is kept as a dead letter. Nor is
 * it one if the next run reads it in any case, and this run has not delivered
 * its present version. So writers may go on. Rows that the source has no longer
 * are not looked for here.
 *
 * The next run reads some rows again: the tail, rows within lag, rows without a
 * mark. A run remembers which versions of them it has delivered, up to a bound.
 *
 * All of it happens under the lease of the run.
 */
#ifndef TIDEMARK_CORE_SYNC_RUN_VERIFY_H
#define TIDEMARK_CORE_SYNC_RUN_VERIFY_H

#include "core/data/digest_rows.h"
#include "core/sync/run/pipeline.h"
#include "core/sync/verify/fingerprints.h"

/* Shared by all tries of a run. */
struct run_verify {
	struct watermark from; /* where the first of them began to read */
	bool begun;
	struct fingerprints delivered;
	int64_t n_tail; /* rows of the tail among them */
	struct digest_rows slots;
};

struct run;
struct run_context;

/* By the call, or by the pipeline's config of each run from the mark on. */
bool run_verify_is_asked(const struct pipeline_settings *p,
			 const struct run_options *options);
/* A mode whose target is not meant to equal the source: CONFIG. */
int run_verify_check(const struct pipeline_settings *p, struct error *err);
/* The pass of a try has begun ... */
void run_verify_begin(struct run *r);
/* ... and a batch of it is durable. */
void run_verify_loaded(struct run *r, const struct batch *b);
/* After the last try, if that ended well: fills out->verified. DIFFERENT,
 * naming the first keys; STOPPED; any code of reading. Tries again, as the
 * pipeline's retry says, what may pass. */
int run_verify_window(struct run_context *c, struct run_result *out,
		      struct error *err);
void run_verify_release(struct run_verify *v);

#endif
