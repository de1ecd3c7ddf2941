/*
 * Waiting for a server's socket, bounded by silence, by a stop of the whole
 * process and by an interrupt from another thread.
 */
#ifndef TIDEMARK_CLIENTS_PG_WAIT_H
#define TIDEMARK_CLIENTS_PG_WAIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"

enum pg_wait_result {
	PG_WAIT_READY,
	PG_WAIT_SILENT, /* the server said nothing for silence_us */
	PG_WAIT_STOPPED, /* interrupted, and the cancel went unanswered */
};

struct pg_waiter {
	int64_t silence_us;
	int64_t give_up_us; /* monotonic; 0: nothing is cancelled */
	int wake_fd;
	atomic_bool interrupted;
	/* Called once when a stop has lasted too long; must set
	 * `interrupted`. */
	void (*interrupt)(void *ctx);
	void *ctx;
};

/* Makes wake_fd; `interrupt` and `silence_us` are the caller's to set. */
void pg_waiter_init(struct pg_waiter *w);
void pg_waiter_release(struct pg_waiter *w);
/* From any thread: the wait that is under way looks up. */
void pg_waiter_wake(struct pg_waiter *w);
/* How long a server may take to end what was cancelled, µs. */
int64_t pg_waiter_cancel_patience(const struct pg_waiter *w);
/* Until `fd` is ready for `events` (poll's), or patience ends. */
enum pg_wait_result pg_waiter_wait(struct pg_waiter *w, int fd, short events);
/* The same for a connection attempt: until `deadline_us` (monotonic). */
enum pg_wait_result pg_wait_connect(int fd, short events, int64_t deadline_us);

#endif
