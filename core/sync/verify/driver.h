/*
 * The straight line of every comparison of a table with its source:
 *
 * 1. The caller finds keys that seem to differ (suspects), a part at a time.
 * 2. Both sides are asked for them again, the destination first.
 * 3. Some of them are excused: dead letters, rows past the mark.
 * 4. The others are counted, and the first of them are shown.
 *
 * It goes on until the caller has no more. A row that changes meanwhile is no
 * difference by that alone, so writers may go on. Nothing is written anywhere.
 */
#ifndef TIDEMARK_CORE_SYNC_VERIFY_DRIVER_H
#define TIDEMARK_CORE_SYNC_VERIFY_DRIVER_H

#include "core/plugin/store.h"
#include "core/sync/parts/difference.h"
#include "core/sync/verify/part.h"
#include "core/sync/verify/suspects.h"
#include "core/sync/verify/tally.h"

struct driver;

/* The differences between comparisons. No function is NULL. */
struct driver_terms {
	/* Find the suspects of the next part. `*more`: there may be others
	 * behind them. */
	int (*suspect)(struct driver *d, bool *more, struct error *err);
	/* Mark the suspects that lie past the mark as `past`. */
	int (*excuse)(struct driver *d, struct error *err);
	/* One that differs, `past` or not, was counted. */
	void (*judged)(struct driver *d, const struct suspect *x);
	/* The rows of the source are counted anew before they are judged;
	 * false: a row that is not as it was found has changed. */
	bool recounts;
	struct store *letters; /* its dead letters are excused; NULL: none is */
	size_t examples; /* the most that are shown */
	bool values; /* with the rows of both sides */
	bool extra_only; /* show no other kind */
};

struct driver {
	const struct pipeline_settings *p;
	const struct driver_terms *terms;
	void *ctx; /* the caller's */
	/* Where the caller has opened no source, the second look opens it. */
	struct verify_side sides[COMPARE_SIDES];
	struct compare compare;
	struct watermark mark; /* rows at or below it have been delivered */
	struct verify_progress progress;
	const struct verify_part *part; /* summed up alone; NULL: all is */
	struct tally tally; /* since driver_tally_begin() */
	bool tallied;
	struct suspects suspects; /* the present part's */
	struct digest recounted[COMPARE_SIDES]; /* all rows of suspects */
	/* The caller's; added to. */
	struct differences *found;
	json_t *examples; /* {"key", "kind"}; may be NULL if none is shown */
};

/* The caller fills in the pointers and `progress`. */
void driver_init(struct driver *d);
void driver_release(struct driver *d);
/* Close both sides, so that they can be opened again. */
void driver_close(struct driver *d);
/* Open the destination for what the source has, and match their columns. */
int driver_match(struct driver *d, const struct schema *source,
		 struct error *err);
void driver_tally_begin(struct driver *d);
/* Counts each row of either side, and sums it up in the tally. */
struct verify_look driver_tallying(struct driver *d);
int driver_run(struct driver *d, struct error *err);
/* Is there a suspect that nothing excuses? */
bool driver_has_open(const struct driver *d);

#endif
