#include "core/sync/pace/pace.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/seat.h"
#include "core/base/units.h"
#include "core/sync/pace/probe.h"
#include "core/sync/pace/rates.h"

/* Between two looks while the run is held. */
#define PACE_LOOK_US (US_PER_SECOND / 10)
/* How long an answer of the servers is believed. */
#define PACE_ASK_US US_PER_SECOND
/* A hold that is shorter is not worth a word. */
#define PACE_TELL_US US_PER_SECOND
/* How often a reason that only counts on is told anew. */
#define PACE_REFRESH_US (15 * US_PER_SECOND)

/* The hold of a run; `by` is a key of `pace`, NULL: there is none. */
struct pace_hold {
	const char *by;
	char *reason;
	bool failed; /* a probe has */
	int64_t since_us, begun_us; /* wall clock, monotonic clock */
	bool told;
};

/* A reason against reading just now. */
struct pace_cause {
	const char *by;
	char *reason;
	bool failed;
	int64_t wait_us;
};

struct pace {
	const struct pipeline_settings *p;
	pthread_mutex_t
		asking; /* guards all down to `lock`, but for the share */
	int64_t share; /* part of the rates: one of so many */
	struct pace_limits limits;
	struct rates rates;
	struct probes probes;
	struct probe_answer answer;
	int64_t asked_us; /* 0: never */
	pthread_mutex_t lock; /* guards the rest; taken last */
	struct pace_limits next; /* to go by from the next look on */
	bool changed;
	bool yields;
	char *pause; /* why a person holds it; NULL: nobody does */
	struct pace_hold hold;
	bool rate_told;
	int64_t change, told_us;
};

static int64_t pace_part(const struct pace *pace, int64_t rate)
{
	int64_t part = rate / pace->share;

	return rate && !part ? 1 : part;
}

/* Takes over what the limits own. */
static void pace_use(struct pace *pace, struct pace_limits limits)
{
	pace_limits_release(&pace->limits);
	pace->limits = limits;
	rates_set(&pace->rates, pace_part(pace, limits.rows_per_second),
		  pace_part(pace, limits.bytes_per_second),
		  clock_monotonic_us());
	probes_release(&pace->probes);
	probes_init(&pace->probes, pace->p, &pace->limits);
	probe_answer_release(&pace->answer);
	pace->asked_us = 0;
}

struct pace *pace_new(const struct pipeline_settings *p, int64_t share)
{
	struct pace *pace = xcalloc(1, sizeof(*pace));
	struct pace_limits limits = p->pace.limits;

	pace->p = p;
	pace->share = share > 1 ? share : 1;
	limits.pause_file = xstrdup(limits.pause_file);
	pace_use(pace, limits);
	pthread_mutex_init(&pace->asking, NULL);
	pthread_mutex_init(&pace->lock, NULL);
	return pace;
}

void pace_change(struct pace *pace, struct pace_limits *limits)
{
	pthread_mutex_lock(&pace->lock);
	pace_limits_release(&pace->next);
	pace->next = *limits;
	pace->changed = true;
	pthread_mutex_unlock(&pace->lock);
	memset(limits, 0, sizeof(*limits));
}

void pace_pause(struct pace *pace, const char *reason)
{
	pthread_mutex_lock(&pace->lock);
	free(pace->pause);
	pace->pause = reason ? xstrdup(reason) : NULL;
	pthread_mutex_unlock(&pace->lock);
}

void pace_yield(struct pace *pace)
{
	pace->yields = true;
}

static void pace_look_at_pause(struct pace *pace, struct pace_cause *out)
{
	pthread_mutex_lock(&pace->lock);
	if (pace->pause) {
		out->by = PACE_PAUSE;
		out->reason = xstrdup(pace->pause);
	}
	pthread_mutex_unlock(&pace->lock);
}

static void pace_adopt(struct pace *pace)
{
	struct pace_limits next;
	bool changed;

	pthread_mutex_lock(&pace->lock);
	changed = pace->changed;
	pace->rate_told &= !changed;
	next = pace->next;
	memset(&pace->next, 0, sizeof(pace->next));
	pace->changed = false;
	pthread_mutex_unlock(&pace->lock);
	if (changed)
		pace_use(pace, next);
}

void pace_free(struct pace *pace)
{
	if (!pace)
		return;
	probes_release(&pace->probes);
	probe_answer_release(&pace->answer);
	pace_limits_release(&pace->limits);
	pace_limits_release(&pace->next);
	free(pace->hold.reason);
	free(pace->pause);
	pthread_mutex_destroy(&pace->asking);
	pthread_mutex_destroy(&pace->lock);
	free(pace);
}

const char *pace_prefix(const char *by)
{
	return by && !strcmp(by, PACE_PAUSE) ? "" : "pace.";
}

