#include "core/sync/pace/rates.h"

#include <inttypes.h>

#include "core/base/alloc.h"
#include "core/base/strbuf.h"
#include "core/base/units.h"
#include "core/sync/pace/adapt.h"

/* Batches a second at the full rate: over 10 s one batch is 2 %. */
#define RATES_PIECES 5
/* The share grows by this much with a batch in time, and never gets smaller
 * than the second. */
#define RATES_STEP  4
#define RATES_LEAST 4

static int64_t rates_part(int64_t limit, int share)
{
	int64_t part = limit / RATES_WHOLE * share +
		       limit % RATES_WHOLE * share / RATES_WHOLE;

	return limit && part < 1 ? 1 : part;
}

static void rates_adopt(struct rates *r, int64_t now_us)
{
	int share = atomic_load(&r->share);

	bucket_change(&r->rows, rates_part(r->rows_limit, share), now_us);
	bucket_change(&r->bytes, rates_part(r->bytes_limit, share), now_us);
}

void rates_set(struct rates *r, int64_t rows, int64_t bytes, int64_t now_us)
{
	r->rows_limit = rows;
	r->bytes_limit = bytes;
	atomic_store(&r->share, RATES_WHOLE);
	rates_adopt(r, now_us);
}

void rates_loaded(struct rates *r, int64_t load_us, int64_t target_us)
{
	int share = atomic_load(&r->share);

	share = load_us > target_us ? share / 2 : share + RATES_STEP;
	share = share < RATES_LEAST ? RATES_LEAST : share;
	atomic_store(&r->share, share > RATES_WHOLE ? RATES_WHOLE : share);
}

static void rates_say(const struct bucket *b, int64_t limit, bool bytes,
		      struct rates_wait *out)
{
	struct strbuf rate = STRBUF_INIT, whole = STRBUF_INIT;

	if (bytes) {
		units_print_size(&rate, b->rate);
		units_print_size(&whole, limit);
	} else {
		strbuf_addf(&rate, "%" PRId64 " rows", b->rate);
		strbuf_addf(&whole, "%" PRId64, limit);
	}
	out->by = bytes ? "bytes_per_second" : "rows_per_second";
	if (b->rate == limit)
		out->reason = xstrfmt("no more than %s/s", rate.data);
	else
		out->reason = xstrfmt("no more than %s/s of %s, while batches "
				      "take longer than batch.target",
				      rate.data, whole.data);
	strbuf_release(&rate);
	strbuf_release(&whole);
}

void rates_look(struct rates *r, int64_t now_us, struct rates_wait *out)
{
	int64_t rows, bytes;

	*out = (struct rates_wait){ NULL, 0, NULL };
	rates_adopt(r, now_us);
	rows = bucket_wait(&r->rows, now_us);
	bytes = bucket_wait(&r->bytes, now_us);
	if (!rows && !bytes)
		return;
	if (rows >= bytes)
		rates_say(&r->rows, r->rows_limit, false, out);
	else
		rates_say(&r->bytes, r->bytes_limit, true, out);
	out->us = rows > bytes ? rows : bytes;
}

/* `fewest`: as many at least, if the rate allows for them when it is whole. */
static size_t rates_least(size_t bound, int64_t rate, int64_t limit,
			  int64_t fewest)
{
	int64_t piece = rate / RATES_PIECES, whole = limit / RATES_PIECES;

	if (piece < fewest)
		piece = fewest < whole ? fewest : whole;
	if (!rate || (bound && bound <= (size_t)piece))
		return bound;
	return piece ? (size_t)piece : 1;
}

void rates_open(struct rates *r, struct batch *b, int64_t now_us)
{
	bucket_open(&r->rows, now_us);
	bucket_open(&r->bytes, now_us);
	b->max_rows = rates_least(b->max_rows, r->rows.rate, r->rows_limit,
				  ADAPT_FEWEST);
	b->max_bytes =
		rates_least(b->max_bytes, r->bytes.rate, r->bytes_limit, 0);
}

void rates_take(struct rates *r, const struct batch *b)
{
	bucket_take(&r->rows, (int64_t)b->n_rows);
	bucket_take(&r->bytes, (int64_t)batch_bytes(b));
}
