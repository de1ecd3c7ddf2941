#include "cli/sync_run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/config.h"
#include "cli/dry_run_print.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/stop.h"
#include "core/base/strbuf.h"
#include "core/serve/metrics_file.h"
#include "core/sync/rounds/runner.h"
#include "core/sync/tasks/rehearsal.h"
#include "core/sync/tasks/sync.h"

struct sync_view {
	const struct arguments *args;
	struct settings *settings;
	const struct pipeline_settings *const *renewed; /* owned; or NULL */
	bool json, one_line, table;
	bool failed; /* in the last round; it has been logged */
	int64_t begun_us; /* the round; monotonic */
	struct metrics_file *metrics; /* NULL: none */
	bool measured; /* a round of them was written */
};

/* In words that tell an empty run from one that did not happen. */
static const char *sync_outcome(const struct run_result *r)
{
	switch (r->outcome) {
	case OUTCOME_CAUGHT_UP:
		return r->rows_read ? "caught up" : "nothing new";
	case OUTCOME_STOPPED:
		if (!r->started_us)
			return "did not run";
		return "stopped";
	case OUTCOME_FAILED:
	case OUTCOME_RETRIED:
		return r->started_us ? "failed" : "did not run";
	case OUTCOME_BUSY:
		return "busy";
	case OUTCOME_WAITING:
		return "waiting";
	}
	return "failed";
}

static void sync_add_counts(struct strbuf *sb, const struct run_result *r)
{
	char *mark = output_watermark(r->watermark_after);

	strbuf_addf(sb,
		    " %" PRId64 " rows read (%" PRId64 " inserted, %" PRId64
		    " updated, %" PRId64 " unchanged, %" PRId64 " deleted",
		    r->rows_read, r->rows_inserted, r->rows_updated,
		    r->rows_unchanged, r->rows_deleted);
	if (r->rows_dead_lettered)
		strbuf_addf(sb, ", %" PRId64 " dead letters",
			    r->rows_dead_lettered);
	strbuf_addf(sb, ") in %" PRId64 " batch%s, %.3f s; mark %s", r->batches,
		    r->batches == 1 ? "" : "es",
		    (double)r->elapsed_us / (double)US_PER_SECOND, mark);
	free(mark);
}

static void sync_add_verified(struct strbuf *sb, const struct run_verified *v)
{
	strbuf_addf(sb, "verified %" PRId64 " rows", v->rows);
	if (v->found.unsettled)
		strbuf_addf(sb, " (%" PRId64 " unsettled)", v->found.unsettled);
	strbuf_addf(sb, " in %.3f s",
		    (double)v->elapsed_us / (double)US_PER_SECOND);
}

static void sync_print_line(const struct run_result *r)
{
	struct strbuf sb = STRBUF_INIT;

	strbuf_addf(&sb, "%s: %s:", r->pipeline->name, sync_outcome(r));
	/* The log has the message. */
	if (r->error.code)
		strbuf_addf(&sb, " %s", error_code_name(r->error.code));
	if (r->error.code && r->batches)
		strbuf_addstr(&sb, "; before that");
	if (r->waiting)
		strbuf_addf(&sb, " %s", r->waiting);
	else if (!r->error.code || r->batches)
		sync_add_counts(&sb, r);
	if (!r->error.code && !r->waiting)
		strbuf_addf(&sb, "; guarantee %s",
			    guarantee_name(r->guarantee));
	if (r->verified.done && !r->error.code) {
		strbuf_addstr(&sb, "; ");
		sync_add_verified(&sb, &r->verified);
	}
	output_line("%s", sb.data);
	strbuf_release(&sb);
}

static void sync_add_row(struct output_table *t, const struct run_result *r)
{
	char *mark = output_watermark(r->watermark_after);
	char counts[7][24], seconds[24];
	const int64_t values[] = { r->rows_read,    r->rows_inserted,
				   r->rows_updated, r->rows_unchanged,
				   r->rows_deleted, r->rows_dead_lettered,
				   r->batches };
	const char *cells[] = {
		r->pipeline->name, sync_outcome(r), counts[0], counts[1],
		counts[2],	   counts[3],	    counts[4], counts[5],
		counts[6],	   seconds,	    NULL,      mark
	};

	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		snprintf(counts[i], sizeof(counts[i]), "%" PRId64, values[i]);
	snprintf(seconds, sizeof(seconds), "%.3f",
		 (double)r->elapsed_us / (double)US_PER_SECOND);
	if (r->started_us && !r->error.code && !r->waiting)
		cells[10] = guarantee_name(r->guarantee);
	output_table_row(t, cells);
	free(mark);
}

