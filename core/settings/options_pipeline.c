#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/settings/input.h"

#define BATCH_ROWS_MAX 10000000

static int settings_parse_expressions(struct option_context *ctx,
				      const struct option *option,
				      const struct config_node *node,
				      void *base)
{
	struct pipeline_settings *p = &((struct pipeline_input *)base)->p;

	(void)option;
	for (size_t i = 0; i < node->n; i++) {
		const struct config_entry *entry = &node->entries[i];
		struct source_expression *e;

		if (!*entry->key || !*entry->node->text)
			return option_fail(ctx, entry->at,
					   "an expression has a column name "
					   "and SQL, as {total: "
					   "\"price * amount\"}");
		p->expressions =
			xreallocarray(p->expressions, p->n_expressions + 1,
				      sizeof(*p->expressions));
		e = &p->expressions[p->n_expressions++];
		e->name = xstrdup(entry->key);
		e->sql = xstrdup(entry->node->text);
	}
	return 0;
}

static const struct option_choice zero_dates_choices[] = {
	{ "error", ZERO_DATES_ERROR, false },
	{ "null", ZERO_DATES_NULL, false },
	{ NULL, 0, false },
};

static const struct option_choice casing_choices[] = {
	{ "as_is", CASING_AS_IS, false },
	{ "snake", CASING_SNAKE, false },
	{ NULL, 0, false },
};

/* options_wildcard.c takes all rows but the first three. */
const struct option source_options[] = {
	{ .name = "connection",
	  .type = OPTION_TEXT,
	  .flags = OPTION_REQUIRED,
	  OPTION_FIELD(struct pipeline_input, source_name),
	  .expects = "the name of a connection",
	  .doc = "One of `connections`." },
	{ .name = "table",
	  .type = OPTION_TEXT,
	  .flags = OPTION_REQUIRED,
	  OPTION_FIELD(struct pipeline_input, p.source_table),
	  .unless = "query",
	  .expects = "a table as schema.table",
	  .doc = "Taken literally; a name with a dot, a quote or a space is "
		 "quoted as in SQL: `'sales.\"Order.Lines\"'`." },
	{ .name = "query",
	  .type = OPTION_TEXT,
	  OPTION_FIELD(struct pipeline_input, p.query),
	  .expects = "a SELECT",
	  .doc = "One SELECT in place of a table. `key` and `watermark.column` "
		 "name columns of its result. The guarantee is at most `lag`, "
		 "but in mode `replace`. Qualify the names of tables." },
	{ .name = "columns",
	  .type = OPTION_LIST,
	  OPTION_FIELD(struct pipeline_input, p.columns),
	  .default_text = "[]",
	  .doc = "The columns to read; none named is all of them." },
	{ .name = "expressions",
	  .type = OPTION_MAP,
	  .default_text = "{}",
	  .expects = "a map of column names to SQL",
	  .doc = "Columns computed by the source, added or in place of one: "
		 "`{total_cents: \"round(amount*100)::bigint\"}`. Runs with an "
		 "empty search path: qualify names.",
	  .parse = settings_parse_expressions },
	{ .name = "exclude",
	  .type = OPTION_LIST,
	  OPTION_FIELD(struct pipeline_input, p.exclude),
	  .default_text = "[]",
	  .doc = "Columns that are not read: all others are. A mark may be "
		 "among them, a key may not." },
	{ .name = "rename",
	  .type = OPTION_MAP,
	  .default_text = "{}",
	  .expects = "a map of the source's names to the target's",
	  .doc = "The names that columns get at the destination: "
		 "`{userId: customer_id}`. All other keys go by the source's "
		 "names.",
	  .parse = settings_parse_renames },
	{ .name = "casing",
	  .type = OPTION_CHOICE,
	  OPTION_FIELD(struct pipeline_input, p.casing),
	  .default_text = "as_is",
	  .choices = casing_choices,
	  .doc = "Names of columns at the destination that `rename` does not "
		 "give: as they are, or `snake`: `userID` becomes `user_id`." },
	{ .name = "where",
	  .type = OPTION_TEXT,
	  OPTION_FIELD(struct pipeline_input, p.where),
	  .expects = "an SQL condition",
	  .doc = "Only rows for which this holds. Qualify names here too." },
	{ .name = "zero_dates",
	  .type = OPTION_CHOICE,
	  OPTION_FIELD(struct pipeline_input, p.zero_dates),
	  .default_text = "error",
	  .choices = zero_dates_choices,
	  .doc = "Dates of MySQL and MariaDB with a month or day of 0, such "
		 "as 0000-00-00, or that no calendar has, such as "
		 "2021-02-31. `error` refuses them, naming row and column; "
		 "`null` reads them as NULL." },
	{ .name = "pre_check",
	  .type = OPTION_TEXT,
	  OPTION_FIELD(struct pipeline_input, p.pre_check),
	  .expects = "an SQL query of one value",
	  .doc = "A query that the source answers before each run. The run "
		 "reads if the value is true or a number other than 0. Else "
		 "(0, false, NULL, no row) it ends with exit 0 and the outcome "
		 "`waiting`, and the next run asks again. Qualify names." },
	{ .name = NULL },
};

