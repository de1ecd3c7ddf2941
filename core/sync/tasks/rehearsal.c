#include "core/sync/tasks/rehearsal.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/store/leases.h"
#include "core/sync/ledger/breaker.h"
#include "core/sync/run/run.h"
#include "core/sync/tasks/sync.h"

/* Nothing of a try lasts, so the next one begins from nothing. */
static void rehearsal_again(struct run_result *out)
{
	strlist_release(&out->dry.ddl);
	explanation_release(&out->dry.plan);
	out->batches = out->bytes_read = out->rows_held = 0;
	out->rows_read = out->rows_inserted = out->rows_updated = 0;
	out->rows_unchanged = out->rows_deleted = 0;
	out->rows_dead_lettered = out->rows_missing = 0;
	out->located = false;
	out->earlier = (struct run_counts){ .batches = 0 };
}

/* As prepare leaves it: what was delivered stays known. */
static void rehearsal_forget(struct run *r)
{
	watermark_forget(&r->from);
	free(r->checkpoint.watermark);
	r->checkpoint.watermark = NULL;
}

/* In place of task_prepare(), which refuses the same. */
static int rehearsal_prepare(struct run *r, struct error *err)
{
	const struct destination_ops *ops = r->destination->ops;
	struct inspection found;
	int rc = run_tell_ledger(r, err);

	inspection_init(&found);
	if (!rc)
		rc = ops->inspect(r->destination, &r->target, &found, err);
	if (!rc)
		strlist_copy(&r->out->dry.ddl, &found.ddl);
	if (!rc)
		rc = problems_to_error(&found.problems, err);
	r->target.preview = true;
	if (!rc)
		rc = ops->prepare(r->destination, &r->target, err);
	if (!rc && found.anew)
		rehearsal_forget(r);
	inspection_release(&found);
	if (!rc)
		xassign(&r->window_from, r->checkpoint.watermark);
	return rc;
}

static int rehearsal_explain(struct run *r, struct error *err)
{
	struct explanation *plan = &r->out->dry.plan;
	int rc = r->source->ops->explain(r->source, r->adapt.rows, plan, err);

	return rc ? rc
		  : r->destination->ops->explain(r->destination, plan, err);
}

static void rehearsal_begin(struct run_context *c, struct run_result *out)
{
	(void)c;
	out->dry.on = true;
}

static const struct task_ops rehearsal_ops = {
	.traits = TASK_MOVES_MARK | TASK_MIRRORS | TASK_GATED | TASK_PACED |
		  TASK_PRE_CHECKED,
	.begin = rehearsal_begin,
	.held = task_no_held,
	.init = task_no_init,
	.describe = task_describe,
	.locate = sync_locate,
	.prepare = rehearsal_prepare,
	.bound = task_no_step,
	.begun = rehearsal_explain,
	.mark = task_mark,
	.batch_id = task_no_batch_id,
	.loading = task_no_loading,
	.loaded = task_no_loaded,
	.finish = task_finish,
	.again = rehearsal_again,
	.end = task_no_end,
};

struct task rehearsal_task = { .ops = &rehearsal_ops };

static int rehearsal_look_at_lease(struct store *store,
				   const struct pipeline_settings *p,
				   struct dry_run *out, struct error *err)
{
	struct lease now;
	bool held = false;
	int rc;

	lease_init(&now);
	rc = store_lease_get(store, p->name, &held, &now, err);
	if (!rc && held)
		out->lease = lease_json(&now);
	lease_release(&now);
	return rc;
}

void rehearsal_look(struct store *store, const struct pipeline_settings *p,
		    struct dry_run *out)
{
	struct error err = ERROR_INIT;
	bool single;

	if (!store)
		return;
	if (rehearsal_look_at_lease(store, p, out, &err))
		log_warn("who runs %s now is not known: %s", p->name,
			 err.message);
	else if (breaker_check(store, p, &single, &err))
		out->breaker = xstrdup(err.message);
}
