#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/json_text.h"
#include "core/base/units.h"
#include "core/serve/api_parts.h"
#include "core/serve/metrics.h"
#include "core/serve/pictures.h"
#include "core/store/chunks.h"
#include "core/store/controls.h"
#include "core/store/session.h"
#include "core/sync/backfill/backfill.h"
#include "core/sync/ledger/history.h"
#include "core/sync/ledger/lease.h"
#include "core/sync/letters/desk.h"
#include "core/sync/letters/letters.h"
#include "core/sync/pace/desk.h"
#include "core/sync/parts/state.h"
#include "tidemark_config.h"

#define API_RUNS    20
#define API_LETTERS 100
#define API_ORDERS  100
#define API_MOST    1000

void api_fail(struct http_reply *out, const struct error *err)
{
	unsigned status = 500;

	if (err->code == ERROR_CONFIG)
		status = 404;
	else if (err->code == ERROR_DATA || err->code == ERROR_SCHEMA)
		status = 422;
	else if (err->code == ERROR_STATE)
		status = 409;
	else if (err->code == ERROR_ACCESS || error_may_pass(err->code))
		status = 503;
	http_reply_error(out, status, error_code_name(err->code), "%s",
			 err->message);
}

int64_t api_limit(const struct http_request *r, int64_t usual, int64_t most)
{
	const char *text = http_request_value(r, "limit");
	int64_t limit;

	if (!text || !units_parse_count(text, &limit) || limit < 1)
		return usual;
	return limit < most ? limit : most;
}

const struct pipeline_settings *
api_pipeline(struct generation *g, const char *name, struct http_reply *out)
{
	for (size_t i = 0; name && g && i < g->n; i++)
		if (!strcmp(g->pipelines[i]->name, name))
			return g->pipelines[i];
	http_reply_error(out, 404, "config", "there is no such pipeline here");
	return NULL;
}

/* A store that is not made yet, or away, is not asked. */
static bool api_has_store(const struct api *api, struct http_reply *out)
{
	const struct board_view *view = board_look(api->board);
	bool away = *view->store_error;

	if (away)
		http_reply_error(out, 503, "access", "%s", view->store_error);
	board_leave(api->board);
	return !away;
}

struct store *api_store(const struct api *api, struct generation *g,
			struct http_reply *out)
{
	struct store *store = NULL;
	struct error err = ERROR_INIT;

	if (!api_has_store(api, out))
		return NULL;
	if (state_look(g->s.state, &store, &err))
		api_fail(out, &err);
	else if (!store)
		http_reply_error(out, 503, "access",
				 "the state store has no tables yet");
	error_clear(&err);
	return store;
}

static void api_metrics(const struct http_request *r, struct http_reply *out,
			void *ctx)
{
	const struct api *api = ctx;
	enum metrics_form form = strstr(r->accept, "openmetrics-text")
					 ? METRICS_OPEN
					 : METRICS_PROMETHEUS;
	const struct board_view *view = board_look(api->board);

	metrics_write(&out->body, form, view);
	board_leave(api->board);
	out->type = metrics_type(form);
}

static void api_healthz(const struct http_request *r, struct http_reply *out,
			void *ctx)
{
	const struct api *api = ctx;
	int64_t silence = board_silence_us(api->board);

	(void)r;
	if (silence > api->watchdog_us)
		http_reply_error(out, 503, "bug",
				 "the scheduler has stood still for %.0f s",
				 (double)silence / (double)US_PER_SECOND);
	else
		http_reply_json(out, json_pack("{s:b}", "healthy", true));
}

static void api_readyz(const struct http_request *r, struct http_reply *out,
		       void *ctx)
{
	const struct api *api = ctx;
	const struct board_view *view = board_look(api->board);

	(void)r;
	/* Its message may name the store: it is for those with the token. */
	if (*view->store_error)
		http_reply_error(out, 503, "access",
				 "the state store does not answer: no pipeline "
				 "is begun");
	else if (!view->g)
		http_reply_error(out, 503, "access", "it is just beginning");
	else
		http_reply_json(out, json_pack("{s:b}", "ready", true));
	board_leave(api->board);
}

