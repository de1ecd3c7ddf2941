/*
 * The table of commands: each cmd_<command>.c ends with its entry. Parsing,
 * help and typo hints read it.
 */
#ifndef TIDEMARK_CLI_COMMANDS_H
#define TIDEMARK_CLI_COMMANDS_H

#include "cli/args.h"

extern const struct command command_backfill;
extern const struct command command_check;
extern const struct command command_completion;
extern const struct command command_copy;
extern const struct command command_dead_letters;
extern const struct command command_grants;
extern const struct command command_help;
extern const struct command command_init;
extern const struct command command_migrate;
extern const struct command command_pace;
extern const struct command command_pause;
extern const struct command command_plugins;
extern const struct command command_resume;
extern const struct command command_run;
extern const struct command command_runs;
extern const struct command command_schema;
extern const struct command command_serve;
extern const struct command command_status;
extern const struct command command_verify;
extern const struct command command_version;
extern const struct command command_watermark;
extern const struct command command_worker;

extern const struct syntax cli_syntax;

#endif
