/* Are the rows of a chunk at the destination as the source has them? */
#ifndef TIDEMARK_CORE_SYNC_TASKS_CHUNK_VERIFY_H
#define TIDEMARK_CORE_SYNC_TASKS_CHUNK_VERIFY_H

#include "core/plugin/connector.h"

struct run_context;

/* Compare the rows that the range has now with those of the same keys at the
 * destination, at the run's pace. Those that change at the source meanwhile are
 * the pipeline's business, and those that wait as dead letters are kept aside.
 * DIFFERENT. `*checksum`: of the destination's, caller frees. */
int chunk_verify(struct run_context *c, const struct range *range,
		 char **checksum, struct error *err);

#endif
