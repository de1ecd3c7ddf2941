/* The streams of a first load (streams.h): threads that load its ranges. */
#ifndef TIDEMARK_CORE_SYNC_TASKS_STREAMS_WORK_H
#define TIDEMARK_CORE_SYNC_TASKS_STREAMS_WORK_H

#include "core/sync/tasks/streams_plan.h"

/* Put ranges into the store. */
int streams_queue(struct run *r, const struct chunk_list *chunks,
		  struct error *err);
/* Load all ranges of the load `id` by `n` streams, each with sessions of its
 * own. The calling thread cuts those that are not planned yet. The counts of
 * `r->out` go on with each batch. */
int streams_run(struct run *r, size_t n, struct streams_plan *plan,
		const char *id, struct error *err);

#endif
