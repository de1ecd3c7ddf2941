/*
 * Where a server listens, and the names that it answers to: addresses as a
 * config writes them, and hosts as a client sends them.
 */
#ifndef TIDEMARK_CORE_BASE_LISTEN_H
#define TIDEMARK_CORE_BASE_LISTEN_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/strbuf.h"

/* A name, or an address without brackets, and a NUL. */
#define LISTEN_HOST_SIZE 256
#define LISTEN_PATH_SIZE 108 /* sun_path */

enum listen_kind { LISTEN_OFF, LISTEN_TCP, LISTEN_UNIX };

struct listen_address {
	enum listen_kind kind;
	/* TCP: an IPv4 or IPv6 address in its shortest form. */
	char host[LISTEN_HOST_SIZE];
	bool six; /* it is IPv6 */
	unsigned port; /* 0: any that is free */
	/* UNIX */
	char path[LISTEN_PATH_SIZE];
	unsigned mode; /* 0600 or 0660, the file's */
};

#define LISTEN_EXPECTS                                                         \
	"an address such as 127.0.0.1:9464 or [::1]:9464, unix:PATH, or off"

/* "127.0.0.1:9464", "localhost:9464", "[::1]:9464", "unix:/run/t.sock",
 * "unix:/run/t.sock?mode=0660", "off". False, with the fault appended to
 * `why`. No name is looked up. */
bool listen_parse(struct listen_address *out, const char *text,
		  struct strbuf *why);
/* Only this machine's own processes reach it: a loopback address, a socket in
 * the file system, or nothing at all. */
bool listen_is_local(const struct listen_address *a);
/* As listen_parse() takes it. */
void listen_add_text(struct strbuf *out, const struct listen_address *a);

/* The host of "name", "name:80", "127.0.0.1:80" or "[::1]:80", of `n` bytes:
 * in lower case, an address in its shortest form. False if it is none of
 * these. `port` (or NULL) tells whether there is one. */
bool host_parse(const char *text, size_t n, char out[LISTEN_HOST_SIZE],
		bool *port);

#endif
