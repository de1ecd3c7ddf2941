/*
 * A pipeline without a config file: SOURCE_URL, DESTINATION_URL and flags make
 * it, and its name, so that a second call finds its mark. What `copy` and
 * `verify` share.
 */
#ifndef TIDEMARK_CLI_COPIED_H
#define TIDEMARK_CLI_COPIED_H

#include "cli/config.h"

/* Rows of a command's table of flags. */
#define COPIED_FLAGS                                                           \
	{ "table", 0, FLAG_TEXT, "TABLE", "the table to read: schema.table" }, \
		{ "to", 0, FLAG_TEXT, "TABLE",                                 \
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
	{                                                                      \
		"state", 0, FLAG_TEXT, "URL", "the state store"                \
	}

/* Is the first operand a URL? No pipeline has a colon in its name. CONFIG if
 * none is, but one of the flags above is there. */
int copied_is_meant(const struct arguments *args, bool *out, struct error *err);
/* As config_use(), with that one pipeline. */
int copied_use(const struct arguments *args, config_user use,
	       struct error *err);

#endif
