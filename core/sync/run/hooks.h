/*
 * The user's SQL around a load: load.before in front of the first row, and
 * load.after behind the last one. Both run at the destination, in a session of
 * their own, each statement by itself.
 *
 * A note in the state store says that load.after is owed. It is written before
 * the first row is loaded, and crossed out once load.after is done. So a run
 * that is killed in between leaves it to the next one. Whatever loads rows
 * leaves the note, and only `run` pays it.
 */
#ifndef TIDEMARK_CORE_SYNC_RUN_HOOKS_H
#define TIDEMARK_CORE_SYNC_RUN_HOOKS_H

#include <stdbool.h>

#include "core/base/error.h"

struct run;

/* For all tries of a run. */
struct run_hooks {
	bool begun; /* load.before is done */
	bool owed; /* the note is written */
};

/* The mark is found. A fence there that is no lower than this run's is of a run
 * that the state store has forgotten, with what it owed. */
int hooks_meet(struct run *r, struct error *err);
/* Rows are about to be loaded, removed or swapped in. */
int hooks_begin(struct run *r, struct error *err);
/* The try has come to its end, and nothing failed. */
int hooks_end(struct run *r, struct error *err);

#endif
