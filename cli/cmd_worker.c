#include <inttypes.h>

#include "cli/commands.h"
#include "cli/config.h"
#include "cli/output.h"
#include "core/base/clock.h"
#include "core/sync/rounds/worker.h"

#define WORKER_INTERVAL_US (30 * US_PER_SECOND)

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
	struct worker_sums sums;
	int rc;

	if (arguments_has(args, "chunks"))
		options.interval_us = 0;
	rc = worker_run(s, pipelines, n, &options, &sums, err);
	if (arguments_has(args, "json"))
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
	{ "chunks", 0, FLAG_SWITCH, NULL,
	  "work on chunks of backfills alone, run no pipeline" },
	{ "share", 0, FLAG_COUNT, "N",
	  "one of N workers that share the rates of `pace` (default: each "
	  "has them whole)" },
	{ "once", 0, FLAG_SWITCH, NULL,
	  "end when no chunk is left and what is due has been run" },
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
