/*
 * One kind of run differs from another by a table of functions. Each kind is a
 * file in core/sync/tasks. A run asks the table, and never which kind it is.
 *
 * The steps of a run, in order, with the slots in capitals:
 * - BEGIN, take the lease, HELD
 * - each try: open both ends (INIT, DESCRIBE), LOCATE, PREPARE, settle, BOUND,
 *   scan, BEGUN
 * - in a try, each batch: MARK, BATCH_ID, LOADING, load, LOADED
 * - at the end of a try: FINISH
 * - after a try that failed and is followed by another: AGAIN
 * - END, give the lease back
 */
#ifndef TIDEMARK_CORE_SYNC_RUN_TASK_H
#define TIDEMARK_CORE_SYNC_RUN_TASK_H

#include "core/data/batch.h"

struct checkpoint;
struct read_batch;
struct run;
struct run_context;
struct run_result;

enum task_traits {
	/* The mark at the destination goes on with each batch. Else it stays
	 * where it is. */
	TASK_MOVES_MARK = 1 << 0,
	/* The state store's copy of the pipeline's mark follows the batches. */
	TASK_MIRRORS = 1 << 1,
	/* gate.max_rows counts its rows. */
	TASK_GATED = 1 << 2,
	/* Rows are asked for by their keys: they are no window. */
	TASK_BY_KEYS = 1 << 3,
	/* A row replaces the one that is stored, whatever mark that has. */
	TASK_OVERWRITES = 1 << 4,
	/* Without it the destination previews. */
	TASK_WRITES = 1 << 5,
	/* The pipeline's pace holds for it. */
	TASK_PACED = 1 << 6,
	/* Rows that are refused become dead letters, without a limit. */
	TASK_RETRIES_LETTERS = 1 << 7,
	/* `verify: window` of the pipeline holds for it. */
	TASK_VERIFIES = 1 << 8,
	/* It has a lease and a mark under a name of its own (struct task), and
	 * keeps its own record in the state store. */
	TASK_OWN_LEASE = 1 << 9,
	/* load.before and load.after run with it. */
	TASK_HOOKED = 1 << 11,
	/* It begins only if source.pre_check of the pipeline says so. */
	TASK_PRE_CHECKED = 1 << 10,
};

/* No slot is NULL. A slot that returns an int returns 0, or a negative code
 * with `err` set. */
struct task_ops {
	unsigned traits;
	/* `out` says what is known before the lease is taken. */
	void (*begin)(struct run_context *c, struct run_result *out);
	/* With the lease, before the first try. */
	int (*held)(struct run_context *c, struct run_result *out,
		    struct error *err);
	/* r->target is filled, nothing is open. */
	void (*init)(struct run *r);
	/* The source is open: fill r->schema. */
	int (*describe)(struct run *r, struct error *err);
	/* Both ends are open and r->from is known; nothing is written. */
	int (*locate)(struct run *r, struct error *err);
	/* Prepare the target, and say from where to read: r->from and
	 * r->window_from. */
	int (*prepare)(struct run *r, struct error *err);
	/* The source has said what is settled: how far to read, or which
	 * keys. */
	int (*bound)(struct run *r, struct error *err);
	/* The source has begun the pass. */
	int (*begun)(struct run *r, struct error *err);
	/* `mark` is the one behind `b`: add to it. Returns the highest mark
	 * that counts as delivered with it, or NULL; valid as long as both. */
	const char *(*mark)(struct run *r, const struct batch *b,
			    struct watermark *mark);
	/* The identity of the batch from r->window_from to r->window_to, or
	 * NULL: as its rows say. */
	const char *(*batch_id)(struct run *r);
	/* `b` is about to be loaded. */
	int (*loading)(struct run *r, const struct batch *b, struct error *err);
	/* `b` is durable. */
	void (*loaded)(struct run *r, const struct batch *b);
	/* The pass has come to its end; `last` is its empty batch, which has
	 * the pass's final mark. */
	int (*finish)(struct run *r, const struct read_batch *last,
		      struct error *err);
	/* Nothing of the try that failed is to be counted. */
	void (*again)(struct run_result *out);
	/* After the last try, with the lease; `rc` and `err` as they are by
	 * then. Returns the last word. */
	int (*end)(struct run_context *c, struct run_result *out, int rc,
		   struct error *err);
};

/* One run to be done; each kind has its own behind it. */
struct task {
	const struct task_ops *ops;
	const char *name; /* TASK_OWN_LEASE: of its lease and mark */
	const char *holder; /* TASK_OWN_LEASE: who has the lease already */
	size_t most_rows; /* in a batch; 0: as configured */
};

static inline bool task_has(const struct task *t, unsigned trait)
{
	return t->ops->traits & trait;
}

/* Slots of a kind that has nothing to do there. */
void task_no_begin(struct run_context *c, struct run_result *out);
int task_no_held(struct run_context *c, struct run_result *out,
		 struct error *err);
void task_no_init(struct run *r);
int task_no_step(struct run *r, struct error *err);
const char *task_no_batch_id(struct run *r);
int task_no_loading(struct run *r, const struct batch *b, struct error *err);
void task_no_loaded(struct run *r, const struct batch *b);
void task_no_again(struct run_result *out);
int task_no_end(struct run_context *c, struct run_result *out, int rc,
		struct error *err);

/* Slots as most kinds have them. */
int task_describe(struct run *r, struct error *err);
/* Claim the target under the lease, and prepare it; read from its mark on. */
int task_prepare(struct run *r, struct error *err);
/* The mark itself says it. */
const char *task_mark(struct run *r, const struct batch *b,
		      struct watermark *mark);
/* The final mark is loaded, a refresh is swapped in. */
int task_finish(struct run *r, const struct read_batch *last,
		struct error *err);

#endif
