/*
 * `status`: the state of a pipeline. It asks the destination for the mark, the
 * source for how far behind it is, and the state store for the last run. It
 * prints the answers: an end that does not answer is a note, not the end.
 */
#ifndef TIDEMARK_CORE_SYNC_REPORT_STATUS_H
#define TIDEMARK_CORE_SYNC_REPORT_STATUS_H

#include "core/settings/settings.h"
#include "core/store/chunks.h"
#include "core/store/leases.h"
#include "core/store/pipelines.h"
#include "core/sync/ledger/breaker.h"
#include "core/sync/report/health.h"

struct status_result {
	const struct pipeline_settings *pipeline;
	struct error fault; /* why its table cannot be synced; none: it can */
	char *watermark; /* JSON text, or NULL: none, or not known */
	const char *from; /* "destination", "state", NULL: not known */
	int64_t lag_us; /* -1: not known */
	int64_t asked_us; /* when all this was so; wall clock */
	int64_t interval_us, next_due; /* by its schedule; 0: none */
	const char *lag_reason; /* why it is not known, or NULL; static */
	json_t *held_by; /* the transaction that the mark waits for, or NULL */
	struct attempt last;
	json_t *paused; /* the present run's hold, or NULL */
	json_t *early; /* why the last run did not read (pre_check), or NULL */
	double progress; /* in its window, 0..1; -1: not known, or no run */
	int64_t eta_us; /* until it has caught up, about; -1: not known */
	bool runs_known, has_last;
	struct lease lease;
	bool leased;
	struct breaker breaker;
	int64_t letters; /* dead letters that are open; -1: not known */
	struct chunk_list chunks; /* chunks of backfills, in their order */
	struct standing standing;
	struct pace_record control; /* whether it is paused, and by whom */
	/* Its state; borrows from the members above. */
	struct health health;
	bool health_known; /* else the store did not tell */
	struct strlist notes; /* ends that could not be reached, and why */
};

/* `store` may be NULL: it was not reached. `out` is filled in any case and to
 * be released. */
void status_pipeline(const struct pipeline_settings *p, struct store *store,
		     struct status_result *out);
/* The same by the store alone. The mark is the mirror's, and the lag the time
 * since the begin of the last run that caught up. `interval_us` is that of the
 * schedule by which it is run; 0: none. */
void status_look(const struct pipeline_settings *p, struct store *store,
		 int64_t interval_us, struct status_result *out);
/* Its state now, by the facts that were found then: it may be late by now. */
void status_age(struct status_result *r, int64_t now_us);
void status_result_release(struct status_result *r);
/* New reference. */
json_t *status_result_json(const struct status_result *r);
/* {"share","eta_seconds"} or null; new reference. */
json_t *status_progress_json(const struct status_result *r);

/* How far the destination is behind. It is the age of the mark, or, if that is
 * less, the time since the begin of the last run that caught up. A table in
 * which nothing changes has an old mark and is not behind. It is never less
 * than the time that the source itself holds back. All in µs, negative: not
 * known. */
int64_t status_lag(int64_t mark_age_us, int64_t caught_up_age_us,
		   int64_t held_us);

#endif
