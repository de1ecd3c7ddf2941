/*
 * A server's message in one line: what it says, its detail, hint and context.
 * Of a message that may tell of a row, the parts without its values (see
 * core/base/row_values.h). Called by clients/pg*.c alone.
 */
#ifndef TIDEMARK_CLIENTS_PG_MESSAGE_H
#define TIDEMARK_CLIENTS_PG_MESSAGE_H

#include <libpq-fe.h>

#include "core/base/error.h"
#include "core/base/strbuf.h"

/* `code`: the class of its SQLSTATE. */
void pg_message_add(struct strbuf *out, const PGresult *result,
		    enum error_code code);
/* libpq's notice receiver: to the debug log. */
void pg_notice(void *ctx, const PGresult *result);

#endif
