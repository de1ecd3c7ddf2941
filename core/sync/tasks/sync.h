/*
 * The run that everybody knows: from the mark on, to what is settled. A full
 * refresh is one, too; the mark then follows at its end.
 */
#ifndef TIDEMARK_CORE_SYNC_TASKS_SYNC_H
#define TIDEMARK_CORE_SYNC_TASKS_SYNC_H

#include "core/sync/run/task.h"

extern struct task sync_task;

/* task_ops.locate: computed columns are tried before their first rows are
 * loaded. */
int sync_locate(struct run *r, struct error *err);

#endif
