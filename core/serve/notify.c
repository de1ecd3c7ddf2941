#include "core/serve/notify.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/retry.h"
#include "core/base/stop.h"
#include "core/serve/notify_parts.h"
#include "core/store/session.h"
#include "core/sync/parts/state.h"

/* So many tries in all; the pauses between them grow from a second to a minute.
 */
#define NOTIFY_TRIES   7
#define NOTIFY_REST_US US_PER_SECOND
#define NOTIFY_MOST_US (60 * US_PER_SECOND)
/* Beyond the receiver's own time, for what comes before and behind. */
#define NOTIFY_SLACK_US (20 * US_PER_SECOND)
/* The store is away. */
#define NOTIFY_AGAIN_US (2 * US_PER_SECOND)
/* Another process is at it, or it rests. */
#define NOTIFY_HELD_US (US_PER_SECOND / 2)

struct notify_item {
	const struct pipeline_settings *p;
	bool news;
	int64_t again_us; /* monotonic; 0: not by itself */
	/* States that each receiver has; NOTICE_STATES: not read yet. */
	enum notify_state told[SETTINGS_NOTIFY_MOST][NOTICE_TOPICS];
};

/* A receiver that does not take anything is not asked for each pipeline. */
struct notify_rest {
	int64_t until_us; /* monotonic */
	int failures;
};

struct notify {
	pthread_mutex_t lock; /* guards all but the thread's own */
	pthread_cond_t news;
	pthread_t thread;
	bool ends;
	struct generation *g;
	struct notify_item *items; /* by name */
	size_t n;
	post_function post;
	char claim[33]; /* this process's */
	/* The thread's own. */
	struct generation *opened; /* its store is open; its rests count */
	struct store *store;
	struct notify_rest rests[SETTINGS_NOTIFY_MOST];
	char targets[SETTINGS_NOTIFY_MOST][HMAC_HEX_SIZE];
};

/* One look at one pipeline. */
struct notify_look {
	struct notify *n;
	const struct generation *g;
	struct notify_item item; /* a copy */
	struct notice_list rows;
	struct status_result status;
};

static int notify_compare(const void *a, const void *b)
{
	const struct notify_item *x = a, *y = b;

	return strcmp(x->p->name, y->p->name);
}

static struct notify_item *notify_find(const struct notify *n,
				       const struct pipeline_settings *p)
{
	const struct notify_item wanted = { .p = p };
	struct notify_item *found =
		n->n ? bsearch(&wanted, n->items, n->n, sizeof(wanted),
			       notify_compare)
		     : NULL;

	return found && found->p == p ? found : NULL;
}

void notify_set(struct notify *n, struct generation *g)
{
	struct notify_item *items = xcalloc(g->n + 1, sizeof(*items));
	struct generation *old;

	for (size_t i = 0; i < g->n; i++) {
		items[i].p = g->pipelines[i];
		for (size_t t = 0; t < SETTINGS_NOTIFY_MOST; t++)
			for (size_t k = 0; k < NOTICE_TOPICS; k++)
				items[i].told[t][k] = NOTICE_STATES;
	}
	qsort(items, g->n, sizeof(*items), notify_compare);
	pthread_mutex_lock(&n->lock);
	free(n->items);
	n->items = items;
	n->n = g->n;
	old = n->g;
	n->g = generation_join(g);
	pthread_mutex_unlock(&n->lock);
	generation_leave(old);
}

void notify_see(struct notify *n, const struct status_result *status)
{
	struct notify_item *item;

	pthread_mutex_lock(&n->lock);
	item = n->g && n->g->s.n_notify ? notify_find(n, status->pipeline)
					: NULL;
	for (size_t t = 0; item && !item->news && t < n->g->s.n_notify; t++)
		for (int k = 0; k < NOTICE_TOPICS; k++) {
			enum notify_state now =
				notice_judge(&n->g->s.notify[t],
					     (enum notify_topic)k, status);

			if (now != NOTICE_STATES && now != item->told[t][k])
				item->news = true;
		}
	if (item && item->news && !item->again_us)
		pthread_cond_signal(&n->news);
	pthread_mutex_unlock(&n->lock);
}

