#include "core/sync/tasks/replay.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/store/history.h"
#include "core/store/ids.h"
#include "core/store/session.h"
#include "core/sync/ledger/history.h"
#include "core/sync/ledger/ledger.h"
#include "core/sync/parts/state.h"
#include "core/sync/run/run.h"
#include "core/sync/run/try.h"

/* The position alone: what is pending is of each pass its own. */
static bool replay_same(const char *a, const char *b)
{
	struct error ignored = ERROR_INIT;
	struct watermark x, y;
	bool same;

	if (!a || !b)
		return a == b;
	watermark_init(&x);
	watermark_init(&y);
	same = !watermark_from_text(&x, a, &ignored) &&
	       !watermark_from_text(&y, b, &ignored);
	json_decref(x.pending);
	json_decref(y.pending);
	x.pending = y.pending = NULL;
	same = same && watermark_equal(&x, &y);
	watermark_release(&x);
	watermark_release(&y);
	return same;
}

/* The identity of a run of rows by their keys is made of its first attempt's.
 */
static bool replay_is_aside(const struct replay *p, struct store *store)
{
	const char *run_id = p->runs.items[0].run_id;
	const struct run_filter filter = { .run_id = run_id,
					   .limit = HISTORY_ATTEMPTS };
	struct attempt_list list = { NULL, 0, 0 };
	struct error ignored = ERROR_INIT;
	char id[DIGEST_TEXT_SIZE] = "";

	store_attempts_list(store, &filter, &list, &ignored);
	for (size_t i = 0; i < list.n && strcmp(id, run_id) != 0; i++)
		ledger_aside_id(p->pipeline, list.items[i].attempt_id, id);
	attempt_list_release(&list);
	return !strcmp(id, run_id);
}

static int replay_check_config(const struct replay *p, struct store *store,
			       struct error *err)
{
	const struct run_record *run = &p->runs.items[0];
	char id[DIGEST_TEXT_SIZE];

	if (p->pipeline->mode == LOAD_REPLACE)
		return error_set(err, ERROR_CONFIG,
				 "pipeline %s is in mode replace: every run "
				 "loads all of it; tidemark %s %s does",
				 run->pipeline, settings_run(p->pipeline),
				 settings_call(p->pipeline));
	ledger_run_id(p->pipeline, run->window_from, id);
	if (!strcmp(id, run->run_id))
		return 0;
	if (replay_is_aside(p, store))
		return error_set(
			err, ERROR_CONFIG,
			"run %s loaded rows by their keys and has no window. "
			"tidemark dead-letters replay %s%s loads the "
			"dead letters that there are, tidemark verify --repair "
			"%s what differs",
			run->run_id, p->pipeline->call ? "" : "--pipeline ",
			settings_call(p->pipeline), settings_call(p->pipeline));
	return error_set(err, ERROR_CONFIG,
			 "the config of pipeline %s has changed since run %s "
			 "(its tables, columns, where, key, watermark, mode, "
			 "tenant or logic_version): its window would be "
			 "another run now. Set the config back, or read "
			 "everything under the new one: tidemark watermark "
			 "reset %s",
			 run->pipeline, run->run_id,
			 settings_call(p->pipeline));
}

/* A replay of nothing would call a run well that failed. In xmin the window has
 * no end, so that it is never empty. */
static int replay_check_window(const struct replay *p, struct error *err)
{
	const struct run_record *run = &p->runs.items[0];

	if (p->pipeline->strategy == STRATEGY_XMIN ||
	    (run->window_to && !replay_same(run->window_from, run->window_to)))
		return 0;
	return error_set(err, ERROR_CONFIG,
			 "the window of run %s is empty: nothing was loaded "
			 "past its start that could be read again (a full "
			 "refresh has no window). tidemark %s %s goes on from "
			 "the mark, and with --full-refresh reads everything",
			 run->run_id, settings_run(p->pipeline),
			 settings_call(p->pipeline));
}

static int replay_look(struct replay *out, struct store *store,
		       const char *run_id, struct error *err)
{
	struct run_filter filter = { .limit = 1 };
	char *id = NULL;
	int rc = store_id_find(store, STORE_IDS_RUNS, run_id, &id, err);

	filter.run_id = id;
	if (!rc)
		rc = store_runs_list(store, &filter, &out->runs, err);
	if (!rc && !out->runs.n)
		rc = history_no_run(run_id, err);
	if (!rc)
		rc = store_batches_list(store, id, &out->batches, err);
	free(id);
	return rc;
}

static int replay_check(struct replay *p, const struct settings *s,
			struct store *store, struct error *err)
{
	const struct run_record *run = &p->runs.items[0];
	int rc;

	p->pipeline = settings_pipeline(s, run->pipeline, err);
	if (!p->pipeline)
		return -(int)err->code;
	rc = replay_check_config(p, store, err);
	/* One that is under way is waited for. */
	if (!rc && strcmp(run->state, "RUNNING") != 0)
		rc = replay_check_window(p, err);
	return rc;
}

void replay_release(struct replay *p)
{
	run_list_release(&p->runs);
	batch_list_release(&p->batches);
}

/* With the lease: the run may have been under way when it was looked at first.
 */
static int replay_find_again(struct replay *p, struct store *store,
			     struct error *err)
{
	char *run_id = xstrdup(p->runs.items[0].run_id);
	int rc;

