#include "core/base/url.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/nearest.h"
#include "core/base/secret.h"

static const struct {
	const char *scheme, *engine;
} url_schemes[] = {
	{ "postgresql", "postgres" },	{ "postgres", "postgres" },
	{ "mysql", "mysql" },		{ "mariadb", "mysql" },
	{ "sqlite", "sqlite" },		{ "duckdb", "duckdb" },
	{ "clickhouse", "clickhouse" }, { "clickhouses", "clickhouse" },
	{ "bigquery", "bigquery" },
};

/* A run of bytes inside a text. */
struct url_span {
	const char *at;
	size_t n;
};

static bool url_is_file(const char *engine)
{
	return strcmp(engine, "sqlite") == 0 || strcmp(engine, "duckdb") == 0;
}

/* The password of user:password@host. Its end is the last '@' before the
 * path, as libpq sees it. */
static struct url_span url_userinfo_password(const char *text)
{
	struct url_span none = { NULL, 0 };
	const char *host = strstr(text, "://");
	const char *end, *at, *colon;

	if (!host)
		return none;
	host += 3;
	end = host + strcspn(host, "/?#");
	at = memrchr(host, '@', (size_t)(end - host));
	colon = at ? memchr(host, ':', (size_t)(at - host)) : NULL;
	if (!colon || colon + 1 == at)
		return none;
	return (struct url_span){ colon + 1, (size_t)(at - colon - 1) };
}

/* The value of password= (also sslpassword=) in the query. */
static struct url_span url_query_password(const char *text)
{
	const char *at = strchr(text, '?');

	while (at && (at = strstr(at + 1, "password="))) {
		at += strlen("password=");
		if (strcspn(at, "&#"))
			return (struct url_span){ at, strcspn(at, "&#") };
	}
	return (struct url_span){ NULL, 0 };
}

int url_has_password(const char *text)
{
	return url_userinfo_password(text).n || url_query_password(text).n;
}

static char *url_decode(struct url_span span)
{
	char *out = xstrndup(span.at, span.n), *to = out;

	for (const char *p = out; *p; p++) {
		char hex[3] = { 0 };

		if (*p == '%' && isxdigit((unsigned char)p[1]) &&
		    isxdigit((unsigned char)p[2])) {
			memcpy(hex, p + 1, 2);
			*to++ = (char)strtol(hex, NULL, 16);
			p += 2;
		} else {
			*to++ = *p;
		}
	}
	*to = '\0';
	return out;
}

/* Remember the secret both as written and decoded. */
static void url_remember(struct url_span span)
{
	char *raw, *decoded;

	if (!span.n)
		return;
	raw = xstrndup(span.at, span.n);
	decoded = url_decode(span);
	secret_add(raw);
	secret_add(decoded);
	free(raw);
	free(decoded);
}

static void url_show(struct strbuf *sb, const char *text, struct url_span first,
		     struct url_span second)
{
	while (*text) {
		struct url_span *hit = text == first.at	   ? &first
				       : text == second.at ? &second
							   : NULL;

		if (hit) {
			strbuf_addstr(sb, "***");
			text += hit->n;
		} else {
			strbuf_addch(sb, *text++);
		}
	}
}

static int url_refuse_scheme(const char *scheme, struct error *err)
{
	const char *names[ARRAY_SIZE(url_schemes)], *near;

	for (size_t i = 0; i < ARRAY_SIZE(url_schemes); i++)
		names[i] = url_schemes[i].scheme;
	near = nearest_name(scheme, names, ARRAY_SIZE(names));
	error_set(err, ERROR_CONFIG, "unknown URL scheme \"%s\"", scheme);
	if (near)
		error_hint(err, "(did you mean \"%s\"?)", near);
	return error_hint(
		err,
		"allowed: postgresql://, mysql://, mariadb://, sqlite:PATH, "
		"duckdb:PATH, clickhouse://, clickhouses://, bigquery://");
}

static const char *url_engine(const char *scheme)
{
	for (size_t i = 0; i < ARRAY_SIZE(url_schemes); i++)
		if (strcmp(url_schemes[i].scheme, scheme) == 0)
			return url_schemes[i].engine;
	return NULL;
}

/* sqlite:PATH and duckdb:PATH, also with // or /// as people write them. */
static char *url_path(const char *rest)
{
	if (strncmp(rest, "//", 2) == 0)
		rest += 2;
	return xstrndup(rest, strcspn(rest, "?"));
}

static int url_fill(struct url *out, const char *text, const char *engine,
		    const char *rest, struct error *err)
{
	struct url_span first = url_userinfo_password(text);
	struct url_span second = url_query_password(text);
	struct strbuf shown = STRBUF_INIT;

	out->engine = xstrdup(engine);
	out->path = url_is_file(engine) ? url_path(rest) : xstrdup("");
	out->text = xstrdup(text);
	url_show(&shown, text, first, second);
	out->shown = strbuf_detach(&shown);
	url_remember(first);
	url_remember(second);
	if (url_is_file(engine) ? !*out->path : strncmp(rest, "//", 2) != 0)
		return error_set(err, ERROR_CONFIG,
				 url_is_file(engine)
					 ? "\"%s\" names no file; write %s:PATH"
					 : "\"%s\" is not a URL; write "
					   "%s://user@host/database",
				 out->shown, out->scheme);
	return 0;
}

int url_parse(struct url *out, const char *text, struct error *err)
{
	const char *colon = strchr(text, ':');
	size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz"
				"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+.-");
	const char *engine;
	int rc;

	memset(out, 0, sizeof(*out));
	if (!colon || n == 0 || text + n != colon)
		return error_set(
			err, ERROR_CONFIG,
			"a connection is a URL such as "
			"postgresql://user@host/database or sqlite:PATH");
	out->scheme = xstrndup(text, n);
	for (char *p = out->scheme; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	engine = url_engine(out->scheme);
	rc = engine ? url_fill(out, text, engine, colon + 1, err)
		    : url_refuse_scheme(out->scheme, err);
	if (rc)
		url_release(out);
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
	free(u->text);
	free(u->scheme);
	free(u->engine);
	free(u->path);
	free(u->shown);
	memset(u, 0, sizeof(*u));
}
