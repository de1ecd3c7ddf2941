/*
 * The state of a pipeline, in one place for whoever tells or asks it: `status`,
 * metrics, notifications.
 *
 * It goes by the state store alone and asks no server. Once a server goes away,
 * its pipelines are ok until a run has found that out.
 */
#ifndef TIDEMARK_CORE_SYNC_REPORT_HEALTH_H
#define TIDEMARK_CORE_SYNC_REPORT_HEALTH_H

#include <jansson.h>

#include "core/base/error.h"
#include "core/base/strbuf.h"
#include "core/store/standing.h"

/* The worst comes first. */
enum health_state {
	HEALTH_FAILING, /* its last run failed, or was killed */
	HEALTH_LATE, /* it has not caught up for longer than alert.late */
	HEALTH_WAITING, /* for somebody or something, who is named */
	HEALTH_PAUSED, /* by somebody, who is named */
	HEALTH_NEVER_RUN, /* no run is on record */
	HEALTH_OK,
	HEALTH_STATES
};
/* "never_run", as in JSON; and for people, "never run". */
const char *health_state_name(enum health_state state);
const char *health_state_words(enum health_state state);

/* A wait, or a pause. Texts are borrowed; `reason` NULL: there is none. */
struct health_wait {
	const char *reason; /* one word: "pace", "retry", "transaction" */
	const char *whom; /* for what or whom; by whom; may be NULL */
	int64_t since; /* 0: not known */
};

/* Facts by which it is judged. Texts are borrowed. All times are in µs since
 * 1970, 0: none, or not known. */
struct health_facts {
	const char *name;
	int64_t now_us;
	const struct standing *standing;
	bool leased; /* a process has the pipeline's lease */
	const struct error *fault; /* why no run can sync it; or NULL */
	struct health_wait waiting; /* outside of its run; a run's are found */
	struct health_wait paused; /* by an operator */
	int64_t late_us; /* alert_late_us(); 0: never */
	int64_t next_due; /* its schedule's */
	int64_t lag_us; /* as measured; -1: not known */
	const char *lag_reason; /* why not, or NULL */
};

/* Texts are borrowed from the facts, or static. */
struct health {
	const char *name;
	enum health_state state;
	int64_t since; /* 0: not known */
	int64_t last_success; /* the end of the last run that caught up */
	int64_t lag_us; /* -1: not known; then `lag_reason` tells why */
	const char *lag_reason;
	/* The error of a pipeline that fails or tries again; NULL: none. */
	const char *error_code, *error_message;
	/* The run that made the state so, else the newest; or NULL. */
	const char *run_id, *attempt_id;
	struct health_wait waiting, paused;
	int64_t late_us, next_due;
};

/* Pure: it reads no clock and asks nobody. `hold` is the present run's, the
 * JSON of standing's newest attempt; NULL: none. */
void health_judge(const struct health_facts *facts, const json_t *hold,
		  struct health *out);
/* Failing or late: what `status --fail` and a health check go by. */
bool health_is_bad(const struct health *h);
/* Was the newest run cut off, by these facts? Its process may have ended in
 * between, so whoever asks reads the standing again behind the lease. */
bool health_is_cut_off(const struct standing *standing, bool leased);

/* How many pipelines are in which state; of `unknown` the store told nothing.
 */
struct health_counts {
	size_t of[HEALTH_STATES], unknown, all;
};
void health_count(struct health_counts *counts, const struct health *h);
/* "37 pipelines: 34 ok, 2 failing, 1 waiting". */
void health_counts_add(struct strbuf *out, const struct health_counts *counts);
/* {"pipelines": 37, "ok": 34, ...}; new reference. */
json_t *health_counts_json(const struct health_counts *counts);
/* Add "state", "since", "last_success", "last_error", "waiting", "paused_by"
 * and more to a pipeline's object. NULL: not known, all null. */
void health_add_json(json_t *object, const struct health *h);
/* The beginning of a message, at most about `most` bytes, cut between words.
 * Caller frees. */
char *health_first_words(const char *message, size_t most);

#endif
