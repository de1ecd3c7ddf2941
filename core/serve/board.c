#include "core/serve/board.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/by_name.h"
#include "core/base/clock.h"
#include "core/store/session.h"
#include "core/sync/parts/state.h"

/* A pipeline that another process may have run is looked at so often, at
 * least. */
#define BOARD_LOOK_US (30 * US_PER_SECOND)
/* Between two looks for news, and at a store that was away. */
#define BOARD_PAUSE_US (US_PER_SECOND / 2)
#define BOARD_AWAY_US  (2 * US_PER_SECOND)

struct board {
	pthread_mutex_t lock; /* guards all but the thread's own */
	pthread_cond_t news;
	pthread_t thread;
	struct notify *notify; /* or NULL */
	bool ends;
	struct board_view view;
	struct generation *g; /* in force; or NULL before the first */
	char store_error[200];
	int64_t beat_us; /* monotonic */
	/* The thread's own. */
	struct generation *opened; /* its store is open */
	struct store *store;
};

static void board_item_forget(struct board_item *item)
{
	if (item->known)
		status_result_release(&item->status);
	item->known = false;
	json_decref(item->mark);
	item->mark = NULL;
	generation_leave(item->of);
	item->of = NULL;
}

static void board_release_items(struct board_item *items, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		board_item_forget(&items[i]);
		meter_release(&items[i].meter);
	}
	free(items);
}

static const char *board_name(const void *list, size_t i)
{
	const struct board_view *view = list;

	return view->items[i].p->name;
}

struct board_item *board_find(const struct board_view *view, const char *name)
{
	size_t at;

	return by_name_find(name, view, view->n, board_name, &at)
		       ? &view->items[at]
		       : NULL;
}

static int board_compare(const void *a, const void *b)
{
	const struct board_item *x = a, *y = b;

	return strcmp(x->p->name, y->p->name);
}

/* All goes on under the same name. The rest is read in the store again, and
 * until then the old word holds: an alert is not to end by a reload. */
static void board_take(struct board_item *to, struct board_item *from)
{
	to->meter = from->meter;
	memset(&from->meter, 0, sizeof(from->meter));
	to->due_us = from->due_us;
	if (!from->known)
		return;
	to->status = from->status;
	to->mark = from->mark;
	to->of = from->of;
	to->known = true;
	from->mark = NULL;
	from->of = NULL;
	from->known = false;
}

void board_set(struct board *b, struct generation *g)
{
	struct board_item *fresh = xcalloc(g->n + 1, sizeof(*fresh));
	struct generation *old;

	pthread_mutex_lock(&b->lock);
	for (size_t i = 0; i < g->n; i++) {
		struct board_item *before =
			board_find(&b->view, g->pipelines[i]->name);

		fresh[i].p = g->pipelines[i];
		fresh[i].due_us = SCHEDULE_NEVER;
		if (before)
			board_take(&fresh[i], before);
	}
	qsort(fresh, g->n, sizeof(*fresh), board_compare);
	board_release_items(b->view.items, b->view.n);
	b->view.items = fresh;
	b->view.n = g->n;
	b->view.g = g;
	old = b->g;
	b->g = generation_join(g);
	pthread_cond_signal(&b->news);
	pthread_mutex_unlock(&b->lock);
	generation_leave(old);
}

/* For people, who go by the clock of this machine. */
static int64_t board_due(const struct turn *turn, int64_t ahead_us)
{
	return turn->due_us > 0 && turn->due_us < SCHEDULE_NEVER
		       ? turn->due_us - ahead_us
		       : turn->due_us;
}

void board_turns(struct board *b, const struct timetable *t, int64_t ahead_us)
{
	pthread_mutex_lock(&b->lock);
	for (size_t i = 0; i < t->n && i < b->view.n; i++)
		if (b->view.items[i].p == t->items[i].p)
			b->view.items[i].due_us =
				board_due(&t->items[i], ahead_us);
	pthread_mutex_unlock(&b->lock);
}

void board_store(struct board *b, const char *error)
{
	pthread_mutex_lock(&b->lock);
	snprintf(b->store_error, sizeof(b->store_error), "%s", error);
	pthread_mutex_unlock(&b->lock);
}

void board_beat(struct board *b)
{
	pthread_mutex_lock(&b->lock);
	b->beat_us = clock_monotonic_us();
	pthread_mutex_unlock(&b->lock);
}

