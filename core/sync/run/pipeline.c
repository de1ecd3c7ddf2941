#include "core/sync/run/pipeline.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/file_id.h"
#include "core/base/log.h"
#include "core/base/pool.h"
#include "core/base/seat.h"
#include "core/base/stop.h"
#include "core/settings/wildcard.h"
#include "core/store/leases.h"
#include "core/store/letters.h"
#include "core/sync/ledger/breaker.h"
#include "core/sync/ledger/ledger.h"
#include "core/sync/parts/reach.h"
#include "core/sync/run/task.h"
#include "core/sync/run/try.h"

/* Between two looks at what another one has found out. */
#define PIPELINE_LOOK_US (US_PER_SECOND / 10)
/* Between two looks at a file that another process has. */
#define PIPELINE_FILE_US (US_PER_SECOND / 5)

static void pipeline_outcome(struct run_result *out, const struct error *err)
{
	if (!err->code)
		return;
	out->error = *err;
	out->outcome = err->code == ERROR_STOPPED ? OUTCOME_STOPPED
		       : err->code == ERROR_STATE ? OUTCOME_BUSY
						  : OUTCOME_FAILED;
}

/* A chunk and a dry run have no attempt on record. */
static void pipeline_name_lines(const struct run_result *out)
{
	if (!out->unrecorded && !out->dry.on)
		log_set_run(out->run_id, out->attempt_id);
}

static void pipeline_new_attempt(struct run_result *out)
{
	char id[DIGEST_TEXT_SIZE];

	ledger_attempt_id(id);
	free(out->attempt_id);
	out->attempt_id = xstrdup(id);
	out->attempt_us = clock_now_us();
	out->recorded = false;
	out->earlier = (struct run_counts){
		.batches = out->batches,
		.rows_read = out->rows_read,
		.rows_inserted = out->rows_inserted,
		.rows_updated = out->rows_updated,
		.rows_unchanged = out->rows_unchanged,
		.rows_deleted = out->rows_deleted,
		.rows_dead_lettered = out->rows_dead_lettered,
	};
}

/* The try that failed is an attempt of its own. If it could not be recorded,
 * the next attempt meets the same error. */
static void pipeline_close_attempt(struct store *store, struct run_result *out,
				   const struct error *err)
{
	struct error ignored = ERROR_INIT;

	pipeline_outcome(out, err);
	out->outcome = OUTCOME_RETRIED;
	out->retries[err->code]++;
	ledger_end(store, out, &ignored);
	error_clear(&out->error);
	pipeline_new_attempt(out);
	pipeline_name_lines(out);
}

/* A server may have ended the sessions of a process that was paused. The
 * process notices this first. One that is told to stop was lost before. */
static int pipeline_explain_loss(struct run_context *c, int rc,
				 struct error *err)
{
	struct error lost = ERROR_INIT;

	if ((!error_may_pass((enum error_code) - rc) && rc != -ERROR_STOPPED) ||
	    !lease_keeper_check(&c->keeper, &lost))
		return rc;
	*err = lost;
	return -ERROR_STATE;
}

static bool pipeline_is_late(const struct run_context *c)
{
	return c->deadline_us && clock_monotonic_us() >= c->deadline_us;
}

/* Another pipeline finds out whether the connection can be reached. */
static void pipeline_await_reach(struct run_context *c,
				 const struct run_result *out)
{
	struct reach *reach = c->options->reach;

	seat_leave(SEAT_CLOSED);
	while (reach_is_doubted(reach, c->refused, out) &&
	       !pipeline_is_late(c) && !clock_sleep_us(PIPELINE_LOOK_US))
		;
	seat_back(SEAT_CLOSED, NULL, NULL);
}

static int64_t pipeline_file_left(struct run_context *c,
				  const struct error *err)
{
	int64_t wait_us = c->options->lease.wait_us;
	int64_t now = clock_monotonic_us();

	if (!c->file_until_us && wait_us)
		log_info("waiting for a file: %s", err->message);
	if (!c->file_until_us)
		c->file_until_us = now + wait_us;
	return pipeline_is_late(c) ? 0 : c->file_until_us - now;
}

/* A file that another process has is waited for as another run is. Nothing is
 * open meanwhile, and no try counts. */
static bool pipeline_await_file(struct run_context *c, struct error *err)
{
	int64_t left;

	if (err->code != ERROR_STATE || !error_has_code(err, FILE_BUSY))
		return false;
	left = pipeline_file_left(c, err);
	if (left <= 0)
		return false;
	seat_leave(SEAT_CLOSED);
	clock_sleep_us(left < PIPELINE_FILE_US ? left : PIPELINE_FILE_US);
	seat_back(SEAT_CLOSED, NULL, NULL);
	if (!stop_requested())
		return true;
	error_clear(err);
	error_set(err, ERROR_STOPPED,
		  "stopped by a signal while waiting for a file");
	return false;
}

/* One that did nothing but find a file in use leaves no trace. */
static int pipeline_try_once(struct run_context *c, struct run_result *out,
			     struct error *err)
{
	int64_t batches = out->batches;
	int rc = pipeline_explain_loss(c, pipeline_try(c, out, err), err);

