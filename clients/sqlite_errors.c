#include "clients/sqlite_errors.h"

#include <sqlite3.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/row_values.h"

/* Before 3.47 a RAISE has a constant text. */
#define SQLITE_RAISE_EXPRESSION 3047000

struct sqlite_error_class {
	int code; /* extended, or primary: any of its kind */
	enum error_code error;
	const char *why;
	const char *hint;
};

/* The first line that fits counts: extended codes before their primary one. */
static const struct sqlite_error_class sqlite_error_classes[] = {
	{ SQLITE_BUSY_SNAPSHOT, ERROR_CONFLICT,
	  "another process wrote since the snapshot was taken", "" },
	{ SQLITE_BUSY, ERROR_STATE,
	  "another process holds the file, longer than we wait", "" },
	{ SQLITE_LOCKED, ERROR_CONFLICT,
	  "another connection of this process holds the table", "" },
	{ SQLITE_PROTOCOL, ERROR_TRANSIENT,
	  "lost the race for a lock of the log too often", "" },
	{ SQLITE_INTERRUPT, ERROR_STOPPED, "we were asked to stop", "" },
	{ SQLITE_FULL, ERROR_ACCESS, "the disk is full",
	  "Make room on that disk." },
	{ SQLITE_IOERR, ERROR_ACCESS, "the disk or the file system fails", "" },
	{ SQLITE_CANTOPEN, ERROR_ACCESS, "no such file, or no right to open it",
	  "Check the path and the rights on the file and its directory." },
	{ SQLITE_READONLY, ERROR_ACCESS, "no right to write",
	  "Check the rights on the file and its directory." },
	{ SQLITE_PERM, ERROR_ACCESS, "no right to open it so", "" },
	{ SQLITE_AUTH, ERROR_ACCESS, "the library forbids the statement", "" },
	{ SQLITE_NOMEM, ERROR_ACCESS, "out of memory", "" },
	{ SQLITE_NOTADB, ERROR_ACCESS, "the file is no database",
	  "Point the URL at another path, or move that file away." },
	{ SQLITE_CORRUPT, ERROR_ACCESS, "the file is damaged",
	  "Restore it from a backup, save what is left with sqlite3's "
	  ".recover, or move the file away." },
	{ SQLITE_CONSTRAINT, ERROR_DATA, "a value that a constraint refuses",
	  "" },
	{ SQLITE_MISMATCH, ERROR_DATA, "a value of another type", "" },
	{ SQLITE_TOOBIG, ERROR_DATA, "a value beyond SQLite's limit", "" },
	{ SQLITE_ERROR, ERROR_SCHEMA, "no such table or column", "" },
	{ SQLITE_SCHEMA, ERROR_SCHEMA, "the tables keep changing under us",
	  "" },
	{ SQLITE_MISUSE, ERROR_BUG, "the library was called wrongly", "" },
	{ SQLITE_RANGE, ERROR_BUG, "a parameter that is not there", "" },
};

static const struct sqlite_error_class *sqlite_error_find(int code)
{
	for (size_t i = 0; i < ARRAY_SIZE(sqlite_error_classes); i++) {
		int known = sqlite_error_classes[i].code;

		if (known == code || known == (code & 0xff))
			return &sqlite_error_classes[i];
	}
	return NULL;
}

enum error_code sqlite_error_code(int code)
{
	const struct sqlite_error_class *found = sqlite_error_find(code);

	return found ? found->error : ERROR_UNKNOWN;
}

const char *sqlite_error_hint(int code)
{
	const struct sqlite_error_class *found = sqlite_error_find(code);

	return found ? found->hint : "";
}

/* The code of a misspelt name is also that of a function that fails at a value:
 * "JSON path error near 'x'". Only our SQL has a "near" at the beginning. */
static bool sqlite_error_tells_of_row(int code, const char *message)
{
	return code == SQLITE_ERROR && strncmp(message, "near ", 5) != 0;
}

char *sqlite_error_told(int code, bool running, const char *message)
{
	/* A table of words takes the name of a column from a value. */
	static const char *const cuts[] = {
		"MATCH expression: ", "rank function: ", "special query: ",
		"no such column: ", NULL
	};
	const struct row_value_words words = { .cuts = cuts };
	enum error_code class = sqlite_error_tells_of_row(code, message)
					? ERROR_DATA
					: sqlite_error_code(code);
	struct strbuf out = STRBUF_INIT;

	/* The words of a trigger: its author may have put values of the row
	 * into them. */
	if (row_values_shown() || code != SQLITE_CONSTRAINT_TRIGGER ||
	    sqlite3_libversion_number() < SQLITE_RAISE_EXPRESSION)
		return row_values_text(class, message, running ? &words : NULL);
	strbuf_addstr(&out, "a trigger refused the row");
	row_values_note(&out);
	return strbuf_detach(&out);
}
