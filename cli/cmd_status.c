#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/backfill_line.h"
#include "cli/commands.h"
#include "cli/config.h"
#include "cli/copied.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/stop.h"
#include "core/base/units.h"
#include "core/store/session.h"
#include "core/sync/pace/pace.h"
#include "core/sync/parts/state.h"
#include "core/sync/report/status.h"

/* As much of an error as a line of a table takes. */
#define STATUS_WORDS 120

static char *status_lag_text(const struct status_result *r)
{
	struct strbuf sb = STRBUF_INIT;

	if (r->lag_us < 0)
		return xstrdup(r->lag_reason ? r->lag_reason : "not known");
	if (r->lag_us < US_PER_SECOND && r->health_known &&
	    r->health.state == HEALTH_FAILING)
		return xstrdup("<1s");
	/* Whole seconds are enough for the eye. */
	units_print_duration(&sb, r->lag_us / US_PER_SECOND * US_PER_SECOND);
	return strbuf_detach(&sb);
}

static char *status_time_text(const struct status_result *r, int64_t us,
			      const char *none)
{
	char text[CLOCK_TEXT_SIZE];

	if (!r->health_known)
		return xstrdup("not known");
	if (!us)
		return xstrdup(none);
	clock_format_utc(us, text);
	return xstrdup(text);
}

/* The wish of an operator, and whose it is. */
static char *status_control_text(const struct pace_record *control)
{
	char since[CLOCK_TEXT_SIZE];
	char *reason = health_first_words(control->reason, STATUS_WORDS), *text;

	clock_format_utc(control->paused_at, since);
	text = xstrfmt("paused by %s since %s%s%s; ", control->paused_by, since,
		       *reason ? ": " : "", reason);
	free(reason);
	return text;
}

static char *status_paused_text(const struct status_result *r)
{
	const char *by, *since, *reason;

	if (r->control.paused_at)
		return status_control_text(&r->control);
	if (!r->paused || json_unpack(r->paused, "{s:s, s:s, s:s}", "by", &by,
				      "since", &since, "reason", &reason))
		return xstrdup("");
	return xstrfmt("held by %s%s since %s (%s); ", pace_prefix(by), by,
		       since, reason);
}

static char *status_progress_text(const struct status_result *r)
{
	struct strbuf sb = STRBUF_INIT;

	if (r->progress < 0)
		return xstrdup("");
	strbuf_addstr(&sb, ", ");
	progress_add_share(&sb, r->progress, r->eta_us);
	return strbuf_detach(&sb);
}

/* ": code: first words" of what it fails with. */
static char *status_error_text(const struct status_result *r)
{
	char *words, *text;

	if (r->fault.code || !r->health.error_message)
		return xstrdup("");
	words = health_first_words(r->health.error_message, STATUS_WORDS);
	text = xstrfmt(": %s: %s", r->health.error_code, words);
	free(words);
	return text;
}

static char *status_last_text(const struct status_result *r)
{
	char when[CLOCK_TEXT_SIZE], until[CLOCK_TEXT_SIZE] = "";
	const struct attempt *a = &r->last;
	bool open = breaker_is_open(&r->breaker, clock_now_us());
	char *paused = status_paused_text(r), *progress, *error, *text;

	if (!r->has_last) {
		text = xstrfmt("%s%s", paused, r->runs_known ? "never" : "-");
		free(paused);
		return text;
	}
	clock_format_utc(a->ended_at ? a->ended_at : a->started_at, when);
	if (open)
		clock_format_utc(r->breaker.open_until, until);
	progress = status_progress_text(r);
	error = status_error_text(r);
	text = xstrfmt("%s%s%s%s%s at %s, %" PRId64 " rows%s%s", paused,
		       open ? "breaker open until " : "", until,
		       open ? "; " : "", *a->outcome ? a->outcome : "running",
		       when, a->rows_read, progress, error);
	free(error);
	free(paused);
	free(progress);
	return text;
}

