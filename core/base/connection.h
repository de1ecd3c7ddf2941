/* How to reach a server or file; what every open() gets. */
#ifndef TIDEMARK_CORE_BASE_CONNECTION_H
#define TIDEMARK_CORE_BASE_CONNECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/url.h"

enum tls_mode {
	TLS_AUTO, /* verify-full off loopback, prefer on loopback and sockets */
	TLS_DISABLED,
	TLS_REQUIRED,
	TLS_VERIFY_CA,
	TLS_VERIFY_FULL
};

struct connection {
	char *name; /* its name in the config; "source" in `copy` */
	struct url url;
	char *password; /* beside the URL, or NULL */
	enum tls_mode tls_mode;
	char *tls_ca, *tls_cert, *tls_key; /* file paths or NULL */
	int64_t connect_timeout_us; /* default 10 s */
	/* Default 5 min: a server that says nothing. */
	int64_t silence_timeout_us;
	/* A dry run writes nothing. It does not even tidy up as an engine
	 * would, such as the log of a process that was killed. */
	bool look;
	/* So many sessions at most at once from one process; 0: no bound. */
	int64_t sessions;
};

/* An option in a URL's query that the engine itself understands
 * (duckdb:x.duckdb?memory_limit=1GB); shown by `tidemark plugins`. */
struct url_option {
	const char *name;
	const char *default_text;
	const char *doc;
};

#endif