static const struct option destination_options[] = {
	{ .name = "connection",
	  .type = OPTION_TEXT,
	  .flags = OPTION_REQUIRED,
	  OPTION_FIELD(struct pipeline_input, destination_name),
	  .expects = "the name of a connection",
	  .doc = "One of `connections`." },
	{ .name = "table",
	  .type = OPTION_TEXT,
	  .flags = OPTION_REQUIRED,
	  OPTION_FIELD(struct pipeline_input, p.destination_table),
	  .expects = "a table as schema.table",
	  .doc = "Created when it is missing." },
	{ .name = NULL },
};

static const struct option_choice strategies[] = {
	{ "timestamp", STRATEGY_TIMESTAMP, false },
	{ "xmin", STRATEGY_XMIN, false },
	{ "sequence", STRATEGY_SEQUENCE, false },
	{ "none", STRATEGY_NONE, false },
	{ NULL, 0, false },
};

static const struct option_choice settle_choices[] = {
	{ "auto", true, false },
	{ "off", false, false },
	{ NULL, 0, false },
};

static const struct option_choice tail_choices[] = {
	{ "deliver", TAIL_DELIVER, false },
	{ "hold", TAIL_HOLD, false },
	{ NULL, 0, false },
};

static const struct option_choice nulls_choices[] = {
	{ "error", NULLS_ERROR, false },
	{ "include", NULLS_INCLUDE, false },
	{ "skip", NULLS_SKIP, false },
	{ NULL, 0, false },
};

const struct option watermark_options[] = {
	{ .name = "strategy",
	  .type = OPTION_CHOICE,
	  .flags = OPTION_REQUIRED,
	  OPTION_FIELD(struct pipeline_input, p.strategy),
	  .example = "timestamp, xmin or sequence",
	  .choices = strategies,
	  .doc = "How changed rows are found: a time of change, PostgreSQL's "
		 "own row version, or a number that only grows. `none` reads "
		 "every row, and needs mode replace." },
	{ .name = "column",
	  .type = OPTION_TEXT,
	  OPTION_FIELD(struct pipeline_input, p.mark_column),
	  .expects = "the name of a column",
	  .doc = "The column of the mark; needed for `timestamp` and "
		 "`sequence`, none for `xmin`." },
	{ .name = "lag",
	  .type = OPTION_TEXT,
	  .flags = OPTION_OR_COUNT,
	  OPTION_FIELD(struct pipeline_input, lag),
	  .default_text = "0s",
	  .expects = "a duration (timestamp) or a count (sequence)",
	  .doc = "Look back this far behind the mark on every run, for clocks "
		 "of applications (`1m`) or ids reserved in blocks (`1000`)." },
	{ .name = "time_zone",
	  .type = OPTION_TEXT,
	  OPTION_FIELD(struct pipeline_input, p.time_zone),
	  .default_text = "auto",
	  .expects = "auto, UTC, an offset such as +05:30 or a zone such as "
		     "Europe/Rome",
	  .doc = "The zone whose wall clock a mark column without a zone "
		 "holds." },
	{ .name = "settle",
	  .type = OPTION_CHOICE,
	  OPTION_FIELD(struct pipeline_input, p.settle),
	  .default_text = "auto",
	  .choices = settle_choices,
	  .doc = "`auto`: advance the mark only past transactions that are "
		 "over." },
	{ .name = "tail",
	  .type = OPTION_CHOICE,
	  OPTION_FIELD(struct pipeline_input, p.tail),
	  .default_text = "deliver",
	  .choices = tail_choices,
	  .doc = "Rows past the settled mark: load them now and again later, "
		 "or wait. Under `load: {mode: append}` the default is "
		 "`hold`." },
	{ .name = "nulls",
	  .type = OPTION_CHOICE,
	  OPTION_FIELD(struct pipeline_input, p.nulls),
	  .default_text = "error",
	  .choices = nulls_choices,
	  .doc = "Rows whose mark is NULL: refuse, re-read them on every run, "
		 "or leave them out." },
	{ .name = NULL },
};

