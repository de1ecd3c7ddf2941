/* Facts about TLS for every client of a server. */
#ifndef TIDEMARK_CLIENTS_TLS_H
#define TIDEMARK_CLIENTS_TLS_H

#include <stdbool.h>
#include <stddef.h>

/* Loopback, or a socket's path: the first `n` bytes of `host`; none is the
 * default socket. */
bool tls_is_local(const char *host, size_t n);
/* The distribution's bundle of certificate authorities; NULL: none found. */
const char *tls_authorities(void);

#endif
