/*
 * Back-off with full jitter: delay n is uniform in [0, min(max, base * 2^n)].
 * (Brooker, "Exponential Backoff And Jitter": full jitter clears contention
 * soonest.)
 */
#ifndef TIDEMARK_CORE_BASE_RETRY_H
#define TIDEMARK_CORE_BASE_RETRY_H

#include <stdint.h>

struct retry_policy {
	int64_t attempts; /* tries in all, >= 1 */
	int64_t backoff_us;
	int64_t max_backoff_us;
};

/* When runs that keep failing are left alone for a while. */
struct breaker_policy {
	int64_t failures; /* runs in a row; 0: never */
	int64_t cool_down_us;
};

/* Delay before try `attempt` + 1 (attempt counts from 1), in µs; `random` is
 * any 64-bit random number. Never overflows. */
int64_t retry_delay_us(const struct retry_policy *policy, int64_t attempt,
		       uint64_t random);
uint64_t retry_random(void); /* from the system */

#endif
