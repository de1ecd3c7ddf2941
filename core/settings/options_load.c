#include "core/base/clock.h"
#include "core/settings/input.h"

static const struct option_choice load_modes[] = {
	{ "upsert", LOAD_UPSERT, false },
	{ "append", LOAD_APPEND, false },
	{ "delete_insert", LOAD_DELETE_INSERT, false },
	{ "update", LOAD_UPDATE, false },
	{ "replace", LOAD_REPLACE, false },
	{ NULL, 0, false },
};

static const char *const load_modes_elsewhere[] = {
	"merge",	 "upsert",	  "incremental", "upsert",
	"insert",	 "append",	  "history",	 "append",
	"delete+insert", "delete_insert", "full",	 "replace",
	"full_refresh",	 "replace",	  "overwrite",	 "replace",
	"truncate",	 "replace",	  NULL,
};

const struct option load_options[] = {
	{ .name = "mode",
	  .type = OPTION_CHOICE,
	  OPTION_FIELD(struct pipeline_input, p.mode),
	  .default_text = "upsert",
	  .choices = load_modes,
	  .also = load_modes_elsewhere,
	  .doc = "`append` keeps every version in TABLE_raw, with a view "
		 "TABLE of the newest; without a key TABLE shows every row. "
		 "`replace` loads everything and swaps it in, without a key "
		 "and a watermark too. `update` changes the named columns of "
		 "rows that are there, and of no others." },
	{ .name = "loaded_at",
	  .type = OPTION_TEXT,
	  OPTION_FIELD(struct pipeline_input, p.loaded_at),
	  .default_text = "",
	  .expects = "the name of a column",
	  .doc = "Column of the target, not of the source, with the time (UTC) "
		 "at which a row was loaded. It is written when a row is "
		 "inserted or updated. An unchanged row keeps it, and `verify` "
		 "does not compare it. An existing table gets the column, with "
		 "NULL in its old rows." },
	{ .name = "streams",
	  .type = OPTION_TEXT,
	  .flags = OPTION_OR_COUNT,
	  .default_text = "auto",
	  .expects = "auto, or a count of 1 to 32",
	  .doc = "How many sessions load a table for the first time, side by "
		 "side. `auto`: 2 to 4, from a million rows on, where the "
		 "machine has four cores. Each has two batches in memory.",
	  .parse = settings_parse_streams },
	{ .name = "before",
	  .type = OPTION_LIST,
	  .flags = OPTION_OR_TEXT,
	  OPTION_FIELD(struct pipeline_input, p.hooks.before),
	  .default_text = "[]",
	  .expects = "an SQL statement, or a list of them",
	  .doc = "Run at the destination once in a run, before its first row "
		 "is loaded. A run that has nothing to load does not run it. "
		 "If a statement fails, the run fails, and loads nothing." },
	{ .name = "after",
	  .type = OPTION_LIST,
	  .flags = OPTION_OR_TEXT,
	  OPTION_FIELD(struct pipeline_input, p.hooks.after),
	  .default_text = "[]",
	  .expects = "an SQL statement, or a list of them",
	  .doc = "Run at the destination behind the last row of a run that "
		 "has loaded any. It is run at least once: if it fails, or the "
		 "run is killed before it, the next run runs it. So it has to "
		 "bear being run twice." },
	{ .name = "hook_timeout",
	  .type = OPTION_DURATION,
	  OPTION_FIELD(struct pipeline_input, p.hooks.timeout_us),
	  .default_text = "1h",
	  .min = US_PER_SECOND,
	  .max = US_PER_DAY,
	  .doc = "How long the server may say nothing while a statement of "
		 "`before` or `after` runs." },
	{ .name = "keep_raw",
	  .type = OPTION_DURATION,
	  .flags = OPTION_UNSUPPORTED,
	  .doc = "How long superseded rows of TABLE_raw are kept." },
	{ .name = NULL },
};
