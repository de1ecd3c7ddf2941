#include "core/sync/rounds/jobs.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/seat.h"
#include "core/base/stop.h"
#include "core/base/strlist.h"

/* Between two looks of one that waits for a seat. */
#define JOBS_LOOK_US (US_PER_SECOND / 10)

enum job_state { JOB_TO_COME, JOB_RUNS, JOB_ENDED };

struct jobs;

struct job {
	struct seat seat;
	struct jobs *jobs;
	const struct job_need *need;
	size_t i;
	size_t reads, writes; /* numbers of files; 0: none */
	enum job_state state;
	bool seated;
	bool open; /* it has its files, and may have sessions */
	bool wants; /* a seat, after a wait */
	int waits; /* going on */
	size_t more; /* threads that work for it, with sessions */
	pthread_t thread;
};

struct jobs {
	const struct jobs_terms *terms;
	struct reach *reach;
	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t changed;
	size_t seats, taken;
	size_t most;
	size_t n_ended; /* so far */
	struct job **to_come; /* in order */
	size_t n_to_come;
	struct job **begun; /* and not yet done */
	size_t n_begun;
	bool crowded, cramped; /* it was said */
};

static void jobs_wait(struct jobs *j)
{
	int64_t at = clock_monotonic_us() + JOBS_LOOK_US;
	struct timespec until = {
		.tv_sec = (time_t)(at / US_PER_SECOND),
		.tv_nsec = (long)(at % US_PER_SECOND) * 1000,
	};

	pthread_cond_timedwait(&j->changed, &j->lock, &until);
}

static bool job_clashes(const struct job *a, const struct job *b)
{
	return (a->writes &&
		(a->writes == b->writes || a->writes == b->reads)) ||
	       (b->writes && b->writes == a->reads);
}

/* One that has waited and wants its files back goes before a new one. */
static bool job_files_are_free(const struct job *job)
{
	const struct jobs *j = job->jobs;
	bool is_new = job->state == JOB_TO_COME;

	for (size_t i = 0; i < j->n_begun; i++) {
		const struct job *other = j->begun[i];

		if (other != job && (other->open || (is_new && other->wants)) &&
		    job_clashes(job, other))
			return false;
	}
	return true;
}

static int64_t job_sessions(const struct job *job, const struct connection *c)
{
	const struct job_need *need = job->need;
	int64_t each = c == need->source	? need->source_sessions
		       : c == need->destination ? need->destination_sessions
						: 0;

	return each * (1 + (int64_t)job->more);
}

/* All others together. */
static int64_t job_sessions_beside(const struct job *job,
				   const struct connection *c)
{
	const struct jobs *j = job->jobs;
	int64_t used = 0;

	for (size_t i = 0; i < j->n_begun; i++)
		if (j->begun[i] != job && j->begun[i]->open)
			used += job_sessions(j->begun[i], c);
	return used;
}

/* Whoever has one session is not to wait for a second one that another has. A
 * bound that is too low for one pipeline lets one run. */
static bool job_fits(const struct job *job, const struct connection *c)
{
	const struct jobs *j = job->jobs;
	unsigned most = j->terms->sessions ? j->terms->sessions(c) : 0;
	int64_t used = most ? job_sessions_beside(job, c) : 0;

	return !used || used + job_sessions(job, c) <= most;
}

static bool job_ends_are_free(const struct job *job)
{
	return job_files_are_free(job) && job_fits(job, job->need->source) &&
	       job_fits(job, job->need->destination);
}

/* After a stop all end at once, so that seats do not count any more. */
static bool job_may_sit(const struct job *job)
{
	return (job->open || job_ends_are_free(job)) &&
	       (job->jobs->taken < job->jobs->seats || stop_requested());
}

static void job_sit(struct job *job)
{
	job->open = true;
	job->seated = true;
	job->jobs->taken++;
}

static void job_rise(struct job *job, enum seat_wait how)
{
	if (how == SEAT_CLOSED)
		job->open = false;
	if (job->seated)
		job->jobs->taken--;
	job->seated = false;
	pthread_cond_broadcast(&job->jobs->changed);
}

static void job_leave(struct seat *s, enum seat_wait how)
{
	struct job *job = (struct job *)s;

	pthread_mutex_lock(&job->jobs->lock);
	job->waits++;
	job_rise(job, how);
	pthread_mutex_unlock(&job->jobs->lock);
}

/* Lock held, but not while `over` is asked. */
static void job_want(struct job *job, enum seat_wait how,
		     bool (*over)(void *ctx), void *ctx)
{
	struct jobs *j = job->jobs;
	bool gives_up = false;

	job->wants = true;
	while (!job->waits && !job->seated && !gives_up) {
		if (job_may_sit(job)) {
			job_sit(job);
			break;
		}
		jobs_wait(j);
		if (how == SEAT_CLOSED || !over)
			continue;
		pthread_mutex_unlock(&j->lock);
		gives_up = over(ctx);
		pthread_mutex_lock(&j->lock);
	}
	job->wants = false;
}

static void job_back(struct seat *s, enum seat_wait how,
		     bool (*over)(void *ctx), void *ctx)
{
	struct job *job = (struct job *)s;

	pthread_mutex_lock(&job->jobs->lock);
	job->waits--;
	job_want(job, how, over, ctx);
	pthread_cond_broadcast(&job->jobs->changed);
	pthread_mutex_unlock(&job->jobs->lock);
}

