/* The sessions of a first load's streams (streams.h). */
#ifndef TIDEMARK_CORE_SYNC_TASKS_STREAMS_ROOM_H
#define TIDEMARK_CORE_SYNC_TASKS_STREAMS_ROOM_H

#include "core/sync/run/run.h"

/* As many of `n` streams as may have sessions beside the run's own; 0: not
 * even `least`. Their sessions count as in use until streams_room_end(). Fewer
 * than `n` are told. */
size_t streams_room(const struct run *r, size_t n, size_t least);
void streams_room_end(void);

#endif
