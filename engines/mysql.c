/* MySQL and MariaDB. */
#include "engines/table.h"

#include <stddef.h>

static const char *const mysql_schemes[] = { "mysql", "mariadb", NULL };

static const struct engine_word mysql_words[] = {
	{ "localtime", WORD_ALONE },	  { "localtimestamp", WORD_ALONE },
	{ "utc_date", WORD_ALONE },	  { "utc_time", WORD_ALONE },
	{ "utc_timestamp", WORD_ALONE },  { "sysdate", WORD_CALL },
	{ "curdate", WORD_CALL },	  { "curtime", WORD_CALL },
	{ "unix_timestamp", WORD_EMPTY }, { "rand", WORD_CALL },
	{ "random_bytes", WORD_CALL },	  { "uuid", WORD_EMPTY },
	{ "uuid_short", WORD_CALL },	  { "uuid_v4", WORD_CALL },
	{ "uuid_v7", WORD_CALL },	  { "nextval", WORD_CALL },
	{ "lastval", WORD_CALL },	  { "last_insert_id", WORD_CALL },
	{ "connection_id", WORD_CALL },	  { NULL, WORD_CALL },
};

const struct engine engine_mysql = {
	.name = "mysql",
	.schemes = mysql_schemes,
	.traits = ENGINE_SERVER | ENGINE_OWN_SCHEMA | ENGINE_ZERO_DATES |
		  ENGINE_SHORT_YEARS | ENGINE_SQL_BACKSLASH | ENGINE_SQL_HASH,
	.words = mysql_words,
	.listed = "mysql, mariadb",
};
