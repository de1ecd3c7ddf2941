/*
 * One look at the window that a run has loaded, at both sides: see verify.h.
 */
#ifndef TIDEMARK_CORE_SYNC_RUN_VERIFY_LOOK_H
#define TIDEMARK_CORE_SYNC_RUN_VERIFY_LOOK_H

#include "core/sync/run/try.h"

/* Adds to out->verified, which is empty, and calls the progress. */
int window_look(struct run_context *c, struct run_result *out,
		struct error *err);

#endif
