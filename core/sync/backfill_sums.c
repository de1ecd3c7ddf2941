#include <string.h>

#include "core/base/clock.h"
#include "core/sync/backfill.h"

static void backfill_count(struct backfill_sums *out, const struct chunk *c)
{
	out->n++;
	out->rows += c->rows;
	if (!strcmp(c->state, CHUNK_DONE)) {
		out->done++;
		out->rows_done += c->rows;
		if (!out->first_us || c->started_at < out->first_us)
			out->first_us = c->started_at;
		if (c->ended_at > out->last_us)
			out->last_us = c->ended_at;
	} else if (!strcmp(c->state, CHUNK_RUNNING)) {
		out->running++;
	} else if (!strcmp(c->state, CHUNK_FAILED)) {
		out->failed++;
	} else {
		out->queued++;
	}
}

void backfill_sum(const struct chunk_list *chunks, const char *backfill_id,
		  struct backfill_sums *out)
{
	double seconds;

	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < chunks->n; i++)
		if (!backfill_id ||
		    !strcmp(chunks->items[i].backfill_id, backfill_id))
			backfill_count(out, &chunks->items[i]);
	seconds =
		(double)(out->last_us - out->first_us) / (double)US_PER_SECOND;
	out->rate = seconds > 0 ? (double)out->rows_done / seconds : 0;
	out->eta_seconds = -1;
	if (out->rate > 0)
		out->eta_seconds =
			(double)(out->rows - out->rows_done) / out->rate;
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
		"{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:o}",
		"backfill_id", id, "chunks", (json_int_t)n.n, "done",
		(json_int_t)n.done, "running", (json_int_t)n.running, "queued",
		(json_int_t)n.queued, "failed", (json_int_t)n.failed, "rows",
		(json_int_t)n.rows, "rows_done", (json_int_t)n.rows_done,
		"rows_per_second", n.rate, "eta_seconds",
		n.eta_seconds < 0 ? json_null() : json_real(n.eta_seconds));
}

json_t *backfill_chunk_json(const struct chunk *c)
{
	return json_pack("{s:s, s:s?, s:s?, s:b, s:s, s:I, s:I, s:s?}",
			 "chunk_id", c->chunk_id, "from", c->range_from, "to",
			 c->range_to, "nulls", c->nulls, "state", c->state,
			 "rows", (json_int_t)c->rows, "attempts",
			 (json_int_t)c->attempts, "error", c->error_message);
}
