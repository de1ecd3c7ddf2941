#include "core/sync/parts/stopper.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "core/base/stop.h"

/* How long an end may take to answer once a stop was requested. */
#define STOPPER_PATIENCE_MS 2000

static void stopper_interrupt(struct stopper *s)
{
	struct destination *destination = atomic_load(&s->destination);

	if (s->source)
		s->source->ops->interrupt(s->source);
	if (destination)
		destination->ops->interrupt(destination);
}

static void *stopper_main(void *arg)
{
	struct stopper *s = arg;
	struct pollfd fds[] = { { .fd = s->end[0], .events = POLLIN },
				{ .fd = stop_fd(), .events = POLLIN } };
	bool stopping = false;

	while (!fds[0].revents) {
		int n = stopping ? poll(fds, 1, STOPPER_PATIENCE_MS)
				 : poll(fds, 2, -1);

		if (n == 0)
			stopper_interrupt(s);
		/* A signal that ends the wait says nothing of the two. */
		if (n < 0)
			fds[0].revents = 0;
		stopping = stopping || (n > 0 && fds[1].revents);
	}
	return NULL;
}

void stopper_start(struct stopper *s, struct connector *source)
{
	s->source = source;
	atomic_store(&s->destination, NULL);
	s->started = false;
	if (pipe2(s->end, O_CLOEXEC) < 0)
		return;
	s->started = !pthread_create(&s->thread, NULL, stopper_main, s);
	if (s->started)
		return;
	close(s->end[0]);
	close(s->end[1]);
}

void stopper_add(struct stopper *s, struct destination *destination)
{
	atomic_store(&s->destination, destination);
}

void stopper_end(struct stopper *s)
{
	if (!s->started)
		return;
	close(s->end[1]);
	pthread_join(s->thread, NULL);
	close(s->end[0]);
	s->started = false;
}
