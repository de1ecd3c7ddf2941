/*
 * Classes of PostgreSQL's errors: SQLSTATE to error code, in one table with the
 * reason of each line. It knows nothing of libpq.
 */
#ifndef TIDEMARK_CLIENTS_PG_SQLSTATE_H
#define TIDEMARK_CLIENTS_PG_SQLSTATE_H

#include <stdbool.h>

#include "core/base/error.h"

/* The class of a SQLSTATE; ERROR_UNKNOWN for one that is not in the table. */
enum error_code pg_sqlstate_code(const char *sqlstate);
/* Advice for this error, as a sentence; "" if there is none. */
const char *pg_sqlstate_hint(const char *sqlstate);

/* The class of a connection attempt that failed without a SQLSTATE, by
 * libpq's text. A parameter of the URL that libpq refuses is CONFIG.
 * Unavailable TLS and a missing password are ACCESS. Every failure of the
 * network is TRANSIENT. */
enum error_code pg_connect_code(const char *text);
/* Copies the SQLSTATE out of libpq's verbose text ("FATAL:  28P01: ...") to
 * `out`. Removes it, and the lines about the server's source code, from `text`.
 * False, and `out` empty, if there is none. */
bool pg_take_sqlstate(char *text, char out[6]);
/* One line: libpq's texts end in a newline and may hold several. In place. */
void pg_one_line(char *text);

#endif