static json_t *api_pipeline_json(const struct board_item *item)
{
	const struct pipeline_settings *p = item->p;
	struct strbuf schedule = STRBUF_INIT;
	json_t *object = item->known ? status_result_json(&item->status)
				     : json_pack("{s:s, s:n}", "pipeline",
						 p->name, "state");

	schedule_print(&p->schedule, &schedule);
	json_object_set_new(object, "schedule", json_string(schedule.data));
	json_object_set_new(object, "source", json_string(p->source_table));
	json_object_set_new(object, "destination",
			    json_string(p->destination_table));
	strbuf_release(&schedule);
	return object;
}

static json_t *api_last_json(const struct attempt *a)
{
	return json_pack("{s:s, s:o, s:o, s:I, s:I}", "outcome", a->outcome,
			 "started_at", json_text_time(a->started_at),
			 "ended_at", json_text_time(a->ended_at), "batches",
			 (json_int_t)a->batches, "rows_read",
			 (json_int_t)a->rows_read);
}

static json_t *api_pause_json(const struct pace_record *control)
{
	if (!control->paused_at)
		return json_null();
	return json_pack("{s:s, s:o, s:s}", "by", control->paused_by, "since",
			 json_text_time(control->paused_at), "reason",
			 control->reason);
}

/* As much as a list of many shows, and cheap. */
static json_t *api_brief_json(const struct board_item *item)
{
	const struct pipeline_settings *p = item->p;
	const struct status_result *s = &item->status;
	struct strbuf schedule = STRBUF_INIT;
	json_t *object;

	schedule_print(&p->schedule, &schedule);
	object = json_pack("{s:s, s:s, s:s, s:s, s:o?}", "pipeline", p->name,
			   "schedule", schedule.data, "source", p->source_table,
			   "destination", p->destination_table, "watermark",
			   json_deep_copy(item->mark));
	strbuf_release(&schedule);
	health_add_json(object,
			item->known && s->health_known ? &s->health : NULL);
	if (!item->known)
		return object;
	json_object_set_new(object, "lag_seconds",
			    s->lag_us < 0
				    ? json_null()
				    : json_integer(s->lag_us / US_PER_SECOND));
	json_object_set_new(object, "last_run",
			    s->has_last ? api_last_json(&s->last)
					: json_null());
	json_object_set_new(object, "lease",
			    s->leased ? lease_json(&s->lease) : json_null());
	json_object_set_new(object, "paused", api_pause_json(&s->control));
	json_object_set_new(object, "dead_letters",
			    s->letters < 0 ? json_null()
					   : json_integer(s->letters));
	json_object_set_new(object, "progress", status_progress_json(s));
	if (s->has_last && s->last.guarantee)
		json_object_set_new(object, "guarantee",
				    json_string(s->last.guarantee));
	return object;
}

static json_t *api_serve_json(const struct api *api,
			      const struct board_view *view)
{
	char host[256] = "";

	if (gethostname(host, sizeof(host) - 1))
		host[0] = '\0';
	return json_pack("{s:s, s:I, s:I, s:o, s:s, s:s?}", "host", host, "pid",
			 (json_int_t)getpid(), "jobs", (json_int_t)api->jobs,
			 "since", json_text_time(view->since_us), "store",
			 *view->store_error ? "away" : "ok", "store_error",
			 *view->store_error ? view->store_error : NULL);
}

static void api_pipelines(const struct http_request *r, struct http_reply *out,
			  void *ctx)
{
	const struct api *api = ctx;
	const struct board_view *view = board_look(api->board);
	struct health_counts counts = { .all = 0 };
	bool brief = http_request_value(r, "brief") != NULL;
	json_t *list = json_array(), *all;

	for (size_t i = 0; i < view->n; i++) {
		const struct board_item *item = &view->items[i];

		health_count(&counts, item->known && item->status.health_known
					      ? &item->status.health
					      : NULL);
		json_array_append_new(list, brief ? api_brief_json(item)
						  : api_pipeline_json(item));
	}
	all = json_pack("{s:s, s:o, s:o, s:o, s:o}", "version",
			TIDEMARK_VERSION, "now", json_text_time(clock_now_us()),
			"serve", api_serve_json(api, view), "summary",
			health_counts_json(&counts), "pipelines", list);
	board_leave(api->board);
	http_reply_json(out, all);
}

