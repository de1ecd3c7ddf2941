#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/url.h"
#include "core/base/url_secrets.h"
#include "core/base/url_text.h"

static char *url_piece(const char *text, size_t n)
{
	return n ? url_decode(text, n) : NULL;
}

static int url_server_port(struct url_server *out, const char *text, size_t n,
			   const struct url *u, struct error *err)
{
	unsigned long port = 0;

	for (size_t i = 0; i < n; i++) {
		if (text[i] < '0' || text[i] > '9' || port > 65535)
			return error_set(err, ERROR_CONFIG,
					 "%s: the port is not a number from 1 "
					 "to 65535",
					 u->shown);
		port = port * 10 + (unsigned long)(text[i] - '0');
	}
	if (port > 65535)
		return error_set(err, ERROR_CONFIG,
				 "%s: the port is not a number from 1 to 65535",
				 u->shown);
	out->port = (unsigned)port;
	return 0;
}

/* "host", "host:port", "[::1]:port" */
static int url_server_address(struct url_server *out, const char *text,
			      size_t n, const struct url *u, struct error *err)
{
	const char *end;

	if (*text != '[') {
		size_t host = strcspn(text, ":");
		host = host < n ? host : n;
		out->host = url_piece(text, host);
		return host < n ? url_server_port(out, text + host + 1,
						  n - host - 1, u, err)
				: 0;
	}
	end = memchr(text, ']', n);
	if (!end || (end + 1 < text + n && end[1] != ':'))
		return error_set(err, ERROR_CONFIG,
				 "%s: an address in brackets is written "
				 "[ADDRESS] or [ADDRESS]:PORT",
				 u->shown);
	out->host = url_piece(text + 1, (size_t)(end - text) - 1);
	n -= (size_t)(end - text) + 1;
	return n ? url_server_port(out, end + 2, n - 1, u, err) : 0;
}

/* Read up to the host, and return it. url_find_secrets() may have found no
 * password. Then the text is shown, and so it is taken for the user's name,
 * with the "@" in it. */
static const char *url_server_user(struct url_server *out, const char *text)
{
	const char *at = strstr(text, "://") + 3;
	const char *sign = memrchr(at, '@', strcspn(at, "/?#")), *end = sign;
	struct url_spans spans = url_find_secrets(text, false);

	if (spans.n && spans.items[0].key == spans.items[0].start) {
		end = text + spans.items[0].start - 1;
		sign = text + spans.items[0].end;
		out->password = url_decode(end + 1, (size_t)(sign - end) - 1);
	} else if (sign > at && sign[-1] == ':') {
		end = sign - 1;
		out->password = xstrdup("");
	}
	free(spans.items);
	if (!sign)
		return at;
	out->user = url_piece(at, (size_t)(end - at));
	return sign + 1;
}

int url_server_parse(struct url_server *out, const struct url *u,
		     struct error *err)
{
	const char *at;
	size_t n, host;
	int rc;

	memset(out, 0, sizeof(*out));
	if (!strstr(u->text, "://"))
		return error_set(err, ERROR_CONFIG, "%s: names no server",
				 u->shown);
	at = url_server_user(out, u->text);
	n = strcspn(at, "?#");
	host = strcspn(at, "/?#");
	rc = url_server_address(out, at, host, u, err);
	if (!rc && n > host + 1)
		out->database = url_piece(at + host + 1, n - host - 1);
	if (rc)
		url_server_release(out);
	return rc;
}

void url_server_release(struct url_server *s)
{
	free(s->user);
	free(s->password);
	free(s->host);
	free(s->database);
	memset(s, 0, sizeof(*s));
}
