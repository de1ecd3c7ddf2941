/*
 * A round of pipelines side by side, each in a thread of its own. So many work
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

/* So many are begun at once for each that works: one that waits in the middle
 * of its table holds its sessions and its batches. */
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
	/* In a thread of its own, with a seat. `reach` is the round's. */
	void (*run)(void *ctx, size_t i, struct reach *reach);
	/* In the calling thread, one at a time: it is not run. STOPPED, or the
	 * error of a connection. */
	void (*skip)(void *ctx, size_t i, const struct error *why);
	/* Then, or when it has run. */
	void (*done)(void *ctx, size_t i);
	void *ctx;
};

/* The order in which two of one array begin, as qsort() wants it. It is that of
 * the array where they waited alike. */
int jobs_order(const struct job_need *a, const struct job_need *b);

/* Run each, those that waited longest first; in the order of `needs` if they
 * waited alike. Comes back when all are done. After a stop no more begin. */
void jobs_run(const struct jobs_terms *terms, const struct job_need *needs,
	      size_t n);

#endif