int64_t board_silence_us(struct board *b)
{
	int64_t silence;

	pthread_mutex_lock(&b->lock);
	silence = clock_monotonic_us() - b->beat_us;
	pthread_mutex_unlock(&b->lock);
	return silence;
}

void board_news(struct board *b, const char *name)
{
	struct board_item *item;

	pthread_mutex_lock(&b->lock);
	item = board_find(&b->view, name);
	if (item) {
		item->stale = true;
		pthread_cond_signal(&b->news);
	}
	pthread_mutex_unlock(&b->lock);
}

void board_follow(struct board *b, const struct run_result *so_far)
{
	struct board_item *item;

	pthread_mutex_lock(&b->lock);
	item = board_find(&b->view, so_far->pipeline->name);
	if (item)
		meter_follow(&item->meter, so_far);
	pthread_mutex_unlock(&b->lock);
}

void board_ended(struct board *b, const struct run_result *r)
{
	struct board_item *item;

	pthread_mutex_lock(&b->lock);
	item = board_find(&b->view, r->pipeline->name);
	if (item) {
		meter_end(&item->meter, r);
		item->stale = true;
		pthread_cond_signal(&b->news);
	}
	pthread_mutex_unlock(&b->lock);
}

/* As it is now: states change while nothing happens. */
const struct board_view *board_look(struct board *b)
{
	int64_t now = clock_now_us();

	pthread_mutex_lock(&b->lock);
	for (size_t i = 0; i < b->view.n; i++) {
		struct board_item *item = &b->view.items[i];

		if (!item->known)
			continue;
		item->status.next_due =
			item->due_us == SCHEDULE_NEVER ? 0 : item->due_us;
		status_age(&item->status, now);
	}
	b->view.store_error = b->store_error;
	return &b->view;
}

void board_leave(struct board *b)
{
	pthread_mutex_unlock(&b->lock);
}

struct generation *board_generation(struct board *b)
{
	struct generation *g;

	pthread_mutex_lock(&b->lock);
	g = generation_join(b->g);
	pthread_mutex_unlock(&b->lock);
	return g;
}

/* How old a look may be. Another process may have run it meanwhile: nobody is
 * to be called late, or failing, by a look that is too old. */
static int64_t board_patience_us(const struct board_item *item, int64_t now_us)
{
	const struct health *h = &item->status.health;
	int64_t us = BOARD_LOOK_US;

	if (!item->known || h->state == HEALTH_PAUSED)
		return us;
	if (h->state == HEALTH_FAILING && item->status.interval_us > 0)
		us = item->status.interval_us;
	if (h->state != HEALTH_FAILING && h->late_us > 0 &&
	    now_us - h->last_success > h->late_us / 3 * 2)
		us = h->late_us / 6;
	if (us < BOARD_PAUSE_US)
		return BOARD_PAUSE_US;
	return us < BOARD_LOOK_US ? us : BOARD_LOOK_US;
}

/* Lock held. The next to look at: one with news, else the one whose look is
 * too old by most; NULL. */
static struct board_item *board_next(struct board *b)
{
	int64_t mono = clock_monotonic_us(), now = clock_now_us(), most = 0;
	struct board_item *next = NULL;

	for (size_t i = 0; i < b->view.n; i++) {
		struct board_item *item = &b->view.items[i];
		int64_t over;

		if (item->stale || !item->looked_us)
			return item;
		over = mono - item->looked_us - board_patience_us(item, now);
		if (over >= most) {
			most = over;
			next = item;
		}
	}
	return next;
}

/* The thread's store, of the pipelines in force. */
static struct store *board_open(struct board *b, struct generation *g)
{
	struct error err = ERROR_INIT;

	if (b->opened == g)
		return b->store;
	store_close(b->store);
	b->store = NULL;
	generation_leave(b->opened);
	b->opened = NULL;
	if (state_look(g->s.state, &b->store, &err) || !b->store)
		return NULL;
	b->opened = generation_join(g);
	return b->store;
}

/* The few words of a mark that people read. */
static json_t *board_mark(const char *text)
{
	static const char *const keys[] = { "strategy", "column", "value" };
	json_t *all = text ? json_loads(text, 0, NULL) : NULL, *mark;

	if (!json_is_object(all)) {
		json_decref(all);
		return NULL;
	}
	mark = json_object();
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		json_object_set(mark, keys[i], json_object_get(all, keys[i]));
	json_decref(all);
	return mark;
}

