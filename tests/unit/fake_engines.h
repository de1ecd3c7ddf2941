/*
 * A source and a destination in memory, and the store of faulty_store.h, for
 * the engine's own tests. Rows are ids 1..n, and the destination counts how
 * often each id arrived. Faults are planted by number of call. It stands for no
 * server.
 */
#ifndef TIDEMARK_TESTS_UNIT_FAKE_ENGINES_H
#define TIDEMARK_TESTS_UNIT_FAKE_ENGINES_H

#include "core/plugin/registry.h"
#include "core/settings/settings.h"

#define FAKE_MOST 10000

struct fake {
	int64_t source_rows; /* ids 1..source_rows exist; < 0: no source */
	int arrived[FAKE_MOST + 1]; /* by id: times committed */
	char *watermark; /* as committed, or NULL */
	char *batch_id;
	int64_t rows_total;
	int loads, opens, nexts, finishes;
	int pauses, asked, fail_asked; /* so many questions fail: ACCESS */
	int64_t active, lag_us; /* the answers */
	int64_t open_us; /* time for opening the source */
	int previews, fail_preview_at;
	int fail_load_at; /* number of the load that fails, 0: none */
	enum error_code fail_load_with;
	bool fail_load_every_time;
	int64_t fail_load_from; /* every load that has this id or a later one */
	int scans, grow_at_scan; /* rows that come just before it */
	int64_t grow_by;
	int fail_opens; /* so many opens of the source fail: TRANSIENT */
	int fail_after_commit_at; /* this load commits, then says TRANSIENT */
	int fail_next_at; /* number of the next() that fails */
	int stop_at_load; /* stop_request() during this load */
	int miscount_at; /* this load reports one row too few */
	int64_t lease_at_load; /* the fence that the last load came with */
	int64_t stored_fence; /* at the destination */
	int claims; /* prepares that were to claim the row */
	void (*in_load)(void); /* called in each, before it commits */
	const char *session; /* the present one; NULL: the first */
	void (*in_close)(void); /* when the destination is closed */
	size_t largest_batch;
	/* Ids that are refused (DATA), alone and in company. */
	bool bad[FAKE_MOST + 1];
	int64_t needs[FAKE_MOST + 1]; /* refused until this id is there */
	int64_t refused_rows; /* rows of all refused loads together */
};

extern struct fake fake;
/* The store, too, is empty then. */
void fake_reset(int64_t source_rows);
/* A pipeline "p" from `end` into itself by sequence, upsert, three tries. */
struct pipeline_settings fake_settings(struct connection *end);

/* The two ends, a file each, and the options that they have: none. */
extern const struct connector_ops fake_connector_ops;
extern const struct destination_ops fake_destination_ops;
extern const struct url_option fake_options[];

#endif
