/*
 * Rows that others than its runs deliver past the pipeline's mark. The mark is
 * told of them (pending.delivered). A transaction that began before and commits
 * behind them may leave the newest version of a row with an older mark. This
 * version then counts in the next run.
 */
#ifndef TIDEMARK_CORE_SYNC_RUN_PAST_MARK_H
#define TIDEMARK_CORE_SYNC_RUN_PAST_MARK_H

#include "core/data/batch.h"

struct run;

/* The highest mark of the batch's rows, as text; NULL if marks say nothing
 * about which version is newer, or no row has one. Caller frees. */
char *past_mark_highest(const struct run *r, const struct batch *b);
/* Replace `*text` by `other` (NULL: no) if that is beyond it. */
void past_mark_take(const struct run *r, char **text, const char *other);
/* Tell the mark of the pipeline, which another may be moving, that rows up to
 * `delivered` are about to be. */
int past_mark_tell(struct run *r, const char *delivered, struct error *err);

#endif
