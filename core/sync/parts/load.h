/*
 * One batch into the destination, as often as it takes, with its rows
 * accounted for.
 */
#ifndef TIDEMARK_CORE_SYNC_PARTS_LOAD_H
#define TIDEMARK_CORE_SYNC_PARTS_LOAD_H

#include "core/plugin/destination.h"
#include "core/sync/parts/tries.h"

/* A batch that a CONFLICT rolled back is loaded again, under the same name,
 * counted by `tries`; one that is loaded and `lasts` begins their count anew.
 * BUG if the counts do not add up to the rows. With target->preview nothing is
 * loaded, but for what load() would count. */
int load_batch(struct destination *d, const struct target *target,
	       const struct batch *b, const struct checkpoint *next, bool lasts,
	       struct tries *tries, struct load_counts *out, struct error *err);

#endif
