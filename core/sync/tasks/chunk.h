/*
 * One chunk of a backfill, under the lease of its chunk_id: the rows of its
 * range are loaded by the machinery of a run, whose checkpoint at the
 * destination is a row of _tidemark_watermark of the chunk's own; then both
 * sides are compared. The pipeline's mark is not touched, and a run of the
 * pipeline may go on beside.
 *
 * No older version wins over what that run has loaded: where the row has a
 * mark, the load compares it. Where nothing in the row says which version it
 * is (xmin, sequence, rows without a mark, append), the rows of each batch are
 * read from the source once more inside the load's transaction, and must be
 * the same; else the batch is rolled back, and read again.
 *
 * Called by worker.c; try.c, load_pass.c and pipeline.c ask it on the way.
 */
#ifndef TIDEMARK_CORE_SYNC_TASKS_CHUNK_H
#define TIDEMARK_CORE_SYNC_TASKS_CHUNK_H

#include "core/plugin/store.h"
#include "core/sync/run/pipeline.h"

/* Attempts of a chunk, by whichever workers, before it is set aside: of which
 * the last one failed, or killed its worker. Those that are killed by others
 * go on where they were. */
#define CHUNK_ATTEMPTS 10
#define CHUNK_KILLS    100

struct chunk_work {
	struct chunk *chunk; /* as claimed; its end is put into it */
	struct range range;
	char *column; /* whose values the range is of */
	int64_t rows; /* loaded, earlier attempts' included */
	size_t most_rows; /* of a batch, after conflicts; 0: as configured */
	bool versioned; /* the load itself lets no older version win */
	const struct batch *loading;
	/* Marks, as text; NULL: none. Up to the first no version of a row comes
	 * any more; the second is what the pipeline's mark knows as delivered;
	 * up to the third rows may be there that this chunk has loaded although
	 * they had changed, where a load is not rolled back. */
	char *settled, *told, *own;
	bool unsettled; /* the batch at hand has rows past `settled` */
	/* Reads the rows of a batch again, under the load's locks. */
	struct connector *witness;
	struct source_spec witness_spec;
	struct watermark_spec witness_mark;
	struct schema witness_schema;
	char *witness_column;
};

void chunk_work_init(struct chunk_work *w, struct chunk *c);
void chunk_work_release(struct chunk_work *w);

struct run;
struct run_pace;
struct run_context;

/* Steps of a try. Describe the source ... */
int chunk_describe(struct run *r, struct error *err);
/* ... what the pipeline itself has delivered, before anything is read ... */
int chunk_find_settled(struct run *r, struct error *err);
void chunk_trust_settled(struct run *r);
/* ... how far earlier attempts have come, by the mark at the destination ... */
void chunk_resume(struct run *r);
/* ... once the lease is held, who may write ... */
void chunk_guard(struct run *r);
/* ... and into the mark behind a batch, how many rows that makes. */
void chunk_note_rows(const struct run *r, const struct batch *b,
		     struct watermark *mark);
/* The batch is about to be loaded: the pipeline's mark is told, if there are
 * rows past it. */
int chunk_tell(struct run *r, const struct batch *b, struct error *err);
/* What holds the run, or no longer does, is what holds the chunk: `status`
 * reads it in the store. One that cannot be written now is no reason to stop.
 */
void chunk_note_pause(const struct run_pace *r);
/* The end of the pass: the row at the destination goes. */
int chunk_end_pass(struct run *r, struct error *err);
/* The rows of the next batch, at most. */
size_t chunk_batch_rows(const struct run *r, size_t rows);

/* After the last try, with the lease: compare both sides, and write down in
 * the store what has become of the chunk. `rc` and `err` as they are by then;
 * returns the last word. */
int chunk_finish(struct run_context *c, int rc, struct error *err);

/* Compare the rows that the chunk's range has now with those of the same keys
 * at the destination, at the run's pace; those that change at the source
 * meanwhile are the pipeline's business, and those that wait as dead letters
 * are kept aside. DIFFERENT. `*checksum`: of the destination's, caller frees.
 */
int chunk_verify(struct run_context *c, char **checksum, struct error *err);

#endif