static bool pace_is_rate(const char *by)
{
	return by && strstr(by, "_per_second") != NULL;
}

/* How much it is by now is told to those who look, not to the log. */
static void pace_refresh(struct pace *pace)
{
	pace->change++;
	pace->told_us = clock_monotonic_us();
}

/* A rate is told once: it holds every batch. */
static void pace_tell(struct pace *pace)
{
	struct pace_hold *h = &pace->hold;
	const struct log_event event = { .name = "held" };
	char since[CLOCK_TEXT_SIZE];

	clock_format_utc(h->since_us, since);
	if (h->failed)
		log_event(LOG_WARN, &event, "held by %s%s since %s: %s",
			  pace_prefix(h->by), h->by, since, h->reason);
	else if (!pace_is_rate(h->by))
		log_event(LOG_INFO, &event, "held by %s%s since %s: %s",
			  pace_prefix(h->by), h->by, since, h->reason);
	else if (!pace->rate_told)
		log_event(LOG_INFO, &event, "held back by %s%s: %s",
			  pace_prefix(h->by), h->by, h->reason);
	pace->rate_told |= pace_is_rate(h->by);
	h->told = true;
	pace_refresh(pace);
}

static void pace_end(struct pace *pace)
{
	struct pace_hold *h = &pace->hold;
	const struct log_event event = { .name = "released" };
	int64_t us = clock_monotonic_us() - h->begun_us;
	struct strbuf lasted = STRBUF_INIT;

	if (h->told && !pace_is_rate(h->by)) {
		units_print_duration(&lasted,
				     us / US_PER_SECOND * US_PER_SECOND);
		log_event(LOG_INFO, &event, "no longer held by %s%s, after %s",
			  pace_prefix(h->by), h->by, lasted.data);
		strbuf_release(&lasted);
	}
	if (h->by)
		pace->change++;
	free(h->reason);
	memset(h, 0, sizeof(*h));
}

/* Lock held. Takes the cause's reason. */
static void pace_go_on_holding(struct pace *pace, struct pace_cause *cause)
{
	struct pace_hold *h = &pace->hold;
	int64_t now = clock_monotonic_us();

	if (h->by && strcmp(h->by, cause->by) != 0)
		pace_end(pace);
	if (!h->by) {
		h->by = cause->by;
		h->since_us = clock_now_us();
		h->begun_us = now;
	}
	/* Whether anybody knows is news; how much it is by now is not. */
	h->told = h->told && h->failed == cause->failed;
	h->failed = cause->failed;
	free(h->reason);
	h->reason = cause->reason;
	cause->reason = NULL;
	if (!h->told && now - h->begun_us >= PACE_TELL_US)
		pace_tell(pace);
	else if (h->told && now - pace->told_us >= PACE_REFRESH_US)
		pace_refresh(pace);
}

static void pace_look_at_file(const struct pace *pace, struct pace_cause *out)
{
	const char *path = pace->limits.pause_file;
	struct stat ignored;

	if (out->by || !path || !*path)
		return;
	if (!stat(path, &ignored)) {
		out->reason = xstrfmt("%s exists; it goes on once the file is "
				      "removed",
				      path);
	} else if (errno != ENOENT && errno != ENOTDIR) {
		out->reason = xstrfmt("%s cannot be looked at, which counts as "
				      "if it were there: %s",
				      path, strerror(errno));
		out->failed = true;
	}
	if (out->reason)
		out->by = "pause_file";
}

/* Waits among others: without anything open. */
struct pace_round {
	struct pace *pace;
	const struct pace_waiter *waiter;
	bool idle;
	bool left; /* its seat */
};

static int pace_idle(struct pace_round *round, struct error *err)
{
	if (round->idle)
		return 0;
	round->idle = true;
	return round->waiter->idle(round->waiter->ctx, err);
}

static int pace_look_at_servers(struct pace_round *round,
				struct pace_cause *out, struct error *err)
{
	struct pace *pace = round->pace;
	int64_t now = clock_monotonic_us();
	int rc = 0;

	if (out->by || !pace->probes.n)
		return 0;
	if (!pace->asked_us || now - pace->asked_us >= PACE_ASK_US) {
		rc = pace_idle(round, err);
		if (!rc)
			rc = probes_ask(&pace->probes, &pace->answer, err);
		pace->asked_us = clock_monotonic_us();
	}
	if (rc || !pace->answer.by)
		return rc;
	out->by = pace->answer.by;
	out->reason = xstrdup(pace->answer.reason);
	out->failed = pace->answer.failed;
	return 0;
}

static void pace_look_at_rates(struct pace *pace, struct pace_cause *out)
{
	struct rates_wait wait;

	if (out->by)
		return;
	rates_look(&pace->rates, clock_monotonic_us(), &wait);
	if (!wait.by)
		return;
	out->by = wait.by;
	out->reason = wait.reason;
	out->wait_us = wait.us;
}

