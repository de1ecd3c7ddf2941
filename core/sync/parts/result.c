#include "core/sync/parts/result.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/json_text.h"
#include "core/base/log.h"

const char *outcome_name(enum outcome o)
{
	static const char *const names[] = {
		"caught_up", "stopped", "failed", "busy", "waiting", "retried"
	};

	return names[o];
}

void run_result_init(struct run_result *r, const struct pipeline_settings *p)
{
	memset(r, 0, sizeof(*r));
	r->pipeline = p;
	r->outcome = OUTCOME_FAILED;
	r->guarantee = GUARANTEE_NONE;
	r->progress = -1;
}

void run_result_pause(struct run_result *r, json_t *paused)
{
	json_decref(r->paused);
	free(r->paused_text);
	r->paused = json_incref(paused);
	r->paused_text = paused ? json_dumps(paused, JSON_COMPACT) : NULL;
}

void run_result_release(struct run_result *r)
{
	free(r->run_id);
	free(r->attempt_id);
	free(r->watermark_before);
	free(r->watermark_after);
	free(r->guarantee_reason);
	free(r->waiting);
	json_decref(r->held_by);
	run_result_pause(r, NULL);
	json_decref(r->verified.examples);
	dry_run_release(&r->dry);
	memset(r, 0, sizeof(*r));
}

void run_result_count(struct run_result *r, const struct batch *b, size_t rows,
		      const struct load_counts *counts, int64_t dead)
{
	r->batches++;
	r->rows_read += (int64_t)rows;
	if (b->n_rows)
		r->bytes_read += (int64_t)(batch_bytes(b) * rows / b->n_rows);
	r->rows_inserted += counts->inserted;
	r->rows_updated += counts->updated;
	r->rows_unchanged += counts->unchanged;
	r->rows_deleted += counts->deleted;
	r->rows_dead_lettered += dead;
	r->rows_missing += counts->missing;
	r->progress = b->progress;
}

static void result_add_reason(struct run_result *r, const char *text)
{
	char *reason = r->guarantee_reason;
	bool more = reason && *reason;

	log_info("%s", text);
	r->guarantee_reason =
		xstrfmt("%s%s%s", more ? reason : "", more ? "; " : "", text);
	free(reason);
}

void run_result_hold(struct run_result *r, const struct batch *last)
{
	const char *newest = last->newest_held;
	char *text;

	r->rows_held = last->n_held;
	if (last->mark_held)
		result_add_reason(r, last->mark_held);
	if (!last->n_held)
		return;
	text = xstrfmt("%" PRId64 " %s past the settled mark %s held back "
		       "(watermark.tail: hold)%s%s",
		       last->n_held, last->n_held == 1 ? "row" : "rows",
		       last->n_held == 1 ? "is" : "are",
		       newest ? ", the newest at " : "", newest ? newest : "");
	result_add_reason(r, text);
	free(text);
}

void run_result_missing(const struct run_result *r)
{
	if (r->rows_missing)
		log_warn("%" PRId64 " %s no row of %s at %s and %s left out: "
			 "mode update adds none",
			 r->rows_missing,
			 r->rows_missing == 1 ? "row has" : "rows have",
			 r->rows_missing == 1 ? "its key" : "their keys",
			 r->pipeline->destination_table,
			 r->rows_missing == 1 ? "is" : "are");
}

static json_t *result_error(const struct error *err)
{
	if (!err->code)
		return json_null();
	return json_pack("{s:s, s:s, s:i, s:s}", "code",
			 error_code_name(err->code), "message", err->message,
			 "exit_code", error_exit_status(err->code),
			 "server_code", err->server_code);
}

/* A dry run is no attempt: the ledger knows nothing of it. */
static const char *result_attempt(const struct run_result *r)
{
	if (r->dry.on)
		return NULL;
	return r->attempt_id ? r->attempt_id : "";
}

int64_t run_verified_different(const struct run_verified *v)
{
	return differences_sum(&v->found) - v->found.of[DIFFERENCE_MISSING];
}

/* null: the run did not come to it. */
static json_t *result_verified(const struct run_verified *v)
{
	if (!v->examples)
		return json_null();
	return json_pack(
		"{s:b, s:b, s:I, s:I, s:I, s:I, s:O, s:f}", "equal",
		v->done && !differences_sum(&v->found) &&
			(v->rows || !v->found.unsettled),
		"whole", v->done && !v->more, "rows", (json_int_t)v->rows,
		difference_name(DIFFERENCE_MISSING),
		(json_int_t)v->found.of[DIFFERENCE_MISSING],
		difference_name(DIFFERENCE_DIFFERENT),
		(json_int_t)run_verified_different(v), "unsettled",
		(json_int_t)v->found.unsettled, "examples", v->examples,
		"seconds", (double)v->elapsed_us / (double)US_PER_SECOND);
}

json_t *run_result_json(const struct run_result *r)
{
	json_t *json = json_pack(
		"{s:s, s:s, s:s, s:s?, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I,"
		" s:o, s:o, s:s, s:s, s:O, s:f, s:o}",
		"pipeline", r->pipeline->name, "outcome",
		outcome_name(r->outcome), "run_id", r->run_id ? r->run_id : "",
		"attempt_id", result_attempt(r), "batches",
		(json_int_t)r->batches, "rows_read", (json_int_t)r->rows_read,
		"rows_inserted", (json_int_t)r->rows_inserted, "rows_updated",
		(json_int_t)r->rows_updated, "rows_unchanged",
		(json_int_t)r->rows_unchanged, "rows_deleted",
		(json_int_t)r->rows_deleted, "rows_dead_lettered",
		(json_int_t)r->rows_dead_lettered, "rows_held",
		(json_int_t)r->rows_held, "watermark_before",
		json_text_value(r->watermark_before), "watermark_after",
		json_text_value(r->watermark_after), "guarantee",
		guarantee_name(r->guarantee), "guarantee_reason",
		r->guarantee_reason ? r->guarantee_reason : "", "held_by",
		r->held_by ? r->held_by : json_null(), "seconds",
		(double)r->elapsed_us / (double)US_PER_SECOND, "error",
		result_error(&r->error));

	if (r->waiting)
		json_object_set_new(json, "waiting",
				    json_pack("{s:s, s:s}", "by", "pre_check",
					      "reason", r->waiting));
	if (r->pipeline->mode == LOAD_UPDATE)
		json_object_set_new(json, "rows_missing",
				    json_integer(r->rows_missing));
	if (r->verified.asked)
		json_object_set_new(json, "verified",
				    result_verified(&r->verified));
	if (r->dry.on)
		dry_run_json(&r->dry, json);
	return json;
}
