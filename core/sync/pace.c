#include "core/sync/pace.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/units.h"
#include "core/sync/bucket.h"
#include "core/sync/probe.h"

/* Between two looks while the run is held. */
#define PACE_LOOK_US (US_PER_SECOND / 10)
/* How long an answer of the servers is believed. */
#define PACE_ASK_US US_PER_SECOND
/* A hold that is shorter is not worth a word. */
#define PACE_TELL_US US_PER_SECOND
/* How often a reason that only counts on is told anew. */
#define PACE_REFRESH_US (15 * US_PER_SECOND)
/* Batches a second at the full rate: over 10 s one batch is 2 %. */
#define PACE_PIECES 5

/* What holds the run; `by` is a key of `pace`, NULL: nothing does. */
struct pace_hold {
	const char *by;
	char *reason;
	bool failed; /* a probe has */
	int64_t since_us, begun_us; /* wall clock, monotonic clock */
	bool told;
};

/* What speaks against reading just now. */
struct pace_cause {
	const char *by;
	char *reason;
	bool failed;
	int64_t wait_us;
};

struct pace {
	const struct pace_settings *settings;
	struct bucket rows, bytes;
	struct probes probes;
	struct probe_answer answer;
	int64_t asked_us; /* 0: never */
	bool rate_told;
	pthread_mutex_t lock; /* of what follows */
	struct pace_hold hold;
	int64_t change, told_us;
};

struct pace *pace_new(const struct pipeline_settings *p)
{
	const struct pace_settings *s = &p->pace;
	struct pace *pace;

	if (!s->rows_per_second && !s->bytes_per_second && !s->replica_lag_us &&
	    !s->max_active && !(s->pause_file && *s->pause_file))
		return NULL;
	pace = xcalloc(1, sizeof(*pace));
	pace->settings = s;
	pace->rows.rate = s->rows_per_second;
	pace->bytes.rate = s->bytes_per_second;
	probes_init(&pace->probes, p);
	pthread_mutex_init(&pace->lock, NULL);
	return pace;
}

void pace_free(struct pace *pace)
{
	if (!pace)
		return;
	probes_release(&pace->probes);
	probe_answer_release(&pace->answer);
	free(pace->hold.reason);
	pthread_mutex_destroy(&pace->lock);
	free(pace);
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
	char since[CLOCK_TEXT_SIZE];

	clock_format_utc(h->since_us, since);
	if (h->failed)
		log_warn("held by pace.%s since %s: %s", h->by, since,
			 h->reason);
	else if (!pace_is_rate(h->by))
		log_info("held by pace.%s since %s: %s", h->by, since,
			 h->reason);
	else if (!pace->rate_told)
		log_info("held back by pace.%s: %s", h->by, h->reason);
	pace->rate_told |= pace_is_rate(h->by);
	h->told = true;
	pace_refresh(pace);
}

static void pace_end(struct pace *pace)
{
	struct pace_hold *h = &pace->hold;
	int64_t us = clock_monotonic_us() - h->begun_us;
	struct strbuf lasted = STRBUF_INIT;

	if (h->told && !pace_is_rate(h->by)) {
		units_print_duration(&lasted,
				     us / US_PER_SECOND * US_PER_SECOND);
		log_info("no longer held by pace.%s, after %s", h->by,
			 lasted.data);
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
	const char *path = pace->settings->pause_file;
	struct stat ignored;

	if (!path || !*path)
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

static void pace_look_at_rates(const struct pace *pace, struct pace_cause *out)
{
	int64_t now = clock_monotonic_us();
	int64_t rows = bucket_wait(&pace->rows, now);
	int64_t bytes = bucket_wait(&pace->bytes, now);
	struct strbuf size = STRBUF_INIT;

	if (out->by || (!rows && !bytes))
		return;
	if (rows >= bytes) {
		out->by = "rows_per_second";
		out->reason = xstrfmt("no more than %" PRId64 " rows/s",
				      pace->rows.rate);
	} else {
		units_print_size(&size, pace->bytes.rate);
		out->by = "bytes_per_second";
		out->reason = xstrfmt("no more than %s/s", size.data);
		strbuf_release(&size);
	}
	out->wait_us = rows > bytes ? rows : bytes;
}

/* A look at all that may hold the run; `by` NULL: nothing does. */
static int pace_look(struct pace_round *round, struct pace_cause *out,
		     struct error *err)
{
	int rc;

	memset(out, 0, sizeof(*out));
	out->wait_us = PACE_LOOK_US;
	pace_look_at_file(round->pace, out);
	rc = pace_look_at_servers(round, out, err);
	if (!rc)
		pace_look_at_rates(round->pace, out);
	if (out->wait_us > PACE_LOOK_US)
		out->wait_us = PACE_LOOK_US;
	return rc;
}

/* Of a rate that is waited for batch after batch the hold goes on. */
static void pace_let_go(struct pace *pace, bool waited)
{
	int64_t now = clock_monotonic_us();

	pthread_mutex_lock(&pace->lock);
	if (!waited || !pace_is_rate(pace->hold.by))
		pace_end(pace);
	pthread_mutex_unlock(&pace->lock);
	bucket_open(&pace->rows, now);
	bucket_open(&pace->bytes, now);
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
	if (clock_sleep_us(cause->wait_us))
		return error_set(err, ERROR_STOPPED, "stopped by a signal");
	return 0;
}

int pace_wait(struct pace *pace, const struct pace_waiter *waiter,
	      struct error *err)
{
	struct pace_round round = { pace, waiter, false };
	struct pace_cause cause;
	bool waited = false;
	int rc = 0;

	while (pace && !rc && !waiter->over(waiter->ctx)) {
		rc = pace_look(&round, &cause, err);
		if (!rc && !cause.by) {
			pace_let_go(pace, waited);
			return 0;
		}
		if (!rc)
			rc = pace_hold_on(&round, &cause, err);
		waited = true;
	}
	return rc;
}

static size_t pace_least(size_t bound, int64_t rate)
{
	size_t piece = (size_t)(rate / PACE_PIECES);

	if (!rate || (bound && bound <= piece))
		return bound;
	return piece ? piece : 1;
}

void pace_bound(const struct pace *pace, struct batch *b)
{
	if (!pace)
		return;
	b->max_rows = pace_least(b->max_rows, pace->rows.rate);
	b->max_bytes = pace_least(b->max_bytes, pace->bytes.rate);
}

void pace_count(struct pace *pace, const struct batch *b)
{
	if (!pace)
		return;
	bucket_take(&pace->rows, (int64_t)b->n_rows);
	bucket_take(&pace->bytes, (int64_t)batch_bytes(b));
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
