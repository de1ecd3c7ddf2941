/*
 * Most rows of a part of the source are equal at the destination. One reading
 * of the destination, from their lowest key to their highest, clears those
 * rows. Only the others are looked up one by one. The first column of the key
 * has to be an integer.
 */
#ifndef TIDEMARK_CORE_SYNC_VERIFY_CLEAR_H
#define TIDEMARK_CORE_SYNC_VERIFY_CLEAR_H

#include "core/sync/verify/pass.h"

/* Can parts of such a table be cleared? */
bool pass_clears(const struct pipeline_settings *p,
		 const struct compare *compare);
/* Rows of the source were read by somebody else: put them into a roster that a
 * pass may begin with, as `cleared` and `known`. Only if pass_clears(). */
void pass_know(struct roster *to, struct pass_known *k,
	       const struct compare *compare, const struct batch *b,
	       struct digest_rows *slots);
/* It has no rows to begin with. */
void pass_forget(struct pass *x);
/* If the pass does not begin with as many rows as there are now, begin it, and
 * read as many of them as `x->cleared` takes. Then read the rows of the
 * destination between their keys, unless there are many times more of them. The
 * rows that are equal at both sides are in `x->cleared`, `x->there` and
 * `*x->rows`. `*all`: these are all rows of the pass. Otherwise both sides have
 * to be opened anew. */
int pass_clear(struct pass *x, struct driver *d, bool *all, struct error *err);

#endif
