#include "core/base/clock.h"
#include "core/settings/input.h"

const struct option gate_options[] = {
	{ .name = "not_null",
	  .type = OPTION_LIST,
	  OPTION_FIELD(struct pipeline_input, p.gate.not_null),
	  .default_text = "[]",
	  .doc = "Columns that may not be NULL." },
	{ .name = "min",
	  .type = OPTION_MAP,
	  .flags = OPTION_OR_NUMBER,
	  .element = OPTION_TEXT,
	  .default_text = "{}",
	  .expects = "a map of columns to bounds",
	  .doc = "Smallest value allowed in a column: a number, date or time"
		 " of the column's type. A time is in UTC if the type has no"
		 " zone. Texts compare by their bytes. NULL is let through, "
		 "NaN never.",
	  .parse = settings_parse_limits },
	{ .name = "max",
	  .type = OPTION_MAP,
	  .flags = OPTION_OR_NUMBER,
	  .element = OPTION_TEXT,
	  .default_text = "{}",
	  .expects = "a map of columns to bounds",
	  .doc = "Largest value allowed in a column.",
	  .parse = settings_parse_limits },
	{ .name = "match",
	  .type = OPTION_MAP,
	  .element = OPTION_TEXT,
	  .default_text = "{}",
	  .expects = "a map of columns to regular expressions",
	  .doc = "Pattern (Perl's notation) that a column's text has to match, "
		 "anywhere unless it says `^` and `$`. NULL is let through.",
	  .parse = settings_parse_limits },
	{ .name = "unique",
	  .type = OPTION_LIST,
	  OPTION_FIELD(struct pipeline_input, p.gate.unique),
	  .default_text = "[]",
	  .doc = "Columns, each for itself, whose value no two rows of a run"
		 " may share. A row is compared with at least the 131072 "
		 "before it, not with rows of earlier runs. A UNIQUE "
		 "constraint of the target holds for all." },
	{ .name = "min_rows",
	  .type = OPTION_COUNT,
	  OPTION_FIELD(struct pipeline_input, p.gate.min_rows),
	  .default_text = "0",
	  .doc = "Fewest rows that a run may bring. The window is counted "
		 "before anything is loaded. Rows of the window that a "
		 "stopped or killed run has loaded already do not count. A "
		 "`replace` or full refresh is not swapped in." },
	{ .name = "max_rows",
	  .type = OPTION_COUNT,
	  OPTION_FIELD(struct pipeline_input, p.gate.max_rows),
	  .default_text = "0",
	  .doc = "Most rows that a run may bring; 0 is off." },
	{ .name = NULL },
};

static const struct option dead_letter_options[] = {
	{ .name = "limit",
	  .type = OPTION_TEXT,
	  .flags = OPTION_OR_COUNT,
	  .default_text = SETTINGS_BAD_ROWS,
	  .expects = "a count or a share such as 0.1%",
	  .doc = "Bad rows that a run may have, or their share of the rows "
		 "it has read so far. With more the run ends with exit 5, "
		 "and the mark stays before the batch.",
	  .parse = settings_parse_bad_rows },
	{ .name = NULL },
};

const struct option on_bad_row_options[] = {
	{ .name = "dead_letter",
	  .type = OPTION_TABLE,
	  .flags = OPTION_REQUIRED,
	  .table = dead_letter_options,
	  .doc = "Keep bad rows aside in the state store, load the others and "
		 "go on." },
	{ .name = NULL },
};

const struct option_choice on_bad_row_choices[] = {
	{ "halt", 0, false },
	{ "dead_letter", 1, false },
	{ NULL, 0, false },
};

static const struct option probe_options[] = {
	{ .name = "connection",
	  .type = OPTION_TEXT,
	  .flags = OPTION_REQUIRED,
	  OPTION_FIELD(struct pipeline_input, probe_name),
	  .expects = "the name of a connection",
	  .doc = "The server to ask: one of `connections`." },
	{ .name = "query",
	  .type = OPTION_TEXT,
	  .flags = OPTION_REQUIRED,
	  OPTION_FIELD(struct pipeline_input, p.pace.probe_query),
	  .example = "\"select count(*) from public.jobs\"",
	  .expects = "SQL that returns one number",
	  .doc = "One row of one number, within 3 s. Qualify names." },
	{ .name = "below",
	  .type = OPTION_COUNT,
	  .flags = OPTION_REQUIRED,
	  OPTION_FIELD(struct pipeline_input, p.pace.probe_below),
	  .min = 1,
	  .example = "1000",
	  .doc = "Go on while the number is below this." },
	{ .name = NULL },
};