	while (rc && out->batches == batches && pipeline_await_file(c, err)) {
		error_clear(err);
		rc = pipeline_explain_loss(c, pipeline_try(c, out, err), err);
	}
	return rc ? -(int)err->code : 0;
}

static bool pipeline_try_again(struct run_context *c,
			       const struct run_result *out, struct error *err)
{
	struct reach *reach = c->options->reach;
	struct error lost = ERROR_INIT;

	if (pipeline_await_file(c, err))
		return true;
	if (pipeline_is_late(c) ||
	    (c->options->yields && c->refused && pool_is_full(err)))
		return false;
	if (c->refused && pool_is_full(err) && seat_crowded())
		return true;
	if (c->refused && reach_is_doubted(reach, c->refused, out)) {
		pipeline_await_reach(c, out);
		return !reach_check(reach, c->refused, &lost) &&
		       !stop_requested() && !pipeline_is_late(c);
	}
	if (c->refused && reach_check(reach, c->refused, &lost))
		return false;
	return tries_again(&c->tries, err) && !pipeline_is_late(c);
}

/* A try that was begun in time, and had none left to load anything, puts
 * nothing right. */
static int pipeline_last_word(const struct run_context *c,
			      const struct run_result *out, int64_t batches,
			      const struct error *last, struct error *err)
{
	if (!last->code || !pipeline_is_late(c) || out->batches != batches ||
	    out->outcome != OUTCOME_STOPPED)
		return 0;
	*err = *last;
	return -(int)last->code;
}

/* Tries until one ends well, or badly for good. */
static int pipeline_tries(struct run_context *c, struct run_result *out,
			  struct error *err)
{
	int rc = pipeline_try_once(c, out, err);
	struct error last = ERROR_INIT;
	int64_t batches = 0;

	while (rc && pipeline_try_again(c, out, err)) {
		last = *err;
		batches = out->batches;
		pipeline_close_attempt(c->store, out, err);
		c->options->task->ops->again(out);
		error_clear(err);
		rc = pipeline_try_once(c, out, err);
	}
	if (!rc)
		rc = pipeline_last_word(c, out, batches, &last, err);
	if (rc && stop_requested() && error_may_pass(err->code)) {
		error_clear(err);
		rc = error_set(err, ERROR_STOPPED, "stopped by a signal");
	}
	/* A chunk comes again by itself. */
	if (error_has_code(err, FILE_BUSY) && !c->options->lease.wait_us &&
	    !task_has(c->options->task, TASK_OWN_LEASE))
		error_hint(err, "(to wait for it: %s --wait 30s)",
			   settings_run(c->p));
	return rc ? -(int)err->code : 0;
}

static const char *pipeline_lease(const struct run_context *c)
{
	const char *own = c->options->task->name;

	return own ? own : c->p->name;
}

/* Overtaken: by whom. */
static void pipeline_find_holder(struct run_context *c, struct run_result *out)
{
	const struct lease *own = &c->keeper.lease;
	struct error ignored = ERROR_INIT;
	struct lease now;
	bool held = false;

	lease_init(&now);
	if (c->store &&
	    !store_lease_get(c->store, pipeline_lease(c), &held, &now,
			     &ignored) &&
	    now.holder &&
	    (!own->holder || strcmp(own->holder, now.holder) != 0)) {
		out->overtaken = true;
		if (held) {
			json_decref(out->held_by);
			out->held_by = lease_json(&now);
		}
	}
	lease_release(&now);
}

/* The last try may have loaded rows whose letters it could not delete: the
 * store may be there again, and nobody else will know. */
static void pipeline_clear_letters(struct run_context *c)
{
	struct error ignored = ERROR_INIT;

	if (c->over.n)
		store_letters_delete(c->store, &c->over, &ignored);
	dead_letter_list_release(&c->over);
}

/* One that had not begun, and another has had the lease since: on record behind
 * that one's runs it would break what they have mended. */
static bool pipeline_is_history(const struct run_result *out)
{
	return out->lost && out->overtaken && !out->recorded;
}

/* With the lease; what is done with it is on record. */
static int pipeline_held(struct run_context *c, struct run_result *out,
			 struct error *err)
{
	const struct task *task = c->options->task;
	struct error lost = ERROR_INIT;
	int rc;

	if (c->options->max_us)
		c->deadline_us = clock_monotonic_us() + c->options->max_us;
	/* A run that is not tried leaves no trace in the ledger, which would
	 * keep the breaker open. */
	if (!task_has(task, TASK_OWN_LEASE) &&
	    breaker_check(c->store, c->p, &c->tries.single, err))
		return -(int)err->code;
	if (task->ops->held(c, out, err))
		return -(int)err->code;
	rc = pipeline_tries(c, out, err);
	pipeline_clear_letters(c);
	if (!rc && c->verifies && out->outcome != OUTCOME_WAITING)
		rc = run_verify_window(c, out, err);
	rc = task->ops->end(c, out, rc, err);
	if (!rc)
		rc = lease_keeper_check_end(&c->keeper, err);
	pipeline_outcome(out, err);
	if (out->outcome == OUTCOME_BUSY) {
		pipeline_find_holder(c, out);
		out->lost = lease_keeper_check(&c->keeper, &lost) != 0;
	}
	out->elapsed_us = clock_monotonic_us() - out->begun_us;
	if (!pipeline_is_history(out) &&
	    ledger_end(c->store, out, rc ? NULL : err) && !rc)
		rc = -(int)err->code;
	return rc;
}