static void sync_print_table(const struct run_result *results, size_t n)
{
	static const struct output_column columns[] = {
		{ "PIPELINE", false },	{ "OUTCOME", false },
		{ "READ", true },	{ "INSERTED", true },
		{ "UPDATED", true },	{ "UNCHANGED", true },
		{ "DELETED", true },	{ "DEAD LETTERS", true },
		{ "BATCHES", true },	{ "SECONDS", true },
		{ "GUARANTEE", false }, { "MARK", false },
	};
	struct output_table *t = output_table_new(columns, ARRAY_SIZE(columns));

	for (size_t i = 0; i < n; i++)
		sync_add_row(t, &results[i]);
	output_table_print(t);
	output_table_free(t);
}

/* Lines about a run that is over. */
static void sync_name_lines(const struct run_result *r)
{
	log_set_pipeline(r->pipeline->name);
	if (!r->dry.on)
		log_set_run(r->run_id, r->attempt_id);
}

static void sync_log_letters(const struct run_result *r)
{
	if (!r->rows_dead_lettered || r->dry.on)
		return;
	sync_name_lines(r);
	log_event(LOG_WARN, &(struct log_event){ .name = "dead_letters" },
		  "%" PRId64 " %s refused by %s and kept as dead letters: "
		  "tidemark dead-letters list %s",
		  r->rows_dead_lettered,
		  r->rows_dead_lettered == 1 ? "row was" : "rows were",
		  r->pipeline->destination_table, settings_call(r->pipeline));
	log_set_pipeline("");
}

/* The table has no room for it. */
static void sync_log_verified(const struct run_result *r)
{
	struct strbuf sb = STRBUF_INIT;

	if (!r->verified.done || r->error.code)
		return;
	sync_add_verified(&sb, &r->verified);
	sync_name_lines(r);
	log_info("%s", sb.data);
	log_set_pipeline("");
	strbuf_release(&sb);
}

static void sync_finished(const struct run_result *r, void *ctx)
{
	struct sync_view *view = ctx;

	progress_pipeline_end(r->pipeline);
	if (view->metrics)
		metrics_file_ended(view->metrics, r);
	sync_log_letters(r);
	run_result_log(r);
	if (!r->error.code && !r->waiting && r->guarantee != GUARANTEE_EXACT &&
	    r->guarantee_reason && *r->guarantee_reason) {
		sync_name_lines(r);
		log_event(LOG_WARN, &(struct log_event){ .name = "guarantee" },
			  "the guarantee is %s: %s",
			  guarantee_name(r->guarantee), r->guarantee_reason);
		log_set_pipeline("");
	}
	if (view->table)
		sync_log_verified(r);
	if (!view->json && r->dry.on)
		dry_run_print(r);
	else if (!view->json && !view->table)
		sync_print_line(r);
}

static void sync_print_json(const struct run_result *results, size_t n,
			    bool one_line)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, run_result_json(&results[i]));
	output_json(json_pack("{s:o}", "pipelines", list), one_line);
}

static json_t *sync_sum_fields(const size_t *counts, size_t n, int64_t rows,
			       int64_t took_us)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f}",
			 "pipelines", (json_int_t)n, "caught_up",
			 (json_int_t)counts[OUTCOME_CAUGHT_UP], "stopped",
			 (json_int_t)counts[OUTCOME_STOPPED], "failed",
			 (json_int_t)counts[OUTCOME_FAILED], "busy",
			 (json_int_t)counts[OUTCOME_BUSY], "waiting",
			 (json_int_t)counts[OUTCOME_WAITING], "rows_read",
			 (json_int_t)rows, "seconds",
			 (double)took_us / (double)US_PER_SECOND);
}

/* One line over many: how they ended, and how much it was. */
static void sync_log_sum(const struct run_result *results, size_t n,
			 int64_t took_us)
{
	static const char *const names[] = {
		[OUTCOME_CAUGHT_UP] = "caught up or nothing new",
		[OUTCOME_STOPPED] = "stopped",
		[OUTCOME_FAILED] = "failed",
		[OUTCOME_BUSY] = "busy",
		[OUTCOME_WAITING] = "waiting",
	};
	size_t counts[ARRAY_SIZE(names)] = { 0 };
	struct strbuf sb = STRBUF_INIT;
	int64_t rows = 0;
	json_t *fields;

	for (size_t i = 0; i < n; i++) {
		enum outcome o = results[i].outcome;

		counts[o == OUTCOME_RETRIED ? OUTCOME_FAILED : o]++;
		rows += results[i].rows_read;
	}
	strbuf_addf(&sb, "%zu pipelines: ", n);
	for (size_t i = 0, shown = 0; i < ARRAY_SIZE(names); i++)
		if (names[i] && counts[i])
			strbuf_addf(&sb, "%s%zu %s", shown++ ? ", " : "",
				    counts[i], names[i]);
	fields = log_is_for_programs()
			 ? sync_sum_fields(counts, n, rows, took_us)
			 : NULL;
	log_event(LOG_INFO, &(struct log_event){ "round_ended", NULL, fields },
		  "%s; %" PRId64 " rows in %.1f s", sb.data, rows,
		  (double)took_us / (double)US_PER_SECOND);
	json_decref(fields);
	strbuf_release(&sb);
}

