/*
 * How many rows a batch takes, so that loading it takes about as long as it
 * should (batch.target). When it takes longer, the rows become fewer by a
 * factor, but stay as many as before when fewer take as long. While it does
 * not, they become more: twice as many at first, and by steps once they were
 * too many. It knows no clock.
 */
#ifndef TIDEMARK_CORE_SYNC_PACE_ADAPT_H
#define TIDEMARK_CORE_SYNC_PACE_ADAPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Rows of a batch, at least, unless it is to have fewer from the start. */
#define ADAPT_FEWEST 200

struct adapt {
	size_t rows; /* for the next batch */
	size_t fewest, most, step;
	size_t piece; /* rows that the destination writes at once; 0: any */
	int64_t target_us;
	double wanted; /* `rows` before they are cut to whole pieces */
	bool backed_off; /* a batch took too long */
	size_t slow_rows; /* in the last batch, if it took too long */
	int64_t slow_us; /* how long; 0: it did not */
};

/* Between the smaller of 200 and `configured`, and 8 times `configured`. */
void adapt_init(struct adapt *a, size_t configured, size_t piece,
		int64_t target_us);
/* A batch of so many rows took so long. */
void adapt_loaded(struct adapt *a, size_t rows, int64_t load_us);

#endif
