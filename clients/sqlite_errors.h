/*
 * Classes of SQLite's errors: one table with the reason of each line.
 */
#ifndef TIDEMARK_CLIENTS_SQLITE_ERRORS_H
#define TIDEMARK_CLIENTS_SQLITE_ERRORS_H

#include <stdbool.h>

#include "core/base/error.h"

/* The class of an (extended) result code; ERROR_UNKNOWN if neither it nor its
 * primary code is in the table. */
enum error_code sqlite_error_code(int code);
/* Advice for this error, as a sentence; "" if there is none. */
const char *sqlite_error_hint(int code);
/* SQLite's text as an error may tell it: without values of rows, unless they
 * are to be shown. `running`: the statement itself was understood. Caller
 * frees. */
char *sqlite_error_told(int code, bool running, const char *message);

#endif
