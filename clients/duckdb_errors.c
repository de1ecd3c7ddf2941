#include "clients/duckdb_errors.h"

#include <duckdb.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/row_values.h"

struct duck_error_class {
	const char *prefix; /* a text of this type begins so */
	const char *holds; /* "": any */
	const char *why;
	duckdb_error_type type;
	enum error_code code;
};

/* The first line that fits counts; type INVALID: any. */
static const struct duck_error_class duck_error_classes[] = {
	/* The text may go on: "you would be able to open it in read-only
	 * mode". */
	{ "IO Error", "Could not set lock", "another process has the file open",
	  DUCKDB_ERROR_IO, ERROR_STATE },
	{ "", "read-only mode", "the file was opened for reading only",
	  DUCKDB_ERROR_INVALID, ERROR_ACCESS },
	{ "IO Error", "", "the disk or file", DUCKDB_ERROR_IO, ERROR_ACCESS },
	{ "Out of Memory Error", "", "no memory, or no room for what spills",
	  DUCKDB_ERROR_OUT_OF_MEMORY, ERROR_ACCESS },
	{ "Permission Error", "", "no right to the file",
	  DUCKDB_ERROR_PERMISSION, ERROR_ACCESS },
	{ "Serialization Error", "",
	  "the file is damaged or of another version",
	  DUCKDB_ERROR_SERIALIZATION, ERROR_ACCESS },
	{ "FATAL Error", "", "the database closed itself after a failure",
	  DUCKDB_ERROR_FATAL, ERROR_ACCESS },
	{ "TransactionContext Error", "violates primary key constraint",
	  "a repeated key, found at COMMIT", DUCKDB_ERROR_TRANSACTION,
	  ERROR_DATA },
	{ "TransactionContext Error", "violates unique constraint",
	  "a repeated value, found at COMMIT", DUCKDB_ERROR_TRANSACTION,
	  ERROR_DATA },
	{ "TransactionContext Error", "onflict",
	  "another transaction wrote the same", DUCKDB_ERROR_TRANSACTION,
	  ERROR_CONFLICT },
	{ "TransactionContext Error", "",
	  "COMMIT failed, often for want of room", DUCKDB_ERROR_TRANSACTION,
	  ERROR_ACCESS },
	{ "Conversion Error", "", "a value that the type cannot hold",
	  DUCKDB_ERROR_CONVERSION, ERROR_DATA },
	{ "Constraint Error", "", "a value that a constraint refuses",
	  DUCKDB_ERROR_CONSTRAINT, ERROR_DATA },
	{ "Out of Range Error", "", "a number that the type cannot hold",
	  DUCKDB_ERROR_OUT_OF_RANGE, ERROR_DATA },
	{ "Invalid Input Error", "", "a value that is none of its type",
	  DUCKDB_ERROR_INVALID_INPUT, ERROR_DATA },
	{ "Mismatch Type Error", "", "a value of another type",
	  DUCKDB_ERROR_MISMATCH_TYPE, ERROR_DATA },
	{ "Catalog Error", "", "no such table, or one too many",
	  DUCKDB_ERROR_CATALOG, ERROR_SCHEMA },
	{ "Binder Error", "", "no such column, or of another type",
	  DUCKDB_ERROR_BINDER, ERROR_SCHEMA },
	{ "Dependency Error", "", "other objects depend on it",
	  DUCKDB_ERROR_DEPENDENCY, ERROR_SCHEMA },
	{ "INTERRUPT Error", "", "we were asked to stop",
	  DUCKDB_ERROR_INTERRUPT, ERROR_STOPPED },
	{ "Interrupt", "", "we were asked to stop", DUCKDB_ERROR_INTERRUPT,
	  ERROR_STOPPED },
	{ "Parser Error", "", "a syntax error in our own SQL",
	  DUCKDB_ERROR_PARSER, ERROR_BUG },
};

enum error_code duck_error_code(const char *text)
{
	for (size_t i = 0; i < ARRAY_SIZE(duck_error_classes); i++) {
		const struct duck_error_class *c = &duck_error_classes[i];

		if (!strncmp(text, c->prefix, strlen(c->prefix)) &&
		    strstr(text, c->holds))
			return c->code;
	}
	return ERROR_UNKNOWN;
}

enum error_code duck_error_type_code(int type, const char *text)
{
	for (size_t i = 0; i < ARRAY_SIZE(duck_error_classes); i++) {
		const struct duck_error_class *c = &duck_error_classes[i];

		if ((c->type == DUCKDB_ERROR_INVALID || (int)c->type == type) &&
		    strstr(text, c->holds))
			return c->code;
	}
	return duck_error_code(text);
}

static const char invalid_input[] = "Invalid Input Error: ";

/* SQL's error() has this type too. Its author may have put values of the row
 * into its text, with any beginning. So only a known beginning is told. */
static char *duck_error_invalid(const char *text)
{
	static const char *const begins[] = {
		"Could not parse string ", "Could not convert string ",
		"Failed to parse string ", "Failed to cast ",
		"Failed to append",	   NULL
	};
	struct strbuf out = STRBUF_INIT;
	const char *begin = NULL;

	text += strlen(invalid_input);
	for (size_t i = 0; begins[i]; i++)
		if (!strncmp(text, begins[i], strlen(begins[i])))
			begin = begins[i];
	strbuf_addf(&out, "%s%s%s", invalid_input, begin ? begin : "",
		    begin ? "..."
			  : "a value, or a query of yours that refuses it");
	row_values_note(&out);
	return strbuf_detach(&out);
}

/* An error of a constraint tells its expression, without quoted values and
 * without the words of a function in it. An error of a conversion tells its
 * first line. The lines behind it have the value and a piece of the
 * statement. */
static char *duck_error_told(enum error_code code, const char *text)
{
	static const char *const cuts[] = { "\n\nLINE ",
					    "blob conversion of string ",
					    NULL };
	bool values =
		code == ERROR_DATA && (!strstr(text, "constraint") ||
				       !strncmp(text, "Conversion Error", 16));
	const struct row_value_words words = { .cuts = cuts,
					       .numbers = values };
	struct strbuf out = STRBUF_INIT;
	size_t n = strstr(text, "Duplicate key") ? strlen(text)
						 : strcspn(text, "\n");
	const char *inner = strstr(text, " (Error: ");
	char *line, *told;

	/* A quoted value before it would reach into it. */
	if (inner && (size_t)(inner - text) < n)
		n = (size_t)(inner - text);
	if (row_values_shown() || !row_values_told_by(code))
		return xstrdup(text);
	if (!strncmp(text, invalid_input, strlen(invalid_input)))
		return duck_error_invalid(text);
	line = xstrndup(text, n);
	if (row_values_add(&out, line, &words) || text[n])
		row_values_note(&out);
	told = strbuf_detach(&out);
	free(line);
	return told;
}

int duck_error_set(struct error *err, enum error_code code, const char *text)
{
	char *told = duck_error_told(code, text);

	error_set(err, code, "duckdb: %s", told);
	free(told);
	if (!strncmp(text, "Permission Error", 16) &&
	    strstr(text, "disabled by configuration"))
		error_hint(err, "(a view, default or macro of this database "
				"wants another file or the network: let it by "
				"external_access=true in the URL, as "
				"duckdb:FILE?external_access=true)");
	return -(int)code;
}
