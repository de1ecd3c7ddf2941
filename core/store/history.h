/*
 * The history in the state store: runs, their attempts and batches.
 * Reading it is in history.c, writing it in history_save.c.
 */
#ifndef TIDEMARK_CORE_STORE_HISTORY_H
#define TIDEMARK_CORE_STORE_HISTORY_H

#include "core/plugin/store.h"

/* One run: a window, under a config. Owned texts. */
struct run_record {
	char *run_id;
	char *pipeline;
	char *tenant;
	int64_t logic_version;
	char *window_from, *window_to; /* marks, JSON text, or NULL */
	char *state; /* QUEUED, RUNNING, SUCCEEDED, FAILED */
	int64_t created_at, updated_at;
};
struct run_list {
	struct run_record *items;
	size_t n;
	size_t capacity;
};
void run_list_release(struct run_list *list);

/* A choice of attempts; NULL: any. */
struct run_filter {
	const char *pipeline, *run_id;
	int64_t limit;
};

/* One try of one run. Texts owned by the caller when writing; by the list
 * when reading. Times in µs since 1970, 0: not yet. */
struct attempt {
	char *attempt_id; /* unique */
	char *run_id; /* stable over retries */
	char *pipeline;
	char *tenant;
	char *state; /* RUNNING, SUCCEEDED, FAILED */
	/* caught_up, stopped, failed, busy, retried (another attempt followed);
	 * "" while running. */
	char *outcome;
	char *host;
	int64_t pid;
	int64_t logic_version;
	int64_t started_at, ended_at, heartbeat_at;
	int64_t batches, rows_read, rows_inserted, rows_updated, rows_unchanged,
		rows_deleted, rows_dead_lettered;
	char *watermark_before, *watermark_after; /* JSON text or NULL */
	char *guarantee; /* exact, lag, none; "" unknown */
	char *guarantee_reason;
	char *error_code, *error_message; /* NULL unless FAILED */
	char *paused; /* its present hold, JSON text, or NULL */
	int64_t progress; /* in its window, in millionths; -1: not known */
	int64_t aside; /* 1: it read something else than what is past the mark
			*/
};
struct attempt_list {
	struct attempt *items;
	size_t n;
	size_t capacity;
};
void attempt_init(struct attempt *a);
void attempt_release(struct attempt *a);
void attempt_list_release(struct attempt_list *list);

/* One batch: loaded, or refused (error_code set). Texts as in an attempt. */
struct batch_record {
	char *attempt_id, *batch_id, *pipeline;
	char *window_from, *watermark; /* marks before and behind it */
	char *error_code, *error_message;
	int64_t number; /* from 1 in the attempt */
	int64_t rows, inserted, updated, unchanged, deleted, dead_lettered;
	int64_t read_us, load_us, at;
};
struct batch_list {
	struct batch_record *items;
	size_t n;
	size_t capacity;
};
void batch_list_release(struct batch_list *list);

/* Newest first; `out` empty before. */
int store_attempts_list(struct store *s, const struct run_filter *filter,
			struct attempt_list *out, struct error *err);
int store_runs_list(struct store *s, const struct run_filter *filter,
		    struct run_list *out, struct error *err);
/* The batches of all attempts of a run, in the order in which they were
 * made. */
int store_batches_list(struct store *s, const char *run_id,
		       struct batch_list *out, struct error *err);

/* Insert or update by attempt_id; prunes nothing. */
int store_attempt_save(struct store *s, const struct attempt *a,
		       struct error *err);
/* Record the batch, refresh the attempt's counters and heartbeat, and mirror
 * `mark` (NULL: leave the mirror), in one transaction. The mirror stays as a
 * newer attempt of the pipeline has left it. */
int store_batch_save(struct store *s, const struct batch_record *b,
		     const struct attempt *a, const char *mark,
		     struct error *err);
/* In the transaction that gives the pipeline's lease to another: no attempt
 * that is RUNNING can be. Each is set to FAILED, "killed" when its process is
 * surely gone, else "lost". The newest is FAILED, too, when it was to be
 * followed by another. */
int store_attempts_close(struct store *s, const char *pipeline,
			 struct error *err);
/* Forget runs and attempts that began more than `keep_us` ago, but for the
 * newest of each pipeline. Backfills that ended before that go, too, and who
 * asked for what. Dead letters stay. */
int store_history_prune(struct store *s, int64_t keep_us, struct error *err);
/* Thin out the runs that found nothing new. It is about those that began in the
 * `span_us` before `keep_us` ago. Between two others of the kind, the
 * last one of each five minutes stays: 288 a day. */
int store_history_thin(struct store *s, int64_t keep_us, int64_t span_us,
		       struct error *err);

#endif
