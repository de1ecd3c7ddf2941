/* Are the rows of a chunk at the destination as the source has them? */
#ifndef TIDEMARK_CORE_SYNC_TASKS_CHUNK_VERIFY_H
#define TIDEMARK_CORE_SYNC_TASKS_CHUNK_VERIFY_H

#include "core/plugin/connector.h"

struct run_context;

/* Compare the rows that the range has now with those of the same keys at the
 * destination, at the run's pace. A row that changes at the source meanwhile is
 * the pipeline's business. A row that waits as a dead letter is kept aside.
 * DIFFERENT. `*checksum`: of the destination's, caller frees. */
int chunk_verify(struct run_context *c, const struct range *range,
		 char **checksum, struct error *err);

#endif
