#include "core/sync/run/unchanged.h"

#include <string.h>

#include "core/base/engine.h"
#include "core/base/log.h"
#include "core/base/stop.h"
#include "core/sync/verify/verify.h"

/* The last run has loaded the same columns of the same table, under the same
 * settings. */
static bool unchanged_by_mark(const struct run *r)
{
	const char *column = r->mark.column ? r->mark.column : "";
	struct error ignored = ERROR_INIT;
	struct watermark seen;
	bool same;

	if (!r->checkpoint.found || !r->checkpoint.watermark)
		return false;
	watermark_init(&seen);
	same = !watermark_from_text(&seen, r->checkpoint.watermark, &ignored) &&
	       seen.strategy == r->mark.strategy &&
	       !strcmp(seen.column ? seen.column : "", column) && seen.shape &&
	       seen.identity && json_equal(seen.shape, r->shape) &&
	       json_equal(seen.identity, r->identity);
	watermark_release(&seen);
	return same;
}

/* The target is as a run would make it. */
static bool unchanged_target(struct run *r)
{
	struct target target = r->target;
	struct error ignored = ERROR_INIT;
	struct inspection found;
	bool same;

	target.refresh = false;
	inspection_init(&found);
	same = !r->destination->ops->inspect(r->destination, &target, &found,
					     &ignored) &&
	       found.table_exists && !found.anew && !found.ddl.n &&
	       !found.extra.n;
	inspection_release(&found);
	return same;
}

static bool unchanged_rows(struct run *r)
{
	const struct verify_terms terms = { .sums = true,
					    .looked_at =
						    r->options->looked_at };
	struct error why = ERROR_INIT;
	struct verify_result found;
	bool same;

	same = !verify_pipeline(r->p, &terms, &found, &why) &&
	       verify_result_equal(&found) && !found.kept.n;
	r->same_rows = (int64_t)found.rows[COMPARE_SOURCE].rows;
	if (!same)
		log_debug("%s is loaded: %s", r->p->destination_table,
			  why.code ? why.message : "it differs");
	verify_result_release(&found);
	return same;
}

/* Without a mark or a key no run could read less. With both one could, so the
 * user who has that table replaced all the same is taken at his word. */
static bool unchanged_applies(const struct run *r)
{
	return r->p->strategy == STRATEGY_NONE ||
	       (r->p->mode == LOAD_REPLACE && !r->schema.n_key);
}

/* A letter whose row is gone by now has to go, too, as a load sees to. */
static bool unchanged_has_letters(const struct run *r)
{
	struct error ignored = ERROR_INIT;
	int64_t n = 0;

	return r->store &&
	       (store_letters_count(r->store, r->p->name, &n, &ignored) || n);
}

/* It looks through the rows that a run reads, and may be newer than they are.
 */
static bool unchanged_is_gated(const struct pipeline_settings *p)
{
	const struct gate_settings *g = &p->gate;

	return g->not_null.n || g->unique.n || g->n_limits || g->min_rows ||
	       g->max_rows;
}

/* A dry run has the file open to read, and a file that has one writer is not
 * opened beside it in another way. */
static bool unchanged_opens(const struct run *r)
{
	return task_has(r->task, TASK_WRITES) ||
	       !engine_has(r->p->destination->url.engine, ENGINE_ONE_WRITER);
}

int run_look_unchanged(struct run *r, struct error *err)
{
	if (!unchanged_applies(r) || r->options->full_refresh ||
	    r->options->limit || unchanged_is_gated(r->p) ||
	    !task_has(r->task, TASK_MOVES_MARK) || !unchanged_opens(r) ||
	    !unchanged_by_mark(r) || unchanged_has_letters(r) ||
	    !unchanged_target(r))
		return 0;
	r->unchanged = unchanged_rows(r);
	if (stop_requested())
		return error_set(err, ERROR_STOPPED, "stopped by a signal");
	if (r->unchanged)
		log_debug("%s has the rows of %s already",
			  r->p->destination_table, r->p->source_table);
	return 0;
}
