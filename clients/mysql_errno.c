#include "clients/mysql_errno.h"

#include <string.h>

#include "core/base/alloc.h"

struct errno_class {
	unsigned number;
	enum error_code code;
	const char *why;
	const char *hint;
};

#define MAKE_ROOM "(make room on the server)"
#define SEE_LOG	  "(see the server's error log)"
#define CHECK_USER                                                             \
	"(check user and password, and from which hosts the user may connect)"
#define GRANT_IT "(grant it to the user of the connection)"
/* Only mysql_native_password is known to MariaDB's servers and to both
 * libraries. */
#define CHECK_PLUGIN                                                           \
	"(install the client library's plugins; Oracle's library has no "      \
	"mysql_native_password from version 9 on: build with "                 \
	"-Dmysql=mariadb, "                                                    \
	"or give the user another plugin)"
#define CHECK_TLS                                                              \
	"(tls.ca names the authority that signed the server's certificate; "   \
	"under tls.mode verify-full it must be made out to the host of the "   \
	"URL)"

/* As mysql_guard.c has it. */
#define CHECK_SERVER                                                           \
	"(set tls.mode: verify-full, and tls.ca to the authority that signed " \
	"the server's certificate; or give the user another plugin, such as "  \
	"caching_sha2_password or ed25519)"

/* Numbers up to 1999 and from 3000 are the server's and mean the same to MySQL
 * and MariaDB. Numbers 19xx and 4xxx are MariaDB's, 2xxx and 50xx the client
 * library's. */
