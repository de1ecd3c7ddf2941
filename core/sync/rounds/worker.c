#include "core/sync/rounds/worker.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/pool.h"
#include "core/base/stop.h"
#include "core/store/chunks.h"
#include "core/store/controls.h"
#include "core/store/history.h"
#include "core/store/session.h"
#include "core/sync/backfill/backfill.h"
#include "core/sync/parts/state.h"
#include "core/sync/parts/tries.h"
#include "core/sync/rounds/crew_room.h"
#include "core/sync/run/pipeline.h"
#include "core/sync/tasks/chunk.h"
#include "core/sync/tasks/sync.h"

/* Between two looks for work. */
#define WORKER_LOOK_US (US_PER_SECOND / 2)
/* How long one rests whose server had no room. */
#define WORKER_REST_US (60 * US_PER_SECOND)

struct worker {
	const struct settings *s;
	const struct pipeline_settings *const *pipelines;
	size_t n;
	const struct worker_options *options;
	struct worker_sums *out;
	struct store *store;
	int code; /* the first failure's */
	struct chunk_form form; /* the last chunk's */
	bool yields; /* others have sessions, if it finds no room */
	int64_t rests_until_us; /* monotonic; 0: it does not */
	struct control_list wishes; /* empty, if it has one pipeline */
};

static struct lease_terms worker_terms(const struct worker *w)
{
	return (struct lease_terms){ .state = w->s->state,
				     .lease_us = w->s->state_lease_us };
}

/* The first failure gives the exit code. */
static void worker_note(struct worker *w, const struct error *err)
{
	w->code = w->code ? w->code : -(int)err->code;
}

static void worker_failed(struct worker *w, const struct error *err)
{
	if (*err->server_code)
		log_error("%s [%s]", err->message, err->server_code);
	else
		log_error("%s", err->message);
	worker_note(w, err);
}

/* `chunk_id` NULL: the pipeline's next one. */
static int worker_claim(struct worker *w, const struct pipeline_settings *p,
			const char *chunk_id, struct chunk *out, bool *found,
			struct error *err)
{
	struct lease_keeper asking = { .claim = false };
	char config[DIGEST_TEXT_SIZE];
	int64_t lease_us = w->s->state_lease_us;
	struct lease wanted;
	int rc;

	lease_us = lease_us ? lease_us : LEASE_DEFAULT_US;
	backfill_config(p, config);
	lease_keeper_fill(&asking, &wanted, "");
	rc = chunk_id ? store_chunk_claim_named(w->store, chunk_id, &wanted,
						lease_us, found, out, err)
		      : store_chunk_claim(w->store, p->name, config, &wanted,
					  lease_us, found, out, err);
	lease_release(&wanted);
	return rc;
}

/* It has killed each of its workers: nobody else is to go that way. */
static int worker_set_aside(struct worker *w, struct chunk *c,
			    struct error *err)
{
	struct error unsaved = ERROR_INIT;
	bool held;

	error_set(err, ERROR_BUG,
		  "chunk %s: %" PRId64 " attempts, and no worker came to its "
		  "end: they were killed or lost their lease",
		  c->chunk_id, c->attempts - 1);
	free(c->state);
	free(c->error_code);
	free(c->error_message);
	c->state = xstrdup(CHUNK_FAILED);
	c->error_code = xstrdup(error_code_name(err->code));
	c->error_message = xstrdup(err->message);
	c->ended_at = clock_now_us();
	if (store_chunk_save(w->store, c, &held, &unsaved))
		worker_failed(w, &unsaved);
	return -ERROR_BUG;
}

/* The server has no room for its sessions. The last worker has nobody to leave
 * the chunk to. */
static bool worker_rests(struct worker *w, const struct error *err)
{
	if (!w->yields || !pool_is_full(err) ||
	    !crew_room_rest(w->options->room))
		return false;
	w->rests_until_us = clock_monotonic_us() + WORKER_REST_US;
	log_warn("one worker fewer for a while, for the server takes no more "
		 "sessions: %s",
		 err->message);
	return true;
}

