#include "core/base/clock.h"
#include "core/base/json_text.h"
#include "core/sync/backfill/backfill.h"
#include "core/sync/ledger/lease.h"
#include "core/sync/report/status.h"

json_t *status_progress_json(const struct status_result *r)
{
	if (r->progress < 0)
		return json_null();
	return json_pack("{s:f, s:o}", "share", r->progress, "eta_seconds",
			 r->eta_us < 0
				 ? json_null()
				 : json_integer((json_int_t)(r->eta_us /
							     US_PER_SECOND)));
}

static json_t *status_last_json(const struct attempt *a)
{
	json_t *error = json_null();

	if (a->error_message)
		error = json_pack("{s:s, s:s}", "code",
				  a->error_code ? a->error_code : "", "message",
				  a->error_message);
	return json_pack(
		"{s:s, s:s, s:s, s:s, s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:o}",
		"run_id", a->run_id, "attempt_id", a->attempt_id, "state",
		a->state, "outcome", a->outcome, "started_at",
		json_text_time(a->started_at), "ended_at",
		json_text_time(a->ended_at), "batches", (json_int_t)a->batches,
		"rows_read", (json_int_t)a->rows_read, "rows_inserted",
		(json_int_t)a->rows_inserted, "rows_updated",
		(json_int_t)a->rows_updated, "rows_unchanged",
		(json_int_t)a->rows_unchanged, "error", error);
}

static json_t *status_breaker_json(const struct breaker *b)
{
	if (!breaker_is_open(b, clock_now_us()))
		return json_null();
	return json_pack("{s:o, s:I}", "open_until",
			 json_text_time(b->open_until), "failures",
			 (json_int_t)b->failures);
}

static json_t *status_fault_json(const struct error *fault)
{
	if (!fault->code)
		return json_null();
	return json_pack("{s:s, s:s}", "code", error_code_name(fault->code),
			 "message", fault->message);
}

json_t *status_result_json(const struct status_result *r)
{
	json_t *notes = json_array(), *chunks = json_array(), *object;

	for (size_t i = 0; i < r->notes.n; i++)
		json_array_append_new(notes, json_string(r->notes.items[i]));
	for (size_t i = 0; i < r->chunks.n; i++)
		json_array_append_new(chunks,
				      backfill_chunk_json(&r->chunks.items[i]));
	object = json_pack(
		"{s:s, s:o, s:s?, s:o, s:o?, s:o, s:o, s:o?, s:o, s:o, s:o, "
		"s:o, "
		"s:o, s:o, s:o, s:s?}",
		"pipeline", r->pipeline->name, "watermark",
		json_text_value(r->watermark), "from", r->from, "lag_seconds",
		r->lag_us < 0
			? json_null()
			: json_real((double)r->lag_us / (double)US_PER_SECOND),
		"held_by", json_deep_copy(r->held_by), "last_run",
		r->has_last ? status_last_json(&r->last) : json_null(), "lease",
		r->leased ? lease_json(&r->lease) : json_null(), "paused",
		json_deep_copy(r->paused), "progress", status_progress_json(r),
		"breaker", status_breaker_json(&r->breaker), "dead_letters",
		r->letters < 0 ? json_null()
			       : json_integer((json_int_t)r->letters),
		"chunks", chunks, "backfill", backfill_newest_json(&r->chunks),
		"fault", status_fault_json(&r->fault), "notes", notes,
		"paused_reason",
		r->control.paused_at ? r->control.reason : NULL);
	health_add_json(object, r->health_known ? &r->health : NULL);
	return object;
}
