#include "core/sync/rounds/crew_room.h"

#include "core/base/log.h"
#include "core/settings/settings.h"
#include "core/sync/rounds/plan.h"

/* Whoever has one session is not to wait for a second one that another has. */
static size_t room_at(const struct pipeline_settings *p,
		      const struct connection *c, size_t n)
{
	int64_t each = settings_sessions(p, c), most;

	if (!c->sessions || !each || c->sessions / each >= (int64_t)n)
		return n;
	most = c->sessions > each ? c->sessions / each : 1;
	log_info("%s: %zu workers were asked for, and there is room for "
		 "%lld: each may need %lld sessions of connection %s, and "
		 "connections.%s.sessions is %lld",
		 p->name, n, (long long)most, (long long)each, c->name, c->name,
		 (long long)c->sessions);
	return (size_t)most;
}

size_t crew_room_find(const struct pipeline_settings *p, size_t n)
{
	n = room_at(p, p->source, n);
	n = room_at(p, p->destination, n);
	for (size_t i = 0; i < p->pace.n_replicas; i++)
		n = room_at(p, p->pace.replicas[i], n);
	if (p->pace.probe)
		n = room_at(p, p->pace.probe, n);
	return plan_fit(n, "workers");
}

void crew_room_init(struct crew_room *room, size_t n)
{
	pthread_mutex_init(&room->lock, NULL);
	room->willing = n;
}

void crew_room_release(struct crew_room *room)
{
	pthread_mutex_destroy(&room->lock);
}

bool crew_room_yields(struct crew_room *room)
{
	bool yields;

	pthread_mutex_lock(&room->lock);
	yields = room->willing > 1;
	pthread_mutex_unlock(&room->lock);
	return yields;
}

bool crew_room_rest(struct crew_room *room)
{
	bool rests;

	pthread_mutex_lock(&room->lock);
	rests = room->willing > 1;
	room->willing -= rests;
	pthread_mutex_unlock(&room->lock);
	return rests;
}

void crew_room_join(struct crew_room *room)
{
	pthread_mutex_lock(&room->lock);
	room->willing++;
	pthread_mutex_unlock(&room->lock);
}

void crew_room_end(struct crew_room *room)
{
	pthread_mutex_lock(&room->lock);
	room->willing--;
	pthread_mutex_unlock(&room->lock);
}
