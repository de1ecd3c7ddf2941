/*
 * Counters of one pipeline's runs in this process, for metrics. They begin at 0
 * with the process, as Prometheus expects it.
 */
#ifndef TIDEMARK_CORE_SERVE_METER_H
#define TIDEMARK_CORE_SERVE_METER_H

#include "core/sync/parts/result.h"

#define METER_BUCKETS 10

/* Seconds. `counts` of each bucket alone; the last is for all that is longer.
 */
struct meter_histogram {
	uint64_t counts[METER_BUCKETS + 1];
	double sum;
};

struct meter {
	struct run_counts sum; /* all runs, so far */
	int64_t bytes;
	struct meter_histogram batch_seconds, run_seconds;
	int64_t runs[OUTCOMES];
	int64_t failures[ERROR_CODES]; /* runs that failed */
	int64_t retries[ERROR_CODES];
	int64_t differences, verified_us; /* by the last look; 0: none yet */
	bool verified;
	int64_t holder_us; /* since when a transaction holds the mark; 0 */
	char *attempt_id; /* the last run's that ended here; or NULL */
	/* The run that goes on: how much of it is in the sums. */
	struct run_counts seen;
	int64_t seen_bytes;
};

extern const double meter_batch_bounds[METER_BUCKETS];
extern const double meter_run_bounds[METER_BUCKETS];

/* A run, as far as it is. */
void meter_follow(struct meter *m, const struct run_result *so_far);
void meter_end(struct meter *m, const struct run_result *r);
/* The pipeline's newest run. If another process has had it, what the last one
 * here found out about the source and the target is no longer so. */
void meter_newest(struct meter *m, const char *attempt_id);
void meter_release(struct meter *m);

#endif
