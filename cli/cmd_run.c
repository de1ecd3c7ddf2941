#include <stdlib.h>

#include "cli/commands.h"
#include "cli/config.h"
#include "cli/sync_run.h"

static int run_all(const struct arguments *args, const struct settings *s,
		   const struct pipeline_settings *const *pipelines, size_t n,
		   struct error *err)
{
	return sync_run(args, s, pipelines, n, NULL, err);
}

static int run_run(const struct arguments *args, struct error *err)
{
	return config_use(args, run_all, err);
}

static const struct flag run_flags[] = {
	{ "max-batches", 0, FLAG_COUNT, "N",
	  "stop each pipeline after N batches" },
	{ "max-seconds", 0, FLAG_COUNT, "N",
	  "stop each pipeline after N seconds, and the batch in hand" },
	{ "watch", 0, FLAG_DURATION, "DURATION",
	  "run again and again, this long apart, until a signal" },
	{ "wait", 0, FLAG_DURATION, "DURATION",
	  "for another run of a pipeline to end (else exit 6 at once)" },
	{ "full-refresh", 0, FLAG_SWITCH, NULL,
	  "read everything into a new table and swap it in" },
	{ "verify", 0, FLAG_SWITCH, NULL,
	  "read what was loaded again, compare, exit 7 if it differs" },
	{ "dry-run", 0, FLAG_SWITCH, NULL,
	  "say what a run would do, and write nothing" },
	{ NULL, 0, FLAG_SWITCH, NULL, NULL },
};

const struct command command_run = {
	.name = "run",
	.operands = "[PIPELINE...]",
	.max_operands = OPERANDS_ANY,
	.summary = "sync each pipeline until it has caught up",
	.details =
		"Without names, all pipelines of the config run, one after the "
		"other, each\nwhatever happens to the others. The first Ctrl-C "
		"ends after the batch in hand\n(exit 8), the second at once; "
		"both lose nothing, and the next run begins with\nthe pipeline "
		"behind the one that was ended. A pipeline that another "
		"process\nruns is left to it: exit 6, and who that is.\n"
		"\n"
		"--verify reads from the source once more what the run has "
		"loaded, from the mark\nbefore it to its last row, and looks "
		"each row up at the destination. Writers may\ngo on. Exit 7, "
		"and the first keys, if rows are missing or different there. "
		"Under\n`verify: window` in the config every run of the "
		"pipeline does so.",
	.example = "tidemark run orders --watch 30s",
	.flags = run_flags,
	.run = run_run,
};
