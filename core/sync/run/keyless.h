/*
 * A run in mode append without a key: core/sync/parts/keyless.h.
 *
 * The mark in the destination is a mark up to which every row is there, and
 * `open` the number of rows behind it. They are the last of the raw table. A
 * run that begins at the mark has the destination remove them with its first
 * batch, and reads them again.
 */
#ifndef TIDEMARK_CORE_SYNC_RUN_KEYLESS_H
#define TIDEMARK_CORE_SYNC_RUN_KEYLESS_H

#include "core/sync/run/run.h"

/* The source is described. CONFIG: a setting or this kind of run would load
 * rows a second time. */
int run_keyless_check(struct run *r, struct error *err);
/* r->from is known. If all rows are to be read again, the table is built anew:
 * this run is a refresh from here on. `prepared`: it is too late for that in
 * this try (TRANSIENT). */
int run_keyless_look(struct run *r, bool prepared, struct error *err);
/* How many batches are to be read in a run that may load `most` (0: any
 * number). One more tells whether the rows of a mark go on. */
int64_t run_keyless_bound(struct run *r, int64_t most);
/* Has the run loaded all batches that its bound allows, so that `b` is left to
 * the next run? */
bool run_keyless_is_over(const struct run *r, const struct batch *b);
/* `b` is about to be loaded. A bound may end the pass behind it. Then rows of a
 * mark that may go on are left to the next run, unless the batch has no others.
 * So the mark does not stay where it is for ever. */
void run_keyless_trim(struct run *r, struct batch *b);
/* A bound has ended the pass. CONFIG: the mark is where the run began, and so
 * will the next run. */
int run_keyless_check_progress(const struct run *r, struct error *err);
/* `mark`, the one behind `b`, as it may be stored. */
void run_keyless_mark(struct run *r, const struct batch *b,
		      struct watermark *mark);

#endif
