/*
 * One try of one run: both ends opened anew, from the destination's mark to
 * the end of the pass. Called by pipeline.c, which decides on the next try.
 */
#ifndef TIDEMARK_CORE_SYNC_TRY_H
#define TIDEMARK_CORE_SYNC_TRY_H

#include "core/sync/pipeline.h"

/* Adds to the counts of `out` and sets its marks, guarantee and outcome; an
 * error leaves them as they stood at the last durable batch. Any code. */
int pipeline_try(const struct pipeline_settings *p, struct store *store,
		 const struct run_options *options, struct run_result *out,
		 struct error *err);

#endif
