/*
 * `backfill`: a window of a pipeline's rows, read and loaded once more in
 * chunks. The window goes by the values of the mark column (xmin: of the first
 * key column). The chunks are cut where the source's rows lie, so that they are
 * of one size. Rows of one value are never split between two chunks.
 *
 * The plan writes nothing.
 */
#ifndef TIDEMARK_CORE_SYNC_BACKFILL_BACKFILL_H
#define TIDEMARK_CORE_SYNC_BACKFILL_BACKFILL_H

#include "core/base/clock.h"
#include "core/data/digest.h"
#include "core/plugin/connector.h"
#include "core/settings/settings.h"
#include "core/store/chunks.h"

/* About so many: a multiple of the pieces that the destination's storage
 * takes. As many fit into the roster of a comparison. */
#define BACKFILL_CHUNK_ROWS 250000

struct backfill_window {
	const char *from, *to; /* as the user wrote them; NULL: open */
	int64_t chunk_rows; /* 0: BACKFILL_CHUNK_ROWS */
};

/* A digest of the settings that shape the rows: chunks belong to one. */
void backfill_config(const struct pipeline_settings *p,
		     char out[DIGEST_TEXT_SIZE]);

/* Cut the window. CONFIG: a value that is not of the mark's type, `from` after
 * `to`, or a mode that is loaded whole. DATA: rows without a mark under nulls:
 * error. The caller releases `out` in any case. */
int backfill_plan(const struct pipeline_settings *p,
		  const struct backfill_window *window, struct chunk_list *out,
		  struct error *err);

/* Put the window's chunks into the store. `*resumed`: they were there, and go
 * on where they are; those that were set aside are queued anew. `again`: even
 * if they are done, from the beginning. CONFIG, besides: a backfill that is not
 * over has rows in common with it; SCHEMA: the target is not there yet. */
int backfill_queue(const struct pipeline_settings *p,
		   const struct backfill_window *window, bool again,
		   struct store *store, struct chunk_list *out, bool *resumed,
		   struct error *err);
/* Forget the backfill `id` (NULL: each with a chunk that is not done) among the
 * pipeline's chunks `known`. Remove the traces of begun chunks at the
 * destination: a worker that is at one gives it up. */
int backfill_forget(const struct pipeline_settings *p, struct store *store,
		    const struct chunk_list *known, const char *id,
		    struct error *err);
/* Forget those that are not over; `*chunks`: so many were left. */
int backfill_cancel(const struct pipeline_settings *p, struct store *store,
		    int64_t *chunks, struct error *err);

struct backfill_sums {
	int64_t n, done, running, queued, failed;
	int64_t rows, rows_done, rows_failed;
	double rate; /* rows/s, of all workers; 0: not known yet */
	double eta_seconds; /* -1: not known yet */
	int64_t held; /* chunks among the running ones */
	/* The longest hold among them, and since when: JSON of the list, or
	 * NULL. */
	const char *paused;
	char since[CLOCK_TEXT_SIZE];
};
/* Sum up one backfill; NULL: all of them. */
void backfill_sum(const struct chunk_list *chunks, const char *backfill_id,
		  struct backfill_sums *out);

/* {"backfill_id","chunks","done","running","queued","failed","held","paused",
 * "rows","rows_done","rows_per_second","eta_seconds"} of the newest of them,
 * null if there is none; new reference. */
json_t *backfill_newest_json(const struct chunk_list *chunks);
/* {"chunk_id","from","to","state","rows",...}; new reference. */
json_t *backfill_chunk_json(const struct chunk *c);
/* The same, and whose it is, its times, and whether it was compared; new
 * reference. */
json_t *backfill_result_json(const struct chunk *c);

#endif
