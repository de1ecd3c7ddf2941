#include "core/settings/input.h"

static int wildcard_note(struct option_context *ctx,
			 const struct option *option,
			 const struct config_node *node, void *base)
{
	(void)ctx;
	(void)option;
	(void)node;
	(void)base;
	return 0;
}

static const struct option wildcard_source_options[] = {
	{ .name = "connection",
	  .type = OPTION_TEXT,
	  .flags = OPTION_REQUIRED,
	  OPTION_FIELD(struct wildcard_input, in.source_name),
	  .expects = "the name of a connection",
	  .doc = "One of `connections`." },
	{ .name = NULL, .table = source_options + 3 },
};

static const struct option wildcard_destination_options[] = {
	{ .name = "connection",
	  .type = OPTION_TEXT,
	  .flags = OPTION_REQUIRED,
	  OPTION_FIELD(struct wildcard_input, in.destination_name),
	  .expects = "the name of a connection",
	  .doc = "One of `connections`." },
	{ .name = "schema",
	  .type = OPTION_TEXT,
	  OPTION_FIELD(struct wildcard_input, schema),
	  .expects = "the name of a schema",
	  .doc = "Each table is loaded into the one of its own name here. "
		 "None: a name without a schema." },
	{ .name = NULL },
};

static const struct option_choice missing_choices[] = {
	{ "error", false, false },
	{ "skip", true, false },
	{ NULL, 0, false },
};

const struct option wildcard_options[] = {
	{ .name = "tables",
	  .type = OPTION_LIST,
	  .flags = OPTION_REQUIRED | OPTION_OR_TEXT,
	  OPTION_FIELD(struct wildcard_input, tables),
	  .example = "\"public.*\"",
	  .expects = "a pattern such as \"public.*\", or a list of them",
	  .doc = "`*` is any text, `?` one character; in a name that is "
		 "quoted as in SQL they are themselves. A name without a "
		 "schema is one in any schema. New tables are found by each "
		 "run." },
	{ .name = "exclude",
	  .type = OPTION_LIST,
	  .flags = OPTION_OR_TEXT,
	  OPTION_FIELD(struct wildcard_input, exclude),
	  .default_text = "[]",
	  .expects = "a pattern such as \"public.tmp_*\", or a list of them",
	  .doc = "Tables to leave out." },
	{ .name = "on_missing",
	  .type = OPTION_CHOICE,
	  OPTION_FIELD(struct wildcard_input, skip_missing),
	  .default_text = "error",
	  .choices = missing_choices,
	  .doc = "A table that was there, and is gone: its pipeline fails "
		 "with exit 4, or it is left out with a note in the log." },
	{ .name = "overrides",
	  .type = OPTION_MAP,
	  .flags = OPTION_PARTIAL,
	  .default_text = "{}",
	  .expects = "a map of tables to keys of a pipeline",
	  .table = pipeline_options,
	  .doc = "Any keys of a pipeline that are different for a table, or "
		 "for all of a pattern.",
	  .parse = wildcard_note },
	{ .name = "source",
	  .type = OPTION_TABLE,
	  .flags = OPTION_REQUIRED,
	  .example = "{ connection: NAME }",
	  .table = wildcard_source_options,
	  .doc = "The tables' place." },
	{ .name = "destination",
	  .type = OPTION_TABLE,
	  .flags = OPTION_REQUIRED,
	  .example = "{ connection: NAME, schema: SCHEMA }",
	  .table = wildcard_destination_options,
	  .doc = "The place that they are loaded into." },
	{ .name = "watermark",
	  .type = OPTION_TABLE,
	  .flags = OPTION_PARTIAL,
	  .table = watermark_options,
	  .doc = "Without a strategy each table gets the one that `init` "
		 "would choose, and its key; that is kept in the state "
		 "store." },
	{ .name = NULL, .table = pipeline_options + 3 },
};
