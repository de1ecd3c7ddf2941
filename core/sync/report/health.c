#include "core/sync/report/health.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/json_text.h"
#include "core/base/utf8.h"
#include "core/data/value.h"
#include "core/sync/pace/pace.h"

static const struct {
	const char *name, *words;
} health_names[HEALTH_STATES] = {
	[HEALTH_FAILING] = { "failing", "failing" },
	[HEALTH_LATE] = { "late", "late" },
	[HEALTH_WAITING] = { "waiting", "waiting" },
	[HEALTH_PAUSED] = { "paused", "paused" },
	[HEALTH_NEVER_RUN] = { "never_run", "never run" },
	[HEALTH_OK] = { "ok", "ok" },
};

const char *health_state_name(enum health_state state)
{
	return health_names[state].name;
}

const char *health_state_words(enum health_state state)
{
	return health_names[state].words;
}

static bool health_is_running(const struct standing_attempt *a)
{
	return a->known && !strcmp(a->state, "RUNNING");
}

static bool health_is_retried(const struct standing_attempt *a)
{
	return a->known && !strcmp(a->outcome, "retried");
}

/* A run records its end, and gives the lease back behind that. A repair
 * or a replay is no run. */
bool health_is_cut_off(const struct standing *standing, bool leased)
{
	const struct standing_attempt *newest = &standing->of[STANDING_NEWEST];

	return !leased && !newest->aside &&
	       (health_is_running(newest) || health_is_retried(newest));
}

bool health_is_bad(const struct health *h)
{
	return h->state == HEALTH_FAILING || h->state == HEALTH_LATE;
}

static void health_take_hold(const json_t *hold, struct health *out)
{
	const char *by = json_string_value(json_object_get(hold, "by"));
	const char *since = json_string_value(json_object_get(hold, "since"));
	struct health_wait wait = {
		.reason = "pace",
		.whom = json_string_value(json_object_get(hold, "reason")),
	};

	if (since && !value_parse_instant(since, &wait.since))
		wait.since = 0;
	/* Somebody wants to have it so, or made that file. */
	if (by && (!strcmp(by, PACE_PAUSE) || !strcmp(by, "pause_file")))
		out->paused = wait;
	else
		out->waiting = wait;
}

static void health_find_waits(const struct health_facts *f, const json_t *hold,
			      struct health *out)
{
	const struct standing_attempt *newest =
		&f->standing->of[STANDING_NEWEST];

	out->waiting = f->waiting;
	out->paused = f->paused;
	if (out->waiting.reason || out->paused.reason || !f->leased)
		return;
	if (health_is_running(newest) && hold)
		health_take_hold(hold, out);
	else if (health_is_retried(newest))
		out->waiting =
			(struct health_wait){ "retry", newest->error_message,
					      newest->ended_at };
}

static void health_set_error(struct health *out, const char *code,
			     const char *message)
{
	out->error_code = code && *code ? code : "unknown";
	out->error_message = message ? message : "";
}

/* The reason why it fails, and since when; false: it does not. */
static bool health_find_failure(const struct health_facts *f,
				struct health *out)
{
	const struct standing_attempt *of = f->standing->of;
	const struct standing_attempt *newest = &of[STANDING_NEWEST];
	const struct standing_attempt *failed = &of[STANDING_FAILED];

	out->since = of[STANDING_BROKE].ended_at;
	if (f->fault && f->fault->code) {
		health_set_error(out, error_code_name(f->fault->code),
				 f->fault->message);
	} else if (health_is_cut_off(f->standing, f->leased)) {
		if (!out->since)
			out->since = newest->heartbeat_at;
		if (health_is_retried(newest))
			health_set_error(out, newest->error_code,
					 newest->error_message);
		else
			health_set_error(out, "lost",
					 "its process is gone, or has lost its "
					 "lease, and told no end");
	} else if (failed->known) {
		health_set_error(out, failed->error_code,
				 failed->error_message);
	} else {
		out->since = 0;
		return false;
	}
	return true;
}

/* One that has never caught up is late by its first run. */
static bool health_find_lateness(const struct health_facts *f,
				 struct health *out)
{
	const struct standing_attempt *first = &f->standing->of[STANDING_FIRST];
	int64_t from =
		out->last_success ? out->last_success : first->started_at;

	if (!first->known || f->late_us <= 0 ||
	    __builtin_add_overflow(from, f->late_us, &out->since) ||
	    f->now_us <= out->since) {
		out->since = 0;
		return false;
	}
	return true;
}

static enum health_state health_find_state(const struct health_facts *f,
					   struct health *out)
{
	const struct standing_attempt *of = f->standing->of;

	if (f->paused.reason) {
		out->since = f->paused.since;
		return HEALTH_PAUSED;
	}
	if (health_find_failure(f, out))
		return HEALTH_FAILING;
	if (health_find_lateness(f, out))
		return HEALTH_LATE;
	if (out->waiting.reason) {
		out->since = out->waiting.since;
		return HEALTH_WAITING;
	}
	if (out->paused.reason) {
		out->since = out->paused.since;
		return HEALTH_PAUSED;
	}
	if (!of[STANDING_FIRST].known)
		return HEALTH_NEVER_RUN;
	out->since = of[STANDING_MENDED].known ? of[STANDING_MENDED].ended_at
					       : of[STANDING_FIRST].started_at;
	return HEALTH_OK;
}

/* The mark of a pipeline that fails may be the source's newest, and rows be
 * missing all the same. They have no mark, or were refused. So only what was
 * there at its last success is known to be delivered. */
