/*
 * One batch into the destination, as often as it takes, with its rows
 * accounted for.
 */
#ifndef TIDEMARK_CORE_SYNC_PARTS_LOAD_H
#define TIDEMARK_CORE_SYNC_PARTS_LOAD_H

#include "core/plugin/destination.h"
#include "core/sync/parts/tries.h"

/* Load a batch. After a CONFLICT, which rolled it back, it is loaded again
 * under the same name, counted by `tries`. A loaded batch that `lasts` begins
 * their count anew. BUG if the counts do not add up to the rows. With
 * target->preview nothing is loaded, only counted as load() would. */
int load_batch(struct destination *d, const struct target *target,
	       const struct batch *b, const struct checkpoint *next, bool lasts,
	       struct tries *tries, struct load_counts *out, struct error *err);

#endif
