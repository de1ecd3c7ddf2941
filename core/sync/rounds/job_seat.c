#include "core/sync/rounds/job_seat.h"

#include <time.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/stop.h"

/* Between two looks of one that waits for a seat. */
#define JOBS_LOOK_US (US_PER_SECOND / 10)

void jobs_wait(struct jobs *j)
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
	unsigned most = j->terms.sessions ? j->terms.sessions(c) : 0;
	int64_t used = most ? job_sessions_beside(job, c) : 0;

	return !used || used + job_sessions(job, c) <= most;
}

bool job_ends_are_free(const struct job *job)
{
	return job_files_are_free(job) && job_fits(job, job->need->source) &&
	       job_fits(job, job->need->destination);
}

/* After a stop all end at once, so that seats do not count any more. */
bool job_may_sit(const struct job *job)
{
	return (job->open || job_ends_are_free(job)) &&
	       (job->jobs->taken < job->jobs->seats || stop_requested());
}

void job_sit(struct job *job)
{
	job->open = true;
	job->seated = true;
	job->jobs->taken++;
}

void job_rise(struct job *job, enum seat_wait how)
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
			 "run at once for now, %zu",
			 j->seats);
	j->crowded = true;
	j->shrunk_us = clock_monotonic_us();
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
	unsigned most = j->terms.sessions ? j->terms.sessions(c) : 0;
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

void job_seat(struct job *job)
{
	job->seat =
		(struct seat){ job_leave, job_back, job_crowded, job_widen };
}
