/*
 * The parts of a request's first line: its target, a path that fits a pattern,
 * and the values behind "?". Everything is decoded here, once, and only into
 * valid UTF-8 without control characters.
 */
#ifndef TIDEMARK_CORE_SERVE_HTTP_PATH_H
#define TIDEMARK_CORE_SERVE_HTTP_PATH_H

#include <stdbool.h>
#include <stddef.h>

#define HTTP_PARTS_MOST 4
#define HTTP_QUERY_MOST 32

/* Percent escapes resolved, and "+" as a space if `form`. NULL if an escape is
 * cut or wrong, or if the text then is not valid UTF-8, or has control
 * characters. Caller frees. */
char *http_decode(const char *text, size_t n, bool form);

/* "/path?query", or "http://host/path?query" as proxies are asked. */
struct http_target {
	const char *host; /* in the second form, not ended by NUL; or NULL */
	size_t host_length;
	char *path; /* as it was sent */
	const char *query; /* behind "?", as it was sent; "" */
};
/* False if it is neither. */
bool http_target_parse(struct http_target *out, const char *text);
void http_target_release(struct http_target *t);

struct http_parts {
	char *items[HTTP_PARTS_MOST]; /* owned */
	size_t n;
};
enum http_fit {
	HTTP_FITS,
	HTTP_OTHER, /* another path */
	HTTP_BROKEN, /* no path at all: see http_decode() */
};
/* Does the path fit? Segments are compared decoded. `parts` is to be released
 * in any case. */
enum http_fit http_path_fit(const char *pattern, const char *path,
			    struct http_parts *parts);
void http_parts_release(struct http_parts *parts);

struct http_pair {
	char *name, *value;
};
struct http_query {
	struct http_pair items[HTTP_QUERY_MOST];
	size_t n;
};
/* False if it cannot be decoded, has a name twice or too many of them. To be
 * released in any case. */
bool http_query_parse(struct http_query *out, const char *text);
void http_query_release(struct http_query *q);
const char *http_query_value(const struct http_query *q, const char *name);

#endif
