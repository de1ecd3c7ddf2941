#include "core/sync/ledger/history.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/json_text.h"
#include "core/store/history.h"
#include "core/store/ids.h"
#include "core/store/session.h"
#include "core/sync/parts/state.h"

int history_no_run(const char *run_id, struct error *err)
{
	return error_set(err, ERROR_CONFIG,
			 "there is no run %.80s on record; \"tidemark runs "
			 "list\" shows those that are (state.keep says for how "
			 "long)",
			 run_id);
}

/* The runs move over; their attempts are looked up. */
static int history_add(struct history *h, struct store *store,
		       struct run_list *list, struct error *err)
{
	int rc = 0;

	h->runs = xrealloc(h->runs, (h->n + list->n + 1) * sizeof(*h->runs));
	for (size_t i = 0; i < list->n; i++) {
		struct run_filter filter = { .run_id = list->items[i].run_id,
					     .limit = HISTORY_ATTEMPTS };
		struct history_run *r = &h->runs[h->n++];

		memset(r, 0, sizeof(*r));
		r->run = list->items[i];
		if (!rc)
			rc = store_attempts_list(store, &filter, &r->attempts,
						 err);
	}
	free(list->items);
	memset(list, 0, sizeof(*list));
	return rc;
}

static int history_query(struct history *h, struct store *store,
			 const char *pipeline, const char *run_id,
			 int64_t limit, struct error *err)
{
	const struct run_filter filter = { pipeline, run_id, limit };
	struct run_list list = { NULL, 0, 0 };
	int rc = store_runs_list(store, &filter, &list, err);

	if (!rc)
		rc = history_add(h, store, &list, err);
	run_list_release(&list);
	return rc;
}

int history_list(struct history *out, const struct settings *s,
		 const struct pipeline_settings *const *pipelines, size_t n,
		 int64_t limit, struct error *err)
{
	struct store *store = NULL;
	int rc = state_open(s, &store, err);

	if (rc)
		return rc;
	if (!n)
		rc = history_query(out, store, NULL, NULL, limit, err);
	for (size_t i = 0; !rc && i < n; i++)
		rc = history_query(out, store, pipelines[i]->name, NULL, limit,
				   err);
	store_close(store);
	return rc;
}

int history_show(struct history *out, const struct settings *s,
		 const char *run_id, struct error *err)
{
	struct store *store = NULL;
	char *id = NULL;
	int rc = state_open(s, &store, err);

	if (rc)
		return rc;
	rc = store_id_find(store, STORE_IDS_RUNS, run_id, &id, err);
	if (!rc)
		rc = history_query(out, store, NULL, id, 1, err);
	if (!rc && !out->n)
		rc = history_no_run(run_id, err);
	if (!rc) {
		out->runs[0].shown = true;
		rc = store_batches_list(store, id, &out->runs[0].batches, err);
	}
	if (!rc)
		rc = store_hooks_list(store, id, &out->runs[0].hooks, err);
	free(id);
	store_close(store);
	return rc;
}

void history_release(struct history *h)
{
	for (size_t i = 0; i < h->n; i++) {
		struct run_list one = { xcalloc(1, sizeof(*one.items)), 1, 1 };

		one.items[0] = h->runs[i].run;
		run_list_release(&one);
		attempt_list_release(&h->runs[i].attempts);
		batch_list_release(&h->runs[i].batches);
		hook_list_release(&h->runs[i].hooks);
	}
	free(h->runs);
	memset(h, 0, sizeof(*h));
}

static json_t *history_window(const char *from, const char *to)
{
	return json_pack("{s:o, s:o}", "from", json_text_value(from), "to",
			 json_text_value(to));
}

static json_t *history_error(const char *code, const char *message)
{
	if (!code && !message)
		return json_null();
	return json_pack("{s:s, s:s}", "code", code ? code : "", "message",
			 message ? message : "");
}

static json_t *history_seconds(int64_t us)
{
	return json_real((double)us / (double)US_PER_SECOND);
}

