#include <inttypes.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/sync/parts/result.h"

static json_t *result_fields(const struct run_result *r)
{
	return json_pack(
		"{s:s, s:i, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f,"
		" s:s}",
		"outcome", outcome_name(r->outcome), "exit_code",
		r->error.code ? error_exit_status(r->error.code) : 0,
		"server_code", r->error.server_code, "batches",
		(json_int_t)r->batches, "rows_read", (json_int_t)r->rows_read,
		"bytes_read", (json_int_t)r->bytes_read, "rows_inserted",
		(json_int_t)r->rows_inserted, "rows_updated",
		(json_int_t)r->rows_updated, "rows_unchanged",
		(json_int_t)r->rows_unchanged, "rows_deleted",
		(json_int_t)r->rows_deleted, "rows_dead_lettered",
		(json_int_t)r->rows_dead_lettered, "seconds",
		(double)r->elapsed_us / (double)US_PER_SECOND, "guarantee",
		r->error.code ? "" : guarantee_name(r->guarantee));
}

static void result_log_failure(const struct run_result *r,
			       const struct log_event *event)
{
	const struct error *e = &r->error;

	if (e->code == ERROR_STOPPED)
		log_event(LOG_WARN, event, "%s", e->message);
	else if (*e->server_code)
		log_event(LOG_ERROR, event, "%s [%s]", e->message,
			  e->server_code);
	else
		log_event(LOG_ERROR, event, "%s", e->message);
}

void run_result_log(const struct run_result *r)
{
	struct log_event event = { .name = r->dry.on ? "dry_run_ended"
						     : "run_ended" };

	log_set_pipeline(r->pipeline->name);
	if (!r->dry.on && !r->unrecorded)
		log_set_run(r->run_id, r->attempt_id);
	if (log_is_for_programs())
		event.fields = result_fields(r);
	if (r->error.code) {
		event.code = error_code_name(r->error.code);
		result_log_failure(r, &event);
	} else if (r->waiting) {
		log_event(LOG_INFO, &event, "waiting: %s", r->waiting);
	} else if (log_is_for_programs()) {
		log_event(LOG_INFO, &event,
			  "%s: %" PRId64 " rows read in %" PRId64
			  " batches, %.3f s",
			  outcome_name(r->outcome), r->rows_read, r->batches,
			  (double)r->elapsed_us / (double)US_PER_SECOND);
	}
	json_decref(event.fields);
	log_set_pipeline("");
}
