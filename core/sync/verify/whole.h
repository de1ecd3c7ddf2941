/*
 * The suspects of two whole tables, or of a part of them. Both are read at the
 * same time, counted and summed up in buckets (tally.h). The rows of unequal
 * buckets are read once more to find the keys. For a small share of the keys
 * both sides' keys alone are read, and then the rows of the share.
 */
#ifndef TIDEMARK_CORE_SYNC_VERIFY_WHOLE_H
#define TIDEMARK_CORE_SYNC_VERIFY_WHOLE_H

#include "core/sync/verify/driver.h"

struct whole {
	struct driver *d; /* its sides are open, it has a part, and recounts */
	const struct verify_work *work; /* NULL: none is to be filled */
	bool brief; /* stop once the work is full */
	bool sums; /* one difference is enough */
	struct digest *rows; /* for each side, to be set */
	struct compare keys_compare; /* the same key without other columns */
	bool begun;
	bool sampling; /* the suspects are all keys of the part */
	bool too_many; /* for that */
};

void whole_release(struct whole *w);
/* As a driver's. */
int whole_suspect(struct whole *w, bool *more, struct error *err);
/* Behind the run: set what was counted of a share. */
void whole_end(struct whole *w);

#endif