static json_t *history_batch_json(const struct batch_record *b)
{
	return json_pack(
		"{s:I, s:s, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o,"
		" s:o}",
		"number", (json_int_t)b->number, "batch_id", b->batch_id,
		"window", history_window(b->window_from, b->watermark),
		"rows_read", (json_int_t)b->rows, "rows_inserted",
		(json_int_t)b->inserted, "rows_updated", (json_int_t)b->updated,
		"rows_unchanged", (json_int_t)b->unchanged, "rows_deleted",
		(json_int_t)b->deleted, "rows_dead_lettered",
		(json_int_t)b->dead_lettered, "read_seconds",
		history_seconds(b->read_us), "load_seconds",
		history_seconds(b->load_us), "at", json_text_time(b->at),
		"error", history_error(b->error_code, b->error_message));
}

static json_t *history_attempt_json(const struct attempt *a)
{
	return json_pack(
		"{s:s, s:s, s:s, s:o, s:o, s:s, s:I, s:I, s:I, s:I, s:I, s:I,"
		" s:I, s:I, s:o, s:o, s:s, s:s, s:o}",
		"attempt_id", a->attempt_id, "state", a->state, "outcome",
		a->outcome, "started_at", json_text_time(a->started_at),
		"ended_at", json_text_time(a->ended_at), "host", a->host, "pid",
		(json_int_t)a->pid, "batches", (json_int_t)a->batches,
		"rows_read", (json_int_t)a->rows_read, "rows_inserted",
		(json_int_t)a->rows_inserted, "rows_updated",
		(json_int_t)a->rows_updated, "rows_unchanged",
		(json_int_t)a->rows_unchanged, "rows_deleted",
		(json_int_t)a->rows_deleted, "rows_dead_lettered",
		(json_int_t)a->rows_dead_lettered, "watermark_before",
		json_text_value(a->watermark_before), "watermark_after",
		json_text_value(a->watermark_after), "guarantee", a->guarantee,
		"guarantee_reason", a->guarantee_reason, "error",
		history_error(a->error_code, a->error_message));
}

static json_t *history_hooks_json(const struct history_run *r,
				  const struct attempt *a)
{
	json_t *list = json_array();

	for (size_t i = 0; i < r->hooks.n; i++) {
		const struct hook_record *h = &r->hooks.items[i];

		if (strcmp(h->attempt_id, a->attempt_id) != 0)
			continue;
		json_array_append_new(
			list,
			json_pack("{s:s, s:I, s:o, s:o, s:s?}", "hook", h->hook,
				  "statement", (json_int_t)h->number,
				  "started_at", json_text_time(h->started_at),
				  "seconds",
				  history_seconds(h->ended_at - h->started_at),
				  "error", h->error_message));
	}
	return list;
}

static json_t *history_attempts_json(const struct history_run *r)
{
	json_t *list = json_array();

	for (size_t i = 0; i < r->attempts.n; i++) {
		const struct attempt *a = &r->attempts.items[i];
		json_t *json = history_attempt_json(a), *batches = json_array();

		for (size_t k = 0; k < r->batches.n; k++)
			if (!strcmp(r->batches.items[k].attempt_id,
				    a->attempt_id))
				json_array_append_new(
					batches, history_batch_json(
							 &r->batches.items[k]));
		if (r->shown) {
			json_object_set(json, "batch_list", batches);
			json_object_set_new(json, "hooks",
					    history_hooks_json(r, a));
		}
		json_decref(batches);
		json_array_append_new(list, json);
	}
	return list;
}

json_t *history_run_json(const struct history_run *r)
{
	const struct run_record *run = &r->run;

	return json_pack("{s:s, s:s, s:s, s:s, s:o, s:I, s:o, s:o, s:o}",
			 "run_id", run->run_id, "pipeline", run->pipeline,
			 "tenant", run->tenant, "state", run->state, "window",
			 history_window(run->window_from, run->window_to),
			 "logic_version", (json_int_t)run->logic_version,
			 "created_at", json_text_time(run->created_at),
			 "updated_at", json_text_time(run->updated_at),
			 "attempts", history_attempts_json(r));
}
