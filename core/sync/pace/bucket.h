/*
 * A token bucket that is paid afterwards. The size of a read is known only once
 * it is there. So a batch runs up a debt, and the next one waits until it is
 * paid. However large a batch is, the rate holds behind it. It knows no clock
 * of its own.
 */
#ifndef TIDEMARK_CORE_SYNC_PACE_BUCKET_H
#define TIDEMARK_CORE_SYNC_PACE_BUCKET_H

#include <stdint.h>

/* The most that an idle time is worth: so much more may be read at once. */
#define BUCKET_BURST_US (INT64_C(100) * 1000)

/* All zero but the rate is a bucket that owes nothing. */
struct bucket {
	int64_t rate; /* tokens a second; 0: no limit */
	int64_t free_us; /* when all that was taken is paid */
	int64_t rest; /* part of a token's time, in 1/rate of a microsecond */
};

/* Microseconds until something may be taken; 0: now. `now_us` by any clock
 * that never goes back. */
int64_t bucket_wait(const struct bucket *b, int64_t now_us);
/* Begin to take: idle time before now counts for no more than the burst. */
void bucket_open(struct bucket *b, int64_t now_us);
/* Another rate from now on; what is owed is paid at it. */
void bucket_change(struct bucket *b, int64_t rate, int64_t now_us);
/* So many tokens were taken since bucket_open(). */
void bucket_take(struct bucket *b, int64_t tokens);

#endif
