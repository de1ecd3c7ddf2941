/*
 * A server's message in one line: its text, detail, hint and context. If the
 * message may tell of a row, only the parts without values are kept (see
 * core/base/row_values.h).
 */
#ifndef TIDEMARK_CLIENTS_PG_MESSAGE_H
#define TIDEMARK_CLIENTS_PG_MESSAGE_H

#include <libpq-fe.h>

#include "core/base/error.h"
#include "core/base/strbuf.h"

/* The class of its SQLSTATE. DATA if a value, and not a statement, has a syntax
 * error. */
enum error_code pg_message_code(const PGresult *result);
/* `sql` is the statement sent, NULL if there was none. It holds no values of
 * rows, so its names may be told. */
void pg_message_add(struct strbuf *out, const PGresult *result,
		    enum error_code code, const char *sql);
/* libpq's notice receiver: to the debug log. `ctx`: where the statement sent
 * is kept, char **. */
void pg_notice(void *ctx, const PGresult *result);

#endif
