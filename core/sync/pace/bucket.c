#include "core/sync/pace/bucket.h"

#include "core/base/clock.h"

/* No batch has as many; their time in microseconds still fits. */
#define BUCKET_MOST (INT64_C(1) << 42)

int64_t bucket_wait(const struct bucket *b, int64_t now_us)
{
	if (!b->rate || b->free_us <= now_us)
		return 0;
	return b->free_us - now_us;
}

void bucket_open(struct bucket *b, int64_t now_us)
{
	if (b->free_us >= now_us - BUCKET_BURST_US)
		return;
	b->free_us = now_us - BUCKET_BURST_US;
	b->rest = 0;
}

void bucket_take(struct bucket *b, int64_t tokens)
{
	int64_t time;

	if (!b->rate)
		return;
	if (tokens > BUCKET_MOST)
		tokens = BUCKET_MOST;
	time = tokens * US_PER_SECOND + b->rest;
	b->free_us += time / b->rate;
	b->rest = time % b->rate;
}

void bucket_change(struct bucket *b, int64_t rate, int64_t now_us)
{
	double owed = (double)bucket_wait(b, now_us) * (double)b->rate;
	double most = (double)BUCKET_MOST * (double)US_PER_SECOND;

	if (rate == b->rate)
		return;
	if (owed && rate) {
		owed /= (double)rate;
		b->free_us = now_us + (int64_t)(owed < most ? owed : most);
	} else if (owed || !rate) {
		b->free_us = 0;
	}
	b->rest = 0;
	b->rate = rate;
}
