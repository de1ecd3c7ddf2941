#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/stop.h"
#include "core/store/pipelines.h"
#include "core/sync/ledger/ledger.h"
#include "core/sync/ledger/run_pace.h"

/* Between two looks at what `tidemark pace` has set. */
#define RUN_PACE_US US_PER_SECOND

/* Write the run's hold to the ledger when it changes: `status` reads it there.
 * If it cannot be written now, the run does not stop. */
static void run_pace_tell(struct run_pace *r)
{
	struct error ignored = ERROR_INIT;
	int64_t change = 0;
	json_t *held = pace_held(r->pace, &change);
	bool news = change != r->seen && (held || r->out->paused);

	r->seen = change;
	if (news)
		run_result_pause(r->out, held);
	/* Whoever has lost the lease has no say any more. */
	if (news && r->note)
		r->note(r, r->ctx);
	else if (news && r->out->recorded &&
		 !lease_keeper_check(r->keeper, &ignored))
		ledger_refresh(r->store, r->out, &ignored);
	json_decref(held);
}

/* `settings` NULL: the config's alone. */
static void run_pace_change(struct run_pace *r, const char *settings)
{
	struct error err = ERROR_INIT;
	struct pace_limits limits;
	json_t *values =
		settings ? json_loads(settings, 0, NULL) : json_object();

	if (settings_pace_limits(r->p, values, &limits, &err)) {
		log_warn("what \"tidemark pace\" has set is passed over: %s",
			 err.message);
	} else {
		pace_change(r->pace, &limits);
		log_info("the pace is that of the config%s%s",
			 settings ? ", but for what \"tidemark pace\" has set: "
				  : " again",
			 settings ? settings : "");
	}
	json_decref(values);
}

static void run_pace_pause(struct run_pace *r, const struct pace_record *found)
{
	char *reason;

	if (!found->paused_at) {
		pace_pause(r->pace, NULL);
		return;
	}
	reason = xstrfmt("%s has paused it%s%s; \"tidemark resume %s\" lets "
			 "it go on",
			 found->paused_by, *found->reason ? ": " : "",
			 found->reason, r->p->word);
	pace_pause(r->pace, reason);
	free(reason);
}

/* A store that does not answer changes nothing. */
static void run_pace_ask(struct run_pace *r)
{
	int64_t now = clock_monotonic_us();
	struct pace_record found;
	struct error ignored = ERROR_INIT;
	const char *before = r->text ? r->text : "";
	struct store *store = r->store ? r->store : r->looked_at;

	if (!store || (r->asked_us && now - r->asked_us < RUN_PACE_US))
		return;
	r->asked_us = now;
	if (store_pace_get(store, r->p->name, &found, &ignored))
		return;
	run_pace_pause(r, &found);
	if (strcmp(found.settings ? found.settings : "", before) != 0) {
		run_pace_change(r, found.settings);
		free(r->text);
		r->text = found.settings;
		found.settings = NULL;
	}
	pace_record_release(&found);
}

void run_pace_look(struct run_pace *r)
{
	if (!r->pace)
		return;
	run_pace_ask(r);
	run_pace_tell(r);
}

int run_pace_begin(struct run_pace *r, const struct pace_waiter *waiter,
		   struct error *err)
{
	if (r->off)
		return 0;
	if (!r->pace) {
		r->pace = pace_new(r->p, r->share);
		if (r->yields)
			pace_yield(r->pace);
	}
	run_pace_ask(r);
	return pace_wait(r->pace, waiter, err);
}

static int run_pace_idle(void *ctx, struct error *err)
{
	struct run_pace_reading *reading = ctx;

	return reading->source->ops->pause(reading->source, err);
}

static bool run_pace_over(void *ctx)
{
	struct run_pace_reading *reading = ctx;

	reading->tick(reading->ctx);
	return stop_requested();
}

int run_pace_next(struct run_pace_reading *reading, struct batch *b,
		  struct error *err)
{
	const struct pace_waiter waiter = { run_pace_idle, run_pace_over,
					    reading };
	struct pace *pace = reading->r->pace;
	int rc = pace_wait(pace, &waiter, err);

	pace_open(pace, b);
	if (!rc && stop_requested())
		rc = error_set(err, ERROR_STOPPED, "stopped by a signal");
	if (!rc)
		rc = reading->source->ops->next(reading->source, b, err);
	if (!rc)
		pace_count(pace, b);
	return rc;
}

void run_pace_rest(struct run_pace *r)
{
	pace_rest(r->pace);
	run_result_pause(r->out, NULL);
	if (r->note)
		r->note(r, r->ctx);
}

void run_pace_release(struct run_pace *r)
{
	pace_free(r->pace);
	free(r->text);
}
