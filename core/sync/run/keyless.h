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
/* `mark`, the one behind `b`, as it may be stored. */
void run_keyless_mark(struct run *r, const struct batch *b,
		      struct watermark *mark);

#endif
