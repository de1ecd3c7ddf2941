#include "clients/http.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"

void http_response_init(struct http_response *r)
{
	memset(r, 0, sizeof(*r));
	r->retry_after_us = -1;
	strbuf_init(&r->headers);
	strbuf_init(&r->body);
}

void http_response_release(struct http_response *r)
{
	strbuf_release(&r->headers);
	strbuf_release(&r->body);
}

/* The text behind `name` and a colon on a line; NULL: another header. */
static const char *http_header_value(const char *line, const char *name)
{
	size_t n = strlen(name);

	if (strncasecmp(line, name, n) != 0 || line[n] != ':')
		return NULL;
	line += n + 1;
	while (*line == ' ' || *line == '\t')
		line++;
	return line;
}

char *http_response_header(const struct http_response *r, const char *name)
{
	const char *found = NULL, *line = r->headers.data;

	while (*line) {
		const char *value = http_header_value(line, name);
		const char *end = strchr(line, '\n');

		if (value)
			found = value;
		if (!end)
			break;
		line = end + 1;
	}
	return found ? xstrndup(found, strcspn(found, "\n")) : NULL;
}

void http_add_escaped(struct strbuf *sb, const char *text)
{
	for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
		if (*p < 0x80 && (isalnum(*p) || strchr("-._~", *p)))
			strbuf_addch(sb, (char)*p);
		else
			strbuf_addf(sb, "%%%02X", *p);
	}
}
