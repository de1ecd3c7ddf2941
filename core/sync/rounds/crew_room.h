/*
 * Room for workers of one pipeline beside each other in one process. Each has
 * sessions and files of its own. If a server takes no more sessions, some of
 * the workers rest for a while, and the others go on.
 */
#ifndef TIDEMARK_CORE_SYNC_ROUNDS_CREW_ROOM_H
#define TIDEMARK_CORE_SYNC_ROUNDS_CREW_ROOM_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

struct pipeline_settings;

/* As many of `n` workers as there is room for, at least 1. The bounds of the
 * pipeline's connections count, and the files that this process may have open.
 * Fewer than `n` are told. */
size_t crew_room_find(const struct pipeline_settings *p, size_t n);

struct crew_room {
	pthread_mutex_t lock;
	size_t willing; /* to go on: they neither rest nor have ended */
};

void crew_room_init(struct crew_room *room, size_t n);
void crew_room_release(struct crew_room *room);
/* Would others go on without the one that asks? */
bool crew_room_yields(struct crew_room *room);
/* True: it may rest until crew_room_join(), for others go on. */
bool crew_room_rest(struct crew_room *room);
void crew_room_join(struct crew_room *room);
/* One of the willing has ended. */
void crew_room_end(struct crew_room *room);

#endif
