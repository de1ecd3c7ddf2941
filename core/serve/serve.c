#include "core/serve/serve.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/pool.h"
#include "core/base/ready.h"
#include "core/base/row_values.h"
#include "core/base/stop.h"
#include "core/serve/api.h"
#include "core/serve/board.h"
#include "core/serve/clocks.h"
#include "core/serve/notify.h"
#include "core/serve/reading.h"
#include "core/serve/timetable.h"
#include "core/serve/wave.h"
#include "core/store/controls.h"
#include "core/store/leases.h"
#include "core/sync/rounds/plan.h"
#include "core/sync/rounds/prune.h"

/* Between two looks at signals and at what has ended. */
#define SERVE_TURN_US (US_PER_SECOND / 5)
/* Between two looks at the store with nothing due. */
#define SERVE_LOOK_US	US_PER_SECOND
#define SERVE_PRUNE_US	PRUNE_THIN_US
#define SERVE_EXPAND_US (10 * US_PER_SECOND)
/* How long the word about a dead server holds. */
#define SERVE_REACH_US (15 * US_PER_SECOND)
/* How long one waits for a run that began before its turn, between two looks.
 */
#define SERVE_BUSY_US (5 * US_PER_SECOND)

struct serve {
	const struct serve_options *options;
	struct generation *now;
	struct timetable table;
	struct jobs *jobs;
	struct board *board;
	struct notify *notify;
	struct api api;
	struct http_server *http; /* NULL: none */
	bool open; /* whoever is on this machine may ask it */
	bool away; /* the store, by its last answer */
	bool hung_up; /* the config is to be read anew */
	struct reading *reading; /* under way, or NULL */
	char *refused; /* the last look for tables, why; "" or NULL: not */
	int64_t looked_us, pruned_us, expanded_us; /* monotonic */
	struct clocks clocks;
};

/* The wish for a run is met, by this process or since then by another. It is
 * not by a run that goes on elsewhere, which may have begun before it, nor by
 * one that was stopped. If it cannot be crossed out now it is met again, to no
 * avail: its turn is taken. */
static void serve_meet(struct serve *s, struct turn *turn,
		       const struct run_result *r)
{
	struct error err = ERROR_INIT;
	int64_t met = turn->meets_us;

	turn->meets_us = 0;
	if (!met || r->outcome == OUTCOME_STOPPED ||
	    (r->outcome == OUTCOME_BUSY && r->held_by))
		return;
	if (turn->asked_us <= met)
		turn->asked_us = 0;
	if (store_control_begun(s->now->store, turn->p->name, met, &err))
		log_debug("%s", err.message);
	error_clear(&err);
}

/* When it began, by the store's clock. If ours was set back meanwhile, its
 * start would lie in the time to come, and nothing newer would be noted until
 * then. */
static int64_t serve_began(const struct serve *s, const struct run_result *r,
			   int64_t now_us)
{
	int64_t at = r->started_us + s->clocks.ahead_us;

	return r->started_us && at < now_us ? at : now_us;
}

static void serve_finished(void *ctx, const struct run_result *r)
{
	struct serve *s = ctx;
	struct turn *turn = timetable_find(&s->table, r->pipeline->name);
	int64_t now = clocks_store_now(&s->clocks);

	if (turn) {
		turn->taken = false;
		serve_meet(s, turn, r);
	}
	/* A run that began before the turn has not read what came since. The
	 * store tells of one that began later. */
	if (r->outcome == OUTCOME_BUSY)
		timetable_put_off(&s->table, r->pipeline->name,
				  now + SERVE_BUSY_US);
	else
		timetable_begun(&s->table, r->pipeline->name,
				serve_began(s, r, now), now);
	board_ended(s->board, r);
	s->options->finished(s->options->ctx, r);
}

static void serve_follow(const struct run_result *so_far, void *ctx)
{
	const struct serve *s = ctx;

	board_follow(s->board, so_far);
}

