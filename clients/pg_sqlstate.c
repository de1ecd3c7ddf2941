#include "clients/pg_sqlstate.h"

#include <string.h>

#include "core/base/alloc.h"

struct sqlstate_class {
	const char *prefix; /* all five characters, or a class of two */
	enum error_code code;
	const char *why;
	const char *hint;
};

/* The first line that fits counts: single states before their class. */
static const struct sqlstate_class sqlstate_classes[] = {
	{ "08", ERROR_TRANSIENT, "the connection was cut", "" },
	{ "0A", ERROR_SCHEMA, "this table or server cannot do that", "" },
	{ "21", ERROR_DATA, "more than one row where one was meant", "" },
	{ "22", ERROR_DATA, "a value that the column cannot hold", "" },
	{ "23", ERROR_DATA, "a value that a constraint refuses", "" },
	{ "25006", ERROR_ACCESS, "read-only: a standby, or set so",
	  "(is this a standby?)" },
	{ "25P03", ERROR_TRANSIENT, "the server ended an idle transaction",
	  "" },
	{ "27", ERROR_DATA, "a trigger refused the row", "" },
	{ "28", ERROR_ACCESS, "wrong password, unknown role, or pg_hba.conf",
	  "(check user, password and pg_hba.conf)" },
	{ "2BP01", ERROR_SCHEMA, "other objects depend on it", "" },
	{ "2F", ERROR_DATA, "a function refused the row", "" },
	{ "3D", ERROR_ACCESS, "no such database",
	  "(check the database name in the URL)" },
	{ "3F", ERROR_SCHEMA, "no such schema", "" },
	{ "40002", ERROR_DATA, "a value that a constraint refuses at COMMIT",
	  "" },
	{ "40003", ERROR_TRANSIENT, "whether it was committed is not known",
	  "" },
	{ "40", ERROR_CONFLICT, "deadlock, or not to be serialized", "" },
	{ "42501", ERROR_ACCESS, "no right to do that",
	  "(grant it to the role of the connection)" },
	{ "42601", ERROR_BUG, "a syntax error in our own SQL", "" },
	{ "42602", ERROR_BUG, "a bad name in our own SQL", "" },
	{ "42", ERROR_SCHEMA, "names or types are not as expected", "" },
	{ "44", ERROR_DATA, "the view's check option refuses the row", "" },
	{ "45", ERROR_DATA, "a function or trigger refused the row", "" },
	{ "53300", ERROR_TRANSIENT, "too many connections for now", "" },
	{ "53", ERROR_ACCESS, "out of disk or memory",
	  "(make room on the server)" },
	{ "54011", ERROR_SCHEMA, "too many columns", "" },
	{ "54", ERROR_DATA, "a row or value beyond the server's limits", "" },
	{ "55P03", ERROR_CONFLICT, "a lock was not to be had in time", "" },
	{ "55006", ERROR_CONFLICT, "the object is in use", "" },
	{ "55", ERROR_SCHEMA, "the object is not in the state needed", "" },
	{ "57P01", ERROR_TRANSIENT, "the server is going down", "" },
	{ "57P02", ERROR_TRANSIENT, "a server process crashed", "" },
	{ "57P03", ERROR_TRANSIENT, "the server is starting up", "" },
	{ "57P04", ERROR_ACCESS, "the database was dropped", "" },
	{ "57P05", ERROR_TRANSIENT, "the server ended an idle session", "" },
	{ "57014", ERROR_TRANSIENT, "cancelled: a timeout or a person", "" },
	{ "58", ERROR_ACCESS, "the server's disk or files", "" },
	{ "72", ERROR_TRANSIENT, "the snapshot is too old", "" },
	{ "F0", ERROR_ACCESS, "the server's configuration", "" },
	{ "HV", ERROR_ACCESS, "a foreign server", "" },
	{ "P0", ERROR_DATA, "a function or trigger refused the row", "" },
	{ "XX001", ERROR_ACCESS, "a damaged table", "" },
	{ "XX002", ERROR_ACCESS, "a damaged index", "" },
};

static const struct sqlstate_class *sqlstate_find(const char *sqlstate)
{
	for (size_t i = 0; i < ARRAY_SIZE(sqlstate_classes); i++) {
		const char *prefix = sqlstate_classes[i].prefix;
		if (!strncmp(sqlstate, prefix, strlen(prefix)))
			return &sqlstate_classes[i];
	}
	return NULL;
}

/* The standard leaves these classes to users, and PostgreSQL has no code in
 * them. They come from somebody's own RAISE ... USING ERRCODE. */
static bool sqlstate_of_users(const char *sqlstate)
{
	return *sqlstate && strchr("689IJKLMNOPQRSTUVWXYZ", *sqlstate) &&
	       strncmp(sqlstate, "XX", 2) != 0;
}

enum error_code pg_sqlstate_code(const char *sqlstate)
{
	const struct sqlstate_class *found = sqlstate_find(sqlstate);

	if (found)
		return found->code;
	return sqlstate_of_users(sqlstate) ? ERROR_DATA : ERROR_UNKNOWN;
}

const char *pg_sqlstate_hint(const char *sqlstate)
{
	const struct sqlstate_class *found = sqlstate_find(sqlstate);

	return found ? found->hint : "";
}

/* libpq's words for a parameter that it cannot take. Nearly all come before a
 * host is tried; what has been tried at a host begins with that host. */
static bool pg_is_parameter(const char *text)
{
	static const char *const begins[] = {
		"invalid ",	  "could not match ",
		"sslmode value ", "definition of service ",
		"service file ",
	};

	for (size_t i = 0; i < ARRAY_SIZE(begins); i++) {
		if (!strncmp(text, begins[i], strlen(begins[i])))
			return true;
	}
	return strstr(text, "for connection option") != NULL;
}

enum error_code pg_connect_code(const char *text)
{
	static const char *const lasting[] = {
		"SSL",	  "certificate",    "no password supplied",
		"GSSAPI", "authentication",
	};

	if (pg_is_parameter(text))
		return ERROR_CONFIG;
	/* "SSL SYSCALL error": the network, under TLS. */
	if (strstr(text, "SSL SYSCALL"))
		return ERROR_TRANSIENT;
	for (size_t i = 0; i < ARRAY_SIZE(lasting); i++) {
		if (strstr(text, lasting[i]))
			return ERROR_ACCESS;
	}
	return ERROR_TRANSIENT;
}

/* "LOCATION:  auth_failed, auth.c:331" says nothing to a user. */
static void sqlstate_drop_location(char *text)
{
	char *line = strstr(text, "LOCATION:  ");

	while (line) {
		char *end = strchr(line, '\n');
		if (!end) {
			*line = '\0';
			return;
		}
		memmove(line, end + 1, strlen(end + 1) + 1);
		line = strstr(line, "LOCATION:  ");
	}
}

bool pg_take_sqlstate(char *text, char out[6])
{
	static const char alphabet[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char *at = text;

	out[0] = '\0';
	sqlstate_drop_location(text);
	while ((at = strstr(at, ":  ")) != NULL) {
		at += 3;
		if (strspn(at, alphabet) != 5 || at[5] != ':' || at[6] != ' ')
			continue;
		memcpy(out, at, 5);
		out[5] = '\0';
		memmove(at, at + 7, strlen(at + 7) + 1);
		return true;
	}
	return false;
}

void pg_one_line(char *text)
{
	size_t n = strlen(text);

	while (n && (text[n - 1] == '\n' || text[n - 1] == ' '))
		text[--n] = '\0';
	for (char *p = text; *p; p++) {
		if (*p == '\n' || *p == '\t')
			*p = ' ';
	}
}
