#include "core/base/pool_count.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/stop.h"

/* Between two looks at the stop flag while a session is waited for. */
#define POOL_LOOK_US (US_PER_SECOND / 10)

/* One at rest. */
struct pool_idle {
	void *handle; /* a session, or a file */
	void (*end)(void *handle);
	const struct pool_slot *slot; /* the session's; NULL: a file */
	int64_t until_us; /* monotonic */
	struct pool_idle *next;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed; /* on the monotonic clock */
	struct pool_idle *idle; /* the one given last comes first */
	struct pool_idle *inherited; /* a parent's: left alone */
	struct pool_count *counts;
	pthread_t reaper;
	bool reaping, ending;
} pool = { .lock = PTHREAD_MUTEX_INITIALIZER };

static pthread_once_t pool_once = PTHREAD_ONCE_INIT;

static void pool_make_changed(void)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&pool.changed, &attributes);
	pthread_condattr_destroy(&attributes);
}

/* A child must not speak through its parent's sockets, and has no threads. */
static void pool_before_fork(void)
{
	pool_pause(INT64_MAX);
	pthread_mutex_lock(&pool.lock);
}

static void pool_in_parent(void)
{
	pthread_mutex_unlock(&pool.lock);
}

static void pool_in_child(void)
{
	pthread_mutex_init(&pool.lock, NULL);
	pool_make_changed();
	pool.inherited = pool.idle;
	pool.idle = NULL;
	pool.reaping = false;
}

static void pool_begin(void)
{
	pool_make_changed();
	pthread_atfork(pool_before_fork, pool_in_parent, pool_in_child);
}

void pool_lock(void)
{
	pthread_once(&pool_once, pool_begin);
	pthread_mutex_lock(&pool.lock);
}

void pool_unlock(void)
{
	pthread_mutex_unlock(&pool.lock);
}

/* All below until the reaper: with the lock held. */

static void pool_wait(int64_t until_us)
{
	const struct timespec until = {
		.tv_sec = (time_t)(until_us / US_PER_SECOND),
		.tv_nsec = (long)(until_us % US_PER_SECOND) * 1000,
	};

	pthread_cond_timedwait(&pool.changed, &pool.lock, &until);
}

static struct pool_count *pool_count_of(const char *connection)
{
	struct pool_count *c = pool.counts;

	while (c && strcmp(c->connection, connection) != 0)
		c = c->next;
	if (c)
		return c;
	c = xcalloc(1, sizeof(*c));
	c->connection = xstrdup(connection);
	c->next = pool.counts;
	pool.counts = c;
	return c;
}

struct pool_count *pool_count(const struct connection *conn)
{
	return pool_count_of(conn->name ? conn->name : "");
}

/* Cut one out of the list. */
static struct pool_idle *pool_cut(struct pool_idle **at)
{
	struct pool_idle *i = *at;

	*at = i->next;
	i->next = NULL;
	return i;
}

static struct pool_idle *pool_find(const char *key)
{
	int64_t now = clock_monotonic_us();

	for (struct pool_idle **i = &pool.idle; *i; i = &(*i)->next) {
		if ((*i)->slot && (*i)->until_us > now &&
		    !strcmp((*i)->slot->key, key))
			return pool_cut(i);
	}
	return NULL;
}

/* The one of a connection that has rested the longest. */
static struct pool_idle *pool_find_oldest(const char *connection)
{
	struct pool_idle **oldest = NULL;

	for (struct pool_idle **i = &pool.idle; *i; i = &(*i)->next) {
		if ((*i)->slot && !strcmp((*i)->slot->connection, connection))
			oldest = i;
	}
	return oldest ? pool_cut(oldest) : NULL;
}

static struct pool_idle *pool_find_file(const void *file)
{
	for (struct pool_idle **i = &pool.idle; *i; i = &(*i)->next) {
		if (!(*i)->slot && (*i)->handle == file)
			return pool_cut(i);
	}
	return NULL;
}

static bool pool_is_file(const struct pool_idle *i)
{
	return !i->slot || i->slot->file;
}

/* All that are to be closed: files if asked, and what rests no longer than
 * until `by_us`. */
static struct pool_idle *pool_cut_due(bool files, int64_t by_us)
{
	struct pool_idle *due = NULL, **i = &pool.idle;

	while (*i) {
		struct pool_idle *one;

		if ((files && pool_is_file(*i)) || (*i)->until_us <= by_us) {
			one = pool_cut(i);
			one->next = due;
			due = one;
		} else {
			i = &(*i)->next;
		}
	}
	return due;
}

/* Without the lock: an end may take long. True if there was any. */
static bool pool_end_all(struct pool_idle *list)
{
	bool any = list != NULL;

	while (list) {
		struct pool_idle *next = list->next;
		list->end(list->handle);
		free(list);
		list = next;
	}
	return any;
}

static void *pool_reap(void *arg)
{
	(void)arg;
	pool_lock();
	while (!pool.ending) {
		int64_t now = clock_monotonic_us();
		int64_t next = now + POOL_SESSION_US;
		struct pool_idle *due = pool_cut_due(false, now);

		if (due) {
			pool_unlock();
			pool_end_all(due);
			pool_lock();
			continue;
		}
		for (const struct pool_idle *i = pool.idle; i; i = i->next)
			next = i->until_us < next ? i->until_us : next;
		pool_wait(next);
	}
	pool_unlock();
	return NULL;
}