/* A receiver's name in the store tells nothing of its address. */
static int notify_name_targets(struct notify *n, const struct settings *s,
			       struct error *err)
{
	int rc = 0;

	for (size_t t = 0; !rc && t < s->n_notify; t++) {
		const struct notify_settings *to = &s->notify[t];
		struct strbuf text = STRBUF_INIT;

		strbuf_addstr(&text, to->webhook ? to->webhook : "");
		for (size_t i = 0; i < to->command.n; i++)
			strbuf_add(&text, to->command.items[i],
				   strlen(to->command.items[i]) + 1);
		rc = hmac_hex(n->targets[t], "tidemark notice", text.data,
			      text.len, err);
		strbuf_release(&text);
	}
	return rc;
}

static int notify_open(struct notify *n, struct generation *g,
		       struct error *err)
{
	int rc;

	if (n->opened == g)
		return 0;
	store_close(n->store);
	n->store = NULL;
	generation_leave(n->opened);
	n->opened = NULL;
	memset(n->rests, 0, sizeof(n->rests));
	rc = notify_name_targets(n, &g->s, err);
	if (!rc)
		rc = state_open(&g->s, &n->store, err);
	if (!rc)
		n->opened = generation_join(g);
	return rc;
}

static const struct notice *notify_row(const struct notify_look *look,
				       const struct notice_key *key)
{
	for (size_t i = 0; i < look->rows.n; i++)
		if (!strcmp(look->rows.items[i].target, key->target) &&
		    !strcmp(look->rows.items[i].topic, key->topic))
			return &look->rows.items[i];
	return NULL;
}

static void notify_again(struct notify_look *look, int64_t us)
{
	int64_t at = clock_monotonic_us() + us;

	if (!look->item.again_us || at < look->item.again_us)
		look->item.again_us = at;
}

static int64_t notify_pause_us(int64_t tries)
{
	int64_t us = NOTIFY_REST_US;

	while (--tries > 0 && us < NOTIFY_MOST_US)
		us *= 2;
	return us < NOTIFY_MOST_US ? us : NOTIFY_MOST_US;
}

/* A topic that has changed for a receiver. */
struct notify_change {
	size_t t; /* the receiver's number */
	enum notify_topic topic;
	struct notice_key key;
	const struct notice *row; /* NULL: there is none */
	enum notify_state then, now;
};

/* Told, or nobody's to tell. */
static int notify_note(struct notify_look *look, const struct notify_change *c,
		       struct error *err)
{
	look->item.told[c->t][c->topic] = c->now;
	return store_notice_told(look->n->store, &c->key, look->n->claim,
				 notice_state_name(c->now), err);
}

/* The config was read anew meanwhile, or this process ends. */
static bool notify_is_over(const struct notify_look *look)
{
	struct notify *n = look->n;
	bool over;

	pthread_mutex_lock(&n->lock);
	over = n->ends || n->g != look->g;
	pthread_mutex_unlock(&n->lock);
	return over || stop_requested();
}

/* The receiver has it, and nobody is to tell it again. While the store is away
 * nothing else can be told. */
static int notify_note_told(struct notify_look *look,
			    const struct notify_change *c, struct error *err)
{
	int rc = notify_note(look, c, err);

	while (rc && !notify_is_over(look)) {
		log_debug("told, and not noted yet: %s", err->message);
		error_clear(err);
		clock_sleep_us(NOTIFY_HELD_US);
		rc = notify_note(look, c, err);
	}
	return rc;
}

