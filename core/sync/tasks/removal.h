/*
 * Keys that the source has no longer leave the destination. Each is looked for
 * at the source once more, under the lease, right before its row goes. A key
 * that came back since the look is left. The source may still get the key
 * between this question and the removal. Then the row that goes is the old one
 * all the same, for nobody else loads while the lease is held. The new row lies
 * past the mark, and the next run brings it.
 */
#ifndef TIDEMARK_CORE_SYNC_TASKS_REMOVAL_H
#define TIDEMARK_CORE_SYNC_TASKS_REMOVAL_H

#include "core/base/error.h"

struct run;
struct verify_work;

/* The extra keys of `work`, some thousands in a transaction. DATA: a key is no
 * value of the source's type. */
int removal_run(struct run *r, const struct verify_work *work,
		struct error *err);

#endif
