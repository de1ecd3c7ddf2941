#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/json_text.h"
#include "core/serve/api_parts.h"
#include "core/store/controls.h"
#include "core/store/session.h"
#include "core/sync/letters/desk.h"
#include "core/sync/pace/desk.h"
#include "core/sync/run/pipeline.h"
#include "core/sync/tasks/letters.h"
#include "core/sync/tasks/replay.h"

/* How long a replay waits for a run of the pipeline that goes on. */
#define API_WAIT_US (5 * US_PER_SECOND)

/* A change of one pipeline: its store is open for it. */
struct api_change {
	struct board *board;
	struct generation *g;
	const struct pipeline_settings *p;
	struct store *store;
};

static bool api_begin(struct api_change *c, const struct http_request *r,
		      struct http_reply *out, void *ctx)
{
	const struct api *api = ctx;

	*c = (struct api_change){ .board = api->board,
				  .g = board_generation(api->board) };
	c->p = api_pipeline(c->g, r->parts[0], out);
	if (c->p)
		c->store = api_store(api, c->g, out);
	return c->store != NULL;
}

/* `rc` of what was done, if the store was open. */
static void api_end(struct api_change *c, int rc, const struct error *err,
		    struct http_reply *out)
{
	if (rc)
		api_fail(out, err);
	else if (c->store)
		board_news(c->board, c->p->name);
	if (!rc && c->store)
		http_reply_json(out, json_pack("{s:b, s:s}", "done", true,
					       "pipeline", c->p->name));
	store_close(c->store);
	generation_leave(c->g);
}

void api_run(const struct http_request *r, struct http_reply *out, void *ctx)
{
	struct api_change c;
	struct error err = ERROR_INIT;
	int rc = 0;

	if (api_begin(&c, r, out, ctx))
		rc = store_control_ask(c.store, c.p->name, r->by, &err);
	api_end(&c, rc, &err, out);
}

/* A text of the body, or "". */
static const char *api_text(const struct http_request *r, const char *key)
{
	const char *text = json_string_value(json_object_get(r->json, key));

	return text ? text : "";
}

void api_pause(const struct http_request *r, struct http_reply *out, void *ctx)
{
	struct api_change c;
	struct error err = ERROR_INIT;
	int rc = 0;

	if (api_begin(&c, r, out, ctx))
		rc = store_control_pause(c.store, c.p->name, r->by,
					 api_text(r, "reason"), &err);
	api_end(&c, rc, &err, out);
}

void api_resume(const struct http_request *r, struct http_reply *out, void *ctx)
{
	struct api_change c;
	struct error err = ERROR_INIT;
	int rc = 0;

	if (api_begin(&c, r, out, ctx))
		rc = store_control_resume(c.store, c.p->name, r->by, &err);
	api_end(&c, rc, &err, out);
}

/* {"rows_per_second": "500"}, as `tidemark pace` takes its words. */
static int api_change_pace(const struct api_change *c,
			   const struct http_request *r, struct error *err)
{
	struct strlist words = STRLIST_INIT;
	const char *key;
	json_t *value;
	int rc = 0;

	json_object_foreach((json_t *)r->json, key, value)
	{
		char *word = json_is_string(value)
				     ? xstrfmt("%s=%s", key,
					       json_string_value(value))
				     : NULL;

		if (word)
			strlist_add(&words, word);
		else
			rc = error_set(err, ERROR_CONFIG,
				       "each value is a text such as \"500\"");
		free(word);
	}
	if (!rc)
		rc = pace_desk_change(c->store, c->p, !words.n, words.items,
				      words.n, r->by, err);
	strlist_release(&words);
	return rc;
}

void api_set_pace(const struct http_request *r, struct http_reply *out,
		  void *ctx)
{
	struct api_change c;
	struct error err = ERROR_INIT;
	int rc = 0;

	if (api_begin(&c, r, out, ctx))
		rc = api_change_pace(&c, r, &err);
	api_end(&c, rc, &err, out);
	/* A pipeline of that name there is. */
	if (rc && err.code == ERROR_CONFIG)
		http_reply_error(out, 400, "config", "%s", err.message);
}

/* In this thread, under the pipeline's lease. */
static void api_replay(const struct api *api, struct generation *g,
		       const struct pipeline_settings *p, struct task *task,
		       const struct http_request *r, const char *what,
		       struct http_reply *out)
{
	const struct run_options options = {
		.task = task,
		.lease = { .state = g->s.state,
			   .lease_us = g->s.state_lease_us,
			   .wait_us = API_WAIT_US },
	};
	struct store *store = api_store(api, g, out);
	struct error err = ERROR_INIT;
	struct run_result result;

	if (!store)
		return;
	if (pipeline_run(p, store, &options, &result, &err)) {
		api_fail(out, &err);
	} else {
		http_reply_json(out,
				json_pack("{s:b, s:o}", "done", true, "run",
					  run_result_json(&result)));
		store_control_note(store, p->name, r->by, "replay", what, &err);
	}
	error_clear(&err);
	run_result_release(&result);
	store_close(store);
}

void api_replay_run(const struct http_request *r, struct http_reply *out,
		    void *ctx)
{
	const struct api *api = ctx;
	struct generation *g = board_generation(api->board);
	struct error err = ERROR_INIT;
	struct replay replay;

	if (replay_find(&replay, &g->s, r->parts[0], &err))
		api_fail(out, &err);
	else
		api_replay(api, g, replay.pipeline, &replay.task, r,
			   r->parts[0], out);
	replay_release(&replay);
	generation_leave(g);
}

static int api_find_letter(struct generation *g, const char *id,
			   struct dead_letter_list *out, struct error *err)
{
	struct strlist ids = STRLIST_INIT, names = STRLIST_INIT;
	const struct letter_wish wish = { .pipelines = &names,
					  .ids = &ids,
					  .some = true };
	int rc;

	strlist_add(&ids, id);
	rc = letter_desk_find(out, &g->s, &wish, err);
	strlist_release(&ids);
	return rc;
}

void api_replay_letter(const struct http_request *r, struct http_reply *out,
		       void *ctx)
{
	const struct api *api = ctx;
	struct generation *g = board_generation(api->board);
	const struct pipeline_settings **pipelines = NULL;
	struct dead_letter_list list = { NULL, 0, 0 };
	struct error err = ERROR_INIT;
	struct letters_task task;
	size_t n = 0;
	int rc = api_find_letter(g, r->parts[0], &list, &err);

	letters_task_init(&task, &list);
	if (!rc)
		rc = letter_desk_pipelines(&g->s, &list, &pipelines, &n, &err);
	if (rc)
		api_fail(out, &err);
	else if (n)
		api_replay(api, g, pipelines[0], &task.task, r, r->parts[0],
			   out);
	free((void *)pipelines);
	dead_letter_list_release(&list);
	generation_leave(g);
}

void api_discard_letter(const struct http_request *r, struct http_reply *out,
			void *ctx)
{
	const struct api *api = ctx;
	struct generation *g = board_generation(api->board);
	struct dead_letter_list list = { NULL, 0, 0 };
	struct error err = ERROR_INIT;
	int rc = api_find_letter(g, r->parts[0], &list, &err);

	if (!rc)
		rc = letter_desk_discard(&g->s, &list, r->by, &err);
	if (rc)
		api_fail(out, &err);
	else
		http_reply_json(out, json_pack("{s:b}", "done", true));
	error_clear(&err);
	dead_letter_list_release(&list);
	generation_leave(g);
}
