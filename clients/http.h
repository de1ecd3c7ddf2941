/*
 * The only files that know curl/curl.h. They send requests to one HTTP server,
 * one after the other over a connection that is kept. Failures become struct
 * error. The content of requests and answers is the caller's business.
 *
 * Off loopback only https is allowed, and the peer's certificate is always
 * verified. No redirect is followed, and no proxy is used for loopback. Memory
 * is bounded. A body that is sent comes from memory or a callback. An answer
 * goes into memory up to a limit, or is pulled piece by piece. One thread uses
 * a client; only http_interrupt() may come from another.
 */
#ifndef TIDEMARK_CLIENTS_HTTP_H
#define TIDEMARK_CLIENTS_HTTP_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/connection.h"
#include "core/base/strbuf.h"

struct http;

/* The next bytes of a body: up to `room` into `out`, 0 at its end. Negative
 * with `err` set gives the request up with that error. */
typedef long (*http_source)(void *ctx, void *out, size_t room,
			    struct error *err);

struct http_request {
	const char *method; /* GET POST PUT PATCH DELETE */
	/* The path behind the base, from its slash on, escaped:
	 * "/?query=SELECT%201". Never shown in errors. */
	const char *path;
	/* "Name: value", ends with NULL; or NULL. Content-Type is sent only if
	 * it is among them. */
	const char *const *headers;
	/* The body from memory, which lives until the answer is read ... */
	const void *body;
	size_t n_body;
	/* ... or from `source` (not NULL then). `rewind` begins it anew, for a
	 * dead connection and for http_do()'s second tries; NULL: it cannot
	 * begin anew. `size`: bytes in all; -1: unknown (chunked). */
	http_source source;
	void (*rewind)(void *ctx);
	void *ctx;
	int64_t size;
	/* Pack what `source` gives by zstd; `size` is -1 then. */
	bool pack;
	/* Never sent twice: it gets a connection of its own. A kept
	 * connection may die before the answer, and then the request would
	 * be sent again. */
	bool once;
	/* The whole of it ends by then, TRANSIENT; 0: no bound. */
	int64_t timeout_us;
};

struct http_response {
	long status;
	int64_t retry_after_us; /* as Retry-After says; -1: it does not */
	struct strbuf headers; /* "Name: value\n" each */
	struct strbuf body; /* http_do(), http_drain() */
};
void http_response_init(struct http_response *r);
void http_response_release(struct http_response *r);
/* The value of a header, whatever its name's case (the last of several), or
 * NULL; caller frees. */
char *http_response_header(const struct http_response *r, const char *name);

/* `base`: scheme, host and port, "https://db.example:8443", and maybe a path
 * without a slash at its end. `shown` names the server in messages, "ClickHouse
 * at db.example:8443". `conn` gives TLS and the timeouts; verify-ca leaves the
 * host's name out of the comparison. Nothing is sent yet. A client that was
 * closed may serve again, with its connections (core/base/pool.h). CONFIG: http
 * off loopback, TLS disabled for https, files that do not exist. */
int http_open(struct http **out, const struct connection *conn,
	      const char *base, const char *shown, struct error *err);
/* The same, outside of the pool: it takes nobody's room. */
int http_open_apart(struct http **out, const struct connection *conn,
		    const char *base, const char *shown, struct error *err);
/* Open the metadata server of a machine in a cloud, which has no TLS. `host` is
 * metadata.google.internal, 169.254.169.254 or the value of GCE_METADATA_HOST.
 * CONFIG: any other. Send it nothing that is secret. */
int http_open_metadata(struct http **out, const struct connection *conn,
		       const char *host, const char *shown, struct error *err);
void http_close(struct http *h); /* NULL is fine */
/* The request under way and all later ones end with STOPPED. */
void http_interrupt(struct http *h);
/* Nobody can interrupt a client that is being opened. With `on` a requested
 * stop ends the request with STOPPED. */
void http_heed_stop(struct http *h, bool on);
const char *http_shown(const struct http *h);

/* Send, and take the whole answer into `out` (initialised, emptied first).
 * Returns 0 whatever the status is: see http_check(). More than `limit` bytes:
 * ACCESS. A 429 or 503 with a Retry-After is waited for and sent again, if the
 * body can be. It is tried up to three times and a minute in all. If a kept
 * connection died before the first byte of an answer, a new one replaces it and
 * the request is sent again. So a request must be harmless when it arrives
 * twice. */
int http_do(struct http *h, const struct http_request *request, size_t limit,
	    struct http_response *out, struct error *err);

/* The same piece by piece. http_begin() sends and returns when the answer's
 * head is there. Then call http_read() until *n is 0, or http_drain(), which
 * takes the rest into out->body up to `limit`. With `cut` a longer rest is no
 * error. Always call http_end(), which ends a transfer in the middle. There are
 * no second tries. An answer that breaks off is TRANSIENT, and so is one that
 * has neither a length nor chunks and may have broken off. A packed answer is
 * ACCESS. */
int http_begin(struct http *h, const struct http_request *request,
	       struct http_response *out, struct error *err);
int http_read(struct http *h, void *buffer, size_t room, size_t *n,
	      struct error *err);
int http_drain(struct http *h, struct http_response *out, size_t limit,
	       bool cut, struct error *err);
void http_end(struct http *h);

/* 0 for a 2xx; else an error with the status and the beginning of the body. */
int http_check(const struct http *h, const struct http_response *r,
	       struct error *err);
/* The class of a status alone:
 * - ACCESS: 401, 403, 407, 507, 3xx, 404, and a status that HTTP does not know
 * - TRANSIENT: 408, 425, 429, and 5xx but 501 and 505
 * - DATA: 413
 * - UNKNOWN: all others */
enum error_code http_status_class(long status);
/* Add at most `most` bytes of a foreign text on one line, cut at a character. A
 * byte that is no text becomes "?". */
void http_add_excerpt(struct strbuf *sb, const char *text, size_t n,
		      size_t most);
/* Percent-encoded, all but letters, digits and -._~ */
void http_add_escaped(struct strbuf *sb, const char *text);

#endif
