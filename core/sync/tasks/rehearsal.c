#include "core/sync/tasks/rehearsal.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/engine.h"
#include "core/base/log.h"
#include "core/store/leases.h"
#include "core/sync/ledger/breaker.h"
#include "core/sync/parts/range_value.h"
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

static int rehearsal_check_since(const struct run *r, struct error *err)
{
	if (!strategy_has_column(r->p->strategy))
		return error_set(err, ERROR_CONFIG,
				 "pipeline %s: --since needs a column that "
				 "marks the rows of %s, and strategy %s has "
				 "none" ERROR_FIX ": leave it out, or take "
				 "--limit",
				 r->p->name, r->p->source_table,
				 strategy_name(r->p->strategy));
	if (!r->schema.n_key)
		return error_set(err, ERROR_CONFIG,
				 "pipeline %s: table %s has no key, so a dry "
				 "run cannot begin in its middle" ERROR_FIX
				 ": look at its rows with tidemark copy %s - "
				 "--since VALUE",
				 r->p->name, r->p->source_table,
				 settings_call(r->p));
	return 0;
}

/* The pipeline's own mark stays out of it. */
static int rehearsal_since(struct run *r, struct error *err)
{
	enum range_kind kind = range_value_kind(&r->mark, &r->schema);
	long at = schema_find_source(&r->schema, r->mark.column);
	char *since = NULL;
	int rc = range_value_read(kind, r->mark.column, "--since",
				  r->options->since, &since, err);

	if (!rc && kind == RANGE_TIME && at >= 0)
		rc = range_value_time(r->schema.columns[at].type.kind,
				      engine_has(r->p->source->url.engine,
						 ENGINE_SHORT_YEARS),
				      r->mark.column, "--since", &since, err);
	watermark_forget(&r->from);
	r->mark.lag_us = r->mark.lag_count = 0;
	r->mark.tail = TAIL_HOLD;
	r->mark.nulls = NULLS_INCLUDE;
	free(r->since);
	r->since = since;
	r->chosen.from = since;
	r->scan.range = &r->chosen;
	return rc;
}

static int rehearsal_bound(struct run *r, struct error *err)
{
	int rc;

	if (!r->options->since)
		return 0;
	rc = rehearsal_check_since(r, err);
	return rc ? rc : rehearsal_since(r, err);
}

static int rehearsal_end(struct run_context *c, struct run_result *out, int rc,
			 struct error *err)
{
	(void)err;
	/* Rows that the user chose move no mark. */
	if (c->options->since)
		xassign(&out->watermark_after, out->watermark_before);
	return rc;
}

static void rehearsal_begin(struct run_context *c, struct run_result *out)
{
	out->dry.on = true;
	out->dry.limit = c->options->limit;
	out->dry.aside = c->options->since != NULL;
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
	.bound = rehearsal_bound,
	.begun = rehearsal_explain,
	.mark = task_mark,
	.batch_id = task_no_batch_id,
	.loading = task_no_loading,
	.loaded = task_no_loaded,
	.finish = task_finish,
	.again = rehearsal_again,
	.end = rehearsal_end,
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