static void api_runs(const struct http_request *r, struct http_reply *out,
		     void *ctx)
{
	const struct api *api = ctx;
	struct generation *g = board_generation(api->board);
	const char *name = http_request_value(r, "pipeline");
	const struct pipeline_settings *p = NULL;
	struct history h = { NULL, 0 };
	struct error err = ERROR_INIT;
	json_t *list = json_array();

	if (!name || (p = api_pipeline(g, name, out))) {
		if (history_list(&h, &g->s, &p, p != NULL,
				 api_limit(r, API_RUNS, API_MOST), &err))
			api_fail(out, &err);
		for (size_t i = 0; i < h.n; i++)
			json_array_append_new(list,
					      history_run_json(&h.runs[i]));
		if (!err.code)
			http_reply_json(out, json_pack("{s:O}", "runs", list));
	}
	json_decref(list);
	history_release(&h);
	generation_leave(g);
}

static void api_run_of(const struct http_request *r, struct http_reply *out,
		       void *ctx)
{
	const struct api *api = ctx;
	struct generation *g = board_generation(api->board);
	struct history h = { NULL, 0 };
	struct error err = ERROR_INIT;

	if (history_show(&h, &g->s, r->parts[0], &err))
		api_fail(out, &err);
	else
		http_reply_json(out, json_pack("{s:[o]}", "runs",
					       history_run_json(&h.runs[0])));
	history_release(&h);
	generation_leave(g);
}

/* `id` NULL: all of the pipeline, or of all. */
static void api_letters_of(const struct api *api, const char *id,
			   const char *pipeline, int64_t limit,
			   struct http_reply *out)
{
	struct generation *g = board_generation(api->board);
	struct strlist ids = STRLIST_INIT, names = STRLIST_INIT;
	const struct letter_wish wish = { .pipelines = &names,
					  .ids = &ids,
					  .limit = limit,
					  .rows = id != NULL };
	struct dead_letter_list found = { NULL, 0, 0 };
	struct error err = ERROR_INIT;
	json_t *list = json_array();

	if (id)
		strlist_add(&ids, id);
	if (pipeline)
		strlist_add(&names, pipeline);
	if (letter_desk_find(&found, &g->s, &wish, &err))
		api_fail(out, &err);
	for (size_t i = 0; i < found.n; i++)
		json_array_append_new(list,
				      letter_json(&found.items[i], id != NULL));
	if (!err.code)
		http_reply_json(out, json_pack("{s:O}", "dead_letters", list));
	json_decref(list);
	dead_letter_list_release(&found);
	strlist_release(&ids);
	strlist_release(&names);
	generation_leave(g);
}

static void api_letters(const struct http_request *r, struct http_reply *out,
			void *ctx)
{
	api_letters_of(ctx, NULL, http_request_value(r, "pipeline"),
		       api_limit(r, API_LETTERS, API_MOST), out);
}

static void api_letter(const struct http_request *r, struct http_reply *out,
		       void *ctx)
{
	api_letters_of(ctx, r->parts[0], NULL, 0, out);
}

/* Something about one pipeline that the store knows. */
struct api_question {
	struct generation *g;
	const struct pipeline_settings *p;
	struct store *store;
};

static bool api_ask(struct api_question *q, const struct http_request *r,
		    struct http_reply *out, void *ctx)
{
	const struct api *api = ctx;

	*q = (struct api_question){ .g = board_generation(api->board) };
	q->p = api_pipeline(q->g, http_request_value(r, "pipeline"), out);
	if (q->p)
		q->store = api_store(api, q->g, out);
	return q->store != NULL;
}

static void api_asked(struct api_question *q)
{
	store_close(q->store);
	generation_leave(q->g);
}

