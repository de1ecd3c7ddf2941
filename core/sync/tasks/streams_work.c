#include "core/sync/tasks/streams_work.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/pool.h"
#include "core/base/stop.h"
#include "core/store/session.h"
#include "core/sync/run/pipeline.h"
#include "core/sync/tasks/chunk.h"

/* Between two looks for a range that another attempt is to take. */
#define STREAMS_LOOK_US (US_PER_SECOND / 5)

struct streams {
	struct run *r;
	char config[STREAMS_CONFIG_SIZE];
	const char *id;
	size_t n;
	struct stream *each;
	pthread_mutex_t lock; /* guards what is below */
	struct error failed; /* the first failure that no attempt mends */
	bool ending; /* no range is begun any more */
	bool whole; /* all ranges are in the store */
	size_t running;
	size_t willing; /* to go on: they have not left */
};

struct stream {
	struct streams *all;
	pthread_t thread;
	struct run_counts done, now; /* by ended chunks; by the one at hand */
	bool yields; /* others have sessions, if it finds no room */
	bool left;
};

static void stream_count(struct run_counts *out, const struct run_result *x)
{
	out->batches = x->batches;
	out->rows_read = x->rows_read;
	out->rows_inserted = x->rows_inserted;
	out->rows_updated = x->rows_updated;
	out->rows_unchanged = x->rows_unchanged;
	out->rows_deleted = x->rows_deleted;
	out->rows_dead_lettered = x->rows_dead_lettered;
}

static void stream_add(struct run_counts *to, const struct run_counts *x)
{
	to->batches += x->batches;
	to->rows_read += x->rows_read;
	to->rows_inserted += x->rows_inserted;
	to->rows_updated += x->rows_updated;
	to->rows_unchanged += x->rows_unchanged;
	to->rows_deleted += x->rows_deleted;
	to->rows_dead_lettered += x->rows_dead_lettered;
}

static void stream_progress(const struct run_result *so_far, void *ctx)
{
	struct stream *s = ctx;

	pthread_mutex_lock(&s->all->lock);
	stream_count(&s->now, so_far);
	pthread_mutex_unlock(&s->all->lock);
}

static void stream_fail(struct stream *s, const struct error *err)
{
	struct streams *all = s->all;

	pthread_mutex_lock(&all->lock);
	if (!all->failed.code)
		all->failed = *err;
	all->ending = true;
	pthread_mutex_unlock(&all->lock);
}

static bool stream_goes_on(struct stream *s)
{
	bool on;

	pthread_mutex_lock(&s->all->lock);
	s->yields = s->all->willing > 1;
	on = !s->all->ending && !s->left && !stop_requested();
	pthread_mutex_unlock(&s->all->lock);
	return on;
}

/* The server has no room for its sessions. The range waits for the others; the
 * last stream has nobody to leave it to. */
static bool stream_leaves(struct stream *s)
{
	struct streams *all = s->all;

	pthread_mutex_lock(&all->lock);
	s->left = all->willing > 1;
	all->willing -= s->left;
	pthread_mutex_unlock(&all->lock);
	return s->left;
}

static int stream_claim(struct stream *s, struct store *store,
			struct chunk *out, bool *found, struct error *err)
{
	const struct run *r = s->all->r;
	struct lease_keeper asking = { .claim = false };
	int64_t lease_us = r->options->lease.lease_us;
	struct lease wanted;
	int rc;

	lease_keeper_fill(&asking, &wanted, "");
	rc = store_chunk_claim(store, r->p->name, s->all->config, &wanted,
			       lease_us ? lease_us : LEASE_DEFAULT_US, found,
			       out, err);
	lease_release(&wanted);
	return rc;
}

static void stream_name_range(const struct run *r, const struct chunk *c,
			      struct error *err)
{
	error_prefix(err, "%s, the range of %s from %s up to %s",
		     r->p->source_table, c->column,
		     c->range_from ? c->range_from : "the beginning",
		     c->range_to ? c->range_to : "the end");
}

