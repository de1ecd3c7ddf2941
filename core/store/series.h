/* The attempts and batches of a pipeline since a time, for pictures. */
#ifndef TIDEMARK_CORE_STORE_SERIES_H
#define TIDEMARK_CORE_STORE_SERIES_H

#include "core/plugin/store.h"

/* Times in µs since 1970. */
struct series_attempt {
	int64_t started_at, ended_at; /* 0: not yet */
	bool caught_up, failed;
};
struct series_batch {
	int64_t at, rows, load_us;
};
struct series {
	struct series_attempt *attempts; /* oldest first */
	size_t n_attempts, attempts_room;
	struct series_batch *batches; /* loaded; oldest first */
	size_t n_batches, batches_room;
};

/* All that began since then, and the last one that caught up before that. At
 * most SERIES_MOST batches, the newest. `out` is empty before, and to be
 * released. */
#define SERIES_MOST 100000
int store_series_read(struct store *s, const char *pipeline, int64_t since_us,
		      struct series *out, struct error *err);
void series_release(struct series *s);

#endif
