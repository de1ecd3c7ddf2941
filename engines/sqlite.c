/* SQLite. */
#include "engines/table.h"

#include <stddef.h>

static const char *const sqlite_schemes[] = { "sqlite", NULL };

static const struct engine_word sqlite_words[] = {
	{ "date", WORD_EMPTY },	     { "time", WORD_EMPTY },
	{ "datetime", WORD_EMPTY },  { "julianday", WORD_EMPTY },
	{ "unixepoch", WORD_EMPTY }, { "random", WORD_CALL },
	{ "randomblob", WORD_CALL }, { "last_insert_rowid", WORD_CALL },
	{ NULL, WORD_CALL },
};

const struct engine engine_sqlite = {
	.name = "sqlite",
	.schemes = sqlite_schemes,
	.traits = ENGINE_FILE | ENGINE_ONE_WRITER | ENGINE_FOLDS_NAMES |
		  ENGINE_LOOSE_MARKS | ENGINE_SQL_NOW_DATE,
	.schema = "main",
	.words = sqlite_words,
};
