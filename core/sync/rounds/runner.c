#include "core/sync/rounds/runner.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/pool.h"
#include "core/base/stop.h"
#include "core/store/session.h"
#include "core/store/shared.h"
#include "core/sync/parts/foresight.h"
#include "core/sync/parts/state.h"
#include "core/sync/parts/tries.h"
#include "core/sync/rounds/plan.h"
#include "core/sync/rounds/prune.h"
#include "core/sync/tasks/rehearsal.h"

/* Opens the store for one round: a store that was away is found again. */
static int runner_store(const struct settings *s,
			const struct retry_policy *retry, bool dry_run,
			struct store **out, struct error *err)
{
	struct tries tries = { .policy = retry };
	struct store *store = NULL;
	int rc;

	do {
		error_clear(err);
		rc = dry_run ? state_look(s->state, &store, err)
			     : state_open(s, &store, err);
	} while (rc && tries_again(&tries, err));
	*out = store_share(store);
	return rc;
}

/* It did not run, and says why. */
static void runner_fail(const struct pipeline_settings *p, bool dry_run,
			const struct error *why, struct run_result *out)
{
	run_result_init(out, p);
	out->dry.on = dry_run;
	out->error = *why;
	out->outcome =
		why->code == ERROR_STOPPED ? OUTCOME_STOPPED : OUTCOME_FAILED;
}

static bool runner_rehearses(const struct runner_options *options)
{
	return !task_has(options->run.task, TASK_WRITES);
}

/* One time over all pipelines. */
struct round {
	const struct pipeline_settings *const *pipelines;
	size_t n;
	const struct runner_options *options;
	struct store *store; /* for all threads; may be NULL */
	struct foresight *foresight;
	struct run_result *results;
};

static void round_run(void *ctx, size_t i, struct reach *reach)
{
	struct round *r = ctx;
	const struct pipeline_settings *p = r->pipelines[i];
	struct run_options run = r->options->run;
	struct error err = ERROR_INIT;

	run.reach = reach;
	run.foresight = r->foresight;
	if (!runner_rehearses(r->options)) {
		pipeline_run(p, r->store, &run, &r->results[i], &err);
		return;
	}
	run.looked_at = r->store;
	pipeline_run(p, NULL, &run, &r->results[i], &err);
	rehearsal_look(r->store, p, &r->results[i].dry);
}

static void round_skip(void *ctx, size_t i, const struct error *why)
{
	struct round *r = ctx;

	runner_fail(r->pipelines[i], runner_rehearses(r->options), why,
		    &r->results[i]);
}

static void round_done(void *ctx, size_t i)
{
	const struct round *r = ctx;

	if (r->options->finished)
		r->options->finished(&r->results[i], r->options->ctx);
}

/* A round that is ended at the same place every time would never get to the
 * others: those that waited longest begin. A rehearsal leaves no trace of when
 * it was, and keeps to the config. */
static void round_go(struct round *r, const struct settings *s)
{
	size_t jobs = r->options->jobs ? r->options->jobs : s->jobs;
	struct jobs_terms terms = { .jobs = jobs ? jobs : 1,
				    .sessions = pool_most };
	const struct jobs_work work = { .run = round_run,
					.skip = round_skip,
					.done = round_done,
					.ctx = r };
	bool dry_run = runner_rehearses(r->options);
	struct job_need *needs =
		plan_new(r->pipelines, r->n, dry_run ? NULL : r->store);

	terms.most = terms.jobs * JOBS_WAITING;
	plan_limit(&terms, r->n);
	r->foresight = plan_foresight(r->pipelines, needs, r->n);
	jobs_run(&terms, &work, needs, r->n);
	foresight_free(r->foresight);
	plan_free(needs, r->n);
}

static void runner_round(const struct settings *s,
			 const struct pipeline_settings *const *pipelines,
			 size_t n, const struct runner_options *options,
			 struct run_result *results)
{
	struct round r = { .pipelines = pipelines,
			   .n = n,
			   .options = options,
			   .results = results };
	struct error err = ERROR_INIT;
	bool dry_run = runner_rehearses(options);
	int rc = n ? runner_store(s, &pipelines[0]->retry, dry_run, &r.store,
				  &err)
		   : 0;

	for (size_t i = 0; rc && i < n; i++) {
		round_skip(&r, i, &err);
		round_done(&r, i);
	}
	if (!rc)
		round_go(&r, s);
	if (r.store && !dry_run)
		prune_history(s, r.store, pipelines, n);
	store_close(r.store);
	if (options->round)
		options->round(results, n, options->ctx);
}

/* The first failure in config order. */
static int runner_verdict(const struct run_result *results, size_t n,
			  struct error *err)
{
	for (size_t i = 0; i < n; i++) {
		if (!results[i].error.code)
			continue;
		*err = results[i].error;
		error_prefix(err, "%s", results[i].pipeline->name);
		return -(int)results[i].error.code;
	}
	return 0;
}

static bool runner_is_final(const struct run_result *results, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (results[i].error.code != ERROR_CONFIG)
			return false;
	return n > 0;
}

/* Another list, and room for its results. */
static void runner_renew(const struct runner_options *options,
			 const struct pipeline_settings *const **pipelines,
			 size_t *n, struct run_result **results)
{
	struct error err = ERROR_INIT;

	if (!options->renew)
		return;
	if (options->renew(options->ctx, pipelines, n, &err)) {
		log_error("%s", err.message);
		return;
	}
	free(*results);
	*results = xcalloc(*n ? *n : 1, sizeof(**results));
}

int runner_run(const struct settings *s,
	       const struct pipeline_settings *const *pipelines, size_t n,
	       const struct runner_options *options, struct error *err)
{
	struct run_result *results = xcalloc(n ? n : 1, sizeof(*results));
	struct runner_options own = *options;
	bool again = n > 0 || options->renew;
	int rc = 0;

	own.run.lease.state = s->state;
	own.run.lease.lease_us = s->state_lease_us;

	while (again) {
		runner_round(s, pipelines, n, &own, results);
		error_clear(err);
		rc = runner_verdict(results, n, err);
		again = options->watch_us && !stop_requested() &&
			!runner_is_final(results, n);
		for (size_t i = 0; i < n; i++)
			run_result_release(&results[i]);
		if (again)
			pool_pause(options->watch_us);
		again = again && !clock_sleep_us(options->watch_us);
		if (again)
			runner_renew(options, &pipelines, &n, &results);
	}
	free(results);
	if (!rc && options->watch_us && stop_requested())
		rc = error_set(err, ERROR_STOPPED, "stopped by a signal");
	return rc;
}