static const struct option_choice on_new_column[] = {
	{ "add", DRIFT_ADD, false },
	{ "stop", DRIFT_STOP, false },
	{ NULL, 0, false },
};

static const struct option_choice on_type_change[] = {
	{ "widen", DRIFT_WIDEN, false },
	{ "stop", DRIFT_STOP, false },
	{ NULL, 0, false },
};

static const struct option_choice on_dropped_column[] = {
	{ "keep", DRIFT_KEEP, false },
	{ "stop", DRIFT_STOP, false },
	{ NULL, 0, false },
};

static const struct option schema_options[] = {
	{ .name = "on_new_column",
	  .type = OPTION_CHOICE,
	  OPTION_FIELD(struct pipeline_input, p.drift.on_new_column),
	  .default_text = "add",
	  .choices = on_new_column,
	  .doc = "A column that the destination does not have, or that comes "
		 "again." },
	{ .name = "on_type_change",
	  .type = OPTION_CHOICE,
	  OPTION_FIELD(struct pipeline_input, p.drift.on_type_change),
	  .default_text = "widen",
	  .choices = on_type_change,
	  .doc = "A column whose type the destination's cannot hold." },
	{ .name = "on_dropped_column",
	  .type = OPTION_CHOICE,
	  OPTION_FIELD(struct pipeline_input, p.drift.on_dropped_column),
	  .default_text = "keep",
	  .choices = on_dropped_column,
	  .doc = "A column that the source no longer has." },
	{ .name = NULL },
};

static const struct option batch_options[] = {
	{ .name = "rows",
	  .type = OPTION_COUNT,
	  OPTION_FIELD(struct pipeline_input, p.batch_rows),
	  .default_text = "20000",
	  .min = 1,
	  .max = BATCH_ROWS_MAX,
	  .doc = "Rows of the first batch; later ones adapt, between the "
		 "smaller of 200 and this, and 8 times this. Into DuckDB the "
		 "first is a row group, 122880, into ClickHouse nine of its "
		 "granules, 73728, if that is within 8 times this." },
	{ .name = "bytes",
	  .type = OPTION_SIZE,
	  OPTION_FIELD(struct pipeline_input, p.batch_bytes),
	  .default_text = "32MiB",
	  .min = 64 * 1024,
	  .max = INT64_C(1) << 30,
	  .doc = "No batch takes more memory than this and one row." },
	{ .name = "target",
	  .type = OPTION_DURATION,
	  OPTION_FIELD(struct pipeline_input, p.batch_target_us),
	  .default_text = "1s",
	  .min = 1000,
	  .max = INT64_C(3600) * US_PER_SECOND,
	  .doc = "How long a batch should take to load; where fewer rows take "
		 "as long, they stay as many." },
	{ .name = NULL },
};

static const struct option_choice verify_choices[] = {
	{ "off", false, false },
	{ "window", true, false },
	{ NULL, 0, false },
};

/* options_wildcard.c takes all rows but the first three. */
static const struct option schedule_options[] = {
	{ .name = "every",
	  .type = OPTION_TEXT,
	  OPTION_FIELD(struct pipeline_input, every),
	  .expects = "a duration such as 5m, or manual",
	  .doc = "The time from one run to the next. Pipelines of one interval "
		 "have their turns all over it, not at one moment." },
	{ .name = "cron",
	  .type = OPTION_TEXT,
	  OPTION_FIELD(struct pipeline_input, cron),
	  .expects = "a cron expression such as 0 3 * * *",
	  .doc = "Minute, hour, day of month, month and day of week, or a word "
		 "as `@daily`. A time that does not exist because the clocks "
		 "are put forward is taken at that moment, one that comes "
		 "twice is taken once." },
	{ .name = "time_zone",
	  .type = OPTION_TEXT,
	  OPTION_FIELD(struct pipeline_input, cron_zone),
	  .default_text = "UTC",
	  .expects = "a time zone such as Europe/Rome",
	  .doc = "By whose clocks `cron` is meant." },
	{ .name = "jitter",
	  .type = OPTION_DURATION,
	  OPTION_FIELD(struct pipeline_input, jitter_us),
	  .default_text = "0s",
	  .max = US_PER_DAY,
	  .doc = "Each run is put off by up to so much, by another time for "
		 "each pipeline and turn." },
	{ .name = NULL },
};