static void sync_measure(struct sync_view *view,
			 const struct pipeline_settings *const *pipelines,
			 size_t n)
{
	struct error err = ERROR_INIT;

	view->measured = true;
	if (metrics_file_write(view->metrics, view->settings, pipelines, n,
			       &err))
		log_error("%s", err.message);
}

static void sync_measure_round(struct sync_view *view,
			       const struct run_result *results, size_t n)
{
	const struct pipeline_settings **pipelines;

	if (!view->metrics)
		return;
	pipelines = xcalloc(n + 1, sizeof(const void *));
	for (size_t i = 0; i < n; i++)
		pipelines[i] = results[i].pipeline;
	sync_measure(view, pipelines, n);
	free((void *)pipelines);
}

/* Any thread. */
static void sync_progress(const struct run_result *so_far, void *ctx)
{
	const struct sync_view *view = ctx;

	progress_update(so_far, NULL);
	if (view->metrics)
		metrics_file_follow(view->metrics, so_far);
}

static void sync_round(const struct run_result *results, size_t n, void *ctx)
{
	struct sync_view *view = ctx;
	int64_t now = clock_monotonic_us();

	view->failed = false;
	for (size_t i = 0; i < n; i++)
		view->failed = view->failed || results[i].error.code;
	if (view->json)
		sync_print_json(results, n, view->one_line);
	else if (view->table)
		sync_print_table(results, n);
	if (n > 1)
		sync_log_sum(results, n, now - view->begun_us);
	sync_measure_round(view, results, n);
	view->begun_us = now;
	progress_round(n);
	/* Nobody reads the results of a watch any more. */
	if (output_has_failed())
		stop_request();
}

static int sync_renew(void *ctx, const struct pipeline_settings *const **out,
		      size_t *n, struct error *err)
{
	struct sync_view *view = ctx;
	int code = config_renew(view->args, view->settings, out, n, err);

	if (code)
		return code;
	free((void *)view->renewed);
	view->renewed = *out;
	return 0;
}

static int sync_check_flags(const struct arguments *args, struct error *err)
{
	static const char *const flags[] = { "watch", "wait" };

	if (arguments_has(args, "dry-run") && arguments_has(args, "verify"))
		return error_set(err, ERROR_CONFIG,
				 "--dry-run loads nothing that --verify could "
				 "look at; leave out one of them");
	if (arguments_has(args, "dry-run") &&
	    arguments_has(args, "metrics-file"))
		return error_set(err, ERROR_CONFIG,
				 "--dry-run writes nothing, and so no "
				 "--metrics-file; leave out one of them");
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		if (arguments_has(args, "dry-run") &&
		    arguments_has(args, flags[i]))
			return error_set(err, ERROR_CONFIG,
					 "--dry-run looks once and waits for "
					 "nobody; leave out --%s",
					 flags[i]);
	return 0;
}

int sync_run(const struct arguments *args, const struct settings *s,
	     const struct pipeline_settings *const *pipelines, size_t n,
	     struct task *task, struct error *err)
{
	struct sync_view view = {
		.args = args,
		.settings = (struct settings *)s,
		.json = arguments_has(args, "json"),
		.one_line = arguments_has(args, "watch"),
		.table =
			output_is_terminal() && !arguments_has(args, "dry-run"),
		.begun_us = clock_monotonic_us(),
	};
	struct runner_options options = {
		.run = { .task = task,
			 .max_batches = arguments_number(args, "max-batches"),
			 .max_us = arguments_number(args, "max-seconds") *
				   US_PER_SECOND,
			 .full_refresh = arguments_has(args, "full-refresh"),
			 .verify = arguments_has(args, "verify"),
			 .lease = { .wait_us = arguments_number(args, "wait") },
			 .progress = sync_progress,
			 .progress_ctx = &view },
		.watch_us = arguments_number(args, "watch"),
		.jobs = (size_t)arguments_number(args, "jobs"),
		.finished = sync_finished,
		.round = sync_round,
		.renew = s->n_wildcards ? sync_renew : NULL,
		.ctx = &view,
	};
	int code = sync_check_flags(args, err);

	if (!code && arguments_has(args, "metrics-file"))
		code = metrics_file_new(&view.metrics,
					arguments_text(args, "metrics-file"),
					err);
	if (code)
		return code;
	if (!task && arguments_has(args, "dry-run")) {
		options.run.limit = arguments_number(args, "limit");
		options.run.since = arguments_text(args, "since");
	}
	if (!task)
		options.run.task = arguments_has(args, "dry-run")
					   ? &rehearsal_task
					   : &sync_task;
	progress_begin(arguments_has(args, "quiet"));
	progress_round(n);
	code = runner_run(s, pipelines, n, &options, err);
	progress_end();
	if (view.metrics && !view.measured)
		sync_measure(&view, pipelines, n);
	metrics_file_free(view.metrics);
	free((void *)view.renewed);
	if (view.failed || output_has_failed())
		error_clear(err);
	if (output_has_failed() && !view.failed)
		return output_finish(err);
	return code;
}
