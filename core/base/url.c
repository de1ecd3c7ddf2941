#include "core/base/url.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"
#include "core/base/expand.h"
#include "core/base/module.h"
#include "core/base/nearest.h"
#include "core/base/secret.h"

static const char *const url_schemes[] = {
	"postgres", "postgresql", "mysql",	 "mariadb",  "sqlite",
	"duckdb",   "clickhouse", "clickhouses", "bigquery",
};

/* Engine of the scheme at the same place. */
static const char *const url_engines[] = {
	"postgres", "postgres",	  "mysql",	"mysql",    "sqlite",
	"duckdb",   "clickhouse", "clickhouse", "bigquery",
};

/* Members of a query that hold a secret. */
static const char *const url_secret_keys[] = {
	"password", "sslpassword", "passwd",  "pwd",
	"token",    "secret",	   "api_key", "motherduck_token",
};

/* A password inside a URL: [start, end). */
struct url_span {
	size_t start, end;
};

struct url_spans {
	struct url_span *items;
	size_t n, capacity;
};

static void url_spans_add(struct url_spans *spans, size_t start, size_t end)
{
	if (end <= start)
		return;
	spans->items = xgrow(spans->items, &spans->capacity, spans->n + 1,
			     sizeof(*spans->items));
	spans->items[spans->n++] = (struct url_span){ start, end };
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

/* "host:port" or "a:1,b:2"; something else behind the colon in front of a
 * later @ is a password with a slash that was not percent-encoded. */
static bool url_is_port(const char *text, size_t start, size_t end)
{
	for (size_t i = start; i < end; i++)
		if (!isdigit((unsigned char)text[i]) && text[i] != ',' &&
		    text[i] != '.' && text[i] != ':' && text[i] != ']')
			return false;
	return true;
}

static void url_find_userinfo(struct url_spans *spans, const char *text,
			      size_t start, bool unexpanded)
{
	size_t end = url_scan(text, start, "/?#", unexpanded);
	size_t colon = url_scan(text, start, ":", unexpanded);
	size_t sign = url_last_at(text, start, end, unexpanded);

	if (sign == end && text[end] && colon < end && text[start] != '[' &&
	    !url_is_port(text, colon + 1, end)) {
		end = url_scan(text, start, "?", unexpanded);
		sign = url_last_at(text, start, end, unexpanded);
	}
	if (sign < end && colon < sign)
		url_spans_add(spans, colon + 1, sign);
}

static bool url_is_secret_key(const char *key, size_t n)
{
	for (size_t i = 0; i < ARRAY_SIZE(url_secret_keys); i++)
		if (strlen(url_secret_keys[i]) == n &&
		    !strncasecmp(url_secret_keys[i], key, n))
			return true;
	return false;
}

static void url_find_query(struct url_spans *spans, const char *text, size_t at,
			   bool unexpanded)
{
	while (text[at]) {
		size_t start = at + 1;
		size_t equals = url_scan(text, start, "=&", unexpanded);
		size_t end = url_scan(text, equals, "&", unexpanded);

		if (text[equals] == '=' &&
		    url_is_secret_key(text + start, equals - start))
			url_spans_add(spans, equals + 1, end);
		at = end;
	}
}

/* Where the passwords are, in order of appearance. */
static struct url_spans url_find_passwords(const char *text, bool unexpanded)
{
	struct url_spans spans = { NULL, 0, 0 };
	const char *rest = strstr(text, "://");

	if (rest)
		url_find_userinfo(&spans, text, (size_t)(rest - text) + 3,
				  unexpanded);
	url_find_query(&spans, text, url_scan(text, 0, "?", unexpanded),
		       unexpanded);
	return spans;
}

static int url_hex(char c)
{
	if (isdigit((unsigned char)c))
		return c - '0';
	c = (char)tolower((unsigned char)c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

char *url_decode(const char *text, size_t n)
{
	struct strbuf sb = STRBUF_INIT;

	for (size_t i = 0; i < n; i++) {
		int high = -1, low = -1;

		if (text[i] == '%' && i + 2 < n) {
			high = url_hex(text[i + 1]);
			low = high < 0 ? -1 : url_hex(text[i + 2]);
		}
		if (low >= 0 && (high || low)) {
			strbuf_addch(&sb, (char)(high * 16 + low));
			i += 2;
		} else {
			strbuf_addch(&sb, text[i]);
		}
	}
	return strbuf_detach(&sb);
}

static void url_remember(const char *text, const struct url_spans *spans)
{
	for (size_t i = 0; i < spans->n; i++) {
		const struct url_span *span = &spans->items[i];
		size_t n = span->end - span->start;
		char *written = xstrndup(text + span->start, n);
		char *decoded = url_decode(text + span->start, n);

		secret_add(written);
		secret_add(decoded);
		free(written);
		free(decoded);
	}
}

static char *url_masked(const char *text, const struct url_spans *spans)
{
	struct strbuf sb = STRBUF_INIT;
	size_t at = 0;

	for (size_t i = 0; i < spans->n; i++) {
		strbuf_add(&sb, text + at, spans->items[i].start - at);
		strbuf_addstr(&sb, "***");
		at = spans->items[i].end;
	}
	strbuf_addstr(&sb, text + at);
	return strbuf_detach(&sb);
}

/* The texts of these errors never hold what may be a password. */
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

static void url_unknown_scheme(const char *scheme, struct error *err)
{
	const char *near =
		nearest_name(scheme, url_schemes, ARRAY_SIZE(url_schemes));

	error_set(err, ERROR_CONFIG, "unknown URL scheme \"%.40s\"", scheme);
	if (near)
		error_hint(err, "(did you mean \"%s\"?)", near);
	error_hint(err, "known: postgresql, mysql, mariadb, sqlite, duckdb, "
			"clickhouse, bigquery, and that of each module in "
			"$TIDEMARK_PLUGIN_PATH");
}

/* The scheme, and its engine: of the tables, or a module of that name. */
static int url_find_engine(const char *text, char **scheme, char **engine,
			   struct error *err)
{
	size_t n = strcspn(text, ":");
	char *word, *module;

	if (text[n] != ':' || !n || strcspn(text, "=/ ") < n) {
		url_no_scheme(text, err);
		return -ERROR_CONFIG;
	}
	*scheme = word = xstrndup(text, n);
	for (char *p = word; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	for (size_t i = 0; i < ARRAY_SIZE(url_schemes); i++)
		if (!strcmp(url_schemes[i], word)) {
			*engine = xstrdup(url_engines[i]);
			return 0;
		}
	module = module_find(word);
	if (!module) {
		url_unknown_scheme(word, err);
		return -ERROR_CONFIG;
	}
	free(module);
	*engine = xstrdup(word);
	return 0;
}

static bool url_is_file(const char *engine)
{
	return !strcmp(engine, "sqlite") || !strcmp(engine, "duckdb");
}

static bool url_is_known(const char *engine)
{
	for (size_t i = 0; i < ARRAY_SIZE(url_engines); i++)
		if (!strcmp(url_engines[i], engine))
			return true;
	return false;
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

/* What follows is a file, a server, or a module's own affair. */
static int url_parse_rest(const char *scheme, const char *engine,
			  const char *rest, char **path, struct error *err)
{
	if (url_is_file(engine))
		return url_file_path(scheme, rest, path, err);
	if (url_is_known(engine))
		return url_server_rest(scheme, rest, err);
	*path = xstrndup(rest, strcspn(rest, "?"));
	return 0;
}

int url_parse(struct url *out, const char *text, struct error *err)
{
	struct url_spans spans;
	char *scheme = NULL, *engine = NULL, *path = NULL;
	int rc = url_check_text(text, err);

	if (rc)
		return rc;
	/* Before anything can fail and quote the text. */
	spans = url_find_passwords(text, false);
	url_remember(text, &spans);
	rc = url_find_engine(text, &scheme, &engine, err);
	if (!rc)
		rc = url_parse_rest(scheme, engine, strchr(text, ':') + 1,
				    &path, err);
	if (rc) {
		free(scheme);
		free(engine);
	} else {
		out->text = xstrdup(text);
		out->scheme = scheme;
		out->engine = engine;
		out->path = path ? path : xstrdup("");
		out->shown = url_masked(text, &spans);
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

char *url_query_value(const struct url *u, const char *name)
{
	size_t at = strcspn(u->text, "?"), length = strlen(name);

	while (u->text[at]) {
		const char *item = u->text + at + 1;
		size_t n = strcspn(item, "&");

		if (n > length && item[length] == '=' &&
		    !strncmp(item, name, length))
			return url_decode(item + length + 1, n - length - 1);
		at += 1 + n;
	}
	return NULL;
}

int url_has_password(const char *text)
{
	struct url_spans spans = url_find_passwords(text, true);
	int found = 0;

	for (size_t i = 0; i < spans.n; i++)
		if (!expand_is_reference(text + spans.items[i].start,
					 spans.items[i].end -
						 spans.items[i].start))
			found = 1;
	free(spans.items);
	return found;
}
