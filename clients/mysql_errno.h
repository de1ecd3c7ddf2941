/*
 * Classes of MySQL's and MariaDB's errors: errno to error code, in one table
 * with the reason of each line. It knows nothing of the client library.
 */
#ifndef TIDEMARK_CLIENTS_MYSQL_ERRNO_H
#define TIDEMARK_CLIENTS_MYSQL_ERRNO_H

#include "core/base/error.h"

/* MariaDB gives one errno for all that a table's engine refuses. Returns the
 * errno behind it, as far as the server's words `text` tell it; else
 * `number`. */
unsigned mysql_client_errno_meant(unsigned number, const char *text);
/* The class of an errno of the server or the client library. An errno that is
 * not in the table has the class of its SQLSTATE. ERROR_UNKNOWN if neither is
 * known. */
enum error_code mysql_client_errno_code(unsigned number, const char *sqlstate);
/* The meaning in our words; "" if it is not in the table. */
const char *mysql_client_errno_why(unsigned number);
/* Advice for this error, as a sentence; "" if there is none. */
const char *mysql_client_errno_hint(unsigned number);

#endif
