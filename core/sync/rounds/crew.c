#include "core/sync/rounds/crew.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/stop.h"
#include "core/sync/rounds/crew_room.h"
#include "core/sync/rounds/worker.h"

#define CREW_LOOK_US (US_PER_SECOND / 5)

struct crew {
	const struct settings *s;
	const struct pipeline_settings *p;
	struct worker_options options; /* each worker's */
	struct crew_room room;
	pthread_t *threads;
	size_t n;
	pthread_mutex_t lock; /* guards what is below */
	pthread_cond_t ended;
	size_t running;
	bool whole; /* one has seen that no chunk is left */
	struct error failed; /* the first failure that ended a worker */
};

/* A chunk's failure has no error here: it is in the store. */
static void crew_note(struct crew *crew, int rc, const struct error *err)
{
	pthread_mutex_lock(&crew->lock);
	if (!rc || !err->code)
		crew->whole = true;
	else if (!crew->failed.code)
		crew->failed = *err;
	crew->running--;
	pthread_cond_signal(&crew->ended);
	pthread_mutex_unlock(&crew->lock);
}

static void *crew_main(void *arg)
{
	struct crew *crew = arg;
	struct error err = ERROR_INIT;
	struct worker_sums sums;
	int rc = worker_run(crew->s, &crew->p, 1, &crew->options, &sums, &err);

	if (crew->options.share > 1 && err.code && err.code != ERROR_STOPPED) {
		log_set_pipeline(crew->p->name);
		log_error("a worker ends: %s", err.message);
		log_set_pipeline("");
	}
	crew_note(crew, rc, &err);
	return NULL;
}

/* The first worker may be all that the machine gives. */
static int crew_start(struct crew *crew, size_t n, struct error *err)
{
	int rc = 0;

	pthread_mutex_lock(&crew->lock);
	while (!rc && crew->n < n) {
		rc = pthread_create(&crew->threads[crew->n], NULL, crew_main,
				    crew);
		crew->n += !rc;
	}
	crew->running = crew->n;
	pthread_mutex_unlock(&crew->lock);
	for (size_t i = crew->n; i < n; i++)
		crew_room_end(&crew->room);
	if (!crew->n)
		return error_set(err, ERROR_BUG, "cannot start a thread: %s",
				 strerror(rc));
	if (rc)
		log_warn("the system has no room for one more thread: %zu "
			 "workers, not %zu",
			 crew->n, n);
	return 0;
}

static void crew_wait(struct crew *crew, const struct crew_terms *terms)
{
	pthread_mutex_lock(&crew->lock);
	while (crew->running) {
		int64_t at = clock_monotonic_us() + CREW_LOOK_US;
		struct timespec until = {
			.tv_sec = (time_t)(at / US_PER_SECOND),
			.tv_nsec = (long)(at % US_PER_SECOND) * 1000,
		};

		pthread_cond_timedwait(&crew->ended, &crew->lock, &until);
		pthread_mutex_unlock(&crew->lock);
		terms->tick(terms->ctx);
		pthread_mutex_lock(&crew->lock);
	}
	pthread_mutex_unlock(&crew->lock);
	for (size_t i = 0; i < crew->n; i++)
		pthread_join(crew->threads[i], NULL);
}

static int crew_verdict(const struct crew *crew, struct error *err)
{
	if (stop_requested())
		return error_set(err, ERROR_STOPPED, "stopped by a signal");
	if (crew->whole || !crew->failed.code)
		return 0;
	*err = crew->failed;
	return -(int)err->code;
}

static void crew_init(struct crew *crew, size_t n)
{
	pthread_condattr_t attributes;

	crew->threads = xcalloc(n, sizeof(*crew->threads));
	crew->options = (struct worker_options){ .once = true,
						 .share = (int64_t)n,
						 .room = &crew->room };
	crew_room_init(&crew->room, n);
	pthread_mutex_init(&crew->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&crew->ended, &attributes);
	pthread_condattr_destroy(&attributes);
}

int crew_run(const struct settings *s, const struct pipeline_settings *p,
	     const struct crew_terms *terms, struct error *err)
{
	size_t n = crew_room_find(p, terms->n);
	struct crew crew = { .s = s, .p = p };
	int rc;

	crew_init(&crew, n);
	rc = crew_start(&crew, n, err);
	if (!rc)
		crew_wait(&crew, terms);
	if (!rc)
		rc = crew_verdict(&crew, err);
	crew_room_release(&crew.room);
	pthread_cond_destroy(&crew.ended);
	pthread_mutex_destroy(&crew.lock);
	free(crew.threads);
	return rc;
}
