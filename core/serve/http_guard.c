#include "core/serve/http_guard.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"
#include "core/base/listen.h"
#include "core/serve/http.h"

const struct http_refusal http_bad_request = {
	400, "bad_request",
	"the request is not well-formed: a header is missing, given twice or "
	"not readable"
};
const struct http_refusal http_bad_path = {
	400, "bad_request", "the path is no percent-encoded UTF-8 text"
};
const struct http_refusal http_bad_query = {
	400, "bad_request",
	"the query is no percent-encoded UTF-8 text, or names a value twice"
};
const struct http_refusal http_bad_json = {
	400, "bad_request", "the body is no JSON object or array"
};
const struct http_refusal http_not_found = { 404, "not_found",
					     "there is no such route" };
const struct http_refusal http_wrong_method = {
	405, "method_not_allowed",
	"the route does not take this method; see the header Allow"
};
const struct http_refusal http_too_large = {
	413, "too_large", "the body of a request has at most 64 KiB"
};

static const struct http_refusal no_host = { 400, "bad_request",
					     "the header Host is missing" };
static const struct http_refusal other_host = {
	421, "wrong_host",
	"this server does not answer to the name that it was asked by; name "
	"it in serve.hosts of the config"
};
static const struct http_refusal no_token = {
	401, "unauthorized",
	"the token is missing or wrong; send Authorization: Bearer TOKEN, the "
	"one of serve.token in the config"
};
static const struct http_refusal token_unset = {
	403, "forbidden",
	"this route needs a token, and none is configured; set serve.token in "
	"the config"
};
static const struct http_refusal other_site = {
	403, "forbidden", "the request comes from a page of another site"
};
static const struct http_refusal other_type = {
	415, "media_type",
	"the body has to be JSON, Content-Type: "
	"application/json"
};

static const struct {
	const char *name;
	size_t at;
} http_names[] = {
	{ "Host", offsetof(struct http_head, host) },
	{ "Authorization", offsetof(struct http_head, authorization) },
	{ "Origin", offsetof(struct http_head, origin) },
	{ "Sec-Fetch-Site", offsetof(struct http_head, fetch_site) },
	{ "Content-Type", offsetof(struct http_head, type) },
	{ "Content-Length", offsetof(struct http_head, length) },
	{ "Transfer-Encoding", offsetof(struct http_head, coding) },
	{ "Accept", offsetof(struct http_head, accept) },
	{ "Accept-Encoding", offsetof(struct http_head, accept_coding) },
	{ "If-None-Match", offsetof(struct http_head, known_etag) },
};

void http_head_note(struct http_head *h, const char *name, const char *value,
		    size_t n)
{
	for (size_t i = 0; i < ARRAY_SIZE(http_names); i++) {
		const char **place =
			(const char **)((char *)h + http_names[i].at);

		if (strcasecmp(name, http_names[i].name) != 0)
			continue;
		if (*place || !value || strlen(value) != n)
			h->bad = true;
		else
			*place = value;
	}
}

static bool guard_knows(const struct http_guard *g, const char *text, size_t n)
{
	char host[LISTEN_HOST_SIZE];

	return host_parse(text, n, host, NULL) && strlist_has(&g->hosts, host);
}

/* How long a body is has to be clear, or what follows it is not. */
static bool guard_body_is_clear(const struct http_head *h)
{
	if (h->coding)
		return !h->length && !strcasecmp(h->coding, "chunked");
	return !h->length || http_head_length(h) >= 0;
}

const struct http_refusal *http_guard_head(const struct http_guard *g,
					   const struct http_head *h,
					   const struct http_target *target)
{
	if (h->bad || !guard_body_is_clear(h))
		return &http_bad_request;
	if (!h->host)
		return &no_host;
	if (!guard_knows(g, h->host, strlen(h->host)))
		return &other_host;
	if (target->host && !guard_knows(g, target->host, target->host_length))
		return &other_host;
	return NULL;
}

/* As long for any token of one length, whatever is right in it. */
static bool guard_token_is(const char *token, const char *sent)
{
	size_t n = strlen(token), length = strlen(sent);
	volatile unsigned char other = n != length;

	for (size_t i = 0; i < length; i++)
		other = (unsigned char)(other | (sent[i] ^ token[i % n]));
	return !other;
}

const struct http_refusal *http_guard_token(const struct http_guard *g,
					    const struct http_head *h,
					    unsigned flags)
{
	const char *sent = h->authorization;

	if (flags & ROUTE_OPEN)
		return NULL;
	if (!*g->token)
		return flags & ROUTE_TOKEN ? &token_unset : NULL;
	if (!sent || strncasecmp(sent, "Bearer ", 7) != 0)
		return &no_token;
	sent += 7;
	sent += strspn(sent, " ");
	return guard_token_is(g->token, sent) ? NULL : &no_token;
}

/* A browser tells whose page asks. It has to be one of this very server. */
static bool guard_is_own_page(const struct http_head *h)
{
	const char *from = h->origin;

	if (h->fetch_site && strcmp(h->fetch_site, "same-origin") != 0 &&
	    strcmp(h->fetch_site, "none") != 0)
		return false;
	if (!from)
		return true;
	if (!strncasecmp(from, "http://", 7))
		from += 7;
	else if (!strncasecmp(from, "https://", 8))
		from += 8;
	else
		return false;
	return !strcasecmp(from, h->host);
}

static bool guard_is_json(const char *type)
{
	size_t n = strcspn(type, "; \t");

	return n == 16 && !strncasecmp(type, "application/json", 16);
}

/* A form or an image of another site can send neither JSON nor an Origin of
 * this one. */
const struct http_refusal *http_guard_write(const struct http_head *h)
{
	bool body = h->coding || http_head_length(h) > 0;

	if (!guard_is_own_page(h))
		return &other_site;
	if (h->type ? !guard_is_json(h->type) : body)
		return &other_type;
	return NULL;
}

long http_head_length(const struct http_head *h)
{
	size_t n = h->length ? strlen(h->length) : 0;

	if (!n || n > 15 || h->length[strspn(h->length, "0123456789")])
		return -1;
	return strtol(h->length, NULL, 10);
}

/* "gzip", "br, gzip;q=0.5", but not "gzip;q=0". */
bool http_head_unpacks(const struct http_head *h)
{
	const char *at = h->accept_coding;

	while (at && *at) {
		size_t n;

		at += strspn(at, " \t,");
		n = strcspn(at, ",");
		if (n == 4 && !strncasecmp(at, "gzip", 4))
			return true;
		if (!strncasecmp(at, "gzip;q=", 7))
			return strtod(at + 7, NULL) > 0;
		at += n;
	}
	return false;
}