const struct option pace_options[] = {
	{ .name = "rows_per_second",
	  .type = OPTION_COUNT,
	  OPTION_FIELD(struct pipeline_input, p.pace.limits.rows_per_second),
	  .default_text = "0",
	  .doc = "Read no faster; 0 is off. Batches are a fifth of this at "
		 "most, and after a larger one the next waits the longer." },
	{ .name = "bytes_per_second",
	  .type = OPTION_SIZE,
	  OPTION_FIELD(struct pipeline_input, p.pace.limits.bytes_per_second),
	  .default_text = "0",
	  .doc = "The same for the memory that rows take; 0 is off." },
	{ .name = "replica_lag",
	  .type = OPTION_DURATION,
	  OPTION_FIELD(struct pipeline_input, p.pace.limits.replica_lag_us),
	  .default_text = "0s",
	  .doc = "Wait while a replica is further behind, or does not say; "
		 "0s is off." },
	{ .name = "max_active",
	  .type = OPTION_COUNT,
	  OPTION_FIELD(struct pipeline_input, p.pace.limits.max_active),
	  .default_text = "0",
	  .doc = "Wait while more sessions run something at the source, "
		 "Tidemark's own aside, or it does not say; 0 is off." },
	{ .name = "pause_file",
	  .type = OPTION_TEXT,
	  OPTION_FIELD(struct pipeline_input, p.pace.limits.pause_file),
	  .default_text = "",
	  .expects = "a file path",
	  .doc = "Wait while this file exists." },
	{ .name = "replicas",
	  .type = OPTION_LIST,
	  OPTION_FIELD(struct pipeline_input, replicas),
	  .default_text = "[]",
	  .doc = "Connections to ask for their lag; else the source is asked "
		 "about its own. PostgreSQL knows of them what they told last "
		 "(`wal_receiver_status_interval`, 10 s); MySQL and MariaDB "
		 "know nothing: name them." },
	{ .name = "probe",
	  .type = OPTION_TABLE,
	  .table = probe_options,
	  .doc = "A question of your own, asked once a second; one that "
		 "fails holds the run." },
	{ .name = NULL },
};

static const struct option breaker_options[] = {
	{ .name = "failures",
	  .type = OPTION_COUNT,
	  OPTION_FIELD(struct pipeline_input, p.breaker.failures),
	  .default_text = "5",
	  .max = 1000,
	  .doc = "Runs that failed in a row (exit 1 or 3) and open it; 0 is "
		 "off." },
	{ .name = "cool_down",
	  .type = OPTION_DURATION,
	  OPTION_FIELD(struct pipeline_input, p.breaker.cool_down_us),
	  .default_text = "30s",
	  .max = US_PER_DAY,
	  .doc = "How long it stays open: runs end at once with exit 3. The "
		 "first one after that makes one try; it closes, or opens "
		 "again." },
	{ .name = NULL },
};

const struct option alert_options[] = {
	{ .name = "late",
	  .type = OPTION_TEXT,
	  .flags = OPTION_OR_COUNT,
	  .default_text = SETTINGS_LATE,
	  .expects = "a duration such as 1h, or a count of schedules",
	  .doc = "The pipeline is late if it has not caught up for so long, "
		 "`1h`, or for so many of its schedules, `3`; 0 is never. "
		 "Without a schedule a count says nothing.",
	  .parse = settings_parse_late },
	{ .name = NULL },
};

const struct option retry_options[] = {
	{ .name = "attempts",
	  .type = OPTION_COUNT,
	  OPTION_FIELD(struct pipeline_input, p.retry.attempts),
	  .default_text = "5",
	  .min = 1,
	  .max = 1000,
	  .doc = "Tries in a row of what is worth another try, until a batch "
		 "is loaded; 2 if what went wrong is in no table. A batch "
		 "that lost a deadlock is loaded again by itself." },
	{ .name = "backoff",
	  .type = OPTION_DURATION,
	  OPTION_FIELD(struct pipeline_input, p.retry.backoff_us),
	  .default_text = "1s",
	  .max = US_PER_DAY,
	  .doc = "Longest wait before the second try; doubles, with jitter." },
	{ .name = "max_backoff",
	  .type = OPTION_DURATION,
	  OPTION_FIELD(struct pipeline_input, p.retry.max_backoff_us),
	  .default_text = "60s",
	  .max = US_PER_DAY,
	  .doc = "Longest wait of all." },
	{ .name = "breaker",
	  .type = OPTION_TABLE,
	  .table = breaker_options,
	  .doc = "Rest after failures in a row." },
	{ .name = NULL },
};
