/*
 * The contract of a state store: run history and the mirror of marks (leases,
 * chunks and dead letters join it later). Called by core/sync; a handle is
 * used by one thread at a time. Nothing here decides what is loaded: a
 * transactional destination's own mark wins.
 */
#ifndef TIDEMARK_CORE_PLUGIN_STORE_H
#define TIDEMARK_CORE_PLUGIN_STORE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/connection.h"

struct store {
	const struct store_ops *ops;
};

/* One try of one run. Texts owned by the caller when writing; by the list
 * when reading. Times in µs since 1970, 0: not yet. */
struct attempt {
	char *attempt_id; /* unique */
	char *run_id; /* stable over retries */
	char *pipeline;
	char *tenant;
	char *state; /* RUNNING, SUCCEEDED, FAILED */
	char *outcome; /* caught_up, stopped, failed, busy; "" while running */
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
};
struct attempt_list {
	struct attempt *items;
	size_t n;
	size_t capacity;
};
void attempt_init(struct attempt *a);
void attempt_release(struct attempt *a);
void attempt_list_release(struct attempt_list *list);

/* One loaded batch, for the ledger. */
struct batch_record {
	const char *attempt_id, *batch_id, *pipeline, *watermark;
	int64_t number; /* from 1 in the attempt */
	int64_t rows, inserted, updated, unchanged, deleted;
	int64_t read_us, load_us, at;
};

struct store_ops {
	const char *name;
	/* Ends with a NULL name; never NULL. */
	const struct url_option *options;

	/* SQLite: creates directory (0700) and file (0600). */
	int (*open)(struct store **out, const struct connection *conn,
		    struct error *err);
	/* Apply pending migrations under a lock; `applied` counts them. An
	 * applied one whose checksum differs, or a schema newer than this
	 * binary: CONFIG saying which number. */
	int (*migrate)(struct store *s, int *applied, int *version,
		       struct error *err);
	/* Insert or update by attempt_id; prunes nothing. */
	int (*save_attempt)(struct store *s, const struct attempt *a,
			    struct error *err);
	/* Record the batch, mirror the mark, refresh the attempt's counters
	 * and heartbeat, in one transaction. */
	int (*save_batch)(struct store *s, const struct batch_record *b,
			  const struct attempt *a, struct error *err);
	/* Newest first; `pipeline` NULL: of all; at most `limit`. */
	int (*list_attempts)(struct store *s, const char *pipeline,
			     int64_t limit, struct attempt_list *out,
			     struct error *err);
	/* A RUNNING attempt of this pipeline on this host whose process is
	 * gone is set to FAILED with error "killed". */
	int (*close_dead_attempts)(struct store *s, const char *pipeline,
				   struct error *err);
	/* The mirror of the mark: JSON text or NULL; caller frees. */
	int (*get_watermark)(struct store *s, const char *pipeline, char **out,
			     struct error *err);
	int (*set_watermark)(struct store *s, const char *pipeline,
			     const char *watermark, struct error *err);
	void (*close)(struct store *s); /* NULL is fine */
};

#endif
