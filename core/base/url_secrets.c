#include "core/base/url_secrets.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"
#include "core/base/engine.h"
#include "core/base/strbuf.h"
#include "core/base/url_text.h"

#define URL_MASK "***"

/* A key names a secret if it is one of these, or ends with "_" or "-" and
 * one. */
static const char *const secret_keys[] = {
	"password", "sslpassword", "passwd",	  "pwd",    "passphrase",
	"token",    "secret",	   "api_key",	  "apikey", "secret_key",
	"auth_key", "access_key",  "private_key",
};

static bool secret_ends_with(const char *key, const char *word)
{
	size_t n = strlen(key), length = strlen(word);

	if (n < length || strcasecmp(key + n - length, word) != 0)
		return false;
	return n == length || strchr("_-", key[n - length - 1]);
}

bool secret_is_key(const char *key, size_t n)
{
	char *decoded = url_decode(key, n);
	bool found = false;

	for (size_t i = 0; !found && i < ARRAY_SIZE(secret_keys); i++)
		found = secret_ends_with(decoded, secret_keys[i]);
	free(decoded);
	return found;
}

/* An empty one is left out. */
static void url_spans_add(struct url_spans *spans, const struct url_span *span)
{
	if (span->end <= span->start)
		return;
	spans->items = xgrow(spans->items, &spans->capacity, spans->n + 1,
			     sizeof(*spans->items));
	spans->items[spans->n++] = *span;
}

/* The next character of `stops` at or behind `at`, or the end; in unexpanded
 * text a ${...} is one opaque piece. */
static size_t url_scan(const char *text, size_t at, const char *stops,
		       bool unexpanded)
{
	while (text[at] && !strchr(stops, text[at])) {
		const char *end = NULL;

		if (unexpanded && text[at] == '$' && text[at + 1] == '{')
			end = strchr(text + at, '}');
		at = end ? (size_t)(end - text) + 1 : at + 1;
	}
	return at;
}

/* The last "@" before `end`, or `end`. */
static size_t url_last_at(const char *text, size_t start, size_t end,
			  bool unexpanded)
{
	size_t found = end;

	for (size_t at = start; at < end; at++) {
		at = url_scan(text, at, "@", unexpanded);
		if (at < end)
			found = at;
	}
	return found;
}

/* Is it "host:port" or "a:1,b:2"? Any other text behind the colon, in front of
 * a later @, is a password with a slash that was not percent-encoded. */
static bool url_is_port(const char *text, size_t start, size_t end)
{
	for (size_t i = start; i < end; i++)
		if (!isdigit((unsigned char)text[i]) && text[i] != ',' &&
		    text[i] != '.' && text[i] != ':' && text[i] != ']')
			return false;
	return true;
}

/* Is it "[::1]" or "[::1]:5432", and not a user's name that begins with a
 * bracket? */
static bool url_is_address(const char *text, size_t start, size_t end)
{
	const char *close = memchr(text + start, ']', end - start);
	size_t at = close ? (size_t)(close - text) + 1 : end;

	return text[start] == '[' && close &&
	       (at == end ||
		(text[at] == ':' && url_is_port(text, at + 1, end)));
}

/* The "?" of the query at or behind `at`, or the end. The query's first member
 * has a "=". With an "@" in front of any, a password holds the "?". */
static size_t url_query_start(const char *text, size_t at, bool unexpanded)
{
	at = url_scan(text, at, "?", unexpanded);
	while (text[url_scan(text, at, "=@", unexpanded)] == '@')
		at = url_scan(text, at + 1, "?", unexpanded);
	return at;
}

/* Where the password ends: the "@" in front of the host. 0: there is none. To
 * libpq it is the one up to the first slash, whatever comes before. A plug-in
 * that is not loaded yet may read it so, too. */
