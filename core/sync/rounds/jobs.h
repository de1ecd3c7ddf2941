/*
 * Pipelines side by side, each in a thread of its own. So many work
 * at once; one that waits for long (core/base/seat.h) lets another one begin
 * meanwhile. A file has one writer at a time, and no reader beside it. A
 * connection that could not be reached is not tried again for each pipeline.
 */
#ifndef TIDEMARK_CORE_SYNC_ROUNDS_JOBS_H
#define TIDEMARK_CORE_SYNC_ROUNDS_JOBS_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/connection.h"
#include "core/sync/parts/reach.h"

/* Pipelines that may be begun for each one that works. A limit is needed
 * because a pipeline that waits in the middle of its table keeps its sessions
 * and its batches. */
#define JOBS_WAITING 4

/* One pipeline as the round sees it. */
struct job_need {
	const struct connection *source, *destination;
	/* settings_sessions() of each: both where the two are one */
	int64_t source_sessions, destination_sessions;
	/* Identities of files (file_id()); NULL: none. Owned by the caller. */
	char *reads, *writes;
	int64_t last_us; /* when it began last, by one clock; 0: never */
};

struct jobs_terms {
	size_t jobs; /* at least 1 */
	size_t most; /* begun at once; at least `jobs` */
	/* The most sessions at once of a connection; 0: any number. NULL: no
	 * connection is bounded. */
	unsigned (*sessions)(const struct connection *c);
};

/* The work on those that were added together, told apart by their numbers. */
struct jobs_work {
	/* Their knowledge of servers; NULL: one for these alone. */
	struct reach *reach;
	/* In a thread of its own, with a seat. */
	void (*run)(void *ctx, size_t i, struct reach *reach);
	/* In the calling thread, one at a time: it is not run. STOPPED, or the
	 * error of a connection. */
	void (*skip)(void *ctx, size_t i, const struct error *why);
	/* Then, or when it has run. */
	void (*done)(void *ctx, size_t i);
	void (*over)(void *ctx); /* behind the last; may be NULL */
	void *ctx;
};

/* The order in which two of one array begin, as qsort() wants it. It is that of
 * the array where they waited alike. */
int jobs_order(const struct job_need *a, const struct job_need *b);

/* One thread makes, uses and frees it. */
struct jobs *jobs_new(const struct jobs_terms *terms);
void jobs_free(struct jobs *j); /* none is left */
/* Other terms, for those that begin from now on. */
void jobs_set(struct jobs *j, const struct jobs_terms *terms);
/* For several jobs_work; reach_free(), when none of them is left. */
struct reach *jobs_reach(struct jobs *j, int64_t keep_us);
/* Behind those that are there: one for each need, those first that waited
 * longest. `needs` is used until `over` is called. */
void jobs_add(struct jobs *j, const struct jobs_work *work,
	      const struct job_need *needs, size_t n);
/* Let them run until that time of the monotonic clock, or until none is left.
 * After a stop no more begin. */
void jobs_go(struct jobs *j, int64_t until_us);
/* How many are not done yet. */
size_t jobs_left(const struct jobs *j);

/* Run each, and come back when all are done. */
void jobs_run(const struct jobs_terms *terms, const struct jobs_work *work,
	      const struct job_need *needs, size_t n);

#endif
