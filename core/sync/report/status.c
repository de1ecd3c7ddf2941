#include "core/sync/report/status.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/stop.h"
#include "core/data/value.h"
#include "core/plugin/naming.h"
#include "core/plugin/registry.h"
#include "core/store/chunks.h"
#include "core/store/history.h"
#include "core/store/leases.h"
#include "core/store/letters.h"
#include "core/store/pipelines.h"
#include "core/sync/parts/marks.h"
#include "core/sync/parts/stopper.h"
#include "core/sync/report/early.h"

/* How many runs to look back for one that caught up. */
#define STATUS_RUNS 50
/* Looks at lease and history, until the two agree. */
#define STATUS_LOOKS 3

int64_t status_lag(int64_t mark_age_us, int64_t caught_up_age_us,
		   int64_t held_us)
{
	int64_t lag = mark_age_us;

	if (lag < 0 || (caught_up_age_us >= 0 && caught_up_age_us < lag))
		lag = caught_up_age_us;
	if (lag < 0)
		return -1;
	return held_us > lag ? held_us : lag;
}

static void status_note(struct status_result *r, const char *what,
			const struct error *err)
{
	char *note = xstrfmt("%s: %s", what, err->message);

	strlist_add(&r->notes, note);
	free(note);
}

static void status_mirror(const struct pipeline_settings *p,
			  struct store *store, struct status_result *out)
{
	struct error err = ERROR_INIT;

	if (store && store_mark_get(store, p->name, &out->watermark, &err))
		status_note(out, "state", &err);
	else if (store)
		out->from = "state";
}

/* The mark at the destination, else its mirror. */
static void status_mark(const struct pipeline_settings *p, struct store *store,
			struct status_result *out)
{
	struct mark mark;
	struct error err = ERROR_INIT;

	mark_init(&mark);
	if (!marks_get_destination(p, &mark, &err)) {
		out->from = mark.from;
		out->watermark = mark.watermark;
		mark.watermark = NULL;
	} else {
		status_note(out, "destination", &err);
		status_mirror(p, store, out);
	}
	mark_release(&mark);
}

/* Did the run end where the mark still stands? A mark that was set or reset
 * since then makes what the run reached worth nothing. */
static bool status_caught_up(const struct attempt *a, const char *mark)
{
	return !strcmp(a->outcome, "caught_up") && a->watermark_after && mark &&
	       !strcmp(a->watermark_after, mark);
}

/* The last run, and how long ago the last one that caught up began: what it
 * found then is all at the destination. -1: none. */
static int64_t status_runs(const struct pipeline_settings *p,
			   struct store *store, struct status_result *out)
{
	const struct run_filter filter = {
		.pipeline = p->name, .limit = STATUS_RUNS + breaker_looks(p)
	};
	struct attempt_list list = { NULL, 0, 0 };
	struct error err = ERROR_INIT;
	int64_t age = -1;

	if (!store) {
		strlist_add(&out->notes, "state: not reached");
		return -1;
	}
	if (store_attempts_list(store, &filter, &list, &err))
		status_note(out, "state", &err);
	else
		out->runs_known = true;
	breaker_judge(&out->breaker, &p->breaker, &list, clock_now_us());
	for (size_t i = 0; i < list.n && age < 0; i++)
		if (status_caught_up(&list.items[i], out->watermark))
			age = clock_now_us() - list.items[i].started_at;
	if (list.n) {
		out->last = list.items[0];
		out->has_last = true;
		attempt_init(&list.items[0]);
	}
	attempt_list_release(&list);
	return age;
}

static bool status_time(const char *text, int64_t *us)
{
	return text && value_parse_instant(text, us);
}

/* The source's clock is its settled instant and how far that lies back. */
static int64_t status_mark_age(const struct watermark *mark,
			       const struct settled *settled)
{
	int64_t at, settled_at;

	if (settled->lag_us < 0 || !mark->value || !settled->value)
		return -1;
	if (!strcmp(mark->value, settled->value))
		return settled->lag_us;
	if (mark->strategy != STRATEGY_TIMESTAMP ||
	    !status_time(mark->value, &at) ||
	    !status_time(settled->value, &settled_at) ||
	    __builtin_sub_overflow(settled_at, at, &at) ||
	    __builtin_add_overflow(at, settled->lag_us, &at))
		return -1;
	return at < 0 ? 0 : at;
}