const struct option pipeline_options[] = {
	{ .name = "source",
	  .type = OPTION_TABLE,
	  .flags = OPTION_REQUIRED,
	  .example = "{ connection: NAME, table: SCHEMA.TABLE }",
	  .table = source_options,
	  .doc = "Where the rows come from." },
	{ .name = "destination",
	  .type = OPTION_TABLE,
	  .flags = OPTION_REQUIRED,
	  .example = "{ connection: NAME, table: SCHEMA.TABLE }",
	  .table = destination_options,
	  .doc = "Where they go." },
	{ .name = "watermark",
	  .type = OPTION_TABLE,
	  .example = "{ strategy: timestamp, column: updated_at }, "
		     "{ strategy: xmin } or "
		     "{ strategy: sequence, column: id }",
	  .table = watermark_options,
	  .doc = "How far the pipeline has got. Under `load: {mode: replace}` "
		 "it may be left out; every other mode needs it." },
	{ .name = "key",
	  .type = OPTION_LIST,
	  OPTION_FIELD(struct pipeline_input, p.key),
	  .default_text = "[]",
	  .doc = "Columns that name a row; none is the source's primary "
		 "key, or else columns that are UNIQUE and NOT NULL." },
	{ .name = "load",
	  .type = OPTION_TABLE,
	  .table = load_options,
	  .doc = "How rows are written." },
	{ .name = "schema",
	  .type = OPTION_TABLE,
	  .table = schema_options,
	  .doc = "Reactions to changes of the source's columns." },
	{ .name = "batch",
	  .type = OPTION_TABLE,
	  .table = batch_options,
	  .doc = "How much is read, loaded and marked at a time." },
	{ .name = "gate",
	  .type = OPTION_TABLE,
	  .table = gate_options,
	  .doc = "Conditions that rows have to meet before they are loaded. "
		 "A batch that breaks one is not loaded, the mark stays "
		 "before it, and the run ends with exit 5." },
	{ .name = "on_bad_row",
	  .type = OPTION_CHOICE,
	  OPTION_FIELD(struct pipeline_input, p.bad_rows.keep),
	  .default_text = "halt",
	  .choices = on_bad_row_choices,
	  .table = on_bad_row_options,
	  .expects = "halt, dead_letter or {dead_letter: {limit: 100}}",
	  .doc = "The handling of a row that the destination refuses. A row "
		 "that the gate refuses, or that the source cannot deliver, "
		 "ends the run in any case." },
	{ .name = "verify",
	  .type = OPTION_CHOICE,
	  OPTION_FIELD(struct pipeline_input, p.verify),
	  .default_text = "off",
	  .choices = verify_choices,
	  .doc = "`window`: every run reads the window that it has loaded "
		 "once more, and compares it with the destination. It ends "
		 "with exit 7 if they differ, as `run --verify` does. Runs "
		 "of a `worker` and of `run --watch` do so, too." },
	{ .name = "pace",
	  .type = OPTION_TABLE,
	  .table = pace_options,
	  .doc = "How gently to read. A run that is held keeps its lease and "
		 "has no transaction open; the log, the progress and `status` "
		 "say what holds it. `dead-letters replay` is not paced." },
	{ .name = "retry",
	  .type = OPTION_TABLE,
	  .table = retry_options,
	  .doc = "New tries after errors that may pass." },
	{ .name = "alert",
	  .type = OPTION_TABLE,
	  .table = alert_options,
	  .doc = "When somebody should look; see `status`." },
	{ .name = "logic_version",
	  .type = OPTION_COUNT,
	  OPTION_FIELD(struct pipeline_input, p.logic_version),
	  .default_text = "1",
	  .min = 1,
	  .doc = "Part of the run's identity: raise it when the meaning of the "
		 "rows changes." },
	{ .name = "schedule",
	  .type = OPTION_TABLE,
	  .default_text = "every 5m",
	  .expects = "every 5m, manual, or a map with every or cron",
	  .table = schedule_options,
	  .shorthand = "every",
	  .doc = "When `serve` runs the pipeline: `every 5m`, `manual`, or a "
		 "map. A run that is late is made up for once, however many "
		 "were missed." },
	{ .name = "soft_delete",
	  .type = OPTION_TEXT,
	  OPTION_FIELD(struct pipeline_input, p.soft_delete),
	  .default_text = "",
	  .expects = "the name of a column",
	  .doc = "Column of the target that `verify --deletes apply` writes "
		 "instead of deleting a row: the time, or true if it is a "
		 "boolean. A row that comes back loses its mark." },
	{ .name = "tenant",
	  .type = OPTION_TEXT,
	  OPTION_FIELD(struct pipeline_input, p.tenant),
	  .default_text = "",
	  .doc = "Part of the run's identity." },
	{ .name = NULL },
};
