/*
 * The first load of a large table, by several streams side by side. The rows up
 * to the settled point are cut into ranges of the mark, as a backfill cuts its
 * window. Each range is a chunk with a lease and a mark of its own. When all of
 * them are in, the run goes on behind them, and only then writes its mark. A
 * load that is cut off goes on with the ranges that are left.
 */
#ifndef TIDEMARK_CORE_SYNC_TASKS_STREAMS_H
#define TIDEMARK_CORE_SYNC_TASKS_STREAMS_H

#include "core/base/error.h"

struct run;

/* The target is prepared and the settled point known. Unless this is a first
 * load that may be split, it does nothing. Else `r->from` is then the highest
 * mark that was loaded, and `r->settled` a later point. */
int streams_load(struct run *r, struct error *err);
/* The mark is written: the ranges may be forgotten. */
int streams_forget(struct run *r, struct error *err);

#endif
