/* Facts about TLS for every client of a server. */
#ifndef TIDEMARK_CLIENTS_TLS_H
#define TIDEMARK_CLIENTS_TLS_H

#include <stdbool.h>
#include <stddef.h>

/* Loopback, or a socket's path: the first `n` bytes of `host`; none is the
 * default socket. */
bool tls_is_local(const char *host, size_t n);
/* The file of authorities that $SSL_CERT_FILE names, or the distribution's;
 * NULL: none found. A file that is named need not exist. The client libraries
 * know but the place of the distribution that they were built for. */
const char *tls_authorities(void);
/* $SSL_CERT_DIR, a directory of more authorities as `openssl rehash` makes it;
 * NULL: none. */
const char *tls_authorities_directory(void);

#endif