static const struct errno_class errno_classes[] = {
	{ 1, ERROR_ACCESS, "the server cannot write a file", SEE_LOG },
	{ 3, ERROR_ACCESS, "the server cannot write a file, often a full disk",
	  SEE_LOG },
	{ 1004, ERROR_ACCESS, "the server cannot make a file", SEE_LOG },
	{ 1005, ERROR_ACCESS, "the server cannot make the table's file",
	  SEE_LOG },
	{ 1020, ERROR_CONFLICT, "a row changed since the snapshot was taken",
	  "" },
	{ 1021, ERROR_ACCESS, "the server's disk is full", MAKE_ROOM },
	{ 1025, ERROR_ACCESS, "the server cannot rename the table's file",
	  SEE_LOG },
	{ 1026, ERROR_ACCESS, "the server cannot write a file", SEE_LOG },
	{ 1022, ERROR_DATA, "a key that is there already", "" },
	{ 1030, ERROR_ACCESS, "the storage engine failed, often a full disk",
	  SEE_LOG },
	{ 1034, ERROR_ACCESS, "a damaged index", "(REPAIR TABLE)" },
	{ 1035, ERROR_ACCESS, "a table file of an old server",
	  "(REPAIR TABLE)" },
	{ 1036, ERROR_ACCESS, "the table is read-only", "" },
	{ 1037, ERROR_ACCESS, "the server is out of memory", MAKE_ROOM },
	{ 1040, ERROR_TRANSIENT, "too many connections for now", "" },
	{ 1041, ERROR_ACCESS, "the server is out of memory", MAKE_ROOM },
	{ 1042, ERROR_ACCESS, "the server cannot name our host", CHECK_USER },
	{ 1044, ERROR_ACCESS, "no right to use the database", GRANT_IT },
	{ 1045, ERROR_ACCESS, "wrong user or password", CHECK_USER },
	{ 1046, ERROR_CONFIG, "no database chosen",
	  "(name it in the URL: mysql://user@host/database)" },
	{ 1047, ERROR_TRANSIENT, "the cluster's node is not ready", "" },
	{ 1048, ERROR_DATA, "NULL where the column allows none", "" },
	{ 1049, ERROR_ACCESS, "no such database",
	  "(check the database name in the URL)" },
	{ 1050, ERROR_SCHEMA, "the table exists already", "" },
	{ 1051, ERROR_SCHEMA, "no such table", "" },
	{ 1053, ERROR_TRANSIENT, "the server is going down", "" },
	{ 1054, ERROR_SCHEMA, "no such column", "" },
	{ 1059, ERROR_SCHEMA, "a name longer than names may be", "" },
	{ 1060, ERROR_SCHEMA, "a column of that name exists already", "" },
	{ 1062, ERROR_DATA, "a key that is there already", "" },
	{ 1064, ERROR_BUG, "a syntax error in our own SQL", "" },
	{ 1067, ERROR_SCHEMA, "a default that the column cannot hold", "" },
	{ 1071, ERROR_SCHEMA, "a key longer than the engine's limit", "" },
	{ 1078, ERROR_TRANSIENT, "the server was stopped by a signal", "" },
	{ 1079, ERROR_TRANSIENT, "the server has shut down", "" },
	{ 1080, ERROR_TRANSIENT, "the server ends our thread", "" },
	{ 1102, ERROR_SCHEMA, "no name of a database", "" },
	{ 1103, ERROR_SCHEMA, "no name of a table", "" },
	{ 1105, ERROR_UNKNOWN, "the server does not know either", "" },
	{ 1114, ERROR_ACCESS, "the table is full", MAKE_ROOM },
	{ 1116, ERROR_SCHEMA, "too many tables in a join", "" },
	{ 1117, ERROR_SCHEMA, "too many columns", "" },
	{ 1118, ERROR_SCHEMA, "the row is too long for the engine", "" },
	{ 1129, ERROR_ACCESS, "too many failed connections from here",
	  "(FLUSH HOSTS on the server)" },
	{ 1130, ERROR_ACCESS, "our host may not connect", CHECK_USER },
	{ 1142, ERROR_ACCESS, "no right to use the table", GRANT_IT },
	{ 1143, ERROR_ACCESS, "no right to use the column", GRANT_IT },
	{ 1146, ERROR_SCHEMA, "no such table", "" },
	{ 1148, ERROR_ACCESS, "the server forbids this command", "" },
	{ 1153, ERROR_DATA, "a row beyond max_allowed_packet",
	  "(raise max_allowed_packet on the server)" },
	{ 1157, ERROR_TRANSIENT, "the server could not write to us", "" },
	{ 1158, ERROR_TRANSIENT, "the connection was cut", "" },
	{ 1159, ERROR_TRANSIENT, "the server waited for us too long", "" },
	{ 1160, ERROR_TRANSIENT, "the connection was cut", "" },
	{ 1161, ERROR_TRANSIENT, "we did not read for too long",
	  "(raise net_write_timeout, or lower batch.rows)" },
	{ 1166, ERROR_SCHEMA, "no name of a column", "" },
	{ 1169, ERROR_DATA, "a key that is there already", "" },
	{ 1170, ERROR_SCHEMA, "a text in a key without a length", "" },
	{ 1176, ERROR_TRANSIENT, "the index was dropped meanwhile", "" },
	{ 1180, ERROR_TRANSIENT, "COMMIT failed", "" },
	{ 1184, ERROR_TRANSIENT, "the connection was aborted", "" },
	{ 1194, ERROR_ACCESS, "a crashed table", "(REPAIR TABLE)" },
	{ 1195, ERROR_ACCESS, "a crashed table", "(REPAIR TABLE)" },
	{ 1197, ERROR_ACCESS,
	  "a transaction larger than the binary log's cache",
	  "(raise max_binlog_cache_size, or lower batch.rows)" },
	{ 1203, ERROR_TRANSIENT, "this user has too many connections", "" },
	{ 1205, ERROR_CONFLICT, "a lock was not to be had in time",
	  "(another session holds it: a transaction, LOCK TABLES, or an ALTER "
	  "TABLE under way; SHOW FULL PROCESSLIST shows who)" },
	{ 1206, ERROR_TRANSIENT, "too many locks for the buffer pool", "" },
	{ 1213, ERROR_CONFLICT, "deadlock", "" },
	{ 1216, ERROR_DATA, "a foreign key refuses the row", "" },
	{ 1217, ERROR_DATA, "a foreign key refuses the row", "" },
	{ 1226, ERROR_TRANSIENT, "the user's quota is used up for now", "" },
	{ 1227, ERROR_ACCESS, "a global right is missing", GRANT_IT },
	{ 1235, ERROR_SCHEMA, "this server cannot do that", "" },
	{ 1236, ERROR_TRANSIENT, "replication was interrupted", "" },
	{ 1242, ERROR_DATA, "more than one row where one was meant", "" },
	{ 1251, ERROR_ACCESS, "an authentication that the client lacks",
	  CHECK_USER },
	{ 1264, ERROR_DATA, "a number that the column cannot hold", "" },
	{ 1265, ERROR_DATA, "a value that the column cannot hold", "" },
	{ 1267, ERROR_SCHEMA, "texts that cannot be compared, or no name", "" },
	{ 1280, ERROR_SCHEMA, "no name of an index", "" },
	{ 1290, ERROR_ACCESS,
	  "an option of the server forbids it, as read_only",
	  "(is this a replica?)" },
	{ 1292, ERROR_DATA, "a value that its type cannot hold", "" },
	{ 1298, ERROR_CONFIG, "a time zone that the server does not know",
	  "(load the zones with mariadb-tzinfo-to-sql or "
	  "mysql_tzinfo_to_sql, or use an offset such as +01:00)" },
	{ 1300, ERROR_SCHEMA, "a character that names cannot have", "" },
	{ 1305, ERROR_SCHEMA, "no such function", "" },
	{ 1317, ERROR_TRANSIENT, "interrupted by KILL", "" },
	{ 1347, ERROR_SCHEMA, "it is no table", "" },
	{ 1356, ERROR_SCHEMA, "a view whose tables or rights are gone", "" },
	{ 1364, ERROR_SCHEMA, "a column without default that we do not fill",
	  "" },
	{ 1365, ERROR_DATA, "division by zero", "" },
	{ 1366, ERROR_DATA, "a text that the column's character set lacks",
	  "" },
	{ 1370, ERROR_ACCESS, "no right to call a routine", GRANT_IT },
	{ 1390, ERROR_BUG, "more parameters than a statement may have", "" },
	{ 1401, ERROR_ACCESS, "no right to see XA transactions", GRANT_IT },
	{ 1406, ERROR_DATA, "a text too long for the column", "" },
	{ 1411, ERROR_DATA, "a date that its function refuses", "" },
	{ 1412, ERROR_TRANSIENT, "the table was altered in mid-statement", "" },
	{ 1429, ERROR_ACCESS, "a foreign server that cannot be reached", "" },
	{ 1451, ERROR_DATA, "a foreign key refuses the row", "" },
	{ 1452, ERROR_DATA, "a foreign key refuses the row", "" },
	{ 1461, ERROR_TRANSIENT, "too many prepared statements for now",
	  "(raise max_prepared_stmt_count)" },
	{ 1524, ERROR_ACCESS, "an authentication plugin is not loaded",
	  CHECK_USER },
	{ 1526, ERROR_DATA, "no partition takes the row", "" },
	{ 1558, ERROR_ACCESS, "system tables of another version",
	  "(run mariadb-upgrade)" },
	{ 1615, ERROR_TRANSIENT, "the statement must be prepared again", "" },
	{ 1637, ERROR_TRANSIENT, "no room for one more transaction", "" },
	{ 1644, ERROR_DATA, "a trigger or routine refused (SIGNAL)", "" },
	{ 1665, ERROR_ACCESS, "the binary log is kept by statement",
	  "(set binlog_format = ROW or MIXED on the server)" },
	{ 1690, ERROR_DATA, "an expression out of its type's range", "" },
	{ 1698, ERROR_ACCESS, "wrong user or password", CHECK_USER },
	{ 1709, ERROR_SCHEMA, "a key longer than the engine's limit", "" },
	{ 1792, ERROR_ACCESS, "our session is read-only",
	  "(a source's sessions are read-only)" },
	{ 1820, ERROR_ACCESS, "the password must be changed first",
	  CHECK_USER },
	{ 1836, ERROR_ACCESS, "the server is read-only", "" },
	{ 1862, ERROR_ACCESS, "the password has expired", CHECK_USER },
	{ 1878, ERROR_ACCESS, "the server's disk for temporary files is full",
	  MAKE_ROOM },
	{ 1927, ERROR_TRANSIENT, "the connection was killed", "" },
	{ 1969, ERROR_TRANSIENT, "max_statement_time exceeded", "" },
	{ 2000, ERROR_ACCESS, "the server asked for a file of ours", "" },
	{ 2002, ERROR_TRANSIENT, "the server cannot be reached", "" },
	{ 2003, ERROR_TRANSIENT, "the server cannot be reached", "" },
	{ 2005, ERROR_TRANSIENT, "the host's name is not known", "" },
	{ 2006, ERROR_TRANSIENT, "the server has gone away", "" },
	{ 2007, ERROR_ACCESS, "another protocol: no MySQL server", "" },
	{ 2012, ERROR_TRANSIENT, "the connection was cut in the handshake",
	  "" },
	{ 2013, ERROR_TRANSIENT, "the connection was lost",
	  "(cut, or silent for longer than `timeout` in the config allows, "
	  "as a server whose disk is full may be: see its error log)" },
	{ 2014, ERROR_TRANSIENT, "an answer that is not the protocol", "" },
	{ 2020, ERROR_DATA, "a row larger than the client takes",
	  "(raise max_allowed_packet)" },
	{ 2026, ERROR_ACCESS, "TLS failed", CHECK_TLS },
	{ 2027, ERROR_TRANSIENT, "a malformed packet: a cut connection", "" },
	{ 2048, ERROR_TRANSIENT, "the connection is not usable", "" },
	{ 2055, ERROR_TRANSIENT, "the connection was lost", "" },
	{ 2058, ERROR_ACCESS, "the client lacks the authentication plugin",
	  CHECK_PLUGIN },
	{ 2059, ERROR_ACCESS, "the client lacks the authentication plugin",
	  CHECK_PLUGIN },
	{ 2061, ERROR_ACCESS, "authentication needs TLS", CHECK_TLS },
	{ 2068, ERROR_ACCESS, "the client does not serve LOCAL files", "" },
	{ 3024, ERROR_TRANSIENT, "max_execution_time exceeded", "" },
	{ 3101, ERROR_CONFLICT, "another member of the group won at COMMIT",
	  "" },
	{ 3118, ERROR_ACCESS, "the account is locked", CHECK_USER },
	{ 3098, ERROR_SCHEMA, "the cluster wants a primary key", "" },
	{ 3100, ERROR_TRANSIENT, "the cluster refused the COMMIT", "" },
	{ 3140, ERROR_DATA, "text that is not JSON", "" },
	{ 3159, ERROR_ACCESS, "the server only takes TLS connections",
	  "(tls.mode: required, or stricter)" },
	{ 3170, ERROR_TRANSIENT, "the server's memory limit for ranges", "" },
	{ 3675, ERROR_ACCESS, "the server's disk is full", MAKE_ROOM },
	{ 3685, ERROR_DATA, "a regular expression that is none", "" },
	{ 3730, ERROR_SCHEMA, "a foreign key of another table points at it",
	  "" },
	{ 3750, ERROR_SCHEMA, "the server wants a primary key", "" },
	{ 3819, ERROR_DATA, "a check constraint refuses the row", "" },
	{ 3854, ERROR_SCHEMA, "a character that names cannot have", "" },
	{ 3948, ERROR_ACCESS, "LOCAL INFILE is switched off", "" },
	{ 3988, ERROR_SCHEMA, "a character that names cannot have", "" },
	{ 4025, ERROR_DATA, "a check constraint refuses the row", "" },
	{ 4031, ERROR_TRANSIENT, "the server ended an idle session", "" },
	{ 4151, ERROR_ACCESS, "the account is locked", CHECK_USER },
	{ 4166, ERROR_ACCESS, "LOCAL INFILE is switched off", "" },
	{ 5010, ERROR_ACCESS, "a way of signing in that is not taken",
	  CHECK_SERVER },
};

