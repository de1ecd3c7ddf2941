#include "core/sync/tasks/repair.h"

#include <inttypes.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/stop.h"
#include "core/sync/parts/others.h"
#include "core/sync/run/run.h"
#include "core/sync/tasks/removal.h"

/* Looks that find no fewer differences than the best before them. */
#define REPAIR_TRIES 3

struct repair {
	const struct pipeline_settings *p;
	const struct repair_terms *terms;
	struct verify_result *out;
	struct verify_work work;
	int64_t allowed; /* rows that may go, by the first look */
	int64_t begun_us;
	int64_t fewest; /* differences that a whole look has found */
	int tries; /* tries left that may find no fewer */
};

/* The repair's work stays on record, whatever the next look finds. */
static int repair_look(struct repair *r, bool brief, struct error *err)
{
	const struct verify_terms terms = { .part = r->terms->part,
					    .progress = r->terms->look_progress,
					    .values = r->terms->values,
					    .extra_only = r->terms->report,
					    .work = &r->work,
					    .looked_at = r->terms->store,
					    .brief = brief };
	int64_t repaired = r->out->repaired, deleted = r->out->deleted;
	int rc;

	verify_result_release(r->out);
	rc = verify_pipeline(r->p, &terms, r->out, err);
	r->out->repaired = repaired;
	r->out->deleted = deleted;
	r->out->elapsed_us = clock_monotonic_us() - r->begun_us;
	return rc;
}

/* One run that does what the look has found. */
struct repair_task {
	struct task task;
	const struct verify_work *work;
};

static const struct verify_work *repair_work(const struct run *r)
{
	return ((const struct repair_task *)r->task)->work;
}

static int repair_bound(struct run *r, struct error *err)
{
	(void)err;
	r->scan.keys = &repair_work(r)->load;
	return 0;
}

static int repair_finish(struct run *r, const struct read_batch *last,
			 struct error *err)
{
	(void)last;
	return removal_run(r, repair_work(r), err);
}

static const struct task_ops repair_ops = {
	.traits = TASK_MIRRORS | TASK_BY_KEYS | TASK_OVERWRITES | TASK_WRITES |
		  TASK_PACED,
	.begin = task_no_begin,
	.held = task_no_held,
	.init = task_no_init,
	.describe = task_describe,
	.locate = task_no_step,
	.prepare = task_prepare,
	.bound = repair_bound,
	.begun = task_no_step,
	.mark = task_mark,
	.batch_id = task_no_batch_id,
	.loading = task_no_loading,
	.loaded = task_no_loaded,
	.finish = repair_finish,
	.again = task_no_again,
	.end = task_no_end,
};

/* The first failure of the run goes before what the look has said. */
static int repair_act(struct repair *r, struct error *err)
{
	struct repair_task t = { { .ops = &repair_ops }, &r->work };
	const struct run_options options = { .task = &t.task,
					     .lease = r->terms->lease,
					     .progress =
						     r->terms->run_progress };
	struct run_result result;
	int rc;

	error_clear(err);
	rc = pipeline_run(r->p, r->terms->store, &options, &result, err);
	r->out->repaired += result.rows_inserted + result.rows_updated;
	r->out->deleted += result.rows_deleted;
	run_result_release(&result);
	log_set_pipeline(r->p->name);
	if (!rc)
		return 0;
	error_prefix(err, "the repair");
	r->out->error = *err;
	return rc;
}

/* At least one, where any may go: a share of a small table is less. */
static int64_t repair_allowed(const struct repair *r, int64_t rows)
{
	const struct row_limit *most = &r->terms->most;
	int64_t allowed = row_limit_allowed(most, rows);

	return !allowed && most->share > 0 ? 1 : allowed;
}

static int repair_refuse(struct repair *r, struct error *err)
{
	r->out->error = *err;
	return -ERROR_DATA;
}

/* Rows that nobody knows to have come from this source, or that it may have
 * and does not show, are not gone from it. */
static int repair_trust(struct repair *r, struct error *err)
{
	const struct pipeline_settings *p = r->p;

	if (r->out->marked && !r->out->hidden)
		return 0;
	error_clear(err);
	if (!r->out->marked)
		error_set(err, ERROR_DATA,
			  "there is no mark at %s, so that nothing says that "
			  "its rows came from %s: nothing is deleted; run it "
			  "first (tidemark %s %s)",
			  p->destination_table, p->source_table,
			  settings_run(p), settings_call(p));
	else
		error_set(err, ERROR_DATA,
			  "%s, so that a row of %s that is missing there may "
			  "be hidden: nothing is deleted",
			  r->out->hidden, p->destination_table);
	return repair_refuse(r, err);
}

/* A source that is empty, or lost many rows, is more often a mistake than a
 * wish. The same holds if it has lost them since the last look. */
