/* A ClickHouse server's errors as struct error. */
#ifndef TIDEMARK_CLIENTS_CLICKHOUSE_ERRORS_H
#define TIDEMARK_CLIENTS_CLICKHOUSE_ERRORS_H

#include <stddef.h>

#include "clients/http.h"

/* The class of one of the server's exceptions. */
enum error_code clickhouse_class(long code);
/* Find "Code: 60. DB::Exception: ..." in a text and return the number; 0 if
 * there is none. `*begin` and `*end` bound the words behind "DB::Exception:
 * ". */
long clickhouse_find_exception(const char *text, size_t n, size_t *begin,
			       size_t *end);
/* Set `err` from an exception within a text. 0: there is none. */
int clickhouse_fail_text(struct error *err, const char *shown, const char *text,
			 size_t n);
/* 0 for an answer that is a success; an exception in its header or body, and
 * any other status, is an error. */
int clickhouse_check(const struct http *h, const struct http_response *r,
		     struct error *err);
/* ACCESS if a success does not come from ClickHouse but from a proxy or another
 * server: ClickHouse numbers all its answers. ACCESS also if it is not `good`;
 * `due` says in words which answer was expected. */
int clickhouse_check_other(const struct http *h, const struct http_response *r,
			   bool good, const char *due, struct error *err);

#endif
