/*
 * The rates of a pace, in rows and in bytes, and the share of them that is used
 * just now. While batches take longer to load than they should, the share
 * becomes half, and half again. Otherwise it grows a little with each batch.
 * All calls but rates_loaded() come from one thread.
 */
#ifndef TIDEMARK_CORE_SYNC_PACE_RATES_H
#define TIDEMARK_CORE_SYNC_PACE_RATES_H

#include <stdatomic.h>

#include "core/data/batch.h"
#include "core/sync/pace/bucket.h"

#define RATES_WHOLE 64 /* the whole of `share` */

struct rates {
	int64_t rows_limit, bytes_limit; /* a second; 0: none */
	struct bucket rows, bytes; /* at what is used of them */
	_Atomic int share; /* 1 to RATES_WHOLE; 0: not set yet */
};

/* The rate that asks to wait; `by` NULL: none does. */
struct rates_wait {
	const char *by; /* the key of `pace` */
	int64_t us;
	char *reason; /* owned by the caller */
};

void rates_set(struct rates *r, int64_t rows, int64_t bytes, int64_t now_us);
void rates_look(struct rates *r, int64_t now_us, struct rates_wait *out);
/* Begin a batch, lowering its bounds so that the rates hold within seconds. */
void rates_open(struct rates *r, struct batch *b, int64_t now_us);
void rates_take(struct rates *r, const struct batch *b);
/* A batch took so long to load; from any thread. */
void rates_loaded(struct rates *r, int64_t load_us, int64_t target_us);

#endif