/* A look at all that may hold the run; `by` NULL: nothing does. */
static int pace_look(struct pace_round *round, struct pace_cause *out,
		     struct error *err)
{
	int rc;

	memset(out, 0, sizeof(*out));
	out->wait_us = PACE_LOOK_US;
	pthread_mutex_lock(&round->pace->asking);
	pace_adopt(round->pace);
	pace_look_at_pause(round->pace, out);
	pace_look_at_file(round->pace, out);
	rc = pace_look_at_servers(round, out, err);
	if (!rc)
		pace_look_at_rates(round->pace, out);
	pthread_mutex_unlock(&round->pace->asking);
	if (out->wait_us > PACE_LOOK_US)
		out->wait_us = PACE_LOOK_US;
	return rc;
}

/* When batch after batch waits for the same rate limit, report it as one hold
 * that began with the first wait. */
static void pace_let_go(struct pace *pace, bool waited)
{
	pthread_mutex_lock(&pace->lock);
	if (!waited || !pace_is_rate(pace->hold.by))
		pace_end(pace);
	pthread_mutex_unlock(&pace->lock);
}

static int pace_hold_on(struct pace_round *round, struct pace_cause *cause,
			struct error *err)
{
	int rc = pace_idle(round, err);

	if (rc) {
		free(cause->reason);
		return rc;
	}
	pthread_mutex_lock(&round->pace->lock);
	pace_go_on_holding(round->pace, cause);
	pthread_mutex_unlock(&round->pace->lock);
	/* A rate's waits are short, and come again with each batch. */
	if (!round->left && !pace_is_rate(cause->by)) {
		round->left = true;
		seat_leave(SEAT_OPEN);
	}
	if (clock_sleep_us(cause->wait_us))
		return error_set(err, ERROR_STOPPED, "stopped by a signal");
	return 0;
}

static bool pace_ends(const struct pace *pace, const struct pace_cause *cause)
{
	return pace->yields && !strcmp(cause->by, PACE_PAUSE);
}

static int pace_wait_for(struct pace_round *round, struct error *err)
{
	const struct pace_waiter *waiter = round->waiter;
	struct pace *pace = round->pace;
	struct pace_cause cause;
	bool waited = false;
	int rc = 0;

	while (pace && !rc && !waiter->over(waiter->ctx)) {
		rc = pace_look(round, &cause, err);
		if (!rc && !cause.by) {
			pace_let_go(pace, waited);
			return 0;
		}
		if (!rc && pace_ends(pace, &cause)) {
			rc = error_set(err, ERROR_STOPPED, "stopped: %s",
				       cause.reason);
			free(cause.reason);
		} else if (!rc) {
			rc = pace_hold_on(round, &cause, err);
		}
		waited = true;
	}
	return rc;
}

int pace_wait(struct pace *pace, const struct pace_waiter *waiter,
	      struct error *err)
{
	struct pace_round round = { pace, waiter, false, false };
	int rc = pace_wait_for(&round, err);

	if (round.left)
		seat_back(SEAT_OPEN, waiter->over, waiter->ctx);
	return rc;
}

void pace_open(struct pace *pace, struct batch *b)
{
	if (!pace)
		return;
	pthread_mutex_lock(&pace->asking);
	rates_open(&pace->rates, b, clock_monotonic_us());
	pthread_mutex_unlock(&pace->asking);
}

void pace_count(struct pace *pace, const struct batch *b)
{
	if (!pace)
		return;
	pthread_mutex_lock(&pace->asking);
	rates_take(&pace->rates, b);
	pthread_mutex_unlock(&pace->asking);
}

void pace_loaded(struct pace *pace, int64_t load_us)
{
	if (pace)
		rates_loaded(&pace->rates, load_us, pace->p->batch_target_us);
}

void pace_rest(struct pace *pace)
{
	if (!pace)
		return;
	pthread_mutex_lock(&pace->lock);
	pace_end(pace);
	pthread_mutex_unlock(&pace->lock);
}

json_t *pace_held(struct pace *pace, int64_t *change)
{
	char since[CLOCK_TEXT_SIZE];
	json_t *held = NULL;

	*change = 0;
	if (!pace)
		return NULL;
	pthread_mutex_lock(&pace->lock);
	*change = pace->change;
	if (pace->hold.by && pace->hold.told) {
		clock_format_utc(pace->hold.since_us, since);
		held = json_pack("{s:s, s:s, s:s}", "by", pace->hold.by,
				 "reason", pace->hold.reason, "since", since);
	}
	pthread_mutex_unlock(&pace->lock);
	return held;
}
