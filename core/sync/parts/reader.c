#include "core/sync/parts/reader.h"

#include <stdlib.h>
#include <time.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/seat.h"
#include "core/base/stop.h"

/* How long a load may go on after a stop was requested. */
#define READER_STOP_PATIENCE_US (3 * US_PER_SECOND)
/* How long a page is left open in its middle while both batches are taken: a
 * server keeps old versions of rows for its snapshot. */
#define READER_PAGE_PATIENCE_US (2 * US_PER_SECOND)

/* With the lock held: sleep until something changes, at most 100 ms. */
static void reader_wait(struct reader *r)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += 100 * 1000 * 1000;
	if (until.tv_nsec >= 1000 * 1000 * 1000) {
		until.tv_nsec -= 1000 * 1000 * 1000;
		until.tv_sec++;
	}
	pthread_cond_timedwait(&r->changed, &r->lock, &until);
}

/* Is there more to read? Lock held. */
static bool reader_goes_on(const struct reader *r)
{
	return !r->aborted && !stop_requested() && r->batches_left != 0 &&
	       (!r->bounds.deadline_us ||
		clock_monotonic_us() < r->bounds.deadline_us);
}

/* Lock held, but not meanwhile: nothing stays open at the source. */
static int reader_rest(struct reader *r)
{
	struct error err = ERROR_INIT;
	int rc;

	pthread_mutex_unlock(&r->lock);
	rc = r->source->ops->pause(r->source, &err);
	pthread_mutex_lock(&r->lock);
	if (rc)
		r->error = err;
	return rc;
}

/* A free slot, or NULL when there is nothing more to read. Lock held. */
static struct read_batch *reader_free_slot(struct reader *r)
{
	int64_t begun = clock_monotonic_us();
	bool rests = false;

	while (reader_goes_on(r)) {
		if (r->filled - r->returned < READER_SLOTS)
			return &r->slots[r->filled % READER_SLOTS];
		reader_wait(r);
		if (rests ||
		    clock_monotonic_us() - begun < READER_PAGE_PATIENCE_US)
			continue;
		rests = true;
		if (reader_rest(r))
			return NULL;
	}
	return NULL;
}

static void reader_look(struct reader *r, struct read_batch *slot)
{
	error_clear(&slot->refused);
	slot->digest = (struct digest){ 0, 0, 0 };
	if (r->bounds.digest)
		digest_batch_memory(&slot->digest, &slot->batch);
	if (r->bounds.look && slot->batch.n_rows)
		r->bounds.look(r->bounds.look_ctx, &slot->batch,
			       &slot->refused);
}

static int reader_idle(void *ctx, struct error *err)
{
	struct reader *r = ctx;

	return r->source->ops->pause(r->source, err);
}

static bool reader_is_over(void *ctx)
{
	struct reader *r = ctx;
	bool over;

	pthread_mutex_lock(&r->lock);
	over = !reader_goes_on(r);
	pthread_mutex_unlock(&r->lock);
	return over;
}

/* Batches of given sizes keep them, and are paid for afterwards. Lock held. */
static void reader_bound(struct reader *r, struct batch *b)
{
	b->max_rows = r->bounds.max_rows;
	b->max_bytes = r->bounds.max_bytes;
	pace_open(r->bounds.pace, b);
	if (r->bounds.most_rows && r->rows_left < (int64_t)b->max_rows)
		b->max_rows = (size_t)r->rows_left;
	if (r->filled >= r->bounds.n_sizes)
		return;
	b->max_rows = r->bounds.sizes[r->filled];
	b->max_bytes = r->bounds.max_bytes;
}

/* 1: what was waited for came too late. */
static int reader_read(struct reader *r, struct read_batch *slot,
		       struct error *err)
{
	const struct pace_waiter waiter = { reader_idle, reader_is_over, r };
	int rc = pace_wait(r->bounds.pace, &waiter, err);
	int64_t begun = clock_monotonic_us();

	if (rc)
		return rc;
	if (reader_is_over(r))
		return 1;
	pthread_mutex_lock(&r->lock);
	reader_bound(r, &slot->batch);
	pthread_mutex_unlock(&r->lock);
	rc = r->source->ops->next(r->source, &slot->batch, err);
	slot->read_us = clock_monotonic_us() - begun;
	if (rc)
		return rc;
	pace_count(r->bounds.pace, &slot->batch);
	reader_look(r, slot);
	return 0;
}

/* Fill one slot without the lock; false at the end of the pass. */
static bool reader_fill(struct reader *r, struct read_batch *slot)
{
	struct error err = ERROR_INIT;
	int rc;

	batch_reset(&slot->batch);
	pthread_mutex_unlock(&r->lock);
	rc = reader_read(r, slot, &err);
	pthread_mutex_lock(&r->lock);
	if (rc < 0)
		r->error = err;
	if (rc)
		return false;
	r->filled++;
	if (r->batches_left > 0)
		r->batches_left--;
	r->rows_left -= (int64_t)slot->batch.n_rows;
	if (r->bounds.most_rows && r->rows_left <= 0)
		r->batches_left = 0;
	return slot->batch.n_rows > 0;
}

