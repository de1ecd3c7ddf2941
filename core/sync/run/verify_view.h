/*
 * A look at the window of a run as it goes: what window_look.c opens and looks
 * up, and window_whole.c sums up. Nobody else includes this.
 */
#ifndef TIDEMARK_CORE_SYNC_RUN_VERIFY_VIEW_H
#define TIDEMARK_CORE_SYNC_RUN_VERIFY_VIEW_H

#include "core/data/digest_rows.h"
#include "core/sync/parts/reader.h"
#include "core/sync/run/verify_look.h"
#include "core/sync/verify/suspects.h"
#include "core/sync/verify/tally.h"

/* Two of these are in memory at once. */
#define WINDOW_BYTES	(4 << 20)
#define WINDOW_EXAMPLES 10

/* The window, as the source has it now. */
struct window_pass {
	struct connector *connector;
	struct stopper stopper;
	struct source_spec spec;
	struct watermark_spec mark;
	struct schema schema;
	struct settled settled; /* the end of the window */
	struct scan scan;
	struct reader reader;
};

struct window_view {
	struct run_context *c;
	struct run_result *out;
	struct run_verified *found;
	const struct run_verify *run;
	struct window_pass pass;
	/* The source once more, for second looks; opened for the first. */
	struct verify_side sides[COMPARE_SIDES];
	struct compare compare;
	struct suspects suspects;
	struct verify_progress progress; /* of second looks */
	struct watermark end; /* the mark behind the window */
	int64_t left; /* rows to read, where no mark says; -1: it does */
	int64_t tail_left; /* rows of the tail to be found */
	json_t *keys[WINDOW_EXAMPLES]; /* of suspects, while shown */
	struct digest_rows slots;
	struct tally tally; /* of a window that is the whole table */
	bool tallied;
};

void window_tick(void *ctx); /* a struct window_view */
/* Begin the pass, from the window's beginning, `rows` a batch. */
int window_begin(struct window_view *w, size_t rows, struct error *err);
/* Blocks have no order of marks: a batch of them may hold rows of the tail, and
 * others, and all of them are looked at. */
bool window_is_tail(const struct window_view *w, const struct batch *b);
/* Is the batch, and what comes behind it, to be looked at? */
bool window_goes_on(const struct window_view *w, const struct batch *b);

/* Does the window begin with the table, and end where that did, so that the
 * destination has its rows and, but for what the source has lost, no others? */
bool window_is_whole(const struct window_view *w);
/* Count and sum up the rows of the window and all of the destination, at the
 * same time. Rows of equal buckets are there as the source has them; they are
 * added to what was found. */
int window_tally(struct window_view *w, struct error *err);

#endif
