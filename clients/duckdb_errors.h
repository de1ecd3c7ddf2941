/*
 * Classes of DuckDB's errors: one table of its error types, with the reason of
 * each line.
 */
#ifndef TIDEMARK_CLIENTS_DUCKDB_ERRORS_H
#define TIDEMARK_CLIENTS_DUCKDB_ERRORS_H

#include "core/base/error.h"

/* The class of an error text, which begins with the name of its type;
 * ERROR_UNKNOWN if that is not in the table. */
enum error_code duck_error_code(const char *text);
/* The same where the type comes beside the text (a duckdb_error_type). */
enum error_code duck_error_type_code(int type, const char *text);
/* An error of that class with DuckDB's text; without values of rows, unless
 * they are to be shown. */
int duck_error_set(struct error *err, enum error_code code, const char *text);

#endif
