/* A job and its seat: who works now, and who may. Inside of jobs.c. */
#ifndef TIDEMARK_CORE_SYNC_ROUNDS_JOB_SEAT_H
#define TIDEMARK_CORE_SYNC_ROUNDS_JOB_SEAT_H

#include <pthread.h>

#include "core/base/seat.h"
#include "core/base/strlist.h"
#include "core/sync/rounds/jobs.h"

enum job_state { JOB_TO_COME, JOB_RUNS, JOB_ENDED };

struct jobs;

/* Jobs that were added together. */
struct wave {
	struct jobs_work work;
	struct reach *reach;
	struct job *items;
	size_t left; /* not done */
};

struct job {
	struct seat seat;
	struct jobs *jobs;
	struct wave *wave;
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
	struct jobs_terms terms;
	struct strlist files;
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
	int64_t shrunk_us; /* monotonic, when there were fewer seats */
};

/* The seat's functions. */
void job_seat(struct job *job);

/* All that follow are called with the lock held. */

/* For at most a moment. */
void jobs_wait(struct jobs *j);
bool job_ends_are_free(const struct job *job);
bool job_may_sit(const struct job *job);
void job_sit(struct job *job);
void job_rise(struct job *job, enum seat_wait how);

#endif