/* For people, and to tell two configs apart. Caller frees. */
static char *pipeline_ends(const struct pipeline_settings *p)
{
	return xstrfmt("%s from %s at %s into %s at %s",
		       load_mode_name(p->mode), p->source_table,
		       p->source->url.shown, p->destination_table,
		       p->destination->url.shown);
}

static int pipeline_take_lease(struct run_context *c, struct run_result *out,
			       struct error *err)
{
	const struct task *task = c->options->task;
	struct lease_terms terms = c->options->lease;
	char *ends = pipeline_ends(c->p);
	int rc;

	terms.ends = ends;
	terms.runs = task_has(task, TASK_MOVES_MARK) &&
		     !task_has(task, TASK_OWN_LEASE);
	do {
		error_clear(err);
		rc = lease_keeper_take(&c->keeper, c->store, pipeline_lease(c),
				       &terms, &out->held_by, err);
	} while (rc && tries_again(&c->tries, err));
	free(ends);
	return rc;
}

/* A table of a wildcard that cannot be synced has a history all the same. It is
 * not the wildcard itself, which is named where its tables are not known. */
static void pipeline_record_fault(struct run_context *c, struct run_result *out,
				  const struct error *fault)
{
	struct error ignored = ERROR_INIT;

	if (task_has(c->options->task, TASK_BY_KEYS | TASK_OWN_LEASE) ||
	    !c->p->wildcard || !strcmp(c->p->wildcard->name, c->p->name))
		return;
	pipeline_outcome(out, fault);
	out->elapsed_us = clock_monotonic_us() - out->begun_us;
	ledger_end(c->store, out, &ignored);
}

/* Whoever is told to stop in its turn leaves the rest to others. */
static bool pipeline_leaves_turn(const struct run_context *c,
				 const struct run_result *out)
{
	return c->options->lease.turn_us && out->outcome == OUTCOME_STOPPED;
}

int pipeline_run(const struct pipeline_settings *p, struct store *store,
		 const struct run_options *options, struct run_result *out,
		 struct error *err)
{
	struct run_context c = { .p = p,
				 .store = store,
				 .options = options,
				 .verifies = run_verify_is_asked(p, options),
				 .tries = { .policy = &p->retry },
				 .verify = { .slots = DIGEST_ROWS_INIT } };
	const struct task *task = options->task;
	int rc;

	c.pacing = (struct run_pace){ .p = p,
				      .off = !task_has(task, TASK_PACED),
				      .yields = options->lease.turn_us != 0,
				      .share = options->pace_share,
				      .store = store,
				      .looked_at = options->looked_at,
				      .keeper = &c.keeper,
				      .out = out };
	run_result_init(out, p);
	out->verified.asked = c.verifies;
	out->started_us = clock_now_us();
	out->begun_us = clock_monotonic_us();
	pipeline_new_attempt(out);
	out->aside = task_has(task, TASK_BY_KEYS);
	out->elsewhere = !task_has(task, TASK_MOVES_MARK);
	out->unrecorded = task_has(task, TASK_OWN_LEASE);
	if (task->holder)
		snprintf(c.keeper.holder, sizeof(c.keeper.holder), "%s",
			 task->holder);
	task->ops->begin(&c, out);
	log_set_pipeline(pipeline_lease(&c));
	pipeline_name_lines(out);
	rc = settings_fault(p, err);
	if (rc)
		pipeline_record_fault(&c, out, err);
	if (!rc)
		rc = pipeline_take_lease(&c, out, err);
	if (!rc)
		rc = pipeline_held(&c, out, err);
	pipeline_outcome(out, err);
	reach_end(options->reach, out, rc && out->outcome != OUTCOME_STOPPED);
	lease_keeper_give(&c.keeper, store, pipeline_leaves_turn(&c, out));
	run_verify_release(&c.verify);
	run_pace_release(&c.pacing);
	out->elapsed_us = clock_monotonic_us() - out->begun_us;
	log_set_pipeline("");
	return rc;
}

void pipeline_skip(const struct pipeline_settings *p, struct store *store,
		   const struct error *why, struct run_result *out)
{
	struct error ignored = ERROR_INIT;

	run_result_init(out, p);
	out->started_us = clock_now_us();
	out->begun_us = clock_monotonic_us();
	pipeline_new_attempt(out);
	pipeline_outcome(out, why);
	if (store && ledger_end(store, out, &ignored))
		log_debug("%s", ignored.message);
}
