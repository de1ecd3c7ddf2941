/*
 * A source and a destination in memory, for the engine's own tests: rows are
 * ids 1..n, the destination counts how often each id arrived. Faults are
 * planted by number of call. Not a stand-in for any server.
 */
#ifndef TIDEMARK_TESTS_UNIT_FAKE_ENGINES_H
#define TIDEMARK_TESTS_UNIT_FAKE_ENGINES_H

#include "core/plugin/registry.h"

#define FAKE_MOST 10000

struct fake {
	int64_t source_rows; /* ids 1..source_rows exist */
	int arrived[FAKE_MOST + 1]; /* by id: times committed */
	char *watermark; /* as committed, or NULL */
	char *batch_id;
	int64_t rows_total;
	int loads, opens, nexts, finishes, saves;
	int fail_load_at; /* number of the load that fails, 0: none */
	enum error_code fail_load_with;
	bool fail_load_every_time;
	int fail_after_commit_at; /* this load commits, then says TRANSIENT */
	int fail_next_at; /* number of the next() that fails */
	int stop_at_load; /* stop_request() during this load */
	int miscount_at; /* this load reports one row too few */
	bool fail_save;
	int64_t running_pid; /* of an attempt in the store, 0: none */
	const char *running_host;
	size_t largest_batch;
	char *last_state, *last_outcome; /* of the last saved attempt */
};

extern struct fake fake;
void fake_reset(int64_t source_rows);

#endif
