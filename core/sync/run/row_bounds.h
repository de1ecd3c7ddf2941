/*
 * How many rows a run may bring: gate.min_rows and gate.max_rows against the
 * rows past the mark, the window. A pass of its own counts them before the
 * first batch is loaded, no further than the bounds ask for. So a run that
 * breaks a bound loads nothing. A refresh is checked on its way instead: nobody
 * sees anything of it before its end.
 *
 * The source is free to change between the count and the pass: the pass keeps
 * to max_rows whatever was counted.
 */
#ifndef TIDEMARK_CORE_SYNC_RUN_ROW_BOUNDS_H
#define TIDEMARK_CORE_SYNC_RUN_ROW_BOUNDS_H

#include "core/plugin/destination.h"
#include "core/settings/settings.h"

struct window {
	const struct pipeline_settings *p;
	bool refresh;
	int64_t rows; /* this run's so far, with earlier tries */
};

/* `rows`: what earlier tries of the run have loaded (of a refresh: nothing that
 * lasts). */
void window_init(struct window *w, const struct pipeline_settings *p,
		 bool refresh, int64_t rows);

/* Read the rows of `scan` on a connection of its own, key and mark alone where
 * that will do. DATA if they are too few or too many. `destination`: as for
 * reader_start(). Nothing is read if no bound is set. */
int window_count(struct window *w, const struct scan *scan,
		 struct destination *destination, size_t batch_rows,
		 void (*tick)(void *ctx), void *ctx, struct error *err);

/* Before a batch is loaded; counts its rows. DATA if they are too many. */
int window_check_next(struct window *w, size_t rows, struct error *err);
/* At the end of the pass. DATA if a refresh has brought too few. */
int window_check_end(const struct window *w, struct error *err);

#endif
