#include "core/serve/http_watch.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"

struct http_line {
	struct http_line *next, **from;
	int fd;
	int64_t until_us; /* monotonic; INT64_MAX: held, or cut */
	bool cut;
};

struct http_watch {
	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t changed;
	pthread_t thread;
	struct http_line *lines;
	int64_t limit_us;
	bool ends;
};

/* The end of the others; INT64_MAX: none has one. */
static int64_t watch_cut(struct http_watch *w)
{
	int64_t now = clock_monotonic_us(), next = INT64_MAX;

	for (struct http_line *l = w->lines; l; l = l->next) {
		if (l->until_us <= now) {
			shutdown(l->fd, SHUT_RDWR);
			l->cut = true;
			l->until_us = INT64_MAX;
		}
		if (l->until_us < next)
			next = l->until_us;
	}
	return next;
}

static void *watch_main(void *arg)
{
	struct http_watch *w = arg;

	pthread_mutex_lock(&w->lock);
	while (!w->ends) {
		int64_t next = watch_cut(w);
		struct timespec at = { .tv_sec = next / US_PER_SECOND,
				       .tv_nsec = next % US_PER_SECOND * 1000 };

		if (next == INT64_MAX)
			pthread_cond_wait(&w->changed, &w->lock);
		else
			pthread_cond_timedwait(&w->changed, &w->lock, &at);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

static void watch_release(struct http_watch *w)
{
	pthread_cond_destroy(&w->changed);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

int http_watch_new(int64_t limit_us, struct http_watch **out, struct error *err)
{
	struct http_watch *w = xcalloc(1, sizeof(*w));
	pthread_condattr_t attributes;
	int rc;

	w->limit_us = limit_us;
	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&w->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	rc = pthread_create(&w->thread, NULL, watch_main, w);
	if (rc) {
		watch_release(w);
		return error_set(err, ERROR_ACCESS,
				 "cannot start a thread of the HTTP server: %s",
				 strerror(rc));
	}
	*out = w;
	return 0;
}

void http_watch_free(struct http_watch *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	w->ends = true;
	pthread_cond_signal(&w->changed);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	watch_release(w);
}

struct http_line *http_watch_enter(struct http_watch *w, int fd)
{
	struct http_line *line = xcalloc(1, sizeof(*line));

	line->fd = fd;
	pthread_mutex_lock(&w->lock);
	line->until_us = clock_monotonic_us() + w->limit_us;
	line->next = w->lines;
	line->from = &w->lines;
	if (line->next)
		line->next->from = &line->next;
	w->lines = line;
	pthread_cond_signal(&w->changed);
	pthread_mutex_unlock(&w->lock);
	return line;
}

void http_watch_leave(struct http_watch *w, struct http_line *line)
{
	if (!line)
		return;
	pthread_mutex_lock(&w->lock);
	*line->from = line->next;
	if (line->next)
		line->next->from = line->from;
	pthread_mutex_unlock(&w->lock);
	free(line);
}

static void watch_set(struct http_watch *w, struct http_line *line, bool held)
{
	if (!line)
		return;
	pthread_mutex_lock(&w->lock);
	if (!line->cut)
		line->until_us =
			held ? INT64_MAX : clock_monotonic_us() + w->limit_us;
	pthread_cond_signal(&w->changed);
	pthread_mutex_unlock(&w->lock);
}

void http_watch_renew(struct http_watch *w, struct http_line *line)
{
	watch_set(w, line, false);
}

void http_watch_hold(struct http_watch *w, struct http_line *line)
{
	watch_set(w, line, true);
}
