/*
 * Most rows of a part of the source are equal at the destination. One reading
 * of the destination, from their lowest key to their highest, clears those
 * rows. Only the others are looked up one by one. The first column of the key
 * has to be an integer.
 */
#ifndef TIDEMARK_CORE_SYNC_VERIFY_CLEAR_H
#define TIDEMARK_CORE_SYNC_VERIFY_CLEAR_H

#include "core/sync/verify/pass.h"

/* Begin the pass, and read as many of its rows as `x->cleared` takes. Then read
 * the rows of the destination between their keys, unless there are many times
 * more of them. The rows that are equal at both sides are in `x->cleared`,
 * `x->there` and `*x->rows`. `*all`: these are all rows of the pass. Otherwise
 * both sides have to be opened anew. */
int pass_clear(struct pass *x, struct driver *d, bool *all, struct error *err);

#endif
