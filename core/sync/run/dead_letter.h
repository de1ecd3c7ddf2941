/*
 * A batch that the destination refused for its data, under `on_bad_row:
 * dead_letter`. Its good rows are loaded, its bad rows are kept in the state
 * store, and only then the mark moves past it. Wherever the run ends in
 * between, no row is lost: either the mark is before it, or its letter is
 * stored. This is the same for every destination.
 */
#ifndef TIDEMARK_CORE_SYNC_RUN_DEAD_LETTER_H
#define TIDEMARK_CORE_SYNC_RUN_DEAD_LETTER_H

#include "core/sync/run/run.h"

/* `why`: how load_batch() failed. Good rows go in under the mark as it stands,
 * so that they come again if this is not the end: that is harmless. `next`
 * gets its rows_total. `*dead`: rows that are letters now. DATA: more than the
 * config allows; their letters, as far as they were looked for, are stored. The
 * counts are of the rows that are in, and of the letters, also after an error.
 */
int dead_letter_load(struct run *r, const struct batch *b,
		     struct checkpoint *next, const struct error *why,
		     struct load_counts *out, int64_t *dead, struct error *err);

#endif