/* The receiver did not take it: once more later, or never. */
static int notify_refused(struct notify_look *look,
			  const struct notify_change *c,
			  const struct error *why, struct error *err)
{
	struct notify *n = look->n;
	struct notify_rest *rest = &n->rests[c->t];
	int64_t before = c->row ? c->row->tries : 0, tries = before + 1;
	int64_t pause = notify_pause_us(tries);

	/* Whoever comes next tells it at once. */
	if (why->code == ERROR_STOPPED)
		return store_notice_put_off(n->store, &c->key, n->claim, before,
					    0, err);
	rest->until_us =
		clock_monotonic_us() + notify_pause_us(++rest->failures);
	if (tries >= NOTIFY_TRIES) {
		log_error("a notification is given up after %" PRId64
			  " tries: %s",
			  tries, why->message);
		return notify_note(look, c, err);
	}
	log_warn("a notification has to wait: %s", why->message);
	notify_again(look, pause);
	return store_notice_put_off(n->store, &c->key, n->claim, tries, pause,
				    err);
}

static int notify_tell(struct notify_look *look, const struct notify_change *c,
		       enum notify_event event, struct error *err)
{
	struct error why = ERROR_INIT;
	struct attempt_list list = { NULL, 0, 0 };
	char *text = notice_text(
		event, &look->status,
		notice_counted(look->n->store, &look->status, &list),
		look->g->s.row_values);
	int rc = notify_send(&look->g->s.notify[c->t], look->n->post, text,
			     &why);

	attempt_list_release(&list);
	free(text);
	if (rc)
		return notify_refused(look, c, &why, err);
	look->n->rests[c->t].failures = 0;
	log_debug("told: %s", notify_event_name(event));
	return notify_note_told(look, c, err);
}

static int notify_change(struct notify_look *look,
			 const struct notify_change *c, struct error *err)
{
	const struct notify_settings *to = &look->g->s.notify[c->t];
	enum notify_event event = notice_event(c->then, c->now);
	bool wants = event != NOTIFY_EVENTS && to->wants[event];
	int64_t rest = look->n->rests[c->t].until_us - clock_monotonic_us();
	bool mine = false;
	int rc = 0;

	if (wants && rest > 0) {
		notify_again(look, rest);
		return 0;
	}
	if (!c->row || !c->row->held)
		rc = store_notice_claim(
			look->n->store, &c->key, notice_state_name(c->then),
			c->row ? c->row->changed_at : 0, look->n->claim,
			to->timeout_us + NOTIFY_SLACK_US, &mine, err);
	if (rc)
		return rc;
	if (!mine) {
		notify_again(look, NOTIFY_HELD_US);
		return 0;
	}
	return wants ? notify_tell(look, c, event, err)
		     : notify_note(look, c, err);
}

static int notify_topic(struct notify_look *look, size_t t,
			enum notify_topic topic, struct error *err)
{
	struct notify_change c = {
		.t = t,
		.topic = topic,
		.key = { look->n->targets[t], look->item.p->name,
			 notice_topic_name(topic) },
		.then = topic == NOTICE_HEALTH ? NOTICE_OK : NOTICE_NONE,
		.now = notice_judge(&look->g->s.notify[t], topic,
				    &look->status),
	};

	c.row = notify_row(look, &c.key);
	if (c.row && notice_state_of(c.row->state) != NOTICE_STATES)
		c.then = notice_state_of(c.row->state);
	look->item.told[t][topic] = c.then;
	/* A process that died while it told may have been heard. So a state
	 * that is as it was told before is told again. */
	if (c.now == NOTICE_STATES ||
	    (c.now == c.then && !(c.row && c.row->claimed)))
		return 0;
	return notify_change(look, &c, err);
}

/* The rows are read first. So whoever claims one has looked at the pipeline
 * since the row was last changed, and knows no less than who changed it. */
static int notify_compare_all(struct notify_look *look, struct error *err)
{
	const struct pipeline_settings *p = look->item.p;
	int rc = store_notices_list(look->n->store, p->name, &look->rows, err);

	if (rc)
		return rc;
	status_look(p, look->n->store,
		    schedule_interval(&p->schedule, clock_now_us()),
		    &look->status);
	if (!look->status.health_known)
		rc = error_set(err, ERROR_TRANSIENT,
			       "the state store did not tell");
	for (size_t t = 0; !rc && t < look->g->s.n_notify; t++)
		for (int k = 0; !rc && k < NOTICE_TOPICS; k++)
			rc = notify_topic(look, t, (enum notify_topic)k, err);
	return rc;
}

