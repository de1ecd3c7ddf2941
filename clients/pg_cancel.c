#include "clients/pg_cancel.h"

#include <libpq-fe.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"

struct pg_canceller {
	PGcancel *what;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool over;
	bool left; /* nobody waits any more: the thread frees it */
};

static void canceller_free(struct pg_canceller *c)
{
	PQfreeCancel(c->what);
	pthread_cond_destroy(&c->changed);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

static void *canceller_main(void *arg)
{
	struct pg_canceller *c = arg;
	char text[256];
	bool left;

	PQcancel(c->what, text, sizeof(text));
	pthread_mutex_lock(&c->lock);
	c->over = true;
	left = c->left;
	pthread_cond_signal(&c->changed);
	pthread_mutex_unlock(&c->lock);
	if (left)
		canceller_free(c);
	return NULL;
}

struct pg_canceller *pg_cancel_begin(struct pg_cancel *what)
{
	struct pg_canceller *c;
	pthread_condattr_t attributes;
	pthread_t thread;

	if (!what)
		return NULL;
	c = xcalloc(1, sizeof(*c));
	c->what = what;
	pthread_mutex_init(&c->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&c->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	if (pthread_create(&thread, NULL, canceller_main, c)) {
		canceller_free(c);
		return NULL;
	}
	pthread_detach(thread);
	return c;
}

bool pg_cancel_end(struct pg_canceller *c, int64_t until_us)
{
	struct timespec until = {
		.tv_sec = (time_t)(until_us / US_PER_SECOND),
		.tv_nsec = (long)(until_us % US_PER_SECOND) * 1000,
	};
	bool over;

	if (!c)
		return true;
	pthread_mutex_lock(&c->lock);
	while (!c->over &&
	       !pthread_cond_timedwait(&c->changed, &c->lock, &until))
		;
	over = c->over;
	c->left = !over;
	pthread_mutex_unlock(&c->lock);
	if (over)
		canceller_free(c);
	return over;
}
