#include "core/sync/rounds/job_seat.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/seat.h"
#include "core/base/stop.h"
#include "core/base/strlist.h"

/* How long fewer seats are there, after a server had no room, while others
 * work on. */
#define JOBS_SHRUNK_US (60 * US_PER_SECOND)

static void *job_main(void *arg)
{
	struct job *job = arg;
	struct jobs *j = job->jobs;

	seat_use(&job->seat);
	job->wave->work.run(job->wave->work.ctx, job->i, job->wave->reach);
	seat_use(NULL);
	pthread_mutex_lock(&j->lock);
	job->state = JOB_ENDED;
	j->n_ended++;
	job_rise(job, SEAT_CLOSED);
	pthread_mutex_unlock(&j->lock);
	return NULL;
}

static void wave_end(struct wave *w)
{
	if (w->work.over)
		w->work.over(w->work.ctx);
	if (!w->work.reach)
		reach_free(w->reach);
	free(w->items);
	free(w);
}

/* Lock held, but not while others hear of it. */
static void jobs_done(struct jobs *j, const struct job *job)
{
	struct wave *w = job->wave;

	pthread_mutex_unlock(&j->lock);
	w->work.done(w->work.ctx, job->i);
	if (!--w->left)
		wave_end(w);
	pthread_mutex_lock(&j->lock);
}

static void jobs_skip(struct jobs *j, const struct job *job,
		      const struct error *why)
{
	pthread_mutex_unlock(&j->lock);
	job->wave->work.skip(job->wave->work.ctx, job->i, why);
	pthread_mutex_lock(&j->lock);
	jobs_done(j, job);
}

/* True: one that has ended is done with. Lock held. */
static bool jobs_reap(struct jobs *j)
{
	struct job *job = NULL;
	size_t at = 0;

	while (at < j->n_begun && j->begun[at]->state != JOB_ENDED)
		at++;
	if (at == j->n_begun)
		return false;
	job = j->begun[at];
	j->begun[at] = j->begun[--j->n_begun];
	pthread_join(job->thread, NULL);
	jobs_done(j, job);
	return true;
}

static struct job *jobs_take(struct jobs *j, size_t at)
{
	struct job *job = j->to_come[at];

	j->n_to_come--;
	memmove(&j->to_come[at], &j->to_come[at + 1],
		(j->n_to_come - at) * sizeof(*j->to_come));
	return job;
}

/* The first whose connection was given up, or that may begin. */
static bool jobs_find(struct jobs *j, size_t *at, struct error *why)
{
	for (*at = 0; *at < j->n_to_come; ++*at) {
		const struct job *job = j->to_come[*at];
		const struct job_need *need = job->need;
		struct reach *reach = job->wave->reach;

		if (reach_check(reach, need->source, why) ||
		    reach_check(reach, need->destination, why))
			return true;
		if (job_ends_are_free(job) &&
		    !reach_is_doubted(reach, need->source, NULL) &&
		    !reach_is_doubted(reach, need->destination, NULL))
			return true;
	}
	return false;
}

/* One that has waited goes before those that are to come. */
static bool jobs_have_room(const struct jobs *j)
{
	for (size_t i = 0; i < j->n_begun; i++)
		if (j->begun[i]->wants && !j->begun[i]->seated &&
		    job_may_sit(j->begun[i]))
			return false;
	return j->taken < j->seats && j->n_begun < j->most;
}

/* With no room for a thread, those that run are enough; the last resort is the
 * calling thread. */
static void jobs_begin(struct jobs *j, size_t at)
{
	struct job *job = jobs_take(j, at);

	job->state = JOB_RUNS;
	job_sit(job);
	j->begun[j->n_begun++] = job;
	if (!pthread_create(&job->thread, NULL, job_main, job))
		return;
	if (!j->cramped)
		log_warn("the system has no room for one more thread: fewer "
			 "pipelines run at once");
	j->cramped = true;
	j->shrunk_us = clock_monotonic_us();
	j->most = j->n_begun > 1 ? j->n_begun - 1 : 1;
	pthread_mutex_unlock(&j->lock);
	job_main(job);
	pthread_mutex_lock(&j->lock);
	j->begun[--j->n_begun] = NULL;
	jobs_done(j, job);
}

static void jobs_stopped(struct jobs *j)
{
	struct error why = ERROR_INIT;

	error_set(&why, ERROR_STOPPED, "not started: stopped by a signal");
	while (j->n_to_come)
		jobs_skip(j, jobs_take(j, 0), &why);
}

