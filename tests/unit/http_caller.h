/* A client that sends exactly the bytes it is told, for the tests of the
 * server. */
#ifndef TIDEMARK_TESTS_UNIT_HTTP_CALLER_H
#define TIDEMARK_TESTS_UNIT_HTTP_CALLER_H

#include <stdbool.h>
#include <stddef.h>

/* Connect to "127.0.0.1:PORT", "[::1]:PORT" or "unix:PATH", from the address
 * `from` (NULL: any). */
int caller_connect(const char *address, const char *from);
/* False once the other side hangs up. */
bool caller_send(int fd, const char *data, size_t n);
/* All until the other side hangs up; caller frees. */
char *caller_read(int fd);
/* One reply, as its Content-Length says; NULL: it hung up. Caller frees. */
char *caller_read_reply(int fd);
/* Connect, send, read all. */
char *caller_ask(const char *address, const char *data, size_t n);

/* The number in a reply; 0: it is none at all. */
unsigned reply_status(const char *reply);
const char *reply_body(const char *reply);
bool reply_has(const char *reply, const char *line); /* a header line */

#endif
