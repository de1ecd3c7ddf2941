/* The chunks of backfills in the state store. */
#ifndef TIDEMARK_CORE_STORE_CHUNKS_H
#define TIDEMARK_CORE_STORE_CHUNKS_H

#include "core/store/leases.h"

#define CHUNK_QUEUED  "queued"
#define CHUNK_RUNNING "running"
#define CHUNK_DONE    "done"
#define CHUNK_FAILED  "failed" /* set aside */

/* A piece of a backfill: who works on it has the lease of its chunk_id. Owned
 * texts, none NULL but as said; times in µs since 1970, 0: not yet. */
struct chunk {
	char *chunk_id; /* PIPELINE/BACKFILL/NUMBER */
	char *backfill_id; /* made of pipeline, config and window */
	char *pipeline;
	char *config; /* the rows' config: another one does not take it up */
	char *column; /* the ranges are values of it */
	char *window_from, *window_to; /* the backfill's; NULL: open */
	int64_t number; /* from 1 */
	char *range_from, *range_to; /* NULL: open */
	bool nulls; /* the rows without a value, instead */
	int64_t rows; /* as counted; once it is done, as loaded */
	char *state; /* CHUNK_... */
	int64_t attempts;
	char *holder; /* the lease's, in the last attempt; "" */
	/* Equal at both sides, once it is done; or NULL. A range of a first
	 * load has the position of its last row here, as a mark's text. */
	char *checksum;
	char *error_code, *error_message; /* the last attempt's; or NULL */
	/* The hold of its worker, as in an attempt. A list has it only while
	 * the worker has the lease. */
	char *paused;
	int64_t queued_at, started_at, ended_at;
};
struct chunk_list {
	struct chunk *items;
	size_t n;
	size_t capacity;
};
void chunk_release(struct chunk *c);
void chunk_list_release(struct chunk_list *list);

/* The rule by which chunks may be added beside the existing chunks of their
 * pipeline. */
struct chunk_rule {
	/* Asked under the lock of all who add: `*add`, true before, set to
	 * false adds nothing, as does a code, which is passed on. */
	int (*judge)(void *ctx, const struct chunk_list *known, bool *add,
		     struct error *err);
	void *ctx;
};

/* Add chunks, all of one pipeline. One transaction asks the rule and adds
 * them, and nobody adds others beside it. A chunk that exists already stays
 * as it is. */
int store_chunks_add(struct store *s, const struct chunk_list *chunks,
		     const struct chunk_rule *rule, struct error *err);
/* In the order in which they are claimed; `pipeline` NULL: of any. `out` empty
 * before. */
int store_chunks_list(struct store *s, const char *pipeline,
		      struct chunk_list *out, struct error *err);
/* Is any chunk of this pipeline and config still waiting, or worked on? */
int store_chunks_left(struct store *s, const char *pipeline, const char *config,
		      bool *left, struct error *err);
/* Take the next waiting chunk of this pipeline and config, or one whose worker
 * is gone or has lost its lease. Take the lease of its chunk_id as well, as
 * store_lease_take() does (`wanted` without a name). Counts an attempt. No two
 * callers ever get the same chunk. `*found` false: there is none now; `out` is
 * filled only if there is. */
int store_chunk_claim(struct store *s, const char *pipeline, const char *config,
		      const struct lease *wanted, int64_t lease_us, bool *found,
		      struct chunk *out, struct error *err);
/* The same for the chunk `chunk_id`, also if it was set aside. `*found` false:
 * there is none, it is done, or a worker has it. */
int store_chunk_claim_named(struct store *s, const char *chunk_id,
			    const struct lease *wanted, int64_t lease_us,
			    bool *found, struct chunk *out, struct error *err);
/* State, rows, attempts, checksum, error, what holds it, and times of a chunk;
 * `*held` false, and nothing written, if another holder has claimed it since.
 */
int store_chunk_save(struct store *s, const struct chunk *c, bool *held,
		     struct error *err);
/* Forget a backfill, and the leases of its chunks. */
int store_chunks_delete(struct store *s, const char *pipeline,
			const char *backfill_id, struct error *err);

#endif
