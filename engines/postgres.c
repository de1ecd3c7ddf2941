/* PostgreSQL. */
#include "engines/table.h"

#include <stddef.h>

static const char *const postgres_schemes[] = { "postgres", "postgresql",
						NULL };

static const struct engine_word postgres_words[] = {
	{ "localtime", WORD_ALONE },
	{ "localtimestamp", WORD_ALONE },
	{ "clock_timestamp", WORD_CALL },
	{ "statement_timestamp", WORD_CALL },
	{ "transaction_timestamp", WORD_CALL },
	{ "timeofday", WORD_CALL },
	{ "age", WORD_ONE },
	{ "random", WORD_CALL },
	{ "random_normal", WORD_CALL },
	{ "gen_random_bytes", WORD_CALL },
	{ "gen_random_uuid", WORD_CALL },
	{ "uuidv4", WORD_CALL },
	{ "uuidv7", WORD_CALL },
	{ "uuid_generate_v1", WORD_CALL },
	{ "uuid_generate_v1mc", WORD_CALL },
	{ "uuid_generate_v4", WORD_CALL },
	{ "nextval", WORD_CALL },
	{ "lastval", WORD_CALL },
	{ "currval", WORD_CALL },
	{ "pg_backend_pid", WORD_CALL },
	{ "txid_current", WORD_CALL },
	{ "txid_current_snapshot", WORD_CALL },
	{ "pg_current_xact_id", WORD_CALL },
	{ "pg_current_snapshot", WORD_CALL },
	{ "pg_current_wal_lsn", WORD_CALL },
	{ NULL, WORD_CALL },
};

const struct engine engine_postgres = {
	.name = "postgres",
	.schemes = postgres_schemes,
	.traits = ENGINE_SERVER | ENGINE_LIBPQ_URL | ENGINE_ANY_SCHEMA |
		  ENGINE_XMIN | ENGINE_SQL_DOLLARS | ENGINE_SQL_NOW_CAST,
	.schema = "public",
	.words = postgres_words,
	.listed = "postgresql",
};
