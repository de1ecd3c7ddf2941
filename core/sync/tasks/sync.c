#include "core/sync/tasks/sync.h"

#include "core/base/failpoint.h"
#include "core/sync/parts/changing.h"
#include "core/sync/run/run.h"
#include "core/sync/tasks/streams.h"

int sync_locate(struct run *r, struct error *err)
{
	if (r->from.value || !run_moves_mark(r))
		return 0;
	return changing_try(r->p, err);
}

static int sync_finish(struct run *r, const struct read_batch *last,
		       struct error *err)
{
	int rc = task_finish(r, last, err);

	if (!rc && r->split)
		rc = failpoint("streams_written", err);
	return rc || !r->split ? rc : streams_forget(r, err);
}

static const struct task_ops sync_ops = {
	.traits = TASK_MOVES_MARK | TASK_MIRRORS | TASK_GATED | TASK_WRITES |
		  TASK_PACED | TASK_VERIFIES | TASK_HOOKED | TASK_PRE_CHECKED,
	.begin = task_no_begin,
	.held = task_no_held,
	.init = task_no_init,
	.describe = task_describe,
	.locate = sync_locate,
	.prepare = task_prepare,
	.bound = streams_load,
	.begun = task_no_step,
	.mark = task_mark,
	.batch_id = task_no_batch_id,
	.loading = task_no_loading,
	.loaded = task_no_loaded,
	.finish = sync_finish,
	.again = task_no_again,
	.end = task_no_end,
};

struct task sync_task = { .ops = &sync_ops };
