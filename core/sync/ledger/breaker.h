/*
 * The breaker of a pipeline. It counts runs in a row that failed by something
 * that only time or somebody else can mend (exit 1 and 3). After so many of
 * them none is tried for a while; then one run makes one try. It keeps nothing
 * of its own: the run ledger tells every process alike how the last runs ended.
 */
#ifndef TIDEMARK_CORE_SYNC_LEDGER_BREAKER_H
#define TIDEMARK_CORE_SYNC_LEDGER_BREAKER_H

#include "core/settings/settings.h"
#include "core/store/history.h"

struct breaker {
	int64_t failures; /* in a row */
	int64_t open_until; /* µs since 1970; 0: so many it were not */
	char *last_error; /* the last failure's, or NULL */
};
void breaker_init(struct breaker *b);
void breaker_release(struct breaker *b);
/* Between half open (a run makes one try) and open lies the clock. */
bool breaker_is_open(const struct breaker *b, int64_t now_us);

/* So many of the newest attempts are looked at. */
int64_t breaker_looks(const struct pipeline_settings *p);

/* Judge the attempts of one pipeline, newest first. Runs that were refused,
 * killed or stopped before their first batch say nothing; data or tables that
 * were refused say that both ends answer. */
void breaker_judge(struct breaker *out, const struct breaker_policy *policy,
		   const struct attempt_list *newest_first, int64_t now_us);

/* 0 if a run may begin; ACCESS saying until when if the breaker is open.
 * `single`: it is half open. A NULL store remembers nothing. */
int breaker_check(struct store *store, const struct pipeline_settings *p,
		  bool *single, struct error *err);

#endif
