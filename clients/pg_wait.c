#include "clients/pg_wait.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/stop.h"

/* After a stop, what is under way may end by itself for so long ... */
#define PG_STOP_PATIENCE_US (3 * US_PER_SECOND)
/* ... and after a cancel, the server has so long to say that it is over. */
#define PG_CANCEL_PATIENCE_US (5 * US_PER_SECOND)

/* One wait: since when, and since when with a stop pending. */
struct pg_waiting {
	int64_t since_us;
	int64_t stop_us;
};

void pg_waiter_init(struct pg_waiter *w)
{
	w->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	atomic_store(&w->interrupted, false);
}

void pg_waiter_release(struct pg_waiter *w)
{
	if (w->wake_fd >= 0)
		close(w->wake_fd);
	w->wake_fd = -1;
}

void pg_waiter_wake(struct pg_waiter *w)
{
	const uint64_t one = 1;

	if (write(w->wake_fd, &one, sizeof(one)) < 0)
		return; /* full: it is readable already */
}

static int64_t pg_nearer(int64_t a_us, int64_t b_us)
{
	return a_us < b_us ? a_us : b_us;
}

int64_t pg_waiter_cancel_patience(const struct pg_waiter *w)
{
	return pg_nearer(PG_CANCEL_PATIENCE_US, w->silence_us);
}

/* How long the next poll may last, µs. The wait ends at the nearest of three
 * limits: silence, the patience after a stop, and the patience after a
 * cancel. */
static int64_t pg_patience(struct pg_waiter *w, struct pg_waiting *now_on)
{
	int64_t now = clock_monotonic_us();
	int64_t left = now_on->since_us + w->silence_us - now;

	if (stop_requested() && !now_on->stop_us)
		now_on->stop_us = now;
	if (now_on->stop_us && now - now_on->stop_us >= PG_STOP_PATIENCE_US &&
	    !atomic_load(&w->interrupted))
		w->interrupt(w->ctx);
	if (atomic_load(&w->interrupted) && !w->give_up_us)
		w->give_up_us = now + PG_CANCEL_PATIENCE_US;
	if (w->give_up_us)
		return pg_nearer(left, w->give_up_us - now);
	if (now_on->stop_us)
		return pg_nearer(left,
				 now_on->stop_us + PG_STOP_PATIENCE_US - now);
	return left;
}

static int pg_poll_ms(int64_t us)
{
	int64_t ms = us / 1000 + 1;

	return us <= 0 ? 0 : ms > INT32_MAX ? INT32_MAX : (int)ms;
}

/* A stop alone ends nothing: the cancel that follows it does. */
static bool pg_is_over(const struct pg_waiter *w,
		       const struct pg_waiting *now_on)
{
	int64_t now = clock_monotonic_us();

	return now - now_on->since_us >= w->silence_us ||
	       (w->give_up_us && now >= w->give_up_us);
}

enum pg_wait_result pg_waiter_wait(struct pg_waiter *w, int fd, short events)
{
	struct pg_waiting now_on = { clock_monotonic_us(), 0 };

	for (;;) {
		int64_t left_us = pg_patience(w, &now_on);
		struct pollfd fds[] = {
			{ .fd = fd, .events = events },
			{ .fd = w->give_up_us ? -1 : w->wake_fd,
			  .events = POLLIN },
			{ .fd = now_on.stop_us ? -1 : stop_fd(),
			  .events = POLLIN },
		};

		/* Look at bytes that have arrived before patience ends. */
		if (poll(fds, 3, pg_poll_ms(left_us)) > 0 && fds[0].revents)
			return PG_WAIT_READY;
		if (left_us <= 0 && pg_is_over(w, &now_on))
			return w->give_up_us ? PG_WAIT_STOPPED : PG_WAIT_SILENT;
	}
}

enum pg_wait_result pg_wait_connect(int fd, short events, int64_t deadline_us)
{
	for (;;) {
		int64_t left_us = deadline_us - clock_monotonic_us();
		struct pollfd fds[] = {
			{ .fd = fd, .events = events },
			{ .fd = stop_fd(), .events = POLLIN },
		};

		if (stop_requested())
			return PG_WAIT_STOPPED;
		if (left_us <= 0)
			return PG_WAIT_SILENT;
		if (poll(fds, 2, pg_poll_ms(left_us)) > 0 && fds[0].revents)
			return PG_WAIT_READY;
	}
}
