/*
 * Dead letters once more (`dead-letters replay`): their rows are read from the
 * source by their keys, as they are today, and loaded as any batch is. The mark
 * stays where it is.
 */
#ifndef TIDEMARK_CORE_SYNC_TASKS_LETTERS_H
#define TIDEMARK_CORE_SYNC_TASKS_LETTERS_H

#include "core/store/letters.h"
#include "core/sync/run/task.h"

struct letters_task {
	struct task task;
	const struct dead_letter_list *list; /* letters of any pipelines */
};

void letters_task_init(struct letters_task *t,
		       const struct dead_letter_list *list);

#endif
