/* How a run of a pipeline has gone, so far or to its end. */
#ifndef TIDEMARK_CORE_SYNC_PARTS_RESULT_H
#define TIDEMARK_CORE_SYNC_PARTS_RESULT_H

#include "core/plugin/destination.h"
#include "core/plugin/store.h"
#include "core/settings/settings.h"
#include "core/sync/parts/difference.h"
#include "core/sync/parts/dry_run.h"

enum outcome {
	OUTCOME_CAUGHT_UP,
	OUTCOME_STOPPED,
	OUTCOME_FAILED,
	OUTCOME_BUSY,
	OUTCOME_WAITING, /* source.pre_check says that it is too early */
	OUTCOME_RETRIED /* an attempt that another one followed */
};
#define OUTCOMES ((size_t)OUTCOME_RETRIED + 1)
const char *outcome_name(enum outcome o);

struct run_counts {
	int64_t batches, rows_read, rows_inserted, rows_updated, rows_unchanged,
		rows_deleted, rows_dead_lettered;
};

/* The findings of --verify in the window. */
struct run_verified {
	bool asked;
	bool done; /* to its end */
	bool more; /* it was given up: there are at least so many */
	int64_t rows; /* expected rows */
	/* Unsettled: the next run reads them, or they have changed meanwhile,
	 * or are dead letters. */
	struct differences found;
	int64_t elapsed_us;
	json_t *examples; /* the first {"key", "kind"}; or NULL */
};

/* Keys that are there, and not as the source has them: those of which the
 * destination has too many rows, too. */
int64_t run_verified_different(const struct run_verified *v);

/* All of `run --json` for one pipeline. */
struct run_result {
	const struct pipeline_settings *pipeline;
	enum outcome outcome;
	char *run_id, *attempt_id; /* the last attempt's */
	bool located; /* the window's start, and so run_id, is known */
	bool recorded; /* the ledger knows the attempt */
	bool lost; /* its lease ran out before it came to its end */
	bool overtaken; /* another has had its lease since */
	bool unrecorded; /* a chunk's: it has its own place in the store */
	bool aside; /* rows by their keys, not those past the mark */
	bool elsewhere; /* aside, or a window of the past: the mark stays */
	int64_t retries[ERROR_CODES]; /* new tries, by what went wrong */
	/* The attempts before this one; below are the sums. */
	struct run_counts earlier;
	int64_t attempt_us; /* wall clock, when this one began */
	int64_t batches, rows_read, rows_inserted, rows_updated, rows_unchanged,
		rows_deleted, rows_dead_lettered, bytes_read;
	int64_t rows_missing; /* mode update: of the unchanged, not there */
	int64_t rows_held; /* past the settled mark, left to a later run */
	char *watermark_before, *watermark_after; /* JSON text or NULL */
	enum guarantee guarantee;
	char *guarantee_reason;
	json_t *held_by;
	/* Its present hold by `pace`: {"by","reason","since"} or NULL, and the
	 * same as text. */
	json_t *paused;
	char *paused_text;
	char *waiting; /* OUTCOME_WAITING: the reason */
	double progress; /* 0..1 or -1 */
	int64_t last_batch_us; /* latency of the last load */
	int64_t started_us; /* wall clock */
	int64_t begun_us; /* monotonic clock */
	int64_t elapsed_us;
	struct run_verified verified;
	bool verifying; /* just now */
	struct dry_run dry;
	struct error error;
};
void run_result_init(struct run_result *r, const struct pipeline_settings *p);
void run_result_release(struct run_result *r);
/* Rows that the pass's last batch says are held back: told in the log and in
 * the reason of the guarantee. */
void run_result_hold(struct run_result *r, const struct batch *last);
/* Takes a reference of its own; NULL: nothing holds it. */
void run_result_pause(struct run_result *r, json_t *paused);
/* Mode update: rows that the target does not have are told in the log. */
void run_result_missing(const struct run_result *r);
/* A batch that was loaded, but for its dead letters; `rows` of it, if that is
 * less. */
void run_result_count(struct run_result *r, const struct batch *b, size_t rows,
		      const struct load_counts *counts, int64_t dead);
/* Log its failure; for programs (log.h) the end of each run, with its counts.
 */
void run_result_log(const struct run_result *r);
json_t *run_result_json(const struct run_result *r); /* new reference */

#endif
