#include <inttypes.h>

#include "cli/commands.h"
#include "cli/config.h"
#include "cli/output.h"
#include "cli/sync_run.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/serve/metrics_file.h"
#include "core/sync/backfill/backfill.h"
#include "core/sync/rounds/worker.h"

#define WORKER_INTERVAL_US (30 * US_PER_SECOND)
/* Metrics are as old at most, and are written no more often. */
#define WORKER_MEASURE_US  (15 * US_PER_SECOND)
#define WORKER_MEASURED_US (2 * US_PER_SECOND)

struct worker_view {
	const struct settings *s;
	const struct pipeline_settings *const *pipelines;
	size_t n;
	struct metrics_file *metrics; /* NULL: none */
	int64_t measured_us; /* monotonic; 0: never */
	bool news;
};

static void worker_measure(struct worker_view *view)
{
	struct error err = ERROR_INIT;

	if (view->metrics && metrics_file_write(view->metrics, view->s,
						view->pipelines, view->n, &err))
		log_error("%s", err.message);
	view->measured_us = clock_monotonic_us();
	view->news = false;
}

static void worker_looked(void *ctx)
{
	struct worker_view *view = ctx;
	int64_t age = clock_monotonic_us() - view->measured_us;

	if (!view->measured_us || age >= WORKER_MEASURE_US ||
	    (view->news && age >= WORKER_MEASURED_US))
		worker_measure(view);
}

static void worker_follow(const struct run_result *so_far, void *ctx)
{
	const struct worker_view *view = ctx;

	metrics_file_follow(view->metrics, so_far);
}

static void worker_ended(const struct run_result *r, void *ctx)
{
	struct worker_view *view = ctx;

	metrics_file_ended(view->metrics, r);
	view->news = true;
}

static int worker_open_metrics(const struct arguments *args,
			       struct worker_view *view,
			       struct worker_options *options,
			       struct error *err)
{
	if (!arguments_has(args, "metrics-file"))
		return 0;
	options->follow = worker_follow;
	options->ended = worker_ended;
	options->looked = worker_looked;
	options->ctx = view;
	return metrics_file_new(&view->metrics,
				arguments_text(args, "metrics-file"), err);
}

static int worker_one(const struct arguments *args, const struct settings *s,
		      const struct pipeline_settings *const *pipelines,
		      size_t n, const struct worker_options *options,
		      struct error *err)
{
	struct chunk chunk;
	int rc =
		worker_run_named(s, pipelines, n, arguments_text(args, "chunk"),
				 options, &chunk, err);

	if (chunk.chunk_id && arguments_has(args, "json"))
		output_json(backfill_result_json(&chunk), true);
	else if (!rc)
		output_line("%s: %s, %" PRId64 " rows", chunk.chunk_id,
			    chunk.state, chunk.rows);
	chunk_release(&chunk);
	return rc;
}

static int worker_all(const struct arguments *args, const struct settings *s,
		      const struct pipeline_settings *const *pipelines,
		      size_t n, struct error *err)
{
	int64_t interval = arguments_number(args, "interval");
	struct worker_options options = {
		.interval_us = interval ? interval : WORKER_INTERVAL_US,
		.once = arguments_has(args, "once"),
		.share = arguments_number(args, "share"),
	};
	struct worker_view view = { .s = s, .pipelines = pipelines, .n = n };
	struct worker_sums sums;
	bool one = arguments_has(args, "chunk");
	int rc;

	if (one && (options.once || interval || arguments_has(args, "chunks")))
		return error_set(err, ERROR_CONFIG,
				 "worker --chunk works on that chunk alone: "
				 "leave out --once, --interval and --chunks");
	rc = worker_open_metrics(args, &view, &options, err);
	if (rc)
		return rc;
	if (arguments_has(args, "chunks"))
		options.interval_us = 0;
	if (one)
		rc = worker_one(args, s, pipelines, n, &options, err);
	else
		rc = worker_run(s, pipelines, n, &options, &sums, err);
	worker_measure(&view);
	metrics_file_free(view.metrics);
	if (!one && arguments_has(args, "json"))
		output_json(json_pack("{s:I, s:I, s:I}", "chunks_done",
				      (json_int_t)sums.done, "chunks_failed",
				      (json_int_t)sums.failed, "runs",
				      (json_int_t)sums.runs),
			    true);
	return rc;
}

static int worker_command(const struct arguments *args, struct error *err)
{
	return config_use(args, worker_all, err);
}

static const struct flag worker_flags[] = {
	{ "interval", 0, FLAG_DURATION, "DURATION",
	  "run a pipeline when its last run ended so long ago (default: 30s)" },
	{ "chunk", 0, FLAG_TEXT, "CHUNK",
	  "work on this chunk alone; 0 also if it is done already" },
	{ "chunks", 0, FLAG_SWITCH, NULL,
	  "work on chunks of backfills alone, run no pipeline" },
	{ "share", 0, FLAG_COUNT, "N",
	  "one of N workers that share the rates of `pace` (default: each "
	  "has them whole)" },
	{ "once", 0, FLAG_SWITCH, NULL,
	  "end when no chunk is left and what is due has been run" },
	METRICS_FILE_FLAG,
	{ NULL, 0, FLAG_SWITCH, NULL, NULL },
};

const struct command command_worker = {
	.name = "worker",
	.operands = "[PIPELINE...]",
	.max_operands = OPERANDS_ANY,
	.summary = "work on queued chunks of backfills and on pipelines",
	.details =
		"Start as many as you like, on as many machines as share the "
		"config and the state\nstore. Each claims chunks (tidemark "
		"backfill --queue puts them there), and when\nthere are none "
		"runs the pipelines that nobody has run for the interval. The "
		"first\nCtrl-C or SIGTERM finishes the batch in hand, gives "
		"the chunk back and exits 8;\nthe second ends at once. Both "
		"lose nothing.",
	.example = "tidemark worker --interval 1m",
	.flags = worker_flags,
	.run = worker_command,
};