static void api_chunks(const struct http_request *r, struct http_reply *out,
		       void *ctx)
{
	struct api_question q;
	struct chunk_list chunks = { NULL, 0, 0 };
	struct error err = ERROR_INIT;
	json_t *list = json_array();

	if (api_ask(&q, r, out, ctx)) {
		if (store_chunks_list(q.store, q.p->name, &chunks, &err))
			api_fail(out, &err);
		for (size_t i = 0; i < chunks.n; i++)
			json_array_append_new(
				list, backfill_chunk_json(&chunks.items[i]));
		if (!err.code)
			http_reply_json(
				out, json_pack("{s:O, s:o}", "chunks", list,
					       "backfill",
					       backfill_newest_json(&chunks)));
	}
	json_decref(list);
	chunk_list_release(&chunks);
	api_asked(&q);
}

static void api_series(const struct http_request *r, struct http_reply *out,
		       void *ctx)
{
	struct api_question q;
	struct series series = { .n_attempts = 0 };
	struct error err = ERROR_INIT;
	int64_t now = clock_now_us();

	if (api_ask(&q, r, out, ctx)) {
		if (store_series_read(q.store, q.p->name, pictures_since(now),
				      &series, &err))
			api_fail(out, &err);
		else
			http_reply_json(out, pictures_json(&series, now));
	}
	series_release(&series);
	api_asked(&q);
}

static void api_pace(const struct http_request *r, struct http_reply *out,
		     void *ctx)
{
	struct api_question q;
	struct pace_view view;
	struct error err = ERROR_INIT;

	if (api_ask(&q, r, out, ctx)) {
		if (pace_desk_look(q.store, q.p, &view, &err)) {
			api_fail(out, &err);
		} else {
			http_reply_json(out, json_pack("{s:[o]}", "pipelines",
						       pace_view_json(&view)));
			pace_view_release(&view);
		}
	}
	api_asked(&q);
}

static void api_add_order(void *ctx, const struct control_event *e)
{
	json_array_append_new(ctx,
			      json_pack("{s:o, s:s, s:s, s:s}", "at",
					json_text_time(e->at), "who", e->who,
					"what", e->what, "detail", e->detail));
}

static void api_orders(const struct http_request *r, struct http_reply *out,
		       void *ctx)
{
	struct api_question q;
	struct error err = ERROR_INIT;
	json_t *list = json_array();

	if (api_ask(&q, r, out, ctx)) {
		if (store_control_events(q.store, q.p->name, API_ORDERS,
					 api_add_order, list, &err))
			api_fail(out, &err);
		else
			http_reply_json(out,
					json_pack("{s:O}", "orders", list));
	}
	json_decref(list);
	api_asked(&q);
}

const struct http_route api_routes[] = {
	{ "GET", "/metrics", 0, api_metrics },
	{ "GET", "/healthz", ROUTE_OPEN, api_healthz },
	{ "GET", "/readyz", ROUTE_OPEN, api_readyz },
	{ "GET", "/api/v1/pipelines", 0, api_pipelines },
	{ "GET", "/api/v1/runs", 0, api_runs },
	{ "GET", "/api/v1/runs/{}", 0, api_run_of },
	{ "GET", "/api/v1/dead-letters", 0, api_letters },
	/* With the contents of its row. */
	{ "GET", "/api/v1/dead-letters/{}", ROUTE_TOKEN, api_letter },
	{ "GET", "/api/v1/chunks", 0, api_chunks },
	{ "GET", "/api/v1/series", 0, api_series },
	{ "GET", "/api/v1/pace", 0, api_pace },
	{ "GET", "/api/v1/orders", 0, api_orders },
	{ "POST", "/api/v1/pipelines/{}/run", ROUTE_TOKEN, api_run },
	{ "POST", "/api/v1/pipelines/{}/pause", ROUTE_TOKEN, api_pause },
	{ "POST", "/api/v1/pipelines/{}/resume", ROUTE_TOKEN, api_resume },
	{ "POST", "/api/v1/pipelines/{}/pace", ROUTE_TOKEN, api_set_pace },
	{ "POST", "/api/v1/runs/{}/replay", ROUTE_TOKEN, api_replay_run },
	{ "POST", "/api/v1/dead-letters/{}/replay", ROUTE_TOKEN,
	  api_replay_letter },
	{ "POST", "/api/v1/dead-letters/{}/discard", ROUTE_TOKEN,
	  api_discard_letter },
};
const size_t api_n_routes = ARRAY_SIZE(api_routes);