static int status_ask_source(const struct pipeline_settings *p,
			     const struct watermark *mark,
			     struct settled *settled, struct error *err)
{
	struct connector *c = NULL;
	struct source_spec spec;
	struct watermark_spec mark_spec;
	struct schema schema;
	struct stopper stopper;
	int rc = registry_open_connector(p->source, &c, err);

	if (rc)
		return rc;
	stopper_start(&stopper, c);
	schema_init(&schema);
	settings_source_spec(p, &spec);
	settings_watermark_spec(p, &mark_spec);
	rc = source_describe(c, &spec, &mark_spec, &schema, err);
	if (!rc)
		rc = c->ops->settle(c, &spec, &schema, &mark_spec, mark,
				    settled, err);
	schema_release(&schema);
	stopper_end(&stopper);
	c->ops->close(c);
	return rc;
}

static void status_lag_of(const struct pipeline_settings *p,
			  int64_t caught_up_age, struct status_result *out)
{
	struct watermark mark;
	struct settled settled;
	struct error err = ERROR_INIT;
	int64_t held;

	watermark_init(&mark);
	settled_init(&settled);
	if (watermark_from_text(&mark, out->watermark, &err)) {
		status_note(out, "mark", &err);
	} else if (p->strategy == STRATEGY_NONE) {
		out->lag_us = caught_up_age;
		out->lag_reason = "never caught up";
	} else if (status_ask_source(p, &mark, &settled, &err)) {
		status_note(out, "source", &err);
		out->lag_reason = "source failed";
	} else {
		out->lag_reason = "never caught up";
		out->held_by = json_incref(settled.held_by);
		held = p->tail == TAIL_HOLD ? settled.lag_us : -1;
		out->lag_us = status_lag(status_mark_age(&mark, &settled),
					 caught_up_age, held);
	}
	settled_release(&settled);
	watermark_release(&mark);
}

static void status_lease(const struct pipeline_settings *p, struct store *store,
			 struct status_result *out)
{
	struct error err = ERROR_INIT;

	if (store &&
	    store_lease_get(store, p->name, &out->leased, &out->lease, &err))
		status_note(out, "state", &err);
}

/* A run that begins between the two looks is no run without a lease. */
static void status_standing(const struct pipeline_settings *p,
			    struct store *store, struct status_result *out)
{
	struct error err = ERROR_INIT;
	int looks = STATUS_LOOKS;

	if (!store)
		return;
	do {
		standing_release(&out->standing);
		lease_release(&out->lease);
		lease_init(&out->lease);
		status_lease(p, store, out);
		out->health_known = !store_standing_get(store, p->name,
							&out->standing, &err);
	} while (out->health_known && --looks > 0 &&
		 health_is_cut_off(&out->standing, out->leased));
	if (!out->health_known)
		status_note(out, "state", &err);
	early_find(&out->standing, &out->early);
}

static struct health_wait status_waits(const struct status_result *r)
{
	const char *prepared =
		json_string_value(json_object_get(r->held_by, "prepared"));

	if (breaker_is_open(&r->breaker, clock_now_us()))
		return (struct health_wait){ "breaker", r->breaker.last_error,
					     0 };
	if (prepared)
		return (struct health_wait){ "transaction", prepared, 0 };
	return early_wait(r->early);
}

static struct health_wait status_pause(const struct status_result *r)
{
	if (!r->control.paused_at)
		return (struct health_wait){ NULL, NULL, 0 };
	return (struct health_wait){ "pause", r->control.paused_by,
				     r->control.paused_at };
}

static void status_control(const struct pipeline_settings *p,
			   struct store *store, struct status_result *out)
{
	struct error err = ERROR_INIT;

	if (store && store_pace_get(store, p->name, &out->control, &err))
		status_note(out, "state", &err);
}

static void status_health(struct status_result *out)
{
	const struct pipeline_settings *p = out->pipeline;
	const struct health_facts facts = {
		.name = p->name,
		.now_us = out->asked_us,
		.standing = &out->standing,
		.leased = out->leased,
		.fault = &out->fault,
		.waiting = status_waits(out),
		.paused = status_pause(out),
		.late_us = alert_late_us(&p->alert, out->interval_us),
		.next_due = out->next_due,
		.lag_us = out->lag_us,
		.lag_reason = out->lag_reason,
	};

	if (!out->health_known)
		return;
	health_judge(&facts, out->paused, &out->health);
	out->lag_us = out->health.lag_us;
	out->lag_reason = out->health.lag_reason;
}

