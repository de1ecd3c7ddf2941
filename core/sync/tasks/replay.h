/*
 * A window that was loaded before, once more (`runs replay`). Its rows are read
 * as they are now and loaded under the identities that their batches had. A row
 * that is right at the destination stays as it is, and so does the mark.
 */
#ifndef TIDEMARK_CORE_SYNC_TASKS_REPLAY_H
#define TIDEMARK_CORE_SYNC_TASKS_REPLAY_H

#include "core/settings/settings.h"
#include "core/store/history.h"
#include "core/sync/run/task.h"

struct replay {
	struct task task;
	struct run_list runs; /* the one */
	struct batch_list batches;
	const struct pipeline_settings *pipeline;
};

/* Find the run in the store of `s`, and its pipeline. CONFIG if there is no
 * such run, or it loaded nothing. CONFIG also if its pipeline has another
 * config by now, or is loaded whole every time. To be released in any case. */
int replay_find(struct replay *out, const struct settings *s,
		const char *run_id, struct error *err);
void replay_release(struct replay *p);

#endif