static bool worker_is_at_rest(struct worker *w)
{
	if (!w->rests_until_us)
		return false;
	if (clock_monotonic_us() < w->rests_until_us)
		return true;
	w->rests_until_us = 0;
	crew_room_join(w->options->room);
	return false;
}

static void worker_chunk_failed(struct worker *w, const struct chunk *c,
				const struct error *err)
{
	log_set_pipeline(c->chunk_id);
	if (!strcmp(c->state, CHUNK_FAILED)) {
		w->out->failed++;
		worker_failed(w, err);
	} else if (!worker_rests(w, err)) {
		log_warn("left to another attempt: %s", err->message);
		clock_sleep_us(WORKER_LOOK_US);
	}
}

static void worker_ended(const struct worker *w, const struct run_result *r)
{
	if (w->options->ended)
		w->options->ended(r, w->options->ctx);
}

static int worker_try(struct worker *w, const struct pipeline_settings *p,
		      struct chunk *c, struct error *err)
{
	struct chunk_work work;
	const struct run_options options = { .lease = worker_terms(w),
					     .task = &work.task,
					     .pace_share = w->options->share,
					     .yields = w->yields,
					     .progress = w->options->follow,
					     .progress_ctx = w->options->ctx };
	struct run_result result;
	int rc;

	if (c->attempts > CHUNK_KILLS)
		return worker_set_aside(w, c, err);
	chunk_work_init(&work, c);
	work.form = &w->form;
	log_set_pipeline(c->chunk_id);
	rc = pipeline_run(p, w->store, &options, &result, err);
	if (!rc) {
		log_set_pipeline(c->chunk_id);
		log_info("done: %" PRId64 " rows in %.1f s", c->rows,
			 (double)result.elapsed_us / (double)US_PER_SECOND);
		log_set_pipeline("");
	}
	worker_ended(w, &result);
	run_result_release(&result);
	chunk_work_release(&work);
	return rc;
}

static void worker_chunk(struct worker *w, const struct pipeline_settings *p,
			 struct chunk *c)
{
	struct error err = ERROR_INIT;

	w->yields = w->options->room && crew_room_yields(w->options->room);
	if (!worker_try(w, p, c, &err))
		w->out->done++;
	else if (err.code != ERROR_STOPPED)
		worker_chunk_failed(w, c, &err);
	log_set_pipeline("");
}

static int worker_chunk_of(struct worker *w, const struct pipeline_settings *p,
			   bool *found, struct error *err)
{
	struct chunk c = { .chunk_id = NULL };
	int rc = worker_claim(w, p, NULL, &c, found, err);

	if (!rc && *found)
		worker_chunk(w, p, &c);
	chunk_release(&c);
	return rc;
}

/* One chunk of any pipeline; of one that is paused only if there is no other,
 * by a worker that ends with its work. It stands in it then, and says so. */
static int worker_next_chunk(struct worker *w, bool *found, struct error *err)
{
	size_t passes = w->options->once ? 2 : 1;
	int rc = 0;

	*found = false;
	control_list_release(&w->wishes);
	if (w->n > 1)
		rc = store_controls_list(w->store, &w->wishes, err);
	for (size_t i = 0; !rc && !*found && i < w->n * passes; i++) {
		const struct pipeline_settings *p = w->pipelines[i % w->n];

		if (control_list_pauses(&w->wishes, p->name) == (i >= w->n))
			rc = worker_chunk_of(w, p, found, err);
	}
	return rc;
}

/* How long ago the pipeline's last run ended. A time to come is by another
 * machine's clock: then the store's tells. If that went back as well, the run
 * was long ago. */
static int worker_last_run(struct worker *w, const struct attempt *last,
			   int64_t *ago_us, struct error *err)
{
	int64_t end = last->ended_at ? last->ended_at : last->heartbeat_at;
	int64_t took = end > last->started_at ? end - last->started_at : 0;
	struct lease lease;
	bool held;
	int rc;

	*ago_us = clock_now_us() - end;
	if (*ago_us >= 0)
		return 0;
	lease_init(&lease);
	rc = store_lease_get(w->store, last->pipeline, &held, &lease, err);
	*ago_us = INT64_MAX;
	if (!rc && lease.name && lease.ran_at <= lease.now)
		*ago_us = lease.now - lease.ran_at - took;
	lease_release(&lease);
	return rc;
}

