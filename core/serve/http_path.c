#include "core/serve/http_path.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"
#include "core/base/strbuf.h"
#include "core/base/utf8.h"

static int http_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The byte at `*at`, which moves behind it; -1: no escape. */
static int http_byte(const char **at, const char *end, bool form)
{
	const char *p = *at;
	int high, low;

	*at = p + 1;
	if (*p == '+' && form)
		return ' ';
	if (*p != '%')
		return (unsigned char)*p;
	if (end - p < 3)
		return -1;
	high = http_digit(p[1]);
	low = http_digit(p[2]);
	*at = p + 3;
	return high < 0 || low < 0 ? -1 : high * 16 + low;
}

/* Nobody has to obey such a text: a terminal, a log or a page. */
static bool http_is_text(const char *text, size_t n)
{
	for (size_t i = 0; i < n;) {
		size_t length = utf8_char_length(text + i, n - i);

		if (!length || utf8_is_control(text + i, length))
			return false;
		i += length;
	}
	return true;
}

char *http_decode(const char *text, size_t n, bool form)
{
	const char *end = text + n;
	char *out = xmalloc(n + 1);
	size_t length = 0;

	while (text < end) {
		int byte = http_byte(&text, end, form);

		if (byte < 0)
			goto bad;
		out[length++] = (char)byte;
	}
	out[length] = '\0';
	if (http_is_text(out, length))
		return out;
bad:
	free(out);
	return NULL;
}

bool http_target_parse(struct http_target *out, const char *text)
{
	size_t n;

	memset(out, 0, sizeof(*out));
	if (!strncasecmp(text, "http://", 7))
		out->host = text + 7;
	else if (!strncasecmp(text, "https://", 8))
		out->host = text + 8;
	if (out->host) {
		out->host_length = strcspn(out->host, "/?#");
		text = out->host + out->host_length;
	}
	if (*text != '/' || strchr(text, '#'))
		return false;
	n = strcspn(text, "?");
	out->path = xstrndup(text, n);
	out->query = text[n] ? text + n + 1 : "";
	return true;
}

void http_target_release(struct http_target *t)
{
	free(t->path);
	t->path = NULL;
}

/* Takes `segment` over if the pattern asks for it. */
static enum http_fit http_segment(const char *pattern, size_t n, char *segment,
				  struct http_parts *parts)
{
	bool same;

	if (n == 2 && !memcmp(pattern, "{}", 2)) {
		parts->items[parts->n++] = segment;
		return *segment ? HTTP_FITS : HTTP_OTHER;
	}
	same = strlen(segment) == n && !memcmp(pattern, segment, n);
	free(segment);
	return same ? HTTP_FITS : HTTP_OTHER;
}

/* Both stand on a "/". A path that is broken further on is so from here. */
enum http_fit http_path_fit(const char *pattern, const char *path,
			    struct http_parts *parts)
{
	enum http_fit fit = HTTP_FITS;

	memset(parts, 0, sizeof(*parts));
	while (*path == '/') {
		size_t n = strcspn(++path, "/"), length = 0;
		char *segment = http_decode(path, n, false);

		path += n;
		if (!segment)
			return HTTP_BROKEN;
		if (*pattern == '/')
			length = strcspn(++pattern, "/");
		else
			fit = HTTP_OTHER;
		if (fit == HTTP_FITS && parts->n < HTTP_PARTS_MOST)
			fit = http_segment(pattern, length, segment, parts);
		else
			free(segment);
		pattern += length;
	}
	return *pattern || *path ? HTTP_OTHER : fit;
}

void http_parts_release(struct http_parts *parts)
{
	for (size_t i = 0; i < parts->n; i++)
		free(parts->items[i]);
	parts->n = 0;
}

static bool http_pair_parse(struct http_query *q, const char *text, size_t n)
{
	const char *sign = memchr(text, '=', n);
	size_t name = sign ? (size_t)(sign - text) : n;
	struct http_pair *pair = &q->items[q->n];

	if (q->n == HTTP_QUERY_MOST)
		return false;
	pair->name = http_decode(text, name, true);
	pair->value =
		sign ? http_decode(sign + 1, n - name - 1, true) : xstrdup("");
	q->n++;
	if (!pair->name || !pair->value)
		return false;
	for (size_t i = 0; i + 1 < q->n; i++)
		if (!strcmp(q->items[i].name, pair->name))
			return false;
	return true;
}

bool http_query_parse(struct http_query *out, const char *text)
{
	memset(out, 0, sizeof(*out));
	while (*text) {
		size_t n = strcspn(text, "&");

		if (n && !http_pair_parse(out, text, n))
			return false;
		text += n + (text[n] == '&');
	}
	return true;
}

void http_query_release(struct http_query *q)
{
	for (size_t i = 0; i < q->n; i++) {
		free(q->items[i].name);
		free(q->items[i].value);
	}
	q->n = 0;
}

const char *http_query_value(const struct http_query *q, const char *name)
{
	for (size_t i = 0; i < q->n; i++)
		if (!strcmp(q->items[i].name, name))
			return q->items[i].value;
	return NULL;
}
