/* DuckDB. Its code is a module, which is loaded when it is first opened. */
#include "engines/table.h"

#include <stddef.h>

static const char *const duckdb_schemes[] = { "duckdb", NULL };

static const struct engine_word duckdb_words[] = {
	{ "localtime", WORD_ALONE },
	{ "localtimestamp", WORD_ALONE },
	{ "transaction_timestamp", WORD_CALL },
	{ "age", WORD_ONE },
	{ "get_current_timestamp", WORD_CALL },
	{ "get_current_time", WORD_CALL },
	{ "today", WORD_CALL },
	{ "random", WORD_CALL },
	{ "gen_random_uuid", WORD_CALL },
	{ "uuid", WORD_EMPTY },
	{ "uuidv4", WORD_CALL },
	{ "uuidv7", WORD_CALL },
	{ "nextval", WORD_CALL },
	{ "currval", WORD_CALL },
	{ "txid_current", WORD_CALL },
	{ NULL, WORD_CALL },
};

const struct engine engine_duckdb = {
	.name = "duckdb",
	.schemes = duckdb_schemes,
	.traits = ENGINE_FILE | ENGINE_ONE_WRITER | ENGINE_TURNS |
		  ENGINE_FOLDS_NAMES | ENGINE_SQL_DOLLARS | ENGINE_SQL_FROM |
		  ENGINE_SQL_NOW_CAST,
	.schema = "main",
	.words = duckdb_words,
	.absent = "(to get it: install Debian's package tidemark-duckdb; or "
		  "Tidemark's wheel, which has it; or "
		  "`tools/get-duckdb DIR`, then build with "
		  "-Dduckdb_root=DIR; or put the module into a directory of "
		  "$TIDEMARK_PLUGIN_PATH)",
};