/* For a number that is not in the table: the first characters of the
 * SQLSTATE. */
static const struct {
	const char *prefix;
	enum error_code code;
} sqlstate_rules[] = {
	{ "08", ERROR_TRANSIENT }, /* the connection */
	{ "21", ERROR_DATA }, /* more rows than one */
	{ "22", ERROR_DATA }, /* a value */
	{ "23", ERROR_DATA }, /* a constraint */
	{ "25", ERROR_ACCESS }, /* read-only */
	{ "28", ERROR_ACCESS }, /* user or password */
	{ "40", ERROR_CONFLICT }, /* deadlock, or not to be serialized */
	{ "45", ERROR_DATA }, /* SIGNAL of a trigger */
	{ "42S", ERROR_SCHEMA }, /* tables and columns */
	{ "70100", ERROR_TRANSIENT }, /* KILL */
};

static const struct errno_class *errno_find(unsigned number)
{
	for (size_t i = 0; i < ARRAY_SIZE(errno_classes); i++) {
		if (errno_classes[i].number == number)
			return &errno_classes[i];
	}
	return NULL;
}

/* InnoDB has room for 1,017 columns, and MariaDB (10.11) for 4,096. */
unsigned mysql_client_errno_meant(unsigned number, const char *text)
{
	return number == 1005 && strstr(text, "Too many columns") ? 1117
								  : number;
}

enum error_code mysql_client_errno_code(unsigned number, const char *sqlstate)
{
	const struct errno_class *found = errno_find(number);

	if (found)
		return found->code;
	for (size_t i = 0; i < ARRAY_SIZE(sqlstate_rules); i++) {
		const char *prefix = sqlstate_rules[i].prefix;
		if (!strncmp(sqlstate, prefix, strlen(prefix)))
			return sqlstate_rules[i].code;
	}
	return ERROR_UNKNOWN;
}

const char *mysql_client_errno_hint(unsigned number)
{
	const struct errno_class *found = errno_find(number);

	return found ? found->hint : "";
}

const char *mysql_client_errno_why(unsigned number)
{
	const struct errno_class *found = errno_find(number);

	return found ? found->why : "";
}
