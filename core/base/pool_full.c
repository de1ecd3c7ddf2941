#include "core/base/pool_count.h"

#include <limits.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"

/* How long a server that was full counts as full. */
#define POOL_FULL_US (60 * US_PER_SECOND)
/* How long a server may take to notice that sessions were closed. */
#define POOL_ROOM_US	  (3 * US_PER_SECOND)
#define POOL_ROOM_LOOK_US (US_PER_SECOND / 20)

/* Sessions were closed to make room. Under the pool's lock. */
static int64_t pool_room_until_us;

unsigned pool_asked(const struct connection *conn)
{
	return conn->sessions < UINT_MAX ? (unsigned)conn->sessions : UINT_MAX;
}

unsigned pool_bound(const struct pool_count *c, const struct connection *conn)
{
	unsigned most = pool_asked(conn);

	if (c->full && clock_monotonic_us() < c->full_until_us &&
	    (!most || c->full < most))
		most = c->full;
	return most;
}

static unsigned pool_note_full(const struct connection *conn)
{
	struct pool_count *c;
	unsigned left;

	pool_lock();
	c = pool_count(conn);
	/* The one that was refused has left. */
	left = c->full = c->open ? c->open : 1;
	c->full_until_us = clock_monotonic_us() + POOL_FULL_US;
	pool_unlock();
	return left;
}

bool pool_is_full(const struct error *err)
{
	/* SQLSTATE, and the numbers of MySQL: of all, and of this user. */
	static const char *const codes[] = { "53300", "1040", "1203", "1226" };

	/* The last one is also that of statements an hour. */
	if (error_has_code(err, "1226") &&
	    !strstr(err->message, "max_user_connections"))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
		if (error_has_code(err, codes[i]))
			return true;
	return false;
}

bool pool_full(const struct connection *conn, int64_t *until_us)
{
	bool any = pool_shed();

	/* Another thread may have made the room. */
	pool_lock();
	if (any)
		pool_room_until_us = clock_monotonic_us() + POOL_ROOM_US;
	if (*until_us < pool_room_until_us)
		*until_us = pool_room_until_us;
	pool_unlock();
	if (clock_monotonic_us() < *until_us)
		return !clock_sleep_us(POOL_ROOM_LOOK_US);
	log_debug("connection %s: the server takes no more sessions; this "
		  "process goes on with %u",
		  conn->name ? conn->name : "", pool_note_full(conn));
	return false;
}

unsigned pool_most(const struct connection *conn)
{
	unsigned most;

	pool_lock();
	most = pool_bound(pool_count(conn), conn);
	pool_unlock();
	return most;
}