static void serve_set_jobs(struct serve *s, const struct generation *g)
{
	size_t jobs = s->options->jobs ? s->options->jobs : g->s.jobs;
	struct jobs_terms terms = { .jobs = jobs ? jobs : 1,
				    .sessions = pool_most };

	terms.most = terms.jobs * JOBS_WAITING;
	plan_limit(&terms, g->n);
	jobs_set(s->jobs, &terms);
}

/* As it listens since it began: another token takes a restart. */
static int serve_check_reach(struct serve *s, const struct settings *fresh,
			     struct error *err)
{
	const struct serve_settings *serve = &fresh->serve;

	if (!s->now)
		s->open = serve->address.kind == LISTEN_TCP && !*serve->token;
	if (!s->open || !fresh->row_values)
		return 0;
	return error_set(err, ERROR_CONFIG,
			 "log.row_values has errors tell contents of rows, and "
			 "whoever is on this machine may read them, for serve "
			 "began without a token. Set serve.token, or have it "
			 "listen on unix:PATH, and start it anew; or write "
			 "log: { row_values: false }");
}

/* From now on these are the pipelines; `g` is taken over. */
static void serve_adopt(struct serve *s, struct generation *g)
{
	row_values_show(g->s.row_values);
	g->reach = jobs_reach(s->jobs, SERVE_REACH_US);
	serve_set_jobs(s, g);
	timetable_set(&s->table, g->pipelines, g->n,
		      clocks_store_now(&s->clocks));
	board_set(s->board, g);
	notify_set(s->notify, g);
	generation_leave(s->now);
	s->now = g;
	s->looked_us = 0;
}

/* The first one: nothing runs that would have to wait for it. */
static int serve_read(struct serve *s, struct error *err)
{
	struct generation *g = generation_new();
	int rc = s->options->read(s->options->ctx, SERVE_READ, g, err);

	if (!rc)
		rc = serve_check_reach(s, &g->s, err);
	if (rc)
		generation_leave(g);
	else
		serve_adopt(s, g);
	s->expanded_us = clock_monotonic_us();
	return rc;
}

/* By what the look has found out itself: the file is the same. */
static bool serve_is_alike(const struct pipeline_settings *a,
			   const struct pipeline_settings *b)
{
	struct error one = ERROR_INIT, other = ERROR_INIT;
	bool same = settings_fault(a, &one) == settings_fault(b, &other) &&
		    !strcmp(a->name, b->name) && a->strategy == b->strategy &&
		    a->mode == b->mode &&
		    !strcmp(a->mark_column ? a->mark_column : "",
			    b->mark_column ? b->mark_column : "") &&
		    a->key.n == b->key.n;

	for (size_t i = 0; same && i < a->key.n; i++)
		same = !strcmp(a->key.items[i], b->key.items[i]);
	error_clear(&one);
	error_clear(&other);
	return same;
}

static bool serve_is_same(const struct generation *a,
			  const struct generation *b)
{
	bool same = a->n == b->n;

	for (size_t i = 0; same && i < a->n; i++)
		same = serve_is_alike(a->pipelines[i], b->pipelines[i]);
	return same;
}

/* A config that is wrong changes nothing. */
static void serve_read_anew(struct serve *s, struct generation *g,
			    struct error *err)
{
	if (g && serve_check_reach(s, &g->s, err)) {
		generation_leave(g);
		g = NULL;
	}
	if (g) {
		serve_adopt(s, g);
		log_info("the config was read anew: %zu pipelines", g->n);
	} else {
		log_error("the pipelines stay as they are: %s", err->message);
	}
	ready_tell("READY=1");
}

/* The same file. With the same tables in it all goes on as it is. Trouble is
 * told once, and not at each look. */
static void serve_looked(struct serve *s, struct generation *g,
			 const struct error *err)
{
	const char *trouble = g ? "" : err->message;

	if (*trouble && (!s->refused || strcmp(s->refused, trouble) != 0))
		log_error("the pipelines stay as they are: %s", trouble);
	xassign(&s->refused, trouble);
	if (!g || s->hung_up || serve_is_same(g, s->now))
		generation_leave(g);
	else
		serve_adopt(s, g);
}