/* A load that hangs (on a lock, say) must not hold up a requested stop. This
 * thread lingers until the writer is done, and interrupts it if it takes too
 * long. */
static void reader_linger(struct reader *r)
{
	int64_t stop_seen = 0;

	while (!r->aborted) {
		int64_t now = clock_monotonic_us();

		if (stop_requested() && !stop_seen)
			stop_seen = now;
		if (r->destination && stop_seen &&
		    now - stop_seen > READER_STOP_PATIENCE_US) {
			r->destination->ops->interrupt(r->destination);
			stop_seen = now;
		}
		reader_wait(r);
	}
}

static void *reader_main(void *arg)
{
	struct reader *r = arg;
	struct read_batch *slot;
	bool more = true;

	log_place_use(r->place);
	seat_use(r->seat);
	pthread_mutex_lock(&r->lock);
	while (more) {
		slot = reader_free_slot(r);
		more = slot && reader_fill(r, slot);
		if (more)
			pthread_cond_broadcast(&r->changed);
	}
	r->ended = true;
	pthread_cond_broadcast(&r->changed);
	reader_linger(r);
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

static void reader_init_sync(struct reader *r)
{
	pthread_condattr_t attr;

	pthread_mutex_init(&r->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&r->changed, &attr);
	pthread_condattr_destroy(&attr);
}

static void reader_release(struct reader *r)
{
	for (size_t i = 0; i < READER_SLOTS; i++)
		batch_release(&r->slots[i].batch);
	pthread_cond_destroy(&r->changed);
	pthread_mutex_destroy(&r->lock);
	r->started = false;
}

int reader_start(struct reader *r, struct connector *source,
		 struct destination *destination, const struct schema *schema,
		 const char *pipeline, const struct reader_bounds *bounds,
		 struct error *err)
{
	int rc;

	memset(r, 0, sizeof(*r));
	r->source = source;
	r->destination = destination;
	r->place = log_place_copy(pipeline);
	r->bounds = *bounds;
	r->seat = seat_mine();
	r->batches_left = bounds->max_batches > 0 ? bounds->max_batches : -1;
	r->rows_left = bounds->most_rows;
	for (size_t i = 0; i < READER_SLOTS; i++)
		batch_init(&r->slots[i].batch, schema);
	reader_init_sync(r);
	rc = pthread_create(&r->thread, NULL, reader_main, r);
	if (rc) {
		log_place_free(r->place);
		reader_release(r);
		return error_set(err, ERROR_BUG,
				 "cannot start the reader thread: %s",
				 strerror(rc));
	}
	r->started = true;
	return 0;
}

/* Lock held, nothing left to take: why? */
static int reader_end(struct reader *r, struct error *err)
{
	if (stop_requested())
		return error_set(err, ERROR_STOPPED, "stopped by a signal");
	if (r->error.code)
		*err = r->error;
	return -(int)r->error.code;
}

/* Until there is one to take, or there will be none. Lock held. */
static void reader_await(struct reader *r, void (*tick)(void *ctx), void *ctx)
{
	bool interrupted = false;

	while (r->filled == r->taken && !r->ended) {
		if (stop_requested() && !interrupted) {
			interrupted = true;
			r->source->ops->interrupt(r->source);
		}
		reader_wait(r);
		pthread_mutex_unlock(&r->lock);
		if (tick)
			tick(ctx);
		pthread_mutex_lock(&r->lock);
	}
}

struct read_batch *reader_take(struct reader *r, void (*tick)(void *ctx),
			       void *ctx, int *rc, struct error *err)
{
	struct read_batch *slot = NULL;

	*rc = 0;
	pthread_mutex_lock(&r->lock);
	reader_await(r, tick, ctx);
	if (r->filled > r->taken)
		slot = &r->slots[r->taken++ % READER_SLOTS];
	else
		*rc = reader_end(r, err);
	pthread_mutex_unlock(&r->lock);
	return slot;
}

const struct batch *reader_peek(struct reader *r, void (*tick)(void *ctx),
				void *ctx)
{
	const struct batch *next = NULL;

	pthread_mutex_lock(&r->lock);
	reader_await(r, tick, ctx);
	if (r->filled > r->taken)
		next = &r->slots[r->taken % READER_SLOTS].batch;
	pthread_mutex_unlock(&r->lock);
	return next;
}

void reader_give_back(struct reader *r, size_t max_rows)
{
	pthread_mutex_lock(&r->lock);
	r->returned++;
	r->bounds.max_rows = max_rows;
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
}

void reader_stop(struct reader *r)
{
	bool reading;

	if (!r->started)
		return;
	pthread_mutex_lock(&r->lock);
	r->aborted = true;
	reading = !r->ended;
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
	if (reading)
		r->source->ops->interrupt(r->source);
	pthread_join(r->thread, NULL);
	reader_release(r);
}
