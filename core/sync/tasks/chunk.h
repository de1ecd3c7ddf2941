/*
 * One chunk of a backfill, under the lease of its chunk_id. The machinery of a
 * run loads the rows of its range. Its checkpoint at the destination is a row
 * of _tidemark_watermark of the chunk's own. Then both sides are compared. The
 * pipeline's mark is not touched, and a run of the pipeline may go on beside.
 *
 * No older version wins over the versions that this run has loaded. Where the
 * row has a mark, the load compares it. Elsewhere nothing in the row says which
 * version it is (xmin, sequence, rows without a mark, append). Then the rows of
 * each batch are read from the source once more inside the load's transaction,
 * and must be the same. If they are not, the batch is rolled back, and read
 * again.
 */
#ifndef TIDEMARK_CORE_SYNC_TASKS_CHUNK_H
#define TIDEMARK_CORE_SYNC_TASKS_CHUNK_H

#include "core/plugin/connector.h"
#include "core/store/chunks.h"
#include "core/sync/run/task.h"
#include "core/sync/tasks/chunk_rows.h"

/* Attempts of a chunk, by whichever workers, before it is set aside: of which
 * the last one failed, or killed its worker. Chunks that are killed by others
 * go on where they were. */
#define CHUNK_ATTEMPTS 10
#define CHUNK_KILLS    100

struct chunk_work {
	struct task task;
	struct chunk *chunk; /* as claimed; its end is put into it */
	struct range range;
	char *column; /* the range holds values of it */
	int64_t rows; /* loaded, earlier attempts' included */
	bool versioned; /* the load itself lets no older version win */
	const struct batch *loading;
	/* Marks, as text; NULL: none. Up to `settled` no version of a row comes
	 * any more. `told` is the mark that the pipeline knows as delivered. Up
	 * to `own` there may be rows that this chunk has loaded although they
	 * had changed, where a load is not rolled back. */
	char *settled, *told, *own;
	bool unsettled; /* the batch at hand has rows past `settled` */
	/* It is a range of the pipeline's own first load, up to the settled
	 * point. Nothing else is loaded beside, and what changes meanwhile lies
	 * past the point. So no version has to be compared, and the chunk is
	 * not compared at its end. */
	bool first_load;
	char *position; /* then, once it is loaded: that of its last row */
	struct chunk_form
		*form; /* the worker's; not owned; NULL: it has none */
	struct chunk_rows read; /* all rows of the range, as they were loaded */
	/* Reads the rows of a batch again, under the load's locks. */
	struct connector *witness;
	struct source_spec witness_spec;
	struct watermark_spec witness_mark;
	struct schema witness_schema;
	char *witness_column;
};

void chunk_work_init(struct chunk_work *w, struct chunk *c);
void chunk_work_release(struct chunk_work *w);

#endif
