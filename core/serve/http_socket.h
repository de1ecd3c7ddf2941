/* The socket that a server listens on. */
#ifndef TIDEMARK_CORE_SERVE_HTTP_SOCKET_H
#define TIDEMARK_CORE_SERVE_HTTP_SOCKET_H

#include <sys/types.h>

#include "core/base/error.h"
#include "core/base/listen.h"

struct http_socket {
	int fd; /* listens, does not block */
	struct listen_address at; /* with the port that it got */
	dev_t device; /* the file of a UNIX socket has it */
	ino_t inode;
};

/* CONFIG: this machine has no such address. ACCESS: somebody else has it, or
 * we may not take it. The file of a UNIX socket that nobody listens on any
 * more is replaced; any other file is left alone. */
int http_socket_open(const struct listen_address *address,
		     struct http_socket *out, struct error *err);
/* Remove the file, if it is still the one that was made. `fd` is left alone. */
void http_socket_remove(const struct http_socket *s);

#endif
