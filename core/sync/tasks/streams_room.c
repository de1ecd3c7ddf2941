#include "core/sync/tasks/streams_room.h"

#include "core/base/log.h"
#include "core/base/seat.h"

/* Each stream is a run of its own, and the run that waits for them keeps what
 * it has. If one stream waited for what another one holds, both would wait for
 * ever. */
static size_t room_of(const struct run *r, const struct connection *c, size_t n)
{
	int64_t each = settings_sessions(r->p, c);
	int64_t left = c->sessions - each;

	if (!c->sessions || !each)
		return n;
	if (left < each)
		return 0;
	return left / each < (int64_t)n ? (size_t)(left / each) : n;
}

static size_t room_asked(const struct run *r, size_t n)
{
	const struct pipeline_settings *p = r->p;

	n = room_of(r, p->source, n);
	n = room_of(r, p->destination, n);
	for (size_t i = 0; i < p->pace.n_replicas; i++)
		n = room_of(r, p->pace.replicas[i], n);
	return p->pace.probe ? room_of(r, p->pace.probe, n) : n;
}

size_t streams_room(const struct run *r, size_t n, size_t least)
{
	size_t room = seat_widen(room_asked(r, n));

	if (room < least)
		room = seat_widen(0);
	if (room < n)
		log_info("%s is to be loaded by %zu streams, and there is room "
			 "for %zu: each has sessions of its own "
			 "(connections.NAME.sessions)",
			 r->p->source_table, n, room ? room : 1);
	return room;
}

void streams_room_end(void)
{
	seat_widen(0);
}