static void serve_take_reading(struct serve *s)
{
	struct error err = ERROR_INIT;
	enum serve_reading why = reading_why(s->reading);
	struct generation *g = reading_end(s->reading, &err);

	s->reading = NULL;
	s->expanded_us = clock_monotonic_us();
	if (why == SERVE_READ)
		serve_read_anew(s, g, &err);
	else
		serve_looked(s, g, &err);
	error_clear(&err);
}

/* One reading at a time; whatever comes meanwhile is read behind it. */
static void serve_mind_config(struct serve *s)
{
	s->hung_up |= stop_take_hangup();
	if (s->reading && reading_is_over(s->reading))
		serve_take_reading(s);
	if (s->reading)
		return;
	if (s->hung_up) {
		ready_tell("RELOADING=1");
		s->reading = reading_begin(s->options, SERVE_READ);
		s->hung_up = !s->reading;
	} else if (s->now->s.n_wildcards && !s->away &&
		   clock_monotonic_us() - s->expanded_us >= SERVE_EXPAND_US) {
		s->reading = reading_begin(s->options, SERVE_LOOK);
	}
}

static void serve_note_start(void *ctx, const char *name, int64_t at,
			     bool broken)
{
	struct serve *s = ctx;

	timetable_told(&s->table, name, at, broken,
		       clocks_store_now(&s->clocks));
}

/* NULL: nobody wants anything of it. */
static void serve_control(struct serve *s, struct turn *turn,
			  const struct control *wish)
{
	bool paused = wish && wish->paused_at > 0;

	if (paused != turn->paused)
		board_news(s->board, turn->p->name);
	turn->paused = paused;
	turn->asked_us = wish ? wish->asked_at : 0;
}

/* Few have wishes at a time. */
static int serve_ask_controls(struct serve *s, struct error *err)
{
	struct control_list list = { NULL, 0, 0 };
	int rc = store_controls_list(s->now->store, &list, err);

	for (size_t i = 0; !rc && i < s->table.n; i++) {
		struct turn *turn = &s->table.items[i];
		const struct control *wish = NULL;

		for (size_t k = 0; k < list.n && !wish; k++)
			if (!strcmp(list.items[k].pipeline, turn->p->name))
				wish = &list.items[k];
		serve_control(s, turn, wish);
	}
	control_list_release(&list);
	return rc;
}

static int serve_ask_store(struct serve *s, struct error *err)
{
	bool first = !s->clocks.stores_us, was_set;
	int rc = generation_store(s->now, err);

	if (!rc)
		rc = clocks_compare(&s->clocks, s->now->store, &was_set, err);
	if (rc)
		return rc;
	if (first)
		timetable_learn(&s->table, clocks_store_now(&s->clocks));
	else if (was_set)
		timetable_shift(&s->table, clocks_store_now(&s->clocks));
	rc = store_lease_starts(s->now->store, serve_note_start, s, err);
	return rc ? rc : serve_ask_controls(s, err);
}

/* Learn what other processes have begun. Nothing is begun while the store is
 * away: it has the leases. */
static bool serve_look(struct serve *s)
{
	struct error err = ERROR_INIT;
	bool away = serve_ask_store(s, &err);

	if (away && !s->away)
		log_error("no pipeline is begun until the state store "
			  "answers: %s",
			  err.message);
	else if (!away && s->away)
		log_info("the state store answers again");
	s->away = away;
	board_store(s->board, away ? err.message : "");
	board_turns(s->board, &s->table, s->clocks.ahead_us);
	s->looked_us = clock_monotonic_us();
	error_clear(&err);
	return !away;
}

/* All that are due, as one wave. */
static void serve_begin(struct serve *s)
{
	const struct pipeline_settings **due =
		xcalloc(s->table.n + 1, sizeof(const void *));
	int64_t *turns = xcalloc(s->table.n + 1, sizeof(*turns));
	const struct wave_hooks hooks = { serve_follow, serve_finished, s };
	int64_t now = clocks_store_now(&s->clocks);
	size_t n = 0;

	for (size_t i = 0; i < s->table.n; i++) {
		struct turn *turn = &s->table.items[i];

		if (!turn_is_due(turn, now))
			continue;
		turns[n] = turn->asked_us ? turn->asked_us : turn->due_us;
		turn->taken = true;
		turn->meets_us = turn->asked_us;
		turn->asked_us = 0;
		due[n++] = turn->p;
	}
	if (n)
		wave_begin(s->jobs, s->now, due, turns, n, &hooks);
	free(turns);
	free((void *)due);
}

