#include "clients/pg_pooler.h"

#include <libpq-fe.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clients/pg_session.h"
#include "core/base/strlist.h"

/* Looks of the other session. A pooler takes its idle sessions in turn, or the
 * last one first. */
#define POOLER_LOOKS 12

static const char pooler_pid_sql[] = "SELECT pg_catalog.pg_backend_pid()";

/* Connections whose pooler is fine. */
static struct strlist pooler_known = STRLIST_INIT;
static pthread_mutex_t pooler_lock = PTHREAD_MUTEX_INITIALIZER;

static bool pooler_is_known(const char *key, bool add)
{
	bool known = false;

	pthread_mutex_lock(&pooler_lock);
	for (size_t i = 0; !known && i < pooler_known.n; i++)
		known = !strcmp(pooler_known.items[i], key);
	if (!known && add)
		strlist_add(&pooler_known, key);
	pthread_mutex_unlock(&pooler_lock);
	return known;
}

/* A server's process gives its own number with the key for cancelling. */
static bool pooler_is_between(const struct pg *pg, const char *pid)
{
	char own[16];

	snprintf(own, sizeof(own), "%d", PQbackendPID(pg->conn));
	return strcmp(own, pid) != 0;
}

/* Does it answer from the process? `*ok`: it answered. */
static bool pooler_serves(struct pg *pg, const char *pid, bool *ok)
{
	struct error ignored = ERROR_INIT;
	struct pg_result *r = NULL;
	bool same;

	*ok = !pg_query(pg, &r, pooler_pid_sql, "t", 0, NULL, &ignored) &&
	      pg_rows(r);
	same = *ok && !strcmp(pg_value(r, 0, 0), pid);
	pg_result_free(r);
	return same;
}

/* While we keep our session, nobody else is served by its process. */
static bool pooler_shares(struct pg *pg, struct pg *other, const char *pid)
{
	bool shares = false, ok = true;

	for (int i = 0; !shares && ok && i < POOLER_LOOKS; i++)
		shares = pooler_serves(other, pid, &ok);
	if (!shares)
		shares = !pooler_serves(pg, pid, &ok) && ok;
	return shares;
}

/* A pooler that has no session left for the other one, and lets it wait, has
 * kept ours for us. */
static bool pooler_is_shared(struct pg *pg, const struct connection *conn,
			     const char *pid)
{
	static const struct pg_options options = { .application = "look" };
	struct error ignored = ERROR_INIT;
	struct pg *other = pg_new(conn);
	bool shares = false;

	if (conn->connect_timeout_us < other->waiter.silence_us)
		other->waiter.silence_us = conn->connect_timeout_us;
	if (!pg_sign_in(other, conn, &options, &ignored))
		shares = pooler_shares(pg, other, pid);
	pg_end(other);
	return shares;
}

int pg_pooler_check(struct pg *pg, const struct connection *conn,
		    const char *pid, struct error *err)
{
	struct strbuf key = STRBUF_INIT;
	int rc = 0;

	if (!pid || !pooler_is_between(pg, pid))
		return 0;
	pool_key(&key, conn);
	if (!pooler_is_known(key.data, false) &&
	    pooler_is_shared(pg, conn, pid))
		rc = error_set(
			err, ERROR_ACCESS,
			"%s: a pooler between serves several clients from one "
			"session of the server, so that settings and locks of "
			"this session would get lost" ERROR_FIX
			": connect to the server itself, or let the pooler "
			"give each client a session of its own (pool_mode = "
			"session)",
			pg->where);
	else
		pooler_is_known(key.data, true);
	strbuf_release(&key);
	return rc;
}
