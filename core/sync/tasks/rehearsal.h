/*
 * `run --dry-run`: a run that writes nothing. It asks what preparing would
 * change, has the destination preview in place of load, and shows the
 * statements with their indexes. It takes no lease and makes no state store: an
 * existing one is asked who runs the pipeline.
 */
#ifndef TIDEMARK_CORE_SYNC_TASKS_REHEARSAL_H
#define TIDEMARK_CORE_SYNC_TASKS_REHEARSAL_H

#include "core/sync/parts/result.h"
#include "core/sync/run/task.h"

extern struct task rehearsal_task;

/* Whether a run could begin now; `store` NULL, or one that does not answer:
 * nothing is known. */
void rehearsal_look(struct store *store, const struct pipeline_settings *p,
		    struct dry_run *out);

#endif
