/*
 * A pipeline without a config file, made of SOURCE_URL, DESTINATION_URL and
 * flags. The tables give its name, so that a second call finds its mark,
 * however it spells them. Shared by `copy` and the commands about a copy.
 */
#ifndef TIDEMARK_CLI_COPIED_H
#define TIDEMARK_CLI_COPIED_H

#include "cli/config.h"

/* Rows of a command's table of flags. */
#define COPIED_FLAGS COPIED_FLAGS_TO("to")
/* The same for a command whose --to is something else. */
#define COPIED_INTO_FLAGS COPIED_FLAGS_TO("into")
#define COPIED_FLAGS_TO(to_flag)                                               \
	{ "table", 0, FLAG_TEXT, "TABLE", "the table to read: schema.table" }, \
		{ to_flag, 0, FLAG_TEXT, "TABLE",                              \
		  "its name at the destination (default: the same, without "   \
		  "the schema where the URL names the database)" },            \
		{ "watermark", 0, FLAG_TEXT, "STRATEGY[:COLUMN]",              \
		  "timestamp:COLUMN, sequence:COLUMN or xmin (default: "       \
		  "suggested)" },                                              \
		{ "mode", 0, FLAG_TEXT, "MODE",                                \
		  "upsert, append, delete_insert or replace" },                \
		{ "key", 0, FLAG_TEXT, "COLUMN,...",                           \
		  "the key (default: the primary key)" },                      \
		{ "lag", 0, FLAG_TEXT, "LAG",                                  \
		  "look back this far behind the mark" },                      \
		{ "zero-dates", 0, FLAG_TEXT, "error|null",                    \
		  "MySQL's dates such as 0000-00-00: refuse them, or read "    \
		  "NULL" },                                                    \
		{ "state", 0, FLAG_TEXT, "URL", "the state store" },           \
	{                                                                      \
		"name", 0, FLAG_TEXT, "NAME",                                  \
			"the pipeline's name (default: made from its tables)"  \
	}

/* A scheme and a colon: no pipeline's name, mark or KEY=VALUE begins so. */
bool copied_is_url(const char *word);
/* The settings that a command works on. They come from the config file. Where
 * the operands have SOURCE_URL and DESTINATION_URL, they are those of the one
 * pipeline that the URLs and the flags make. `out` are the arguments with that
 * pipeline's name in the place of both URLs, and in out->copied. The caller
 * releases both by copied_release(), only if 0 is returned.
 *
 * The tables name the pipeline, so both ends are opened. `runs`: if that fails,
 * go on all the same. The run that follows gives the same error, in the place
 * where people look for it. */
int copied_load(const struct arguments *args, bool runs, struct arguments *out,
		struct settings *s, struct error *err);
void copied_release(struct arguments *args, struct settings *s);
/* As config_use(), with either. */
int copied_use(const struct arguments *args, config_user use,
	       struct error *err);
/* `copy` itself. */
int copied_run(const struct arguments *args, config_user use,
	       struct error *err);

#endif
