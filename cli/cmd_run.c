#include <stdlib.h>

#include "cli/commands.h"
#include "cli/config.h"
#include "cli/copy_show.h"
#include "cli/sync_run.h"

static int run_all(const struct arguments *args, const struct settings *s,
		   const struct pipeline_settings *const *pipelines, size_t n,
		   struct error *err)
{
	return sync_run(args, s, pipelines, n, NULL, err);
}

static int run_run(const struct arguments *args, struct error *err)
{
	int code = first_look_check(args, err);

	return code ? code : config_use(args, run_all, err);
}

static const struct flag run_flags[] = {
	{ "jobs", 0, FLAG_COUNT, "N",
	  "run so many pipelines at once (default: as the config says)" },
	{ "max-batches", 0, FLAG_COUNT, "N",
	  "stop each pipeline after N batches" },
	{ "max-seconds", 0, FLAG_COUNT, "N",
	  "stop each pipeline after N seconds, and the batch in hand" },
	{ "watch", 0, FLAG_DURATION, "DURATION",
	  "run again and again, this long apart, until a signal" },
	{ "wait", 0, FLAG_DURATION, "DURATION",
	  "for another run, or whoever has a file, to end (else exit 6)" },
	{ "full-refresh", 0, FLAG_SWITCH, NULL,
	  "read everything into a new table and swap it in" },
	{ "verify", 0, FLAG_SWITCH, NULL,
	  "read what was loaded again, compare, exit 7 if it differs" },
	{ "dry-run", 0, FLAG_SWITCH, NULL,
	  "say what a run would do, and write nothing" },
	FIRST_LOOK_FLAGS,
	METRICS_FILE_FLAG,
	{ NULL, 0, FLAG_SWITCH, NULL, NULL },
};

const struct command command_run = {
	.name = "run",
	.operands = "[PIPELINE...]",
	.max_operands = OPERANDS_ANY,
	.summary = "sync each pipeline until it has caught up",
	.details = "Without names, all pipelines of the config run, `jobs` at "
		   "once, those first that\n"
		   "waited longest. A pipeline that fails does not keep the "
		   "others from running. The\n"
		   "first Ctrl-C ends each after the batch in hand (exit 8), "
		   "the second at once. Both\n"
		   "lose nothing, and the next run begins with the pipelines "
		   "behind those that were\n"
		   "ended. A pipeline that another process runs is left to it: "
		   "exit 6, and the message\n"
		   "names that process.\n"
		   "\n"
		   "--verify reads the rows that the run has loaded from the "
		   "source once more, from\n"
		   "the mark before it to its last row. It looks each row up "
		   "at the destination.\n"
		   "Writers may go on. Exit 7, and the first keys, if rows are "
		   "missing or different\n"
		   "there. Under `verify: window` in the config every run of "
		   "the pipeline does so.",
	.example = "tidemark run orders --watch 30s",
	.flags = run_flags,
	.run = run_run,
};
