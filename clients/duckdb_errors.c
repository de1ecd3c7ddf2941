#include "clients/duckdb_errors.h"

#include <duckdb.h>
#include <string.h>

#include "core/base/alloc.h"

struct duck_error_class {
	duckdb_error_type type;
	const char *prefix; /* what a text of this type begins with */
	const char *holds; /* "": any */
	enum error_code code;
	const char *why;
};

/* The first line that fits counts; type INVALID: any. */
static const struct duck_error_class duck_error_classes[] = {
	{ DUCKDB_ERROR_INVALID, "", "read-only mode", ERROR_ACCESS,
	  "the file was opened for reading only" },
	{ DUCKDB_ERROR_IO, "IO Error", "Could not set lock", ERROR_STATE,
	  "another process has the file open" },
	{ DUCKDB_ERROR_IO, "IO Error", "", ERROR_ACCESS, "the disk or file" },
	{ DUCKDB_ERROR_OUT_OF_MEMORY, "Out of Memory Error", "", ERROR_ACCESS,
	  "no memory, or no room for what spills" },
	{ DUCKDB_ERROR_PERMISSION, "Permission Error", "", ERROR_ACCESS,
	  "no right to the file" },
	{ DUCKDB_ERROR_SERIALIZATION, "Serialization Error", "", ERROR_ACCESS,
	  "the file is damaged or of another version" },
	{ DUCKDB_ERROR_FATAL, "FATAL Error", "", ERROR_ACCESS,
	  "the database closed itself after a failure" },
	{ DUCKDB_ERROR_TRANSACTION, "TransactionContext Error",
	  "violates primary key constraint", ERROR_DATA,
	  "a repeated key, found at COMMIT" },
	{ DUCKDB_ERROR_TRANSACTION, "TransactionContext Error",
	  "violates unique constraint", ERROR_DATA,
	  "a repeated value, found at COMMIT" },
	{ DUCKDB_ERROR_TRANSACTION, "TransactionContext Error", "onflict",
	  ERROR_CONFLICT, "another transaction wrote the same" },
	{ DUCKDB_ERROR_TRANSACTION, "TransactionContext Error", "",
	  ERROR_ACCESS, "COMMIT failed, often for want of room" },
	{ DUCKDB_ERROR_CONVERSION, "Conversion Error", "", ERROR_DATA,
	  "a value that the type cannot hold" },
	{ DUCKDB_ERROR_CONSTRAINT, "Constraint Error", "", ERROR_DATA,
	  "a value that a constraint refuses" },
	{ DUCKDB_ERROR_OUT_OF_RANGE, "Out of Range Error", "", ERROR_DATA,
	  "a number that the type cannot hold" },
	{ DUCKDB_ERROR_INVALID_INPUT, "Invalid Input Error", "", ERROR_DATA,
	  "a value that is none of its type" },
	{ DUCKDB_ERROR_MISMATCH_TYPE, "Mismatch Type Error", "", ERROR_DATA,
	  "a value of another type" },
	{ DUCKDB_ERROR_CATALOG, "Catalog Error", "", ERROR_SCHEMA,
	  "no such table, or one too many" },
	{ DUCKDB_ERROR_BINDER, "Binder Error", "", ERROR_SCHEMA,
	  "no such column, or of another type" },
	{ DUCKDB_ERROR_DEPENDENCY, "Dependency Error", "", ERROR_SCHEMA,
	  "other objects depend on it" },
	{ DUCKDB_ERROR_INTERRUPT, "INTERRUPT Error", "", ERROR_STOPPED,
	  "we were asked to stop" },
	{ DUCKDB_ERROR_INTERRUPT, "Interrupt", "", ERROR_STOPPED,
	  "we were asked to stop" },
	{ DUCKDB_ERROR_PARSER, "Parser Error", "", ERROR_BUG,
	  "a syntax error in our own SQL" },
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
