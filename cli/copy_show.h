/* `copy SOURCE_URL -` and `copy PIPELINE -`: rows on stdout, and nothing else.
 */
#ifndef TIDEMARK_CLI_COPY_SHOW_H
#define TIDEMARK_CLI_COPY_SHOW_H

#include "cli/args.h"

/* Rows of a command's table of flags. */
#define COPY_SHOW_FLAGS                                                        \
	{                                                                      \
		"format", 0, FLAG_TEXT, "ndjson|csv",                          \
			"rows on stdout, as JSON lines or CSV"                 \
	}

/* Flags for a first look: they bound what is shown, and load nothing. */
#define FIRST_LOOK_FLAGS                                                       \
	{ "limit", 0, FLAG_COUNT, "N",                                         \
	  "a first look: at most N rows of each pipeline" },                   \
	{                                                                      \
		"since", 0, FLAG_TEXT, "VALUE",                                \
			"a first look: rows whose mark is VALUE or more"       \
	}

/* Is `-` in the place of DESTINATION_URL? */
bool copy_show_is_meant(const struct arguments *args);
int copy_show(const struct arguments *args, struct error *err);
/* CONFIG: --limit, --since or --format where rows would be loaded. */
int first_look_check(const struct arguments *args, struct error *err);

#endif