static size_t url_password_end(const char *text, size_t start, size_t colon,
			       bool unexpanded)
{
	size_t slash = url_scan(text, start, "/", unexpanded);
	size_t part = url_scan(text, start, "/?#", unexpanded);
	const struct engine *engine = engine_of_url(text);
	bool libpq = !engine || engine->traits & ENGINE_LIBPQ_URL;
	size_t all = strlen(text), sign;

	if (!libpq && part > colon + 1 &&
	    url_last_at(text, start, part, unexpanded) == part &&
	    url_is_port(text, colon + 1, part))
		return 0;
	sign = url_last_at(text, start, slash, unexpanded);
	if (colon >= slash ||
	    (sign == slash && url_is_address(text, start, slash)))
		return 0;
	if (sign < slash) {
		/* Behind the slash, too: "p@q/r@host", "p@q/r?s@host". */
		size_t query = url_query_start(text, sign, unexpanded);
		size_t more = url_last_at(text, sign, query, unexpanded);

		return more < query ? more : sign;
	}
	if (url_is_port(text, colon + 1, part))
		return 0;
	sign = url_last_at(text, start, all, unexpanded);
	return sign < all ? sign : 0;
}

/* Is it "user@host:1", or "user@host:1,host:2"? With another "@" behind the
 * colon, or without a number, the user's name holds the first "@". */
static bool url_is_ports_colon(const char *text, size_t start, size_t colon,
			       bool unexpanded)
{
	size_t sign = url_last_at(text, start, colon, unexpanded);
	size_t part = url_scan(text, start, "/?#", unexpanded);
	size_t end = colon + 1;

	if (sign == colon || url_last_at(text, colon, part, unexpanded) < part)
		return false;
	end += strspn(text + end, "0123456789");
	return text[sign + 1] == '[' || strchr(",/?#", text[end]);
}

/* The password in front of the host; empty where there is none. */
static struct url_span url_find_password(const char *text, size_t start,
					 bool unexpanded)
{
	size_t colon = url_scan(text, start, ":", unexpanded);
	size_t end = url_password_end(text, start, colon, unexpanded);

	if (end <= colon + 1 ||
	    url_is_ports_colon(text, start, colon, unexpanded))
		return (struct url_span){ 0, 0, 0 };
	return (struct url_span){ colon + 1, end, colon + 1 };
}

/* The value of the item whose "?" or "&" is at `at`, if its key says that it is
 * a secret; else empty. */
static struct url_span url_item(const char *text, size_t at, bool unexpanded)
{
	size_t start = at + 1;
	size_t equals = url_scan(text, start, "=&?", unexpanded);

	if (text[equals] != '=' || !secret_is_key(text + start, equals - start))
		return (struct url_span){ 0, 0, 0 };
	return (struct url_span){ equals + 1,
				  url_scan(text, equals, "&", unexpanded),
				  start };
}

/* Add `item`, and `password` in front of it or as a part of it. */
static void url_spans_meet(struct url_spans *spans, struct url_span *password,
			   struct url_span *item)
{
	if (!password->end || password->start >= item->end)
		return;
	if (password->end <= item->start) {
		url_spans_add(spans, password);
	} else {
		if (password->start < item->start)
			item->start = password->start;
		if (password->end > item->end)
			item->end = password->end;
	}
	password->end = 0;
}

/* Readers differ about where the user's part ends, and so about which "?"
 * begins the query: "u@host?x=a:b&password=c@d" may have two passwords. So the
 * items behind each "?" count, unless the password holds the first of them.
 * Overlapping values are one. */
struct url_spans url_find_secrets(const char *text, bool unexpanded)
{
	struct url_spans spans = { NULL, 0, 0 };
	struct url_span password = { 0, 0, 0 };
	const char *rest = strstr(text, "://");
	size_t at = rest ? (size_t)(rest - text) + 3 : 0;

	if (rest)
		password = url_find_password(text, at, unexpanded);
	at = url_scan(text, at, "?", unexpanded);
	if (at >= password.start && at < password.end)
		at = url_scan(text, password.end, "?", unexpanded);
	while (text[at]) {
		struct url_span item = url_item(text, at, unexpanded);

		url_spans_meet(&spans, &password, &item);
		url_spans_add(&spans, &item);
		at = url_scan(text, item.end > at ? item.end : at + 1, "?&",
			      unexpanded);
	}
	url_spans_add(&spans, &password);
	return spans;
}

