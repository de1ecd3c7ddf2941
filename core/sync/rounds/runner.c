#include "core/sync/rounds/runner.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/process.h"
#include "core/base/stop.h"
#include "core/base/trust.h"
#include "core/plugin/registry.h"
#include "core/store/history.h"
#include "core/store/leases.h"
#include "core/store/session.h"
#include "core/sync/letters/desk.h"
#include "core/sync/parts/state.h"
#include "core/sync/parts/tries.h"
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
	*out = store;
	return rc;
}

/* No store, no run: every pipeline says so. */
static void runner_fail_all(const struct pipeline_settings *const *pipelines,
			    size_t n, bool dry_run, struct run_result *results,
			    const struct error *err)
{
	for (size_t i = 0; i < n; i++) {
		run_result_init(&results[i], pipelines[i]);
		results[i].dry.on = dry_run;
		results[i].error = *err;
		if (err->code == ERROR_STOPPED)
			results[i].outcome = OUTCOME_STOPPED;
	}
}

static bool runner_rehearses(const struct runner_options *options)
{
	return !task_has(options->run.task, TASK_WRITES);
}

static void runner_one(const struct pipeline_settings *p, struct store *store,
		       const struct runner_options *options,
		       struct run_result *result)
{
	struct error err = ERROR_INIT;

	if (!stop_requested() && runner_rehearses(options)) {
		struct run_options run = options->run;

		run.looked_at = store;
		pipeline_run(p, NULL, &run, result, &err);
		rehearsal_look(store, p, &result->dry);
		return;
	}
	if (!stop_requested()) {
		pipeline_run(p, store, &options->run, result, &err);
		return;
	}
	run_result_init(result, p);
	result->dry.on = runner_rehearses(options);
	result->outcome = OUTCOME_STOPPED;
	error_set(&result->error, ERROR_STOPPED,
		  "not started: stopped by a signal");
}

/* History that could not be pruned now is pruned by the next run. */
static void runner_prune(const struct settings *s, struct store *store,
			 const struct pipeline_settings *const *pipelines,
			 size_t n)
{
	struct error err = ERROR_INIT;
	int rc = s->state_keep_us
			 ? store_history_prune(store, s->state_keep_us, &err)
			 : 0;

	for (size_t i = 0; !rc && s->state_letters_us && i < n; i++)
		rc = letter_desk_expire(store, pipelines[i]->name,
					s->state_letters_us, &err);
	if (rc)
		log_debug("%s", err.message);
}

/* The last attempt was stopped, or it is recorded as running although its
 * process is gone. */
static bool runner_was_cut(struct store *store, const struct attempt *a)
{
	struct error ignored = ERROR_INIT;
	struct lease lease;
	bool held = false;

	if (strcmp(a->state, "RUNNING") != 0)
		return !strcmp(a->outcome, "stopped");
	lease_init(&lease);
	store_lease_get(store, a->pipeline, &held, &lease, &ignored);
	held = held && !process_mark_is_gone(lease.pid, lease.process);
	lease_release(&lease);
	return !held;
}

/* The place of the first to run: behind the one that was begun last, if that
 * was killed or stopped. A round that is ended at the same place every time
 * would never get to the others. Attempts that seem to start in the future are
 * passed over: the clock was set back after they were recorded. */
static size_t runner_first(struct store *store,
			   const struct pipeline_settings *const *pipelines,
			   size_t n)
{
	int64_t now = clock_now_us(), latest = 0;
	size_t first = 0;

	for (size_t i = 0; i < n; i++) {
		const struct run_filter filter = { .pipeline =
							   pipelines[i]->name,
						   .limit = 1 };
		struct attempt_list last = { .n = 0 };
		struct error ignored = ERROR_INIT;
		const struct attempt *a = NULL;

		if (!store_attempts_list(store, &filter, &last, &ignored) &&
		    last.n)
			a = &last.items[0];
		if (a && a->started_at > latest && a->started_at <= now) {
			latest = a->started_at;
			first = runner_was_cut(store, a) ? (i + 1) % n : 0;
		}
		attempt_list_release(&last);
	}
	return first;
}

static void runner_round(const struct settings *s,
			 const struct pipeline_settings *const *pipelines,
			 size_t n, const struct runner_options *options,
			 bool *begins, struct run_result *results)
{
	struct error err = ERROR_INIT;
	bool dry_run = runner_rehearses(options);
	struct store *store = NULL;
	int rc = runner_store(s, &pipelines[0]->retry, dry_run, &store, &err);
	size_t first = 0;

	if (rc)
		runner_fail_all(pipelines, n, dry_run, results, &err);
	else if (store && *begins && n > 1 && !dry_run)
		first = runner_first(store, pipelines, n);
	*begins = *begins && rc;
	for (size_t k = 0; k < n; k++) {
		size_t i = (first + k) % n;
		if (!rc)
			runner_one(pipelines[i], store, options, &results[i]);
		if (options->finished)
			options->finished(&results[i], options->ctx);
	}
	if (store && !dry_run)
		runner_prune(s, store, pipelines, n);
	store_close(store);
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
	return true;
}

int runner_run(const struct settings *s,
	       const struct pipeline_settings *const *pipelines, size_t n,
	       const struct runner_options *options, struct error *err)
{
	struct run_result *results = xcalloc(n ? n : 1, sizeof(*results));
	struct runner_options own = *options;
	bool again = n > 0, begins = true;
	int rc = 0;

	own.run.lease.state = s->state;
	own.run.lease.lease_us = s->state_lease_us;

	while (again) {
		runner_round(s, pipelines, n, &own, &begins, results);
		error_clear(err);
		rc = runner_verdict(results, n, err);
		again = options->watch_us && !stop_requested() &&
			!runner_is_final(results, n);
		for (size_t i = 0; i < n; i++)
			run_result_release(&results[i]);
		again = again && !clock_sleep_us(options->watch_us);
	}
	free(results);
	if (!rc && options->watch_us && stop_requested())
		rc = error_set(err, ERROR_STOPPED, "stopped by a signal");
	return rc;
}
