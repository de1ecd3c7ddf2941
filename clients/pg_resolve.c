#include "clients/pg_resolve.h"

#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>

#include "clients/libraries.h"
#include "clients/pg_sqlstate.h"
#include "core/base/alloc.h"
#include "core/base/secret.h"
#include "core/base/url_secrets.h"

/* libpq offers no call that reads a service file and does not connect. With a
 * value that it refuses, it fills in every parameter and goes no further. It
 * looks up no name and opens no socket. */
#define RESOLVE_KEYWORD "channel_binding"
#define RESOLVE_VALUE	"only-resolve"

static void resolve_remember(const PQconninfoOption *o)
{
	if (o->val && secret_is_key(o->keyword, strlen(o->keyword)))
		secret_add(o->val);
}

/* If libpq cannot read a URL, its message quotes a piece of it, which may be a
 * secret of one character. So libpq is asked about the URL as we show it, and
 * quotes no secret. */
static int resolve_refuse(const struct url *url, const char *where,
			  struct error *err)
{
	char *text = NULL;
	PQconninfoOption *options = PQconninfoParse(url->shown, &text);

	if (text)
		pg_one_line(text);
	if (text && !options)
		error_set(err, ERROR_CONFIG, "%s: %s", where, text);
	else
		error_set(
			err, ERROR_CONFIG,
			"%s: the password in the URL cannot be read: a "
			"character in it has to be percent-encoded (\"%%\" as "
			"%%25, a space as %%20), or put it into a variable",
			where);
	PQconninfoFree(options);
	PQfreemem(text);
	return -ERROR_CONFIG;
}

/* The URL alone: did it say which mode it wants? */
static int resolve_url(struct pg_target *out, const struct url *url,
		       const char *where, struct error *err)
{
	PQconninfoOption *options = PQconninfoParse(url->text, NULL);

	if (!options)
		return resolve_refuse(url, where, err);
	for (PQconninfoOption *o = options; o->keyword; o++) {
		resolve_remember(o);
		if (o->val && !strcmp(o->keyword, "sslmode"))
			out->has_sslmode = true;
	}
	PQconninfoFree(options);
	return 0;
}

/* Somebody has chosen a mode that is not libpq's default. Somebody has chosen
 * "prefer" if the URL or the environment says it. In a service file it cannot
 * be told from the default. */
static void resolve_mode(struct pg_target *out, const PQconninfoOption *o)
{
	const char *environment = getenv("PGSSLMODE");

	if (!o->val || (o->compiled && !strcmp(o->val, o->compiled) &&
			(!environment || strcmp(environment, o->val) != 0)))
		return;
	out->has_sslmode = true;
}

/* Does libpq have every parameter? It has none if it found no service. */
static bool resolve_take(struct pg_target *out, PGconn *conn)
{
	PQconninfoOption *options = PQconninfo(conn);
	bool filled = false;

	for (PQconninfoOption *o = options; o && o->keyword; o++) {
		if (!strcmp(o->keyword, "sslmode"))
			resolve_mode(out, o);
		else
			pg_target_note(out, o->keyword, o->val);
		if (!strcmp(o->keyword, RESOLVE_KEYWORD) && o->val)
			filled = !strcmp(o->val, RESOLVE_VALUE);
	}
	PQconninfoFree(options);
	return filled;
}

int pg_resolve(struct pg_target *out, const struct url *url, const char *where,
	       struct error *err)
{
	/* With a password libpq has no reason to look into ~/.pgpass, and does
	 * not warn about its mode. */
	static const char *const keywords[] = { "dbname", "password",
						RESOLVE_KEYWORD, NULL };
	const char *values[] = { url->text, "none", RESOLVE_VALUE, NULL };
	PGconn *conn;
	char *text;
	int rc = library_load(&library_pq, err);

	if (!rc)
		rc = resolve_url(out, url, where, err);
	if (rc)
		return rc;
	conn = PQconnectStartParams(keywords, values, 1);
	if (!resolve_take(out, conn)) {
		text = xstrdup(PQerrorMessage(conn));
		pg_one_line(text);
		rc = error_set(err, pg_connect_code(text), "%s: %s", where,
			       text);
		free(text);
	}
	PQfinish(conn);
	return rc;
}
