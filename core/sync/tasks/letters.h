/*
 * Dead letters once more: their rows are read from the source by their keys,
 * as they are today, and loaded as any batch is, with the mark left where it
 * stands. Called by try.c and load_pass.c.
 */
#ifndef TIDEMARK_CORE_SYNC_TASKS_LETTERS_H
#define TIDEMARK_CORE_SYNC_TASKS_LETTERS_H

#include "core/base/error.h"

struct run;

/* The keys to ask the source for. CONFIG: a letter's key is not of the columns
 * that are the key now. */
int letter_replay_keys(struct run *r, struct error *err);
/* All that came is loaded, or a letter again. The letters of rows that did not
 * come stay, and are named: nobody else has them. DATA: some were refused. */
int letter_replay_end(struct run *r, struct error *err);

#endif
