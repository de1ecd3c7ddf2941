#include "core/sync/run/run.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/sync/gate/gate.h"
#include "core/sync/parts/marks.h"

void run_init(struct run *r)
{
	schema_init(&r->schema);
	schema_init(&r->written);
	watermark_init(&r->from);
	settled_init(&r->settled);
	checkpoint_init(&r->checkpoint);
	settings_source_spec(r->p, &r->spec);
	settings_watermark_spec(r->p, &r->mark);
	r->scan = (struct scan){ .source = &r->spec,
				 .schema = &r->schema,
				 .mark = &r->mark,
				 .from = &r->from,
				 .settled = &r->settled };
	/* Every row that there is now. */
	if (r->p->strategy == STRATEGY_NONE) {
		r->scan.mark = NULL;
		r->scan.from = NULL;
		r->scan.settled = NULL;
	}
	r->to = *r->p->destination;
	r->to.look = !task_has(r->task, TASK_WRITES);
	marks_target(r->p, &r->target);
	if (r->task->name)
		r->target.pipeline = r->task->name;
	r->target.force = r->options->full_refresh;
	r->target.overwrite = task_has(r->task, TASK_OVERWRITES);
	if (r->p->soft_delete && *r->p->soft_delete)
		r->target.soft_delete = r->p->soft_delete;
	r->target.refresh =
		r->p->mode == LOAD_REPLACE || r->options->full_refresh;
	r->task->ops->init(r);
}

void run_release(struct run *r)
{
	stopper_end(&r->stopper);
	reader_stop(&r->reader);
	run_pace_rest(r->pacing);
	gate_free(r->gate);
	letters_release(&r->letters);
	strlist_release(&r->keys);
	strlist_release(&r->gone);
	if (r->destination)
		r->destination->ops->close(r->destination);
	if (r->source)
		r->source->ops->close(r->source);
	schema_release(&r->schema);
	schema_release(&r->written);
	watermark_release(&r->from);
	watermark_release(&r->keyless.mark);
	watermark_release(&r->keyless.before);
	settled_release(&r->settled);
	checkpoint_release(&r->checkpoint);
	json_decref(r->identity);
	json_decref(r->shape);
	free(r->window_from);
	free(r->window_to);
	free(r->delivered);
	free(r->sizes);
	free(r->since);
}

void run_tick(void *ctx)
{
	struct run *r = ctx;

	run_pace_look(r->pacing);
	r->out->elapsed_us = clock_monotonic_us() - r->out->begun_us;
	if (r->options->progress)
		r->options->progress(r->out, r->options->progress_ctx);
}

bool run_moves_mark(const struct run *r)
{
	return !r->target.refresh && task_has(r->task, TASK_MOVES_MARK);
}

bool run_is_bounded(const struct run *r)
{
	return r->options->max_batches || r->options->max_us;
}

int run_check_bounds(const struct run *r, struct error *err)
{
	if (!r->target.refresh || !run_is_bounded(r))
		return 0;
	return error_set(
		err, ERROR_CONFIG,
		"%s is loaded whole and swapped in at its end (%s), so "
		"%s would never let it end; run it without",
		r->p->name,
		r->p->mode == LOAD_REPLACE ? "mode replace" : "--full-refresh",
		r->options->max_batches ? "--max-batches" : "--max-seconds");
}

size_t run_batch_rows(const struct run *r)
{
	size_t most = r->task->most_rows, rows = r->adapt.rows;

	return most && rows > most ? most : rows;
}

/* The rows about to be loaded stand in the mark's next version. If that is
 * never written, the delivered rows have to be known all the same. */
char *run_mark_standing(const struct run *r, const char *delivered)
{
	const char *stands = r->checkpoint.watermark;
	struct error ignored = ERROR_INIT;
	struct watermark mark;
	char *text;

	if (!delivered || !strategy_has_column(r->p->strategy))
		return xstrdup(stands);
	watermark_init(&mark);
	if (!stands || watermark_from_text(&mark, stands, &ignored)) {
		mark.strategy = r->p->strategy;
		mark.column = xstrdup(r->p->mark_column);
	}
	watermark_raise(&mark, delivered);
	text = watermark_to_text(&mark);
	watermark_release(&mark);
	return text;
}