/* A table that no run can sync says so in place of the last run's error. */
static char *status_run_text(const struct status_result *r)
{
	char *last = status_last_text(r), *text;

	if (!r->fault.code)
		return last;
	text = xstrfmt("%s; %s", last, r->fault.message);
	free(last);
	return text;
}

static char *status_lease_text(const struct status_result *r)
{
	return r->leased ? xstrfmt("%s:%" PRId64, r->lease.host, r->lease.pid)
			 : xstrdup("-");
}

static void status_add_row(struct output_table *t,
			   const struct status_result *r)
{
	char *mark = output_watermark(r->watermark);
	const struct health *h = &r->health;
	const char *state =
		r->health_known ? health_state_words(h->state) : "not known";
	char *since = status_time_text(r, h->since, "-");
	char *success = status_time_text(r, h->last_success, "never");
	char *lag = status_lag_text(r);
	char *last = status_run_text(r);
	char *lease = status_lease_text(r);
	char *letters = r->letters < 0 ? NULL : xstrfmt("%" PRId64, r->letters);
	const char *cells[] = {
		r->pipeline->name, state, since,   success, lag, mark,
		r->from,	   lease, letters, last
	};

	output_table_row(t, cells);
	free(since);
	free(success);
	free(mark);
	free(lag);
	free(last);
	free(lease);
	free(letters);
}

/* A pipeline of which the store told nothing may be as bad as any. */
static int status_rank(const struct status_result *r)
{
	return r->health_known ? (int)r->health.state : -1;
}

/* The worst first; of two alike the one that the config has first. */
static int status_compare(const void *a, const void *b)
{
	const struct status_result *x = *(const struct status_result *const *)a;
	const struct status_result *y = *(const struct status_result *const *)b;
	int order = status_rank(x) - status_rank(y);

	return order ? order : (x > y) - (x < y);
}

static void status_print(const struct status_result *results, size_t n)
{
	static const struct output_column columns[] = {
		{ "PIPELINE", false },	  { "STATE", false },
		{ "SINCE", false },	  { "LAST SUCCESS", false },
		{ "LAG", true },	  { "MARK", false },
		{ "FROM", false },	  { "RUN BY", false },
		{ "DEAD LETTERS", true }, { "LAST RUN", false },
	};
	struct output_table *t = output_table_new(columns, ARRAY_SIZE(columns));
	const struct status_result **sorted = xcalloc(n + 1, sizeof(*sorted));

	for (size_t i = 0; i < n; i++)
		sorted[i] = &results[i];
	qsort(sorted, n, sizeof(*sorted), status_compare);
	for (size_t i = 0; i < n; i++)
		status_add_row(t, sorted[i]);
	output_table_print(t);
	output_table_free(t);
	free(sorted);
}

/* Print the newest backfill of each pipeline. */
static void status_print_chunks(const struct status_result *results, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct chunk_list *chunks = &results[i].chunks;
		struct backfill_sums sums;

		if (!chunks->n)
			continue;
		backfill_sum(chunks, chunks->items[chunks->n - 1].backfill_id,
			     &sums);
		backfill_say(results[i].pipeline->name, &sums, output_line);
	}
}

static void status_print_json(const struct status_result *results, size_t n,
			      const struct health_counts *counts)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, status_result_json(&results[i]));
	output_json(json_pack("{s:o, s:o}", "pipelines", list, "summary",
			      health_counts_json(counts)),
		    false);
}

static void status_print_sum(const struct health_counts *counts)
{
	struct strbuf sb = STRBUF_INIT;

	health_counts_add(&sb, counts);
	output_line("%s", sb.data);
	strbuf_release(&sb);
}

/* A health check reads one line, and the exit code. */
static int status_fail(const struct status_result *results, size_t n)
{
	struct strbuf names = STRBUF_INIT;
	size_t bad = 0;

	for (size_t i = 0; i < n; i++) {
		const struct health *h = &results[i].health;
		bool known = results[i].health_known;

		if (known && !health_is_bad(h))
			continue;
		strbuf_addf(&names, "%s%s (%s)", bad++ ? ", " : "",
			    results[i].pipeline->name,
			    known ? health_state_words(h->state) : "not known");
	}
	if (bad)
		log_event(LOG_ERROR, &(struct log_event){ .name = "unhealthy" },
			  "%zu of %zu pipelines: %s", bad, n, names.data);
	strbuf_release(&names);
	return bad ? -ERROR_BUG : 0;
}