/* Others that may have sessions, and will give them back. */
static bool job_has_company(const struct job *job)
{
	const struct jobs *j = job->jobs;

	for (size_t i = 0; i < j->n_begun; i++)
		if (j->begun[i] != job && j->begun[i]->open &&
		    j->begun[i]->state == JOB_RUNS)
			return true;
	return false;
}

static void jobs_shrink(struct jobs *j)
{
	size_t seats = j->taken > 1 ? j->taken - 1 : 1;

	if (seats < j->seats)
		j->seats = seats;
	if (!j->crowded)
		log_warn("the server takes no more sessions: fewer pipelines "
			 "run at once for the rest of this round, %zu for now",
			 j->seats);
	j->crowded = true;
}

static bool job_crowded(struct seat *s)
{
	struct job *job = (struct job *)s;
	struct jobs *j = job->jobs;
	bool company;
	size_t ended;

	pthread_mutex_lock(&j->lock);
	company = job_has_company(job);
	if (company) {
		jobs_shrink(j);
		job_rise(job, SEAT_CLOSED);
		ended = j->n_ended;
		while (ended == j->n_ended && job_has_company(job) &&
		       !stop_requested())
			jobs_wait(j);
		job_want(job, SEAT_CLOSED, NULL, NULL);
	}
	pthread_mutex_unlock(&j->lock);
	return company && !stop_requested();
}

/* At most `n` threads more have room at the connection. */
static size_t job_room(const struct job *job, const struct connection *c,
		       size_t n)
{
	const struct jobs *j = job->jobs;
	unsigned most = j->terms->sessions ? j->terms->sessions(c) : 0;
	int64_t each = job_sessions(job, c);
	int64_t left = (int64_t)most - job_sessions_beside(job, c) - each;

	if (!most || !each)
		return n;
	if (left < each)
		return 0;
	return (size_t)(left / each) < n ? (size_t)(left / each) : n;
}

static size_t job_widen(struct seat *s, size_t n)
{
	struct job *job = (struct job *)s;

	pthread_mutex_lock(&job->jobs->lock);
	job->more = 0;
	n = job_room(job, job->need->source, n);
	n = job_room(job, job->need->destination, n);
	job->more = n;
	pthread_cond_broadcast(&job->jobs->changed);
	pthread_mutex_unlock(&job->jobs->lock);
	return n;
}

static void *job_main(void *arg)
{
	struct job *job = arg;
	struct jobs *j = job->jobs;

	seat_use(&job->seat);
	j->terms->run(j->terms->ctx, job->i, j->reach);
	seat_use(NULL);
	pthread_mutex_lock(&j->lock);
	job->state = JOB_ENDED;
	j->n_ended++;
	job_rise(job, SEAT_CLOSED);
	pthread_mutex_unlock(&j->lock);
	return NULL;
}

/* Lock held, but not while others hear of it. */
static void jobs_done(struct jobs *j, const struct job *job)
{
	pthread_mutex_unlock(&j->lock);
	j->terms->done(j->terms->ctx, job->i);
	pthread_mutex_lock(&j->lock);
}

static void jobs_skip(struct jobs *j, const struct job *job,
		      const struct error *why)
{
	pthread_mutex_unlock(&j->lock);
	j->terms->skip(j->terms->ctx, job->i, why);
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

		if (reach_check(j->reach, need->source, why) ||
		    reach_check(j->reach, need->destination, why))
			return true;
		if (job_ends_are_free(job) &&
		    !reach_is_doubted(j->reach, need->source, NULL) &&
		    !reach_is_doubted(j->reach, need->destination, NULL))
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
static void jobs_round(struct jobs *j)
{
	while (j->n_to_come || j->n_begun) {
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

static void jobs_plan(struct jobs *j, struct job *items,
		      const struct job_need *needs, size_t n)
{
	struct strlist files = STRLIST_INIT;

	for (size_t i = 0; i < n; i++) {
		items[i] = (struct job){
			.seat = { job_leave, job_back, job_crowded, job_widen },
			.jobs = j,
			.need = &needs[i],
			.i = i,
			.reads = jobs_number(&files, needs[i].reads),
			.writes = jobs_number(&files, needs[i].writes),
		};
		j->to_come[i] = &items[i];
	}
	strlist_release(&files);
	if (n)
		qsort(j->to_come, n, sizeof(*j->to_come), jobs_compare);
}

void jobs_run(const struct jobs_terms *terms, const struct job_need *needs,
	      size_t n)
{
	struct jobs j = { .terms = terms,
			  .seats = terms->jobs,
			  .most = terms->most,
			  .to_come = xcalloc(n + 1, sizeof(*j.to_come)),
			  .n_to_come = n,
			  .begun = xcalloc(n + 1, sizeof(*j.begun)) };
	struct job *items = xcalloc(n + 1, sizeof(*items));
	pthread_condattr_t attributes;

	pthread_mutex_init(&j.lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&j.changed, &attributes);
	pthread_condattr_destroy(&attributes);
	j.reach = reach_new(jobs_changed, &j);
	jobs_plan(&j, items, needs, n);
	pthread_mutex_lock(&j.lock);
	jobs_round(&j);
	pthread_mutex_unlock(&j.lock);
	reach_free(j.reach);
	pthread_cond_destroy(&j.changed);
	pthread_mutex_destroy(&j.lock);
	free(items);
	free(j.begun);
	free(j.to_come);
}