static void stream_chunk_failed(struct stream *s, const struct chunk *c,
				struct error *err)
{
	bool lost =
		!strcmp(c->state, CHUNK_FAILED) || !error_may_pass(err->code);
	bool full = !lost && pool_is_full(err);
	bool leaves = full && stream_leaves(s);

	stream_name_range(s->all->r, c, err);
	if (leaves)
		log_warn("%s is loaded by fewer streams: %s",
			 s->all->r->p->source_table, err->message);
	else if (lost || (full && !s->yields))
		stream_fail(s, err);
	else
		log_warn("left to another attempt: %s", err->message);
}

/* A range that failed is tried again, by whichever stream, as long as that may
 * help. */
/* A stream helps the run. */
static void stream_name_lines(const struct run *r)
{
	log_set_pipeline(r->p->name);
	log_set_run(r->out->run_id, r->out->attempt_id);
}

static void stream_chunk(struct stream *s, struct store *store, struct chunk *c)
{
	const struct run *r = s->all->r;
	struct pipeline_settings p = *r->p;
	struct chunk_work work;
	const struct run_options options = {
		.lease = { .state = r->options->lease.state,
			   .lease_us = r->options->lease.lease_us },
		.task = &work.task,
		.pace_share =
			(r->options->pace_share ? r->options->pace_share : 1) *
			(int64_t)s->all->n,
		.yields = s->yields,
		.progress = stream_progress,
		.progress_ctx = s,
	};
	struct error err = ERROR_INIT;
	struct run_result result;
	int rc;

	p.ends = NULL;
	chunk_work_init(&work, c);
	work.first_load = true;
	rc = pipeline_run(&p, store, &options, &result, &err);
	pthread_mutex_lock(&s->all->lock);
	stream_count(&s->now, &result);
	stream_add(&s->done, &s->now);
	memset(&s->now, 0, sizeof(s->now));
	pthread_mutex_unlock(&s->all->lock);
	stream_name_lines(r);
	if (rc && err.code != ERROR_STOPPED)
		stream_chunk_failed(s, c, &err);
	run_result_release(&result);
	chunk_work_release(&work);
}

/* Ranges that others have may come back. */
static int stream_is_over(struct stream *s, struct store *store, bool *over,
			  struct error *err)
{
	struct chunk_list list = { NULL, 0, 0 };
	bool whole;
	int rc;

	pthread_mutex_lock(&s->all->lock);
	whole = s->all->whole;
	pthread_mutex_unlock(&s->all->lock);
	rc = store_chunks_list(store, s->all->r->p->name, &list, err);
	*over = whole;
	for (size_t i = 0; i < list.n; i++)
		if (!strcmp(list.items[i].config, s->all->config) &&
		    strcmp(list.items[i].state, CHUNK_DONE) != 0)
			*over = false;
	chunk_list_release(&list);
	return rc;
}

static int stream_work(struct stream *s, struct store *store, struct error *err)
{
	bool over = false;
	int rc = 0;

	while (!rc && !over && stream_goes_on(s)) {
		struct chunk c;
		bool found = false;

		memset(&c, 0, sizeof(c));
		rc = stream_claim(s, store, &c, &found, err);
		if (!rc && found)
			stream_chunk(s, store, &c);
		else if (!rc)
			rc = stream_is_over(s, store, &over, err);
		chunk_release(&c);
		if (!rc && !found && !over)
			clock_sleep_us(STREAMS_LOOK_US);
	}
	return rc;
}

static void *stream_main(void *arg)
{
	struct stream *s = arg;
	struct streams *all = s->all;
	struct error err = ERROR_INIT;
	struct store *store = NULL;

	stream_name_lines(all->r);
	if (store_open(&store, all->r->options->lease.state, &err) ||
	    stream_work(s, store, &err))
		stream_fail(s, &err);
	store_close(store);
	pthread_mutex_lock(&all->lock);
	all->running--;
	pthread_mutex_unlock(&all->lock);
	return NULL;
}