/* Lock held. As it is now, to whoever tells others of it. */
static void board_show(struct board *b, struct board_item *item, int64_t now_us)
{
	status_age(&item->status, now_us);
	if (b->notify)
		notify_see(b->notify, &item->status);
}

/* Lock held. A pipeline is late by the clock alone. */
static void board_show_all(struct board *b)
{
	int64_t now = clock_now_us();

	for (size_t i = 0; b->notify && i < b->view.n; i++)
		if (b->view.items[i].known)
			board_show(b, &b->view.items[i], now);
}

static void board_put(struct board *b, const struct pipeline_settings *p,
		      struct status_result *fresh)
{
	struct board_item *item = board_find(&b->view, p->name);

	/* A store that does not answer tells nothing new. */
	if (!item || item->p != p || !fresh->health_known) {
		status_result_release(fresh);
		return;
	}
	board_item_forget(item);
	item->status = *fresh;
	item->mark = board_mark(fresh->watermark);
	item->known = true;
	item->of = generation_join(b->g);
	if (fresh->has_last && *fresh->last.outcome)
		meter_newest(&item->meter, fresh->last.attempt_id);
	/* Its parts that borrow from it have moved. */
	board_show(b, item, clock_now_us());
}

static int64_t board_interval_us(const struct pipeline_settings *p)
{
	return schedule_interval(&p->schedule, clock_now_us());
}

/* Lock held, but not while the store is asked. False: there is no store. */
static bool board_read(struct board *b, struct board_item *item)
{
	const struct pipeline_settings *p = item->p;
	struct generation *g = generation_join(b->g);
	struct status_result fresh;
	struct store *store;

	item->stale = false;
	item->looked_us = clock_monotonic_us();
	pthread_mutex_unlock(&b->lock);
	store = board_open(b, g);
	if (store)
		status_look(p, store, board_interval_us(p), &fresh);
	pthread_mutex_lock(&b->lock);
	if (store)
		board_put(b, p, &fresh);
	pthread_mutex_unlock(&b->lock);
	generation_leave(g);
	pthread_mutex_lock(&b->lock);
	return store != NULL;
}

static void board_rest(struct board *b, int64_t us)
{
	int64_t at = clock_monotonic_us() + us;
	const struct timespec until = {
		.tv_sec = (time_t)(at / US_PER_SECOND),
		.tv_nsec = (long)(at % US_PER_SECOND) * 1000,
	};

	if (!b->ends)
		pthread_cond_timedwait(&b->news, &b->lock, &until);
}

static void *board_main(void *arg)
{
	struct board *b = arg;

	pthread_mutex_lock(&b->lock);
	while (!b->ends) {
		struct board_item *item = board_next(b);

		if (!item) {
			board_show_all(b);
			board_rest(b, BOARD_PAUSE_US);
		}
		if (item && !board_read(b, item))
			board_rest(b, BOARD_AWAY_US);
	}
	pthread_mutex_unlock(&b->lock);
	store_close(b->store);
	generation_leave(b->opened);
	return NULL;
}

int board_new(struct board **out, struct notify *notify, struct error *err)
{
	struct board *b = xcalloc(1, sizeof(*b));
	pthread_condattr_t attributes;

	b->notify = notify;
	pthread_mutex_init(&b->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&b->news, &attributes);
	pthread_condattr_destroy(&attributes);
	snprintf(b->store_error, sizeof(b->store_error),
		 "the state store has not been asked yet");
	b->beat_us = clock_monotonic_us();
	b->view.since_us = clock_now_us();
	if (!pthread_create(&b->thread, NULL, board_main, b)) {
		*out = b;
		return 0;
	}
	pthread_cond_destroy(&b->news);
	pthread_mutex_destroy(&b->lock);
	free(b);
	return error_set(err, ERROR_ACCESS,
			 "the system has no room for one more thread");
}

void board_free(struct board *b)
{
	if (!b)
		return;
	pthread_mutex_lock(&b->lock);
	b->ends = true;
	pthread_cond_signal(&b->news);
	pthread_mutex_unlock(&b->lock);
	pthread_join(b->thread, NULL);
	board_release_items(b->view.items, b->view.n);
	generation_leave(b->g);
	pthread_cond_destroy(&b->news);
	pthread_mutex_destroy(&b->lock);
	free(b);
}