/* Lock held. */
static void jobs_round(struct jobs *j, int64_t until_us)
{
	while ((j->n_to_come || j->n_begun) &&
	       clock_monotonic_us() < until_us) {
		struct error why = ERROR_INIT;
		size_t at;

		if (jobs_reap(j))
			continue;
		if (stop_requested() && !j->n_begun)
			jobs_stopped(j);
		else if (!stop_requested() && jobs_have_room(j) &&
			 jobs_find(j, &at, &why)) {
			if (why.code)
				jobs_skip(j, jobs_take(j, at), &why);
			else
				jobs_begin(j, at);
		} else
			jobs_wait(j);
	}
}

static void jobs_changed(void *ctx)
{
	struct jobs *j = ctx;

	pthread_mutex_lock(&j->lock);
	pthread_cond_broadcast(&j->changed);
	pthread_mutex_unlock(&j->lock);
}

/* The same number for the same file. */
static size_t jobs_number(struct strlist *files, const char *id)
{
	if (!id)
		return 0;
	for (size_t i = 0; i < files->n; i++)
		if (!strcmp(files->items[i], id))
			return i + 1;
	strlist_add(files, id);
	return files->n;
}

int jobs_order(const struct job_need *a, const struct job_need *b)
{
	if (a->last_us != b->last_us)
		return a->last_us < b->last_us ? -1 : 1;
	return a < b ? -1 : a > b;
}

static int jobs_compare(const void *a, const void *b)
{
	const struct job *x = *(struct job *const *)a;
	const struct job *y = *(struct job *const *)b;

	return jobs_order(x->need, y->need);
}

struct reach *jobs_reach(struct jobs *j, int64_t keep_us)
{
	return reach_new(keep_us, jobs_changed, j);
}

/* A server that had no room may have it by now. */
static void jobs_recover(struct jobs *j)
{
	int64_t now = clock_monotonic_us();

	if (j->n_begun && now - j->shrunk_us < JOBS_SHRUNK_US)
		return;
	j->seats = j->terms.jobs;
	j->most = j->terms.most;
	j->crowded = false;
	j->cramped = false;
}

void jobs_add(struct jobs *j, const struct jobs_work *work,
	      const struct job_need *needs, size_t n)
{
	struct wave *w = xcalloc(1, sizeof(*w));

	*w = (struct wave){ .work = *work,
			    .reach = work->reach ? work->reach
						 : jobs_reach(j, 0),
			    .items = xcalloc(n + 1, sizeof(*w->items)),
			    .left = n };
	pthread_mutex_lock(&j->lock);
	jobs_recover(j);
	j->to_come = xreallocarray(j->to_come, j->n_to_come + n + 1,
				   sizeof(*j->to_come));
	j->begun = xreallocarray(j->begun, j->n_begun + j->n_to_come + n + 1,
				 sizeof(*j->begun));
	for (size_t i = 0; i < n; i++) {
		w->items[i] = (struct job){
			.jobs = j,
			.wave = w,
			.need = &needs[i],
			.i = i,
			.reads = jobs_number(&j->files, needs[i].reads),
			.writes = jobs_number(&j->files, needs[i].writes),
		};
		job_seat(&w->items[i]);
		j->to_come[j->n_to_come + i] = &w->items[i];
	}
	if (n)
		qsort(&j->to_come[j->n_to_come], n, sizeof(*j->to_come),
		      jobs_compare);
	j->n_to_come += n;
	pthread_mutex_unlock(&j->lock);
	if (!n)
		wave_end(w);
}

void jobs_set(struct jobs *j, const struct jobs_terms *terms)
{
	pthread_mutex_lock(&j->lock);
	j->terms = *terms;
	j->seats = terms->jobs;
	j->most = terms->most;
	pthread_mutex_unlock(&j->lock);
}

void jobs_go(struct jobs *j, int64_t until_us)
{
	pthread_mutex_lock(&j->lock);
	jobs_round(j, until_us);
	pthread_mutex_unlock(&j->lock);
}

size_t jobs_left(const struct jobs *j)
{
	return j->n_to_come + j->n_begun;
}

struct jobs *jobs_new(const struct jobs_terms *terms)
{
	struct jobs *j = xcalloc(1, sizeof(*j));
	pthread_condattr_t attributes;

	*j = (struct jobs){ .terms = *terms,
			    .files = STRLIST_INIT,
			    .seats = terms->jobs,
			    .most = terms->most };
	pthread_mutex_init(&j->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&j->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	return j;
}

void jobs_free(struct jobs *j)
{
	pthread_cond_destroy(&j->changed);
	pthread_mutex_destroy(&j->lock);
	strlist_release(&j->files);
	free(j->begun);
	free(j->to_come);
	free(j);
}

void jobs_run(const struct jobs_terms *terms, const struct jobs_work *work,
	      const struct job_need *needs, size_t n)
{
	struct jobs *j = jobs_new(terms);

	jobs_add(j, work, needs, n);
	jobs_go(j, INT64_MAX);
	jobs_free(j);
}
