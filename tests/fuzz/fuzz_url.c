/*
 * Any text as a connection URL, beside libpq's own reading of it. In the form
 * that is shown, libpq finds "***" for every secret, and everything else as it
 * was. A host that we take for this machine is one in libpq's eyes.
 */
#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>

#include "clients/pg_parameters.h"
#include "core/base/alloc.h"
#include "core/base/secret.h"
#include "core/base/url.h"
#include "core/base/url_secrets.h"
#include "tests/fuzz/fuzz.h"

static bool fuzz_same(const char *a, const char *b)
{
	return !strcmp(a ? a : "", b ? b : "");
}

/* Both as libpq reads them: the URL, and a form of it with masks. `exact`:
 * secrets alone are masked; else so much may be that the rest is no URL, or one
 * without its secret. */
static void fuzz_compare(const PQconninfoOption *all, const char *masked,
			 bool exact)
{
	PQconninfoOption *shown = PQconninfoParse(masked, NULL);

	fuzz_check(shown || !exact);
	for (size_t i = 0; shown && all[i].keyword; i++) {
		const char *keyword = all[i].keyword, *value = shown[i].val;

		if (!secret_is_key(keyword, strlen(keyword)))
			fuzz_check(!exact || fuzz_same(all[i].val, value));
		else if (all[i].val && *all[i].val &&
			 (exact || (value && *value)))
			fuzz_check(value && *value && strlen(value) <= 3 &&
				   value[strspn(value, "*")] == '\0');
	}
	PQconninfoFree(shown);
}

/* libpq goes to a socket, or looks up what is no address. */
static bool fuzz_is_here(const char *host, size_t n)
{
	return !n || *host == '/' || *host == '@' ||
	       (n == 9 && !memcmp(host, "localhost", 9)) ||
	       (n == 3 && !memcmp(host, "::1", 3)) ||
	       (n > 8 && !memcmp(host, "127.", 4));
}

/* For a single host with a single address at most. */
static void fuzz_mode(const PQconninfoOption *all)
{
	struct connection conn = { .silence_timeout_us = 1 };
	struct pg_target target = { .host = NULL };
	struct pg_parameters p;
	const char *host, *mode = "";

	for (const PQconninfoOption *o = all; o->keyword; o++)
		pg_target_note(&target, o->keyword, o->val);
	host = target.address ? target.address : target.host;
	conn.url.text = (char *)"postgresql://";
	pg_parameters_fill(&p, &conn, &target, "f", 150000);
	for (size_t i = 0; i < p.n; i++)
		if (!strcmp(p.keywords[i], "sslmode"))
			mode = p.values[i];
	for (; host && !strcmp(mode, "prefer") && !target.address;) {
		size_t n = strcspn(host, ",");

		fuzz_check(fuzz_is_here(host, n));
		host = host[n] ? host + n + 1 : NULL;
	}
	pg_parameters_release(&p);
	pg_target_release(&target);
}

/* With an "@" behind a "?", a "/" between them decides whether the text in
 * front of the "@" is a password. The mask of another secret may cover that
 * "/". Such a form is shown, and connects to nothing. So the check searches it
 * for the text of the secrets instead. */
static bool fuzz_is_ambiguous(const char *text)
{
	const char *query = strpbrk(text, "?#");

	return query && strchr(query, '@');
}

static size_t fuzz_count(const char *text, const char *part)
{
	size_t n = 0;

	for (; (text = strstr(text, part)); text++)
		n++;
	return n;
}

/* Each secret of the URL stands in the form that is shown once less at least.
 * One that is percent-encoded is not found in the URL's text. */
static void fuzz_is_hidden(const PQconninfoOption *all, const char *text,
			   const char *shown)
{
	for (size_t i = 0; !strchr(text, '%') && all[i].keyword; i++) {
		const char *secret = all[i].val;
		size_t n;

		if (!secret || strlen(secret) < 4 ||
		    secret[strspn(secret, "*")] == '\0' ||
		    !secret_is_key(all[i].keyword, strlen(all[i].keyword)))
			continue;
		n = fuzz_count(text, secret);
		fuzz_check(!n || fuzz_count(shown, secret) < n);
	}
}

static bool fuzz_is_nested(const char *text)
{
	return strstr(strstr(text, "://") + 3, "://") != NULL;
}

static void fuzz_postgres(const struct url *u)
{
	PQconninfoOption *all = PQconninfoParse(u->text, NULL);
	bool exact = !fuzz_is_ambiguous(u->text);
	char *text;

	if (!all)
		return;
	if (exact)
		fuzz_compare(all, u->shown, true);
	fuzz_is_hidden(all, u->text, u->shown);
	fuzz_mode(all);
	/* In a sentence the URL ends where a word does, and what looks like
	 * another URL or like "password=x" inside of it is masked, too. */
	if (!strpbrk(u->text, " \"'`<>${}") && !fuzz_is_nested(u->text)) {
		text = xstrdup(u->text);
		url_scrub(text);
		if (exact)
			fuzz_compare(all, text, false);
		fuzz_is_hidden(all, u->text, text);
		free(text);
	}
	text = xstrdup(u->text);
	if (!strstr(text, "${")) {
		url_wipe(text);
		if (exact)
			fuzz_compare(all, text, true);
		fuzz_is_hidden(all, u->text, text);
	}
	free(text);
	PQconninfoFree(all);
}

/* MySQL and ClickHouse: our own reading is what connects. */
static void fuzz_server(const struct url *u)
{
	struct url masked = *u;
	struct url_server server, shown;

	if (url_server_parse(&server, u, NULL))
		return;
	masked.text = u->shown;
	if (!fuzz_is_ambiguous(u->text)) {
		fuzz_check(!url_server_parse(&shown, &masked, NULL));
		fuzz_check(fuzz_same(server.user, shown.user));
		fuzz_check(fuzz_same(server.host, shown.host));
		fuzz_check(fuzz_same(server.database, shown.database));
		if (server.password && *server.password)
			fuzz_check(fuzz_same(shown.password, "***"));
		url_server_release(&shown);
	}
	url_server_release(&server);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = xstrndup((const char *)data, size);
	struct error err = ERROR_INIT;
	struct url u;

	if (url_parse(&u, text, &err)) {
		fuzz_check(err.code == ERROR_CONFIG && *err.message);
	} else {
		if (!strcmp(u.engine, "postgres"))
			fuzz_postgres(&u);
		else if (!strcmp(u.engine, "mysql") ||
			 !strcmp(u.engine, "clickhouse"))
			fuzz_server(&u);
		url_release(&u);
	}
	secret_forget_all();
	free(text);
	return 0;
}
