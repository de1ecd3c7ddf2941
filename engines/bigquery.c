/* BigQuery. */
#include "engines/table.h"

#include <stddef.h>

static const char *const bigquery_schemes[] = { "bigquery", NULL };

static const struct engine_word bigquery_words[] = {
	{ "current_datetime", WORD_ALONE },
	{ "rand", WORD_CALL },
	{ "generate_uuid", WORD_CALL },
	{ NULL, WORD_CALL },
};

const struct engine engine_bigquery = {
	.name = "bigquery",
	.schemes = bigquery_schemes,
	.traits = ENGINE_KEYED | ENGINE_SERVER | ENGINE_PAID_READS |
		  ENGINE_SQL_BACKSLASH,
	.words = bigquery_words,
};
