/*
 * A destination that is opened while the source is. Two connections, or a
 * connection and a large library, then take only as long as the slower of them.
 */
#ifndef TIDEMARK_CORE_SYNC_PARTS_OPENING_H
#define TIDEMARK_CORE_SYNC_PARTS_OPENING_H

#include <pthread.h>

#include "core/plugin/destination.h"
#include "core/settings/settings.h"

struct log_place;

struct opening {
	const struct pipeline_settings *p;
	const struct connection *to;
	struct log_place *place; /* the thread's log lines have it */
	pthread_t thread;
	bool started;
	struct destination *destination;
	struct error error;
};

/* `to` outlives what is opened. */
void opening_begin(struct opening *o, const struct pipeline_settings *p,
		   const struct connection *to);
/* Wait for it. `out` is NULL if it could not be opened. If it could, and then
 * failed to get ready, there is an error as well: it is fit only for close().
 * Once for each begin. */
int opening_end(struct opening *o, struct destination **out, struct error *err);

#endif
