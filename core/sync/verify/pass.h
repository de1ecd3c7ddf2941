/*
 * One pass over rows of the source, in pages and by a connection of its own,
 * beside the destination. Each page is looked up there by its keys. Or all of
 * the destination is read at the same time, and both are summed up.
 */
#ifndef TIDEMARK_CORE_SYNC_VERIFY_PASS_H
#define TIDEMARK_CORE_SYNC_VERIFY_PASS_H

#include "core/sync/parts/reader.h"
#include "core/sync/verify/driver.h"
#include "core/sync/verify/roster.h"

/* Large pages cost the source least. */
#define PASS_TALLY_ROWS 10000

/* The rows of the source that a roster has. */
struct pass_known {
	uint64_t rows;
	bool any;
	bool full; /* there are rows that it did not take */
	/* The bounds of the first column of their keys; of an unsigned type,
	 * the bits of them. */
	int64_t low, high;
};

struct pass {
	/* The choice of rows: the caller describes them, and sets the bounds of
	 * `scan` once the source is open. */
	struct source_spec spec;
	struct watermark_spec mark;
	struct schema schema;
	struct settled settled;
	struct scan scan;
	/* Is this row to be compared? It may set `*delivered`, see struct
	 * suspect. */
	bool (*wants)(void *ctx, const struct batch *b, size_t row,
		      bool *delivered);
	/* Is the batch, and what comes behind it, to be looked at? */
	bool (*goes_on)(void *ctx, const struct batch *b);
	void *ctx;
	bool repeats; /* a row may come by again: the last one counts */
	int64_t *rows; /* the source's compared rows; added to */
	struct digest there; /* the rows that were looked up */
	struct roster cleared; /* by pass_clear(): they need no look-up */
	struct pass_known known; /* the rows in it */
	struct connector *connector;
	struct stopper stopper;
	struct reader reader;
	struct digest_rows slots;
};

void pass_init(struct pass *x);
int pass_open(struct pass *x, const struct pipeline_settings *p,
	      struct error *err);
/* It may be opened anew; what was found out stays. */
void pass_close(struct pass *x);
void pass_release(struct pass *x);
/* Pages of `rows` rows are on their way. */
int pass_start(struct pass *x, struct driver *d, size_t rows,
	       struct error *err);
/* NULL: nothing more of it is to be looked at, or an error. Give it back to
 * `x->reader`. */
const struct batch *pass_next(struct pass *x, struct driver *d, int *rc,
			      struct error *err);
/* The first page is on its way: of the rows of a look-up. */
int pass_begin(struct pass *x, struct driver *d, struct error *err);
/* Find suspects of `d` in the next pages, until there are many. */
int pass_suspect(struct pass *x, struct driver *d, bool *more,
		 struct error *err);
/* Begin, and read all rows and all of the destination into the tally of `d`.
 * Rows of equal buckets then need no look-up; `*rows` is their number. */
int pass_tally(struct pass *x, struct driver *d, struct error *err);

#endif