/* The run's counts, with what the streams have done since `base`. */
static bool streams_look(struct streams *all, const struct run_counts *base)
{
	struct run_result *out = all->r->out;
	struct run_counts sum = *base;
	bool running;

	pthread_mutex_lock(&all->lock);
	running = all->running > 0;
	for (size_t i = 0; i < all->n; i++) {
		stream_add(&sum, &all->each[i].done);
		stream_add(&sum, &all->each[i].now);
	}
	pthread_mutex_unlock(&all->lock);
	out->batches = sum.batches;
	out->rows_read = sum.rows_read;
	out->rows_inserted = sum.rows_inserted;
	out->rows_updated = sum.rows_updated;
	out->rows_unchanged = sum.rows_unchanged;
	out->rows_deleted = sum.rows_deleted;
	out->rows_dead_lettered = sum.rows_dead_lettered;
	return running;
}

/* The first stream may be all that the machine gives. */
static int streams_start(struct streams *all, struct error *err)
{
	int rc = 0;

	pthread_mutex_lock(&all->lock);
	while (!rc && all->running < all->n) {
		struct stream *s = &all->each[all->running];

		s->all = all;
		rc = pthread_create(&s->thread, NULL, stream_main, s);
		all->running += !rc;
	}
	all->n = all->willing = all->running;
	pthread_mutex_unlock(&all->lock);
	if (all->n)
		return 0;
	return error_set(err, ERROR_BUG, "cannot start a thread: %s",
			 strerror(rc));
}

static void streams_end(struct streams *all)
{
	pthread_mutex_lock(&all->lock);
	all->ending = true;
	pthread_mutex_unlock(&all->lock);
}

static int streams_judge(void *ctx, const struct chunk_list *known, bool *add,
			 struct error *err)
{
	(void)ctx;
	(void)known;
	(void)err;
	*add = true;
	return 0;
}

int streams_queue(struct run *r, const struct chunk_list *chunks,
		  struct error *err)
{
	static const struct chunk_rule rule = { streams_judge, NULL };

	return store_chunks_add(r->store, chunks, &rule, err);
}

/* Cut the next range, or else wait a little. */
static int streams_step(struct streams *all, struct streams_plan *plan,
			struct error *err)
{
	struct chunk_list next = { NULL, 0, 0 };
	int rc = lease_keeper_check(all->r->keeper, err);

	if (rc)
		return rc;
	if (plan->whole) {
		clock_sleep_us(STREAMS_LOOK_US / 4);
		return 0;
	}
	rc = streams_plan_next(plan, all->id, &next, err);
	if (!rc)
		rc = streams_queue(all->r, &next, err);
	chunk_list_release(&next);
	pthread_mutex_lock(&all->lock);
	all->whole = !rc && plan->whole;
	pthread_mutex_unlock(&all->lock);
	return rc;
}

static int streams_wait(struct streams *all, struct streams_plan *plan,
			struct error *err)
{
	struct run_counts base;
	int rc = 0;

	stream_count(&base, all->r->out);
	while (streams_look(all, &base)) {
		run_tick(all->r);
		if (rc)
			clock_sleep_us(STREAMS_LOOK_US / 4);
		else if ((rc = streams_step(all, plan, err)))
			streams_end(all);
	}
	for (size_t i = 0; i < all->n; i++)
		pthread_join(all->each[i].thread, NULL);
	if (stop_requested()) {
		error_clear(err);
		return error_set(err, ERROR_STOPPED, "stopped by a signal");
	}
	if (!rc && all->failed.code) {
		*err = all->failed;
		rc = -(int)err->code;
	}
	return rc;
}

int streams_run(struct run *r, size_t n, struct streams_plan *plan,
		const char *id, struct error *err)
{
	struct streams all = { .r = r,
			       .n = n,
			       .id = id,
			       .whole = plan->whole,
			       .each = xcalloc(n, sizeof(*all.each)) };
	int rc;

	streams_config(r->p, all.config);
	pthread_mutex_init(&all.lock, NULL);
	rc = streams_start(&all, err);
	if (!rc)
		rc = streams_wait(&all, plan, err);
	pthread_mutex_destroy(&all.lock);
	free(all.each);
	return rc;
}