/* Did anybody run it lately? */
static int worker_is_due(struct worker *w, const struct pipeline_settings *p,
			 bool *due, struct error *err)
{
	const struct run_filter filter = { .pipeline = p->name, .limit = 1 };
	struct attempt_list last = { NULL, 0, 0 };
	int rc = store_attempts_list(w->store, &filter, &last, err);
	int64_t ago_us = INT64_MAX;

	if (!rc && last.n)
		rc = worker_last_run(w, &last.items[0], &ago_us, err);
	*due = !rc && ago_us >= w->options->interval_us;
	attempt_list_release(&last);
	return rc;
}

/* A pipeline that another one runs is in good hands. */
static int worker_pipeline(struct worker *w, const struct pipeline_settings *p,
			   struct error *err)
{
	const struct run_options options = { .task = &sync_task,
					     .lease = worker_terms(w),
					     .pace_share = w->options->share,
					     .progress = w->options->follow,
					     .progress_ctx = w->options->ctx };
	struct error failed = ERROR_INIT;
	struct run_result result;
	bool due = false;
	int rc = worker_is_due(w, p, &due, err);

	if (rc || !due)
		return rc;
	w->out->runs++;
	if (pipeline_run(p, w->store, &options, &result, &failed) &&
	    result.outcome == OUTCOME_FAILED)
		worker_note(w, &failed);
	/* A pipeline that somebody else runs is no news. */
	if (result.outcome != OUTCOME_BUSY)
		run_result_log(&result);
	worker_ended(w, &result);
	run_result_release(&result);
	return 0;
}

/* Chunks that others have may come back. */
static int worker_is_over(struct worker *w, bool *over, struct error *err)
{
	int rc = 0;

	*over = w->options->once;
	for (size_t i = 0; !rc && *over && i < w->n; i++) {
		char config[DIGEST_TEXT_SIZE];
		bool left;

		backfill_config(w->pipelines[i], config);
		rc = store_chunks_left(w->store, w->pipelines[i]->name, config,
				       &left, err);
		*over = !left;
	}
	return rc;
}

/* Chunks first, as long as there are any; then what is due. */
static int worker_round(struct worker *w, bool *over, struct error *err)
{
	bool found = true;
	int rc = 0;

	while (!rc && found && !stop_requested() && !worker_is_at_rest(w))
		rc = worker_next_chunk(w, &found, err);
	for (size_t i = 0; !rc && i < w->n && !stop_requested(); i++)
		if (w->options->interval_us &&
		    (w->options->once ||
		     !control_list_pauses(&w->wishes, w->pipelines[i]->name)))
			rc = worker_pipeline(w, w->pipelines[i], err);
	if (!rc && !stop_requested())
		rc = worker_is_over(w, over, err);
	if (w->options->looked)
		w->options->looked(w->options->ctx);
	if (!rc && !*over)
		clock_sleep_us(WORKER_LOOK_US);
	return rc;
}

/* A store that was away is found again. */
static int worker_rounds(struct worker *w, struct error *err)
{
	struct tries tries = { .policy = &w->pipelines[0]->retry };
	bool over = false;
	int rc = 0;

	while (!over && !stop_requested()) {
		error_clear(err);
		if (!w->store)
			rc = state_open(w->s, &w->store, err);
		if (!rc)
			rc = worker_round(w, &over, err);
		if (!rc) {
			tries_progress(&tries, true);
			continue;
		}
		store_close(w->store);
		w->store = NULL;
		if (!tries_again(&tries, err))
			return rc;
		rc = 0;
	}
	return rc;
}

int worker_run(const struct settings *s,
	       const struct pipeline_settings *const *pipelines, size_t n,
	       const struct worker_options *options, struct worker_sums *out,
	       struct error *err)
{
	struct worker w = { .s = s,
			    .pipelines = pipelines,
			    .n = n,
			    .options = options,
			    .out = out };
	int rc;

