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
#include "core/sync/parts/state.h"
#include "core/sync/report/status.h"

static char *status_lag_text(int64_t lag_us)
{
	struct strbuf sb = STRBUF_INIT;

	if (lag_us < 0)
		return xstrdup("-");
	/* Whole seconds are enough for the eye. */
	units_print_duration(&sb, lag_us / US_PER_SECOND * US_PER_SECOND);
	return strbuf_detach(&sb);
}

static char *status_paused_text(const struct status_result *r)
{
	const char *by, *since, *reason;

	if (!r->paused || json_unpack(r->paused, "{s:s, s:s, s:s}", "by", &by,
				      "since", &since, "reason", &reason))
		return xstrdup("");
	return xstrfmt("held by pace.%s since %s (%s); ", by, since, reason);
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

static char *status_last_text(const struct status_result *r)
{
	char when[CLOCK_TEXT_SIZE], until[CLOCK_TEXT_SIZE] = "";
	const struct attempt *a = &r->last;
	const char *error = r->fault.code ? NULL : a->error_message;
	bool open = breaker_is_open(&r->breaker, clock_now_us());
	char *paused, *progress, *text;

	if (!r->has_last)
		return xstrdup(r->runs_known ? "never" : "-");
	clock_format_utc(a->ended_at ? a->ended_at : a->started_at, when);
	if (open)
		clock_format_utc(r->breaker.open_until, until);
	paused = status_paused_text(r);
	progress = status_progress_text(r);
	text = xstrfmt("%s%s%s%s%s at %s, %" PRId64 " rows%s%s%s", paused,
		       open ? "breaker open until " : "", until,
		       open ? "; " : "", *a->outcome ? a->outcome : "running",
		       when, a->rows_read, progress, error ? ": " : "",
		       error ? error : "");
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
	char *lag = status_lag_text(r->lag_us);
	char *last = status_run_text(r);
	char *lease = status_lease_text(r);
	char *letters = r->letters < 0 ? NULL : xstrfmt("%" PRId64, r->letters);
	const char *cells[] = { r->pipeline->name, mark, r->from, lag, lease,
				letters,	   last };

	output_table_row(t, cells);
	free(mark);
	free(lag);
	free(last);
	free(lease);
	free(letters);
}

static void status_print(const struct status_result *results, size_t n)
{
	static const struct output_column columns[] = {
		{ "PIPELINE", false }, { "MARK", false },
		{ "FROM", false },     { "LAG", true },
		{ "RUN BY", false },   { "DEAD LETTERS", true },
		{ "LAST RUN", false },
	};
	struct output_table *t = output_table_new(columns, ARRAY_SIZE(columns));

	for (size_t i = 0; i < n; i++)
		status_add_row(t, &results[i]);
	output_table_print(t);
	output_table_free(t);
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

static void status_print_json(const struct status_result *results, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, status_result_json(&results[i]));
	output_json(json_pack("{s:o}", "pipelines", list), false);
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
	if (arguments_has(args, "json"))
		status_print_json(results, n);
	else
		status_print(results, n);
	if (!arguments_has(args, "json"))
		status_print_chunks(results, n);
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
	{ NULL, 0, FLAG_SWITCH, NULL, NULL },
};

const struct command command_status = {
	.name = "status",
	.operands = "[PIPELINE... | SOURCE_URL DESTINATION_URL --table T]",
	.max_operands = OPERANDS_ANY,
	.summary =
		"show mark, lag behind the source, last run and dead letters",
	.details = "Prints everything that it can reach. The mark is the "
		   "destination's own, or, if\n"
		   "that is away, the mirror in the state store. A run under "
		   "way, or chunks of a\n"
		   "backfill, may be held: status tells the reason, and since "
		   "when.",
	.example = "tidemark status --json",
	.flags = status_flags,
	.run = status_run,
};