static void status_letters(const struct pipeline_settings *p,
			   struct store *store, struct status_result *out)
{
	struct error err = ERROR_INIT;

	if (store && !store_letters_count(store, p->name, &out->letters, &err))
		return;
	out->letters = -1;
	if (store)
		status_note(out, "state", &err);
}

/* Tell the state of a run that still has its lease. A run that was killed has
 * no hold, and gets no further. */
static void status_under_way(struct status_result *out)
{
	const struct attempt *a = &out->last;
	int64_t passed = clock_now_us() - a->started_at;

	out->progress = -1;
	out->eta_us = -1;
	if (!out->has_last || !out->leased || strcmp(a->state, "RUNNING") != 0)
		return;
	if (a->paused)
		out->paused = json_loads(a->paused, 0, NULL);
	if (a->progress < 0)
		return;
	out->progress = (double)a->progress / 1e6;
	if (a->progress > 0 && passed > 0)
		out->eta_us = (int64_t)((double)passed / out->progress *
					(1 - out->progress));
}

static void status_chunks(const struct pipeline_settings *p,
			  struct store *store, struct status_result *out)
{
	struct error err = ERROR_INIT;

	if (store && store_chunks_list(store, p->name, &out->chunks, &err))
		status_note(out, "state", &err);
}

/* Nobody may keep to a schedule that the config does not name: the pipeline may
 * be run by something else. */
static int64_t status_due(const struct status_result *r, int64_t now_us)
{
	const struct pipeline_settings *p = r->pipeline;
	int64_t due;

	if (!p->schedule.said)
		return 0;
	due = schedule_due(&p->schedule, p->name,
			   r->standing.of[STANDING_NEWEST].started_at, now_us,
			   now_us);
	return due == SCHEDULE_NEVER ? 0 : due;
}

static void status_fill(const struct pipeline_settings *p, struct store *store,
			bool asks, int64_t interval_us,
			struct status_result *out)
{
	int64_t caught_up_age;

	memset(out, 0, sizeof(*out));
	out->pipeline = p;
	out->lag_us = -1;
	out->asked_us = clock_now_us();
	out->interval_us = interval_us;
	attempt_init(&out->last);
	settings_fault(p, &out->fault);
	if (asks)
		status_mark(p, store, out);
	else
		status_mirror(p, store, out);
	caught_up_age = status_runs(p, store, out);
	status_standing(p, store, out);
	status_under_way(out);
	status_letters(p, store, out);
	status_control(p, store, out);
	out->next_due = status_due(out, out->asked_us);
	status_chunks(p, store, out);
	if (out->fault.code)
		out->lag_reason = "cannot run";
	else if (!out->watermark)
		out->lag_reason = out->from ? "no mark" : "mark not known";
	else if (!asks)
		out->lag_us = caught_up_age;
	else if (!stop_requested())
		status_lag_of(p, caught_up_age, out);
	status_health(out);
}

/* Nobody has said that something keeps to the default schedule. */
void status_pipeline(const struct pipeline_settings *p, struct store *store,
		     struct status_result *out)
{
	int64_t interval_us =
		p->schedule.said
			? schedule_interval(&p->schedule, clock_now_us())
			: 0;

	status_fill(p, store, true, interval_us, out);
}

void status_look(const struct pipeline_settings *p, struct store *store,
		 int64_t interval_us, struct status_result *out)
{
	status_fill(p, store, false, interval_us, out);
}

void status_age(struct status_result *r, int64_t now_us)
{
	if (r->lag_us >= 0)
		r->lag_us += now_us - r->asked_us;
	if (r->lag_us < 0 && !r->lag_reason)
		r->lag_reason = "the clock was set back";
	r->asked_us = now_us;
	status_health(r);
}

void status_result_release(struct status_result *r)
{
	free(r->watermark);
	json_decref(r->paused);
	json_decref(r->early);
	pace_record_release(&r->control);
	json_decref(r->held_by);
	attempt_release(&r->last);
	lease_release(&r->lease);
	breaker_release(&r->breaker);
	chunk_list_release(&r->chunks);
	standing_release(&r->standing);
	strlist_release(&r->notes);
	memset(r, 0, sizeof(*r));
}
