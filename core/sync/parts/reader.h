/*
 * The reader thread of one pipeline. It fills one batch from the connector
 * while the writer loads the other. There are only two batches, so memory is
 * flat whatever the table's size, and a slow destination holds the source back.
 * When that takes longer than a moment, no statement or snapshot stays open at
 * the source.
 *
 * All calls come from the writer's thread. It knows nothing of marks.
 */
#ifndef TIDEMARK_CORE_SYNC_PARTS_READER_H
#define TIDEMARK_CORE_SYNC_PARTS_READER_H

#include <pthread.h>

#include "core/data/digest.h"
#include "core/plugin/connector.h"
#include "core/plugin/destination.h"
#include "core/sync/pace/pace.h"

#define READER_SLOTS 2

struct seat;

struct read_batch {
	struct batch batch;
	int64_t read_us; /* time that next() took */
	struct digest digest; /* if the bounds ask for it */
	struct error refused; /* the error of `look`; ERROR_NONE: none */
};

struct reader_bounds {
	size_t max_rows, max_bytes; /* for each batch */
	const size_t *sizes; /* in place of max_rows, for the first n_sizes */
	size_t n_sizes;
	int64_t max_batches; /* 0: no limit */
	int64_t most_rows; /* in all batches; 0: no limit */
	/* By clock_monotonic_us(): from then on nothing more is read. 0: never
	 */
	int64_t deadline_us;
	bool digest; /* hash the rows of each batch in the reader's thread */
	struct pace *pace; /* asked before each batch; NULL: at once */
	/* Called in the reader's thread with each batch that has rows, in
	 * order, while another one is loaded; NULL: not at all. */
	int (*look)(void *ctx, const struct batch *b, struct error *err);
	void *look_ctx;
};

struct log_place;

struct reader {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool started;
	struct connector *source;
	/* Interrupted when a stop drags on; NULL: nothing is loaded. */
	struct destination *destination;
	struct log_place *place; /* the thread's log lines have it */
	struct seat *seat; /* the starting thread's; or NULL */
	struct read_batch slots[READER_SLOTS];
	size_t filled, taken; /* batches read and handed out so far */
	size_t returned; /* batches that came back */
	struct reader_bounds bounds;
	int64_t batches_left; /* -1: no limit */
	int64_t rows_left; /* if the bounds limit them */
	bool ended; /* the last batch is in its slot, or an error is set */
	bool aborted; /* the writer wants no more */
	struct error error;
};

/* The pass must have been begun by scan(). `bounds->sizes` outlives it. */
int reader_start(struct reader *r, struct connector *source,
		 struct destination *destination, const struct schema *schema,
		 const char *pipeline, const struct reader_bounds *bounds,
		 struct error *err);

/* The next batch in order. NULL at the end of the allowed rows (0 in `*rc`),
 * and when the source failed or a stop was requested (negative code and `err`).
 * Blocks; calls `tick` (may be NULL) about ten times a second. */
struct read_batch *reader_take(struct reader *r, void (*tick)(void *ctx),
			       void *ctx, int *rc, struct error *err);

/* The batch behind the one that was just taken, which reader_take() gives next.
 * NULL: none follows, for a bound, an error or a stop. Blocks until that is
 * known; `tick` as above. */
const struct batch *reader_peek(struct reader *r, void (*tick)(void *ctx),
				void *ctx);

/* The oldest taken batch is loaded; its slot may be filled again, with at
 * most `max_rows` rows. */
void reader_give_back(struct reader *r, size_t max_rows);

/* End the thread (interrupting the source if it is still reading), free the
 * batches. Harmless on a reader that was never started. */
void reader_stop(struct reader *r);

#endif
