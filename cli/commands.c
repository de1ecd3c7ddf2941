#include "cli/commands.h"

static const struct command *const commands[] = {
	&command_run,
	&command_check,
	&command_verify,
	&command_status,
	&command_runs,
	&command_dead_letters,
	&command_backfill,
	&command_worker,
	&command_serve,
	&command_copy,
	&command_init,
	&command_watermark,
	&command_pace,
	&command_pause,
	&command_resume,
	&command_migrate,
	&command_grants,
	&command_schema,
	&command_plugins,
	&command_completion,
	&command_version,
	&command_help,
	NULL,
};

static const struct flag global_flags[] = {
	{ "config", 'c', FLAG_TEXT, "FILE",
	  "the config file (default: tidemark.yaml, then $TIDEMARK_CONFIG)" },
	{ "log-format", 0, FLAG_TEXT, "FORMAT",
	  "format of the lines on stderr: text, json or logfmt" },
	{ "verbose", 'v', FLAG_SWITCH, NULL, "log more" },
	{ "quiet", 'q', FLAG_SWITCH, NULL, "log errors only, no progress" },
	{ "json", 0, FLAG_SWITCH, NULL, "print the result as JSON" },
	{ "help", 'h', FLAG_SWITCH, NULL, "how the command is used" },
	{ "version", 0, FLAG_SWITCH, NULL, "print the version" },
	{ NULL, 0, FLAG_SWITCH, NULL, NULL },
};

const struct syntax cli_syntax = {
	.commands = commands,
	.flags = global_flags,
};
