#include "core/base/url.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/engine.h"
#include "core/base/expand.h"
#include "core/base/secret.h"
#include "core/base/url_secrets.h"
#include "core/base/url_text.h"

void url_remember(const char *text)
{
	struct url_spans spans = url_find_secrets(text, true);

	for (size_t i = 0; i < spans.n; i++) {
		const struct url_span *span = &spans.items[i];
		size_t n = span->end - span->start;
		char *written = xstrndup(text + span->start, n);
		char *decoded = url_decode(text + span->start, n);

		if (!expand_is_reference(written, n)) {
			secret_add(written);
			secret_add(decoded);
		}
		free(written);
		free(decoded);
	}
	free(spans.items);
}

/* The texts of these errors never hold a piece that may be a password. */
static void url_no_scheme(const char *text, struct error *err)
{
	if (strchr(text, '='))
		error_set(err, ERROR_CONFIG,
			  "a libpq key=value string is no connection "
			  "URL: write "
			  "postgresql://user@host:port/database");
	else
		error_set(err, ERROR_CONFIG,
			  "a connection URL begins with its engine, as "
			  "postgresql://user@host/database, sqlite:FILE or "
			  "duckdb:FILE");
}

/* The scheme, and its engine. */
static int url_find_engine(const char *text, char **scheme,
			   const struct engine **engine, struct error *err)
{
	size_t n = strcspn(text, ":");

	if (text[n] != ':' || !n || strcspn(text, "=/ ") < n) {
		url_no_scheme(text, err);
		return -ERROR_CONFIG;
	}
	*scheme = xstrndup(text, n);
	for (char *p = *scheme; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	return engine_find(*scheme, engine, err);
}

/* sqlite:PATH, sqlite:/PATH and sqlite:///PATH; not sqlite://PATH. */
static int url_file_path(const char *scheme, const char *rest, char **path,
			 struct error *err)
{
	size_t n = strcspn(rest, "?");

	if (!strncmp(rest, "//", 2)) {
		if (rest[2] != '/')
			return error_set(
				err, ERROR_CONFIG,
				"%s://... names no file: write "
				"%s:relative/path or %s:/absolute/path",
				scheme, scheme, scheme);
		rest += 2;
		n -= 2;
	}
	if (!n)
		return error_set(err, ERROR_CONFIG,
				 "%s: without a file path: write %s:FILE",
				 scheme, scheme);
	*path = xstrndup(rest, n);
	return 0;
}

static int url_server_rest(const char *scheme, const char *rest,
			   struct error *err)
{
	if (strncmp(rest, "//", 2) != 0 || !rest[2])
		return error_set(err, ERROR_CONFIG,
				 "%s: is to be followed by //: write "
				 "%s://user@host:port/database",
				 scheme, scheme);
	return 0;
}

static int url_check_text(const char *text, struct error *err)
{
	for (const char *p = text; *p; p++)
		if (iscntrl((unsigned char)*p))
			return error_set(err, ERROR_CONFIG,
					 "a connection URL holds a control "
					 "character (a line break?)");
	return 0;
}

/* The character at which a client would end the user or the password; NULL:
 * there is none. libpq takes everything up to an "@" in front of the first
 * slash for user and password, even a query. */
static const char *url_early_end(const char *text, bool libpq,
				 const struct url_span *s)
{
	const char *start = strstr(text, "://") + 3, *end;

	if (s->key == s->start) {
		end = libpq ? start : text + s->start;
		end += strcspn(end, libpq ? "/@" : "/");
		return end < text + s->end ? end : NULL;
	}
	end = start + strcspn(start, "/@");
	return libpq && *end == '@' && end > text + s->key ? end : NULL;
}

/* The client would take the rest for the host. It would show it in an error of
 * its own, and send it to a name server. */
static int url_check_password(const char *text, bool libpq,
			      const struct url_spans *spans, struct error *err)
{
	for (size_t i = 0; i < spans->n; i++) {
		const struct url_span *s = &spans->items[i];
		const char *end = url_early_end(text, libpq, s);

		if (end)
			return error_set(
				err, ERROR_CONFIG,
				"the %s in the URL holds a \"%c\", which "
				"would end it: write %s (and %%40 for an \"@\" "
				"in a database's name), or put the password "
				"into a variable",
				end < text + s->start ? "user" : "password",
				*end, *end == '/' ? "%2F" : "%40");
	}
	return 0;
}

/* libpq reads a host that begins with "[" up to its "]". With a "/" or "?"
 * inside, every other reader would see the host end earlier. */
static int url_check_brackets(const char *text, const struct url_spans *spans,
			      struct error *err)
{
	bool user = spans->n && spans->items[0].key == spans->items[0].start;
	const char *at =
		user ? text + spans->items[0].end : strstr(text, "://") + 3;
	const char *end = at + strcspn(at, "/?#");

	for (; at < end; at++)
		if (*at == '[' && strchr("/@,", at[-1]) &&
		    at[strcspn(at, "]/?#")] != ']')
			return error_set(err, ERROR_CONFIG,
					 "the URL's host begins with \"[\" and "
					 "no \"]\" ends it: an address is "
					 "written [::1], and %%5B stands for "
					 "a \"[\" elsewhere");
	return 0;
}

/* The rest of the URL is a file, a server, or a module's own affair. */
static int url_parse_rest(struct url *out, const struct engine *engine,
			  const struct url_spans *spans, struct error *err)
{
	const char *rest = strchr(out->text, ':') + 1;
	bool libpq = engine->traits & ENGINE_LIBPQ_URL;
	int rc;

	if (engine->traits & ENGINE_FILE)
		return url_file_path(out->scheme, rest, &out->path, err);
	if (!(engine->traits & ENGINE_SERVER)) {
		out->path = xstrndup(rest, strcspn(rest, "?"));
		return 0;
	}
	out->path = xstrdup("");
	rc = url_server_rest(out->scheme, rest, err);
	if (!rc)
		rc = url_check_password(out->text, libpq, spans, err);
	return !rc && libpq ? url_check_brackets(out->text, spans, err) : rc;
}

int url_parse(struct url *out, const char *text, struct error *err)
{
	const struct engine *engine = NULL;
	struct url parsed = { .text = NULL };
	struct url_spans spans;
	int rc = url_check_text(text, err);

	if (rc)
		return rc;
	/* Remember the secrets before anything can fail and quote the text. An
	 * engine that is loaded only later hides no less: see
	 * url_find_secrets(). */
	url_remember(text);
	rc = url_find_engine(text, &parsed.scheme, &engine, err);
	if (rc) {
		url_release(&parsed);
		return rc;
	}
	spans = url_find_secrets(text, false);
	parsed.text = xstrdup(text);
	rc = url_parse_rest(&parsed, engine, &spans, err);
	if (rc) {
		url_release(&parsed);
	} else {
		parsed.engine = xstrdup(engine->name);
		parsed.shown = url_masked(text, &spans);
		*out = parsed;
	}
	free(spans.items);
	return rc;
}

void url_copy(struct url *out, const struct url *src)
{
	out->text = xstrdup(src->text);
	out->scheme = xstrdup(src->scheme);
	out->engine = xstrdup(src->engine);
	out->path = xstrdup(src->path);
	out->shown = xstrdup(src->shown);
}

void url_release(struct url *u)
{
	if (!u)
		return;
	free(u->text);
	free(u->scheme);
	free(u->engine);
	free(u->path);
	free(u->shown);
	memset(u, 0, sizeof(*u));
}

const char *url_query(const struct url *u)
{
	struct url_spans spans = url_find_secrets(u->text, false);
	bool user = spans.n && spans.items[0].key == spans.items[0].start;
	const char *at = u->text + (user ? spans.items[0].end : 0);

	free(spans.items);
	return at + strcspn(at, "?");
}

char *url_query_value(const struct url *u, const char *name)
{
	const char *at = url_query(u);
	size_t length = strlen(name);

	while (*at) {
		const char *item = at + 1;
		size_t n = strcspn(item, "&");

		if (n > length && item[length] == '=' &&
		    !strncmp(item, name, length))
			return url_decode(item + length + 1, n - length - 1);
		at = item + n;
	}
	return NULL;
}

int url_has_password(const char *text)
{
	struct url_spans spans = url_find_secrets(text, true);
	int found = 0;

	for (size_t i = 0; i < spans.n; i++)
		if (!expand_is_reference(text + spans.items[i].start,
					 spans.items[i].end -
						 spans.items[i].start))
			found = 1;
	free(spans.items);
	return found;
}