/* Before anything is begun, and now and then. */
static bool serve_wants_look(const struct serve *s)
{
	if (!s->looked_us ||
	    clock_monotonic_us() - s->looked_us >= SERVE_LOOK_US)
		return true;
	return !s->away &&
	       timetable_next(&s->table) <= clocks_store_now(&s->clocks);
}

static void serve_tidy(struct serve *s)
{
	int64_t now = clock_monotonic_us();

	if (s->away || now - s->pruned_us < SERVE_PRUNE_US)
		return;
	s->pruned_us = now;
	prune_idle(s->now->store);
	prune_history(&s->now->s, s->now->store, s->now->pipelines, s->now->n);
}

/* How long nothing is to be begun, at most. */
static int64_t serve_rest_us(const struct serve *s)
{
	int64_t next = timetable_next(&s->table),
		now = clocks_store_now(&s->clocks);

	if (s->away || next >= now + SERVE_TURN_US)
		return SERVE_TURN_US;
	return next > now ? next - now : 0;
}

static void serve_rest(struct serve *s)
{
	int64_t rest = serve_rest_us(s);

	if (jobs_left(s->jobs))
		jobs_go(s->jobs, clock_monotonic_us() + rest);
	else
		clock_sleep_us(rest);
}

static void serve_turn(struct serve *s)
{
	serve_mind_config(s);
	if (clocks_look(&s->clocks))
		s->looked_us = 0;
	if (serve_wants_look(s) && serve_look(s))
		serve_begin(s);
	serve_tidy(s);
	ready_tell("WATCHDOG=1");
	board_beat(s->board);
	serve_rest(s);
}

static int serve_listen(struct serve *s, struct error *err)
{
	const struct serve_settings *wanted = &s->now->s.serve;
	const struct http_terms terms = { .listen = wanted->address,
					  .token = wanted->token,
					  .hosts = &wanted->hosts };
	int rc;

	if (wanted->address.kind == LISTEN_OFF)
		return 0;
	s->api = (struct api){ .board = s->board,
			       .watchdog_us = wanted->watchdog_us,
			       .jobs = s->options->jobs ? s->options->jobs
							: s->now->s.jobs };
	rc = http_start(&terms, api_routes, api_n_routes, &s->api, &s->http,
			err);
	if (!rc)
		log_info("listening on %s", http_address(s->http));
	return rc;
}

/* A stop: each run ends at its batch. */
static void serve_end(struct serve *s)
{
	struct error ignored = ERROR_INIT;

	ready_tell("STOPPING=1");
	jobs_go(s->jobs, INT64_MAX);
	if (s->reading)
		generation_leave(reading_end(s->reading, &ignored));
	error_clear(&ignored);
	free(s->refused);
	http_stop(s->http);
	board_free(s->board);
	notify_free(s->notify);
	timetable_release(&s->table);
	generation_leave(s->now);
	jobs_free(s->jobs);
}

int serve_run(const struct serve_options *options, struct error *err)
{
	const struct jobs_terms terms = { .jobs = 1, .most = 1 };
	struct serve s = { .options = options, .jobs = jobs_new(&terms) };
	int rc = notify_new(&s.notify, options->post, err);

	stop_keep_hangups();
	if (!rc)
		rc = board_new(&s.board, s.notify, err);
	if (!rc)
		rc = serve_read(&s, err);
	if (!rc)
		rc = serve_listen(&s, err);
	if (!rc) {
		log_info("serving %zu pipelines", s.now->n);
		ready_tell("READY=1");
	}
	while (!rc && !stop_requested())
		serve_turn(&s);
	serve_end(&s);
	return rc ? rc : error_set(err, ERROR_STOPPED, "stopped by a signal");
}