static void notify_visit(struct notify_look *look, struct generation *g)
{
	struct error err = ERROR_INIT;
	int rc;

	look->item.again_us = 0;
	log_set_pipeline(look->item.p->name);
	rc = notify_open(look->n, g, &err);
	if (!rc) {
		rc = notify_compare_all(look, &err);
		status_result_release(&look->status);
		notice_list_release(&look->rows);
	}
	if (rc) {
		log_debug("notifications wait: %s", err.message);
		notify_again(look, NOTIFY_AGAIN_US);
	}
	log_set_pipeline("");
}

/* Lock held. One with news or whose time has come; NULL: none. Else `*wait_us`
 * is how long there is nothing. */
static struct notify_item *notify_next(const struct notify *n, int64_t *wait_us)
{
	int64_t now = clock_monotonic_us(), first = now + US_PER_DAY;

	for (size_t i = 0; i < n->n; i++) {
		struct notify_item *item = &n->items[i];

		if (item->again_us ? item->again_us <= now : item->news)
			return item;
		if (item->again_us && item->again_us < first)
			first = item->again_us;
	}
	*wait_us = first - now;
	return NULL;
}

static void notify_wait(struct notify *n, int64_t us)
{
	int64_t at = clock_monotonic_us() + us;
	const struct timespec until = {
		.tv_sec = (time_t)(at / US_PER_SECOND),
		.tv_nsec = (long)(at % US_PER_SECOND) * 1000,
	};

	pthread_cond_timedwait(&n->news, &n->lock, &until);
}

/* Lock held, but not while it tells. */
static void notify_go(struct notify *n, struct notify_item *item)
{
	struct generation *g = generation_join(n->g);
	struct notify_look look = { .n = n, .g = g, .item = *item };

	item->news = false;
	item->again_us = 0;
	pthread_mutex_unlock(&n->lock);
	notify_visit(&look, g);
	pthread_mutex_lock(&n->lock);
	item = notify_find(n, look.item.p);
	if (item) {
		item->again_us = look.item.again_us;
		memcpy(item->told, look.item.told, sizeof(item->told));
	}
	pthread_mutex_unlock(&n->lock);
	generation_leave(g);
	pthread_mutex_lock(&n->lock);
}

static void *notify_main(void *arg)
{
	struct notify *n = arg;

	pthread_mutex_lock(&n->lock);
	while (!n->ends) {
		int64_t wait = 0;
		struct notify_item *item = notify_next(n, &wait);

		if (item && !stop_requested())
			notify_go(n, item);
		else
			notify_wait(n, item ? US_PER_SECOND : wait);
	}
	pthread_mutex_unlock(&n->lock);
	store_close(n->store);
	generation_leave(n->opened);
	return NULL;
}

int notify_new(struct notify **out, post_function post, struct error *err)
{
	struct notify *n = xcalloc(1, sizeof(*n));
	pthread_condattr_t attributes;

	n->post = post;
	snprintf(n->claim, sizeof(n->claim), "%016" PRIx64 "%016" PRIx64,
		 retry_random(), retry_random());
	pthread_mutex_init(&n->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&n->news, &attributes);
	pthread_condattr_destroy(&attributes);
	if (!pthread_create(&n->thread, NULL, notify_main, n)) {
		*out = n;
		return 0;
	}
	pthread_cond_destroy(&n->news);
	pthread_mutex_destroy(&n->lock);
	free(n);
	return error_set(err, ERROR_ACCESS,
			 "the system has no room for one more thread");
}

void notify_free(struct notify *n)
{
	if (!n)
		return;
	pthread_mutex_lock(&n->lock);
	n->ends = true;
	pthread_cond_signal(&n->news);
	pthread_mutex_unlock(&n->lock);
	pthread_join(n->thread, NULL);
	free(n->items);
	generation_leave(n->g);
	pthread_cond_destroy(&n->news);
	pthread_mutex_destroy(&n->lock);
	free(n);
}
