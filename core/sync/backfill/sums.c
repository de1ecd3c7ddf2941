#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/json_text.h"
#include "core/sync/backfill/backfill.h"

static void backfill_count(struct backfill_sums *out, const struct chunk *c)
{
	out->n++;
	out->rows += c->rows;
	if (!strcmp(c->state, CHUNK_DONE)) {
		out->done++;
		out->rows_done += c->rows;
	} else if (!strcmp(c->state, CHUNK_RUNNING)) {
		out->running++;
	} else if (!strcmp(c->state, CHUNK_FAILED)) {
		out->failed++;
		out->rows_failed += c->rows;
	} else {
		out->queued++;
	}
}

/* Times as texts are in the order of the times. */
static void backfill_note_hold(struct backfill_sums *out, const struct chunk *c)
{
	json_t *hold = json_text_value(c->paused);
	const char *since = json_string_value(json_object_get(hold, "since"));

	if (since) {
		out->held++;
		if (!out->paused || strcmp(since, out->since) < 0) {
			out->paused = c->paused;
			snprintf(out->since, sizeof(out->since), "%s", since);
		}
	}
	json_decref(hold);
}

static int backfill_earlier(const void *a, const void *b)
{
	const struct chunk *const *x = a, *const *y = b;

	return ((*x)->started_at > (*y)->started_at) -
	       ((*x)->started_at < (*y)->started_at);
}

/* How long somebody was at work on what is done: a night between two calls says
 * nothing of the speed. */
static int64_t backfill_busy_us(const struct chunk **done, size_t n)
{
	int64_t busy = 0, until = 0;

	qsort(done, n, sizeof(*done), backfill_earlier);
	for (size_t i = 0; i < n; i++) {
		int64_t from = done[i]->started_at;

		from = from > until ? from : until;
		if (done[i]->ended_at <= from)
			continue;
		busy += done[i]->ended_at - from;
		until = done[i]->ended_at;
	}
	return busy;
}

void backfill_sum(const struct chunk_list *chunks, const char *backfill_id,
		  struct backfill_sums *out)
{
	const struct chunk **done = xcalloc(chunks->n + 1, sizeof(*done));
	double seconds;
	size_t n = 0;

	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < chunks->n; i++) {
		const struct chunk *c = &chunks->items[i];

		if (backfill_id && strcmp(c->backfill_id, backfill_id) != 0)
			continue;
		backfill_count(out, c);
		backfill_note_hold(out, c);
		if (!strcmp(c->state, CHUNK_DONE))
			done[n++] = c;
	}
	seconds = (double)backfill_busy_us(done, n) / (double)US_PER_SECOND;
	free(done);
	out->rate = seconds > 0 ? (double)out->rows_done / seconds : 0;
	out->eta_seconds = -1;
	if (out->rate > 0)
		out->eta_seconds = (double)(out->rows - out->rows_done -
					    out->rows_failed) /
				   out->rate;
}

json_t *backfill_newest_json(const struct chunk_list *chunks)
{
	struct backfill_sums n;
	const char *id;

	if (!chunks->n)
		return json_null();
	id = chunks->items[chunks->n - 1].backfill_id;
	backfill_sum(chunks, id, &n);
	return json_pack(
		"{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:I, s:I, s:f, s:o}",
		"backfill_id", id, "chunks", (json_int_t)n.n, "done",
		(json_int_t)n.done, "running", (json_int_t)n.running, "queued",
		(json_int_t)n.queued, "failed", (json_int_t)n.failed, "held",
		(json_int_t)n.held, "paused", json_text_value(n.paused), "rows",
		(json_int_t)n.rows, "rows_done", (json_int_t)n.rows_done,
		"rows_per_second", n.rate, "eta_seconds",
		n.eta_seconds < 0 ? json_null() : json_real(n.eta_seconds));
}

json_t *backfill_chunk_json(const struct chunk *c)
{
	return json_pack("{s:s, s:s?, s:s?, s:b, s:s, s:I, s:I, s:s?, s:o}",
			 "chunk_id", c->chunk_id, "from", c->range_from, "to",
			 c->range_to, "nulls", c->nulls, "state", c->state,
			 "rows", (json_int_t)c->rows, "attempts",
			 (json_int_t)c->attempts, "error", c->error_message,
			 "paused", json_text_value(c->paused));
}

json_t *backfill_result_json(const struct chunk *c)
{
	json_t *json = backfill_chunk_json(c);
	bool done = !strcmp(c->state, CHUNK_DONE);

	json_object_set_new(json, "pipeline", json_string(c->pipeline));
	json_object_set_new(json, "backfill_id", json_string(c->backfill_id));
	json_object_set_new(json, "started_at", json_text_time(c->started_at));
	json_object_set_new(json, "ended_at", json_text_time(c->ended_at));
	json_object_set_new(
		json, "seconds",
		c->ended_at ? json_real((double)(c->ended_at - c->started_at) /
					(double)US_PER_SECOND)
			    : json_null());
	json_object_set_new(json, "verified",
			    json_boolean(done && c->checksum));
	json_object_set_new(json, "error_code",
			    c->error_code ? json_string(c->error_code)
					  : json_null());
	return json;
}
