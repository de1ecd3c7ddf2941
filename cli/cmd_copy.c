#include "cli/commands.h"
#include "cli/copied.h"
#include "cli/copy_show.h"
#include "cli/sync_run.h"

static int copy_sync(const struct arguments *args, const struct settings *s,
		     const struct pipeline_settings *const *pipelines, size_t n,
		     struct error *err)
{
	return sync_run(args, s, pipelines, n, NULL, err);
}

static int copy_run(const struct arguments *args, struct error *err)
{
	int code;

	if (copy_show_is_meant(args))
		return copy_show(args, err);
	code = first_look_check(args, err);
	return code ? code : copied_run(args, copy_sync, err);
}

static const struct flag copy_flags[] = {
	COPIED_FLAGS,
	{ "max-batches", 0, FLAG_COUNT, "N", "stop after N batches" },
	{ "max-seconds", 0, FLAG_COUNT, "N",
	  "stop after N seconds, and the batch in hand" },
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
	COPY_SHOW_FLAGS,
	METRICS_FILE_FLAG,
	{ "row-values", 0, FLAG_SWITCH, NULL,
	  "show contents of rows in errors, as log.row_values does" },
	{ NULL, 0, FLAG_SWITCH, NULL, NULL },
};

const struct command command_copy = {
	.name = "copy",
	.operands = "SOURCE_URL DESTINATION_URL|-",
	.min_operands = 2,
	.max_operands = 2,
	.summary = "sync one table without a config file",
	.details =
		"The pipeline's name comes from the tables, whatever the URLs "
		"call them, so a second\ncall goes on where the first ended. "
		"With --name it is another pipeline, which reads\nall rows "
		"itself, and says so. check, status, runs, verify, watermark, "
		"dead-letters,\npace, pause, resume, grants and backfill take "
		"the same arguments. A table that\nhas rows of another source "
		"table is refused (exit 4). ${VAR} and ${file:PATH} are\n"
		"expanded here, so quote them. A password in a URL is taken, "
		"and wiped from the list\nof processes.\n"
		"\n"
		"`-` in place of DESTINATION_URL writes the rows to standard "
		"output. No mark and no\nstate is kept of them. `tidemark copy "
		"orders - --limit 5` shows the first rows of\na config's "
		"pipeline, as it would load them.",
	.example = "tidemark copy 'postgresql://app:${SHOP_PASSWORD}@db/shop' "
		   "duckdb:shop.duckdb \\\n"
		   "      --table public.orders --watermark "
		   "timestamp:updated_at",
	.flags = copy_flags,
	.run = copy_run,
};