/* Put it among those at rest, with the lock held; false: the pool has ended.
 * Without a reaper it rests until it is taken, or until the process pauses. */
static bool pool_rest(void *handle, void (*end)(void *handle),
		      const struct pool_slot *slot, int64_t for_us)
{
	struct pool_idle *i;

	if (pool.ending)
		return false;
	i = xcalloc(1, sizeof(*i));
	i->handle = handle;
	i->end = end;
	i->slot = slot;
	i->until_us = clock_monotonic_us() + for_us;
	i->next = pool.idle;
	pool.idle = i;
	if (!pool.reaping)
		pool.reaping =
			!pthread_create(&pool.reaper, NULL, pool_reap, NULL);
	pthread_cond_broadcast(&pool.changed);
	return true;
}

static void pool_slot_fill(struct pool_slot *slot,
			   const struct connection *conn, const char *key)
{
	slot->key = xstrdup(key);
	slot->connection = xstrdup(conn->name ? conn->name : "");
	slot->born_us = clock_monotonic_us();
}

/* Is there room for one more? How long that is waited for depends on who set
 * the bound. One that the server set may be over, so it is only heeded. */
static int pool_room(const struct pool_count *c, const struct connection *conn,
		     int64_t begun_us, struct error *err)
{
	int64_t waited_us = clock_monotonic_us() - begun_us;
	unsigned most = pool_bound(c, conn);

	if (!most || c->open < most)
		return 1;
	if (stop_requested())
		return error_set(err, ERROR_STOPPED,
				 "connection %s: stopped while waiting for a "
				 "session",
				 c->connection);
	if (!conn->sessions || c->open < pool_asked(conn))
		return waited_us >= conn->connect_timeout_us;
	if (waited_us < conn->silence_timeout_us)
		return 0;
	return error_set(err, ERROR_TRANSIENT,
			 "connection %s: %u sessions are in use, which is all "
			 "that connections.%s.sessions allows, and none was "
			 "given back in time",
			 c->connection, c->open, c->connection);
}

int pool_take(struct pool_slot *slot, const struct connection *conn,
	      const char *key, void **out, struct error *err)
{
	int64_t begun = clock_monotonic_us();
	struct pool_idle *found;
	struct pool_count *c;
	int rc = 0;

	*out = NULL;
	pool_lock();
	c = pool_count(conn);
	while (!(found = pool_find(key)) &&
	       !(rc = pool_room(c, conn, begun, err))) {
		struct pool_idle *other = pool_find_oldest(c->connection);

		if (!other) {
			pool_wait(clock_monotonic_us() + POOL_LOOK_US);
			continue;
		}
		pool_unlock();
		pool_end_all(other);
		pool_lock();
	}
	if (rc > 0)
		c->open++;
	pool_unlock();
	if (found)
		*out = found->handle;
	else if (rc > 0)
		pool_slot_fill(slot, conn, key);
	free(found);
	return rc < 0 ? rc : 0;
}

void pool_replace(struct pool_slot *slot, const struct connection *conn,
		  const char *key)
{
	pool_slot_fill(slot, conn, key);
	pool_lock();
	pool_count_of(slot->connection)->open++;
	pool_unlock();
}

void pool_give(struct pool_slot *slot, void *session,
	       void (*end)(void *session))
{
	bool rests = clock_monotonic_us() - slot->born_us < POOL_LIFE_US;

	if (rests) {
		pool_lock();
		rests = pool_rest(session, end, slot,
				  slot->file ? POOL_FILE_US : POOL_SESSION_US);
		pool_unlock();
	}
	if (!rests)
		end(session);
}

void pool_leave(struct pool_slot *slot)
{
	if (!slot->key)
		return;
	pool_lock();
	pool_count_of(slot->connection)->open--;
	pthread_cond_broadcast(&pool.changed);
	pool_unlock();
	free(slot->key);
	free(slot->connection);
	memset(slot, 0, sizeof(*slot));
}

bool pool_file_rest(void *file, void (*end)(void *file))
{
	bool rests;

	pool_lock();
	free(pool_find_file(file));
	rests = pool_rest(file, end, NULL, POOL_FILE_US);
	pool_unlock();
	return rests;
}

void pool_file_wake(void *file)
{
	pool_lock();
	free(pool_find_file(file));
	pool_unlock();
}

void pool_pause(int64_t away_us)
{
	int64_t now = clock_monotonic_us();
	struct pool_idle *due;

	pool_lock();
	due = pool_cut_due(true, away_us < POOL_SESSION_US ? now + away_us
							   : INT64_MAX);
	pool_unlock();
	pool_end_all(due);
}

bool pool_shed(void)
{
	struct pool_idle *idle;

	pool_lock();
	idle = pool_cut_due(false, INT64_MAX);
	pool_unlock();
	return pool_end_all(idle);
}

void pool_end(void)
{
	pthread_t reaper;
	bool reaping;

	pool_lock();
	pool.ending = true;
	reaping = pool.reaping;
	reaper = pool.reaper;
	pool.reaping = false;
	pthread_cond_broadcast(&pool.changed);
	pool_unlock();
	if (reaping)
		pthread_join(reaper, NULL);
	pool_pause(INT64_MAX);
}
