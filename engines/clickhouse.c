/* ClickHouse. */
#include "engines/table.h"

#include <stddef.h>

static const char *const clickhouse_schemes[] = { "clickhouse", "clickhouses",
						  NULL };

static const struct engine_word clickhouse_words[] = {
	{ "today", WORD_CALL },
	{ "yesterday", WORD_CALL },
	{ "now64", WORD_CALL },
	{ "nowinblock", WORD_CALL },
	{ "rand", WORD_CALL },
	{ "rand32", WORD_CALL },
	{ "rand64", WORD_CALL },
	{ "randconstant", WORD_CALL },
	{ "randuniform", WORD_CALL },
	{ "randnormal", WORD_CALL },
	{ "randomstring", WORD_CALL },
	{ "randomfixedstring", WORD_CALL },
	{ "randomprintableascii", WORD_CALL },
	{ "generateuuidv4", WORD_CALL },
	{ "generateuuidv7", WORD_CALL },
	{ NULL, WORD_CALL },
};

const struct engine engine_clickhouse = {
	.name = "clickhouse",
	.schemes = clickhouse_schemes,
	.traits = ENGINE_KEYED | ENGINE_SERVER | ENGINE_SQL_BACKSLASH,
	.words = clickhouse_words,
};