static int repair_guard(struct repair *r, struct error *err)
{
	struct verify_result *out = r->out;
	int64_t rows = (int64_t)out->rows[COMPARE_DESTINATION].rows;
	int64_t extra = out->found.of[DIFFERENCE_EXTRA],
		left = r->allowed - out->deleted;

	if (!r->terms->remove || !extra)
		return 0;
	if (repair_trust(r, err))
		return -ERROR_DATA;
	if (extra <= left &&
	    (r->terms->most_said || out->rows[COMPARE_SOURCE].rows))
		return 0;
	error_clear(err);
	error_set(err, ERROR_DATA,
		  "%" PRId64 " of %" PRId64 " rows of %s are not at the source "
		  "%s any more, which has %" PRIu64 ", and --max-deletes lets "
		  "%" PRId64 " go: %s. If they are to go, say "
		  "--max-deletes %" PRId64 "; if not, see what became of the "
		  "source (or of source.where)",
		  extra, rows, r->p->destination_table, r->p->source_table,
		  out->rows[COMPARE_SOURCE].rows, extra <= left ? 0 : left,
		  out->deleted ? "no more is done" : "nothing is done", extra);
	return repair_refuse(r, err);
}

static int64_t repair_differences(const struct verify_result *out)
{
	return differences_sum(&out->found);
}

/* A trigger of the target, or a hand, that changes rows faster than they are
 * mended would keep it busy for ever. So each difference of the first look has
 * its turn; after that looks are whole, and have to find fewer and fewer. */
static bool repair_goes_on(struct repair *r, bool whole)
{
	int64_t left = repair_differences(r->out);

	if (!whole)
		return true;
	if (left < r->fewest) {
		r->fewest = left;
		r->tries = REPAIR_TRIES;
		return true;
	}
	return --r->tries > 0;
}

static int repair_loop(struct repair *r, struct error *err)
{
	int64_t turns = repair_differences(r->out);
	int rc = -ERROR_DIFFERENT;
	bool goes_on = true;

	r->fewest = turns;
	r->tries = REPAIR_TRIES;
	while (goes_on && rc == -ERROR_DIFFERENT &&
	       !verify_work_is_empty(&r->work)) {
		int64_t before = r->out->repaired + r->out->deleted;
		bool brief = r->work.more;

		rc = repair_act(r, err);
		if (rc)
			return rc;
		turns -= r->out->repaired + r->out->deleted - before;
		brief = brief && turns > 0 &&
			r->out->repaired + r->out->deleted > before;
		rc = repair_look(r, brief, err);
		if (rc == -ERROR_DIFFERENT && repair_guard(r, err))
			return -(int)err->code;
		goes_on = r->out->repaired + r->out->deleted > before &&
			  repair_goes_on(r, !brief);
	}
	return rc;
}

static int repair_check_mode(const struct repair *r, struct error *err)
{
	if (r->p->mode != LOAD_REPLACE ||
	    (!r->terms->load && !r->terms->remove))
		return 0;
	return error_set(err, ERROR_CONFIG,
			 "pipeline %s is in mode replace, which loads all of "
			 "the table every time: tidemark %s %s mends it",
			 r->p->name, settings_run(r->p), settings_call(r->p));
}

static int repair_check_others(const struct repair *r, struct error *err)
{
	struct strlist names = STRLIST_INIT;
	int rc;

	if (!r->terms->remove)
		return 0;
	rc = others_find(r->p, &names, err);
	if (!rc)
		rc = others_refuse(r->p, &names, "nothing is deleted", err);
	strlist_release(&names);
	return rc;
}

static int repair_check(const struct repair *r, struct error *err)
{
	int rc = repair_check_mode(r, err);

	if (!rc)
		rc = repair_check_others(r, err);
	if (!rc)
		return 0;
	verify_result_init(r->out, r->p);
	r->out->error = *err;
	return rc;
}

/* Do the work that the first look has found, unless the answer is no. */
static int repair_found(struct repair *r, struct error *err)
{
	const struct repair_terms *terms = r->terms;
	int rc;

	r->allowed = repair_allowed(
		r, (int64_t)r->out->rows[COMPARE_DESTINATION].rows);
	rc = repair_guard(r, err);
	if (rc || verify_work_is_empty(&r->work))
		return rc ? rc : -ERROR_DIFFERENT;
	if (!terms->ask || terms->ask(terms->ctx, r->out))
		return repair_loop(r, err);
	if (!stop_requested())
		return -ERROR_DIFFERENT;
	error_clear(err);
	error_set(err, ERROR_STOPPED, "stopped by a signal: nothing is done");
	r->out->error = *err;
	return -ERROR_STOPPED;
}

int repair_pipeline(const struct pipeline_settings *p,
		    const struct repair_terms *terms, struct verify_result *out,
		    struct error *err)
{
	struct repair r = { .p = p,
			    .terms = terms,
			    .out = out,
			    .work = { .wants_load = terms->load,
				      .wants_extra = terms->remove },
			    .begun_us = clock_monotonic_us() };
	int rc = repair_check(&r, err);

	if (rc)
		return rc;
	verify_result_init(out, p);
	rc = repair_look(&r, false, err);
	if (rc == -ERROR_DIFFERENT)
		rc = repair_found(&r, err);
	verify_work_release(&r.work);
	return rc;
}