static void health_find_lag(const struct health_facts *f, struct health *out)
{
	const struct standing_attempt *success =
		&f->standing->of[STANDING_SUCCESS];

	out->lag_us = f->lag_us < 0 ? -1 : f->lag_us;
	out->lag_reason = f->lag_us < 0 ? f->lag_reason : NULL;
	if (out->state == HEALTH_FAILING && out->lag_us >= 0 &&
	    out->lag_us < US_PER_SECOND) {
		out->lag_us =
			success->known ? f->now_us - success->started_at : -1;
		if (out->lag_us < 0)
			out->lag_reason = "never caught up";
	}
	if (out->lag_us < 0)
		out->lag_us = -1;
	if (out->lag_us >= 0)
		return;
	if (out->state == HEALTH_NEVER_RUN)
		out->lag_reason = "never run";
	else if (!out->lag_reason)
		out->lag_reason = "not known";
}

/* The run that the state is about: another one may have begun behind it. */
static const struct standing_attempt *health_run(const struct health_facts *f,
						 enum health_state state)
{
	const struct standing_attempt *of = f->standing->of;

	if (state == HEALTH_FAILING && of[STANDING_FAILED].known &&
	    !health_is_cut_off(f->standing, f->leased))
		return &of[STANDING_FAILED];
	if ((state == HEALTH_OK || state == HEALTH_WAITING) &&
	    of[STANDING_MENDED].known)
		return &of[STANDING_MENDED];
	return &of[STANDING_NEWEST];
}

void health_judge(const struct health_facts *facts, const json_t *hold,
		  struct health *out)
{
	const struct standing_attempt *of = facts->standing->of;

	memset(out, 0, sizeof(*out));
	out->name = facts->name;
	out->late_us = facts->late_us;
	out->next_due = facts->next_due;
	out->last_success = of[STANDING_SUCCESS].ended_at;
	health_find_waits(facts, hold, out);
	out->state = health_find_state(facts, out);
	out->run_id = health_run(facts, out->state)->run_id;
	out->attempt_id = health_run(facts, out->state)->attempt_id;
	if (!out->error_message && out->waiting.reason && facts->leased &&
	    health_is_retried(&of[STANDING_NEWEST]))
		health_set_error(out, of[STANDING_NEWEST].error_code,
				 of[STANDING_NEWEST].error_message);
	health_find_lag(facts, out);
}

void health_count(struct health_counts *counts, const struct health *h)
{
	counts->all++;
	if (h)
		counts->of[h->state]++;
	else
		counts->unknown++;
}

void health_counts_add(struct strbuf *out, const struct health_counts *counts)
{
	const char *between = "";

	strbuf_addf(out, "%zu pipeline%s: ", counts->all,
		    counts->all == 1 ? "" : "s");
	if (counts->of[HEALTH_OK]) {
		strbuf_addf(out, "%zu ok", counts->of[HEALTH_OK]);
		between = ", ";
	}
	for (int i = 0; i < HEALTH_STATES; i++) {
		if (i == HEALTH_OK || !counts->of[i])
			continue;
		strbuf_addf(out, "%s%zu %s", between, counts->of[i],
			    health_names[i].words);
		between = ", ";
	}
	if (counts->unknown)
		strbuf_addf(out, "%s%zu not known", between, counts->unknown);
}

json_t *health_counts_json(const struct health_counts *counts)
{
	json_t *object =
		json_pack("{s:I}", "pipelines", (json_int_t)counts->all);

	for (int i = HEALTH_STATES - 1; i >= 0; i--)
		json_object_set_new(object, health_names[i].name,
				    json_integer((json_int_t)counts->of[i]));
	json_object_set_new(object, "unknown",
			    json_integer((json_int_t)counts->unknown));
	return object;
}

static json_t *health_wait_json(const struct health_wait *wait)
{
	if (!wait->reason)
		return json_null();
	return json_pack("{s:s, s:s?, s:o}", "reason", wait->reason, "whom",
			 wait->whom, "since", json_text_time(wait->since));
}

static json_t *health_error_json(const struct health *h)
{
	if (!h->error_message)
		return json_null();
	return json_pack("{s:s, s:s}", "code", h->error_code, "message",
			 h->error_message);
}

static json_t *health_seconds_json(int64_t us)
{
	return us <= 0 ? json_null()
		       : json_real((double)us / (double)US_PER_SECOND);
}

void health_add_json(json_t *object, const struct health *h)
{
	static const struct health nothing = { .lag_us = -1 };
	const struct health *of = h ? h : &nothing;

	json_object_set_new(object, "state",
			    h ? json_string(health_state_name(h->state))
			      : json_null());
	json_object_set_new(object, "since", json_text_time(of->since));
	json_object_set_new(object, "last_success",
			    json_text_time(of->last_success));
	json_object_set_new(object, "last_error", health_error_json(of));
	json_object_set_new(object, "waiting", health_wait_json(&of->waiting));
	json_object_set_new(object, "paused_by", health_wait_json(&of->paused));
	json_object_set_new(object, "late_after_seconds",
			    health_seconds_json(of->late_us));
	json_object_set_new(object, "next_due", json_text_time(of->next_due));
	json_object_set_new(object, "lag_reason",
			    of->lag_reason ? json_string(of->lag_reason)
					   : json_null());
}

char *health_first_words(const char *message, size_t most)
{
	size_t n = strlen(message), cut;

	if (n <= most)
		return xstrdup(message);
	cut = n = utf8_cut(message, most);
	while (cut > n / 2 && message[cut] != ' ')
		cut--;
	if (cut <= n / 2)
		cut = n;
	return xstrfmt("%.*s...", (int)cut, message);
}
