/* Are the rows of a chunk at the destination as the source has them? */
#ifndef TIDEMARK_CORE_SYNC_TASKS_CHUNK_VERIFY_H
#define TIDEMARK_CORE_SYNC_TASKS_CHUNK_VERIFY_H

#include "core/sync/tasks/chunk_rows.h"

struct run_context;

/* Find out how rows of the pipeline are compared, unless `form` knows. If it
 * fails, the run meets the same error. */
void chunk_learn_form(struct run_context *c, const struct range *range,
		      struct chunk_form *form);
/* Compare the rows of the range with those of the same keys at the destination,
 * at the run's pace. These are `rows`, as they were read for the load, if the
 * range has as many now. If it has not, or one of them is not there as it is
 * here, the range is read anew. A row that changes at the source meanwhile is
 * the pipeline's business. A row that waits as a dead letter is kept aside.
 * DIFFERENT. `*checksum`: of the destination's, caller frees. `form` is kept
 * for the next chunk; NULL: there is none. */
int chunk_verify(struct run_context *c, const struct range *range,
		 struct chunk_rows *rows, struct chunk_form *form,
		 char **checksum, struct error *err);

#endif