static void status_warn(const struct status_result *r)
{
	const char *prepared =
		json_string_value(json_object_get(r->held_by, "prepared"));

	log_set_pipeline(r->pipeline->name);
	for (size_t i = 0; i < r->notes.n; i++)
		log_warn("not known, %s", r->notes.items[i]);
	if (prepared)
		log_warn("the mark waits for the prepared transaction '%s' "
			 "(COMMIT PREPARED or ROLLBACK PREPARED it)",
			 prepared);
	log_set_pipeline("");
}

/* Ask all pipelines, and return how many were asked to the end: a stop cuts the
 * last one short. */
static size_t status_ask(const struct pipeline_settings *const *pipelines,
			 size_t n, struct store *store,
			 struct status_result *results)
{
	for (size_t i = 0; i < n; i++) {
		if (!stop_requested())
			status_pipeline(pipelines[i], store, &results[i]);
		if (stop_requested()) {
			status_result_release(&results[i]);
			return i;
		}
		status_warn(&results[i]);
	}
	return n;
}

static void status_show(const struct arguments *args,
			const struct status_result *results, size_t n)
{
	struct health_counts counts = { .all = 0 };

	for (size_t i = 0; i < n; i++)
		health_count(&counts, results[i].health_known
					      ? &results[i].health
					      : NULL);
	if (arguments_has(args, "json")) {
		status_print_json(results, n, &counts);
		return;
	}
	status_print(results, n);
	status_print_chunks(results, n);
	status_print_sum(&counts);
}

/* Print all that is known even if the store is away; the code still says that
 * it is. */
static int status_all(const struct arguments *args, const struct settings *s,
		      const struct pipeline_settings *const *pipelines,
		      size_t n, struct error *err)
{
	struct status_result *results = xcalloc(n + 1, sizeof(*results));
	struct store *store = NULL;
	int code = state_open(s, &store, err);

	n = status_ask(pipelines, n, store, results);
	status_show(args, results, n);
	if (!code && !stop_requested() && arguments_has(args, "fail"))
		code = status_fail(results, n);
	for (size_t i = 0; i < n; i++)
		status_result_release(&results[i]);
	free(results);
	store_close(store);
	if (!stop_requested())
		return code;
	error_clear(err);
	return error_set(err, ERROR_STOPPED, "stopped by a signal");
}

static int status_run(const struct arguments *args, struct error *err)
{
	return copied_use(args, status_all, err);
}

static const struct flag status_flags[] = {
	COPIED_FLAGS,
	{ "fail", 0, FLAG_SWITCH, NULL,
	  "exit 1 if a pipeline is failing or late" },
	{ NULL, 0, FLAG_SWITCH, NULL, NULL },
};

const struct command command_status = {
	.name = "status",
	.operands = "[PIPELINE... | SOURCE_URL DESTINATION_URL --table T]",
	.max_operands = OPERANDS_ANY,
	.summary = "show what fails or is late, lag, last success and last run",
	.details = "Prints everything that it can reach, the worst first. A "
		   "pipeline is\n"
		   "failing (its last run failed or was killed), late "
		   "(alert.late), waiting, paused,\n"
		   "never run, or ok. It waits for pace, a prepared "
		   "transaction or its next try. A\n"
		   "run that is under way leaves the state as it was. --fail "
		   "is for health checks:\n"
		   "exit 1 if one is failing or late, 3 if the state store is "
		   "away.\n"
		   "The mark is the destination's own, or, if that is away, "
		   "the mirror in the state\n"
		   "store. A run under way, or chunks of a backfill, may be "
		   "held: status tells the\n"
		   "reason, and since when.",
	.example = "tidemark status --json",
	.flags = status_flags,
	.run = status_run,
};