	replay_release(p);
	rc = replay_look(p, store, run_id, err);
	free(run_id);
	return rc ? rc : replay_check_window(p, err);
}

static struct replay *replay_of(const struct task *t)
{
	return (struct replay *)t;
}

static void replay_set_window(struct run_result *out,
			      const struct run_record *run)
{
	free(out->run_id);
	free(out->watermark_before);
	free(out->watermark_after);
	out->run_id = xstrdup(run->run_id);
	out->watermark_before = xstrdup(run->window_from);
	out->watermark_after = xstrdup(run->window_to);
	out->located = true;
}

static void replay_begin(struct run_context *c, struct run_result *out)
{
	const struct replay *p = replay_of(c->options->task);

	replay_set_window(out, &p->runs.items[0]);
}

static int replay_held(struct run_context *c, struct run_result *out,
		       struct error *err)
{
	struct replay *p = replay_of(c->options->task);
	int rc = replay_find_again(p, c->store, err);

	if (!rc)
		replay_set_window(out, &p->runs.items[0]);
	return rc;
}

/* Take the sizes of the batches of the first attempt that loaded any. */
static void replay_sizes(struct run *r)
{
	const struct batch_list *list = &replay_of(r->task)->batches;
	const char *attempt = NULL;

	r->sizes = xcalloc(list->n + 1, sizeof(*r->sizes));
	for (size_t i = 0; i < list->n; i++) {
		const struct batch_record *b = &list->items[i];

		if (b->error_code || b->rows < 1)
			continue;
		attempt = attempt ? attempt : b->attempt_id;
		if (!strcmp(attempt, b->attempt_id))
			r->sizes[r->n_sizes++] = (size_t)b->rows;
	}
}

/* Read from the start of the window. */
static int replay_locate(struct run *r, struct error *err)
{
	const struct run_record *run = &replay_of(r->task)->runs.items[0];
	struct watermark now;
	int rc = 0;

	watermark_init(&now);
	if (r->checkpoint.watermark)
		rc = watermark_from_text(&now, r->checkpoint.watermark, err);
	if (!rc)
		xassign(&r->delivered, watermark_delivered(&now));
	watermark_release(&now);
	xassign(&r->window_from, run->window_from);
	replay_sizes(r);
	if (rc || !run->window_from) {
		watermark_forget(&r->from);
		return rc;
	}
	watermark_release(&r->from);
	watermark_init(&r->from);
	rc = watermark_from_text(&r->from, run->window_from, err);
	if (!rc && r->from.identity)
		rc = watermark_check_identity(&r->from, r->identity,
					      settings_run(r->p),
					      settings_call(r->p), err);
	return rc;
}

static int replay_prepare(struct run *r, struct error *err)
{
	int rc = task_prepare(r, err);

	return rc ? rc : replay_locate(r, err);
}

/* Read to its end, where the strategy reads in the mark's order (xmin does not:
 * to the end of all). */
static int replay_bound(struct run *r, struct error *err)
{
	const struct run_record *run = &replay_of(r->task)->runs.items[0];
	struct watermark to;
	int rc;

	if (!run->window_to || r->p->strategy == STRATEGY_XMIN)
		return 0;
	watermark_init(&to);
	rc = watermark_from_text(&to, run->window_to, err);
	if (!rc && to.value) {
		xassign(&r->settled.value, to.value);
		r->mark.tail = TAIL_HOLD;
	}
	watermark_release(&to);
	return rc;
}

static const char *replay_mark(struct run *r, const struct batch *b,
			       struct watermark *mark)
{
	(void)b;
	(void)mark;
	return r->delivered;
}

/* The identity of the batch that once had this window. */
static const char *replay_batch_id(struct run *r)
{
	const struct replay *p = replay_of(r->task);

	/* Rows past the settled mark alone: any such batch looks like it. */
	if (replay_same(r->window_from, r->window_to))
		return NULL;
	for (size_t i = 0; i < p->batches.n; i++) {
		const struct batch_record *b = &p->batches.items[i];

		if (!b->error_code &&
		    replay_same(b->window_from, r->window_from) &&
		    replay_same(b->watermark, r->window_to))
			return b->batch_id;
	}
	return NULL;
}

/* The mark stays where it is. */
static int replay_finish(struct run *r, const struct read_batch *last,
			 struct error *err)
{
	(void)r;
	(void)last;
	(void)err;
	return 0;
}

static const struct task_ops replay_ops = {
	.traits = TASK_GATED | TASK_WRITES | TASK_PACED,
	.begin = replay_begin,
	.held = replay_held,
	.init = task_no_init,
	.describe = task_describe,
	.locate = task_no_step,
	.prepare = replay_prepare,
	.bound = replay_bound,
	.begun = task_no_step,
	.mark = replay_mark,
	.batch_id = replay_batch_id,
	.loading = task_no_loading,
	.loaded = task_no_loaded,
	.finish = replay_finish,
	.again = task_no_again,
	.end = task_no_end,
};

int replay_find(struct replay *out, const struct settings *s,
		const char *run_id, struct error *err)
{
	struct store *store = NULL;
	int rc;

	memset(out, 0, sizeof(*out));
	out->task.ops = &replay_ops;
	rc = state_open(s, &store, err);
	if (rc)
		return rc;
	rc = replay_look(out, store, run_id, err);
	if (!rc)
		rc = replay_check(out, s, store, err);
	store_close(store);
	return rc;
}
