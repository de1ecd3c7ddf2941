/*
 * The only files that know curl/curl.h: requests to one HTTP server, one after
 * the other over a connection that is kept, and what goes wrong as struct
 * error. It knows nothing of what they say to each other.
 *
 * https only off loopback, the peer's certificate always verified; no
 * redirect is followed and no proxy used for loopback. Memory is bounded: a
 * body that is sent comes from memory or a callback, an answer goes into
 * memory up to a limit or is pulled piece by piece. Used by one thread; only
 * http_interrupt() may come from another.
 */
#ifndef TIDEMARK_CLIENTS_HTTP_H
#define TIDEMARK_CLIENTS_HTTP_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/connection.h"
#include "core/base/strbuf.h"

struct http;

/* The next bytes of a body: up to `room` into `out`, 0 at its end; negative
 * with `err` set: the request is given up with that error. */
typedef long (*http_source)(void *ctx, void *out, size_t room,
			    struct error *err);

struct http_request {
	const char *method; /* GET POST PUT PATCH DELETE */
	/* Behind the base, from its slash on, escaped: "/?query=SELECT%201".
	 * Never shown in errors. */
	const char *path;
	/* "Name: value", ends with NULL; or NULL. Content-Type is sent only if
	 * it is among them. */
	const char *const *headers;
	/* The body from memory, which lives until the answer is read ... */
	const void *body;
	size_t n_body;
	/* ... or from `source` (not NULL then). `rewind` begins it anew, for a
	 * connection that turns out dead and for http_do()'s second tries;
	 * NULL: it cannot be. `size`: bytes in all; -1: unknown (chunked). */
	http_source source;
	void (*rewind)(void *ctx);
	void *ctx;
	int64_t size;
	/* Pack what `source` gives by zstd; `size` is -1 then. */
	bool pack;
	/* Never sent twice, whatever happens: over a connection of its own, for
	 * one that was kept may die before its answer, and the same be sent
	 * again. */
	bool once;
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
 * without a slash at its end; `shown`: who that is in messages, "ClickHouse at
 * db.example:8443". Of `conn` counts TLS (verify-ca: the host's name is not
 * compared; else it is) and the timeouts. Nothing is sent yet. CONFIG: http
 * off loopback, TLS disabled for https, files that are not there. */
int http_open(struct http **out, const struct connection *conn,
	      const char *base, const char *shown, struct error *err);
/* The metadata server of a machine in a cloud, which has no TLS: `host` is
 * metadata.google.internal, 169.254.169.254 or what GCE_METADATA_HOST names.
 * CONFIG: any other. Send it nothing that is secret. */
int http_open_metadata(struct http **out, const struct connection *conn,
		       const char *host, const char *shown, struct error *err);
void http_close(struct http *h); /* NULL is fine */
/* What goes on and what comes later ends with STOPPED. */
void http_interrupt(struct http *h);
/* While a client is being opened nobody can interrupt it: a stop that is
 * requested ends the request with STOPPED. */
void http_heed_stop(struct http *h, bool on);
const char *http_shown(const struct http *h);

/* Send, and take the whole answer into `out` (initialised, emptied first): 0
 * whatever its status is, see http_check(). More than `limit` bytes: ACCESS.
 * 429 and 503 with a Retry-After are waited for and sent again, if the body
 * can be, up to three times and a minute in all. A kept connection that died
 * before any byte of an answer came is replaced and the request sent again: a
 * request has to be one that may arrive twice. */
int http_do(struct http *h, const struct http_request *request, size_t limit,
	    struct http_response *out, struct error *err);

/* The same piece by piece: send, and return when the answer's head is there;
 * then http_read() until *n is 0, or http_drain() into out->body, the rest up
 * to `limit` (it is cut there, no error, if `cut`); http_end() in any case,
 * which ends a transfer in the middle. No second tries. An answer that breaks
 * off before its end, or of which nobody can say, for it has no length and no
 * chunks: TRANSIENT. One that is packed: ACCESS. */
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
/* The class of a status alone: 401 403 407 507 ACCESS; 408 425 429 and 5xx but
 * 501, 505 TRANSIENT; 413 DATA; 3xx, 404 and what HTTP does not know ACCESS;
 * others UNKNOWN. */
enum error_code http_status_class(long status);
/* At most `most` bytes of a foreign text on one line, cut at a character, with
 * "?" for what is no text. */
void http_add_excerpt(struct strbuf *sb, const char *text, size_t n,
		      size_t most);
/* Percent-encoded, all but letters, digits and -._~ */
void http_add_escaped(struct strbuf *sb, const char *text);

#endif