char *url_masked(const char *text, const struct url_spans *spans)
{
	struct strbuf sb = STRBUF_INIT;
	size_t at = 0;

	for (size_t i = 0; i < spans->n; i++) {
		strbuf_add(&sb, text + at, spans->items[i].start - at);
		strbuf_addstr(&sb, URL_MASK);
		at = spans->items[i].end;
	}
	strbuf_addstr(&sb, text + at);
	return strbuf_detach(&sb);
}

/* Replace `n` bytes at `text` by a mask that is no longer than they are, and
 * return its length. The bytes behind them move up, and the bytes left over at
 * the end are cleared. */
static size_t url_blot(char *text, size_t n)
{
	size_t mask = n < strlen(URL_MASK) ? n : strlen(URL_MASK);
	size_t rest = strlen(text + n);

	memset(text, '*', mask);
	memmove(text + mask, text + n, rest);
	memset(text + mask + rest, '\0', n - mask);
	return mask;
}

bool url_wipe(char *word)
{
	struct url_spans spans = url_find_secrets(word, true);
	bool found = false;

	/* From the end, so that the places before it stay true. */
	for (size_t i = spans.n; i-- > 0;) {
		struct url_span *s = &spans.items[i];

		if (expand_is_reference(word + s->start, s->end - s->start))
			continue;
		url_blot(word + s->start, s->end - s->start);
		found = true;
	}
	free(spans.items);
	return found;
}

static bool scrub_is_open(const char *text, size_t n)
{
	return n && !expand_is_reference(text, n) &&
	       !(n == strlen(URL_MASK) && !strncmp(text, URL_MASK, n));
}

/* How far a value reaches in running text. */
static size_t scrub_value(const char *text)
{
	if (*text == '$' && text[1] == '{' && strchr(text, '}'))
		return (size_t)(strchr(text, '}') - text) + 1;
	return strcspn(text, " \t\r\n\"'`<>&;,)}");
}

/* The end of a URL in running text. A reference is one piece of it. */
static size_t scrub_url_end(const char *text)
{
	size_t at = 0;

	while (text[at] && !strchr(" \t\r\n\"'`<>", text[at])) {
		const char *end = strncmp(text + at, "${", 2)
					  ? NULL
					  : strchr(text + at, '}');

		at = end ? (size_t)(end - text) + 1 : at + 1;
	}
	return at;
}

/* The URL whose "://" is at `at`, in `text`. */
static void scrub_url(const char *text, char *at)
{
	struct url_spans spans;
	char *url = at, *copy;

	while (url > text && isalnum((unsigned char)url[-1]))
		url--;
	copy = xstrndup(url, scrub_url_end(url));
	spans = url_find_secrets(copy, true);
	for (size_t i = spans.n; i-- > 0;) {
		const struct url_span *s = &spans.items[i];

		if (scrub_is_open(url + s->start, s->end - s->start))
			url_blot(url + s->start, s->end - s->start);
	}
	free(spans.items);
	free(copy);
}

/* The key that ends in front of the "=" at `equals`. */
static bool scrub_is_key(const char *text, const char *equals)
{
	const char *key = equals;

	while (key > text &&
	       (isalnum((unsigned char)key[-1]) || strchr("_-%", key[-1])))
		key--;
	return key < equals && secret_is_key(key, (size_t)(equals - key));
}

void url_scrub(char *text)
{
	for (char *at = text; (at = strstr(at, "://")); at += 3)
		scrub_url(text, at);
	for (char *at = text; (at = strchr(at, '=')); at++) {
		char *value = at + 1;
		size_t n;

		if (!scrub_is_key(text, at))
			continue;
		value += *value == '\'' || *value == '"';
		n = scrub_value(value);
		if (scrub_is_open(value, n))
			url_blot(value, n);
	}
}
