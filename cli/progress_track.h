/* The speed of one pipeline, and when it may be done, from what it has told so
 * far. */
#ifndef TIDEMARK_CLI_PROGRESS_TRACK_H
#define TIDEMARK_CLI_PROGRESS_TRACK_H

#include <stdbool.h>
#include <stdint.h>

/* Counts: rows and bytes of a run, or the rows of both sides of a look. */
#define PROGRESS_COUNTS 2

struct pipeline_settings;

struct progress_point {
	const struct pipeline_settings *pipeline;
	const char *pass; /* a look's; NULL: a run */
	int64_t counts[PROGRESS_COUNTS];
	double share; /* 0..1; -1: not known */
};

struct progress_track {
	const struct pipeline_settings *pipeline; /* NULL: of none yet */
	const char *pass;
	int64_t shown_at;
	int64_t rows; /* the first count, as it was told last */
	/* Speed is that between the last two samples. */
	int64_t sample_at, samples[PROGRESS_COUNTS];
	bool sampled;
	double speeds[PROGRESS_COUNTS]; /* a second */
	double first_share;
	int64_t first_at; /* 0: no share is known yet */
};

/* A point at the time `now`; a sample is `window` µs long. Another pipeline or
 * pass than before begins anew. */
void progress_track_add(struct progress_track *t,
			const struct progress_point *p, int64_t now,
			int64_t window);
/* µs until the share is 1; -1: not known. */
int64_t progress_track_eta(const struct progress_track *t, double share,
			   int64_t now);

#endif
