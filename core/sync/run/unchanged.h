/*
 * A table that is loaded whole by each run, and has not changed since the last
 * one, is left as it is.
 */
#ifndef TIDEMARK_CORE_SYNC_RUN_UNCHANGED_H
#define TIDEMARK_CORE_SYNC_RUN_UNCHANGED_H

#include "core/sync/run/run.h"

/* Compare the target with the source, as verify does: r->unchanged. Both are
 * read, and nothing is written. A comparison that fails says nothing. */
int run_look_unchanged(struct run *r, struct error *err);

#endif
