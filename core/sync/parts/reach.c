#include "core/sync/parts/reach.h"

#include <pthread.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"

/* A connection that was refused; without `who` and `lost` it is as any. */
struct reach_doubt {
	const struct connection *c;
	const void *who; /* tries on for all; NULL: nobody */
	bool lost; /* nobody tries any more */
	int64_t lost_us; /* since when; monotonic */
	struct error why;
};

struct reach {
	pthread_mutex_t lock;
	struct reach_doubt *doubts;
	size_t n, room;
	int64_t keep_us;
	void (*changed)(void *ctx);
	void *ctx;
};

struct reach *reach_new(int64_t keep_us, void (*changed)(void *ctx), void *ctx)
{
	struct reach *r = xcalloc(1, sizeof(*r));

	pthread_mutex_init(&r->lock, NULL);
	r->keep_us = keep_us;
	r->changed = changed;
	r->ctx = ctx;
	return r;
}

void reach_free(struct reach *r)
{
	if (!r)
		return;
	pthread_mutex_destroy(&r->lock);
	free(r->doubts);
	free(r);
}

/* Lock held. */
static struct reach_doubt *reach_find(const struct reach *r,
				      const struct connection *c)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->doubts[i].c == c)
			return &r->doubts[i];
	return NULL;
}

static struct reach_doubt *reach_add(struct reach *r,
				     const struct connection *c)
{
	struct reach_doubt *doubt = reach_find(r, c);

	if (doubt)
		return doubt;
	r->doubts = xgrow(r->doubts, &r->room, r->n + 1, sizeof(*r->doubts));
	doubt = &r->doubts[r->n++];
	*doubt = (struct reach_doubt){ .c = c };
	return doubt;
}

/* A word that is too old does not hold. */
static bool reach_is_lost(const struct reach *r, struct reach_doubt *doubt)
{
	if (doubt->lost && r->keep_us &&
	    clock_monotonic_us() - doubt->lost_us > r->keep_us)
		doubt->lost = false;
	return doubt->lost;
}

int reach_check(struct reach *r, const struct connection *c, struct error *err)
{
	struct reach_doubt *doubt;
	struct error why = ERROR_INIT;

	if (!r)
		return 0;
	pthread_mutex_lock(&r->lock);
	doubt = reach_find(r, c);
	if (doubt && reach_is_lost(r, doubt))
		why = doubt->why;
	pthread_mutex_unlock(&r->lock);
	if (!why.code)
		return 0;
	error_prefix(&why,
		     "not tried: connection %s could not be reached a "
		     "moment ago",
		     c->name);
	*err = why;
	return -(int)why.code;
}

bool reach_is_doubted(struct reach *r, const struct connection *c,
		      const void *who)
{
	const struct reach_doubt *doubt;
	bool doubted;

	if (!r)
		return false;
	pthread_mutex_lock(&r->lock);
	doubt = reach_find(r, c);
	doubted = doubt && doubt->who && doubt->who != who;
	pthread_mutex_unlock(&r->lock);
	return doubted;
}

void reach_refused(struct reach *r, const struct connection *c, const void *who,
		   const struct error *why)
{
	struct reach_doubt *doubt;

	if (!r || (why->code != ERROR_ACCESS && !error_may_pass(why->code)))
		return;
	pthread_mutex_lock(&r->lock);
	doubt = reach_add(r, c);
	if (!doubt->who && !reach_is_lost(r, doubt))
		doubt->who = who;
	if (doubt->who == who)
		doubt->why = *why;
	pthread_mutex_unlock(&r->lock);
}

/* Whatever was thought of it before. */
void reach_opened(struct reach *r, const struct connection *c)
{
	struct reach_doubt *doubt;
	bool news;

	if (!r)
		return;
	pthread_mutex_lock(&r->lock);
	doubt = reach_find(r, c);
	news = doubt && (doubt->who || doubt->lost);
	if (news) {
		doubt->who = NULL;
		doubt->lost = false;
	}
	pthread_mutex_unlock(&r->lock);
	if (news)
		r->changed(r->ctx);
}

void reach_end(struct reach *r, const void *who, bool failed)
{
	bool news = false;

	if (!r)
		return;
	pthread_mutex_lock(&r->lock);
	for (size_t i = 0; i < r->n; i++) {
		struct reach_doubt *doubt = &r->doubts[i];

		if (doubt->who != who)
			continue;
		doubt->who = NULL;
		doubt->lost = failed;
		doubt->lost_us = clock_monotonic_us();
		news = true;
	}
	pthread_mutex_unlock(&r->lock);
	if (news)
		r->changed(r->ctx);
}