	memset(out, 0, sizeof(*out));
	rc = n ? worker_rounds(&w, err) : 0;
	if (options->room && !w.rests_until_us)
		crew_room_end(options->room);
	store_close(w.store);
	control_list_release(&w.wishes);
	chunk_form_release(&w.form);
	if (rc)
		return rc;
	if (stop_requested())
		return error_set(err, ERROR_STOPPED, "stopped by a signal");
	return w.code;
}

/* As it is on record. */
static int worker_find(struct worker *w, const char *id, struct chunk *out,
		       struct error *err)
{
	struct chunk_list list = { NULL, 0, 0 };
	size_t at = 0, found = 0;
	int rc = store_chunks_list(w->store, NULL, &list, err);

	for (size_t i = 0; i < list.n && found != SIZE_MAX; i++) {
		const char *known = list.items[i].chunk_id;

		if (strncmp(known, id, strlen(id)) != 0)
			continue;
		at = i;
		found = strcmp(known, id) != 0 ? found + 1 : SIZE_MAX;
	}
	if (!rc && !found)
		rc = error_set(err, ERROR_CONFIG,
			       "there is no chunk %.120s; \"tidemark status "
			       "--json\" and \"tidemark backfill --queue "
			       "--json\" tell the ids",
			       id);
	else if (!rc && found > 1 && found != SIZE_MAX)
		rc = error_set(err, ERROR_CONFIG,
			       "%zu chunks begin with %.120s, such as %s; type "
			       "more of the one that is meant",
			       found, id, list.items[at].chunk_id);
	if (!rc) {
		*out = list.items[at];
		list.items[at] = list.items[--list.n];
	}
	chunk_list_release(&list);
	return rc;
}

/* The pipeline of its rows, as the config has it now. */
static const struct pipeline_settings *
worker_pipeline_of(const struct worker *w, const struct chunk *c,
		   struct error *err)
{
	const struct pipeline_settings *p = NULL;
	char config[DIGEST_TEXT_SIZE];

	for (size_t i = 0; i < w->n && !p; i++)
		if (!strcmp(w->pipelines[i]->name, c->pipeline))
			p = w->pipelines[i];
	if (!p) {
		error_set(err, ERROR_CONFIG,
			  "chunk %s is of pipeline %s, which is not one of "
			  "those that this worker has",
			  c->chunk_id, c->pipeline);
		return NULL;
	}
	backfill_config(p, config);
	if (!strcmp(config, c->config))
		return p;
	error_set(err, ERROR_CONFIG,
		  "chunk %s was queued under another config of pipeline %s; "
		  "queue its window anew: tidemark backfill %s --queue",
		  c->chunk_id, c->pipeline, c->pipeline);
	return NULL;
}

/* Nobody has it, and it is not done: it is ours then. */
static int worker_named(struct worker *w, const char *id, struct chunk *out,
			struct error *err)
{
	const struct pipeline_settings *p;
	char *whole = NULL;
	bool found = false;
	int rc = worker_find(w, id, out, err);

	if (rc || !strcmp(out->state, CHUNK_DONE))
		return rc;
	p = worker_pipeline_of(w, out, err);
	if (!p)
		return -(int)err->code;
	whole = xstrdup(out->chunk_id);
	chunk_release(out);
	rc = worker_claim(w, p, whole, out, &found, err);
	if (!rc && found)
		rc = worker_try(w, p, out, err);
	else if (!rc)
		rc = worker_find(w, whole, out, err);
	if (!rc && strcmp(out->state, CHUNK_DONE) != 0)
		rc = error_set(err, ERROR_STATE, "another worker has chunk %s",
			       whole);
	free(whole);
	return rc;
}

int worker_run_named(const struct settings *s,
		     const struct pipeline_settings *const *pipelines, size_t n,
		     const char *chunk_id, const struct worker_options *options,
		     struct chunk *out, struct error *err)
{
	struct worker_sums sums = { .done = 0 };
	struct worker w = { .s = s,
			    .pipelines = pipelines,
			    .n = n,
			    .options = options,
			    .out = &sums };
	int rc = state_open(s, &w.store, err);

	memset(out, 0, sizeof(*out));
	if (!rc)
		rc = worker_named(&w, chunk_id, out, err);
	store_close(w.store);
	chunk_form_release(&w.form);
	return rc;
}
