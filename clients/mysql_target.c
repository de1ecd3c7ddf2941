#include "clients/mysql_target.h"

#include <stdlib.h>
#include <string.h>

#include "clients/tls.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"

/* ?ssl-mode=... as Oracle's tools write it, ?tls=... as ours. */
static const struct {
	const char *name;
	enum tls_mode mode;
} target_modes[] = {
	{ "disabled", TLS_DISABLED },
	{ "required", TLS_REQUIRED },
	{ "verify-ca", TLS_VERIFY_CA },
	{ "verify_ca", TLS_VERIFY_CA },
	{ "verify-full", TLS_VERIFY_FULL },
	{ "verify_identity", TLS_VERIFY_FULL },
};

static unsigned target_seconds(int64_t us)
{
	int64_t s = (us + US_PER_SECOND - 1) / US_PER_SECOND;

	return s < 1 ? 1 : s > 31536000 ? 31536000 : (unsigned)s;
}

static int target_url_mode(const struct connection *conn, enum tls_mode *out,
			   struct error *err)
{
	char *text = url_query_value(&conn->url, "ssl-mode");
	int rc = 0;

	if (!text)
		text = url_query_value(&conn->url, "tls");
	if (!text)
		return 0;
	*out = TLS_AUTO;
	for (size_t i = 0; i < ARRAY_SIZE(target_modes); i++) {
		if (!strcasecmp(text, target_modes[i].name))
			*out = target_modes[i].mode;
	}
	if (*out == TLS_AUTO)
		rc = error_set(err, ERROR_CONFIG,
			       "%s: tls=%.40s: expected disabled, required, "
			       "verify-ca or verify-full",
			       conn->url.shown, text);
	free(text);
	return rc;
}

/* An unknown spelling of an option must not be ignored: it might be the one
 * that asks for TLS. */
static int target_check_options(const struct url *url, struct error *err)
{
	static const char *const known[] = { "tls", "ssl-mode", "ssl-ca",
					     "socket" };
	const char *at = url_query(url);

	for (; at && *at && at[1]; at = strchr(at + 1, '&')) {
		size_t n = strcspn(at + 1, "=&"), i = 0;

		while (i < ARRAY_SIZE(known) &&
		       (strlen(known[i]) != n ||
			strncmp(at + 1, known[i], n) != 0))
			i++;
		if (n && i == ARRAY_SIZE(known))
			return error_set(err, ERROR_CONFIG,
					 "%s: unknown option %.*s; known: tls, "
					 "ssl-mode, ssl-ca, socket",
					 url->shown, n > 40 ? 40 : (int)n,
					 at + 1);
	}
	return 0;
}

static int target_tls(struct mysql_client_target *t,
		      const struct connection *conn, struct error *err)
{
	const char *host = t->server.host ? t->server.host : "";
	bool local = t->socket || tls_is_local(host, strlen(host));
	int rc = 0;

	t->tls = conn->tls_mode;
	if (t->tls == TLS_AUTO)
		rc = target_url_mode(conn, &t->tls, err);
	if (t->tls == TLS_AUTO) {
		t->tls = local ? TLS_DISABLED : TLS_VERIFY_FULL;
		t->tls_if_asked = local;
	}
	t->tls_ca = xstrdup(conn->tls_ca);
	t->tls_cert = xstrdup(conn->tls_cert);
	t->tls_key = xstrdup(conn->tls_key);
	if (!t->tls_ca)
		t->tls_ca = url_query_value(&conn->url, "ssl-ca");
	if (!t->tls_ca && t->tls >= TLS_VERIFY_CA) {
		t->tls_ca = xstrdup(tls_authorities());
		t->tls_ca_directory = xstrdup(tls_authorities_directory());
	}
	/* Without an authority, the library takes every certificate under
	 * verify-ca. */
	if (!rc && !t->tls_ca && !t->tls_ca_directory &&
	    t->tls >= TLS_VERIFY_CA)
		rc = error_set(err, ERROR_CONFIG,
			       "%s: this system has no list of authorities to "
			       "trust: name a file of certificates by tls.ca",
			       t->where);
	return rc;
}

int mysql_client_target_fill(struct mysql_client_target *t,
			     const struct connection *conn,
			     const char *application, struct error *err)
{
	int rc;

	memset(t, 0, sizeof(*t));
	rc = target_check_options(&conn->url, err);
	if (!rc)
		rc = url_server_parse(&t->server, &conn->url, err);
	if (rc)
		return rc;
	t->where = xstrfmt("connection %s (%s)", conn->name, conn->url.shown);
	t->application = xstrfmt("tidemark/%s", application);
	t->socket = url_query_value(&conn->url, "socket");
	t->password = conn->password ? conn->password : t->server.password;
	if (!t->password)
		t->password = getenv("MYSQL_PWD");
	t->connect_s = target_seconds(conn->connect_timeout_us);
	t->silence_s = target_seconds(conn->silence_timeout_us);
	rc = target_tls(t, conn, err);
	if (rc)
		mysql_client_target_release(t);
	return rc;
}

void mysql_client_target_release(struct mysql_client_target *t)
{
	url_server_release(&t->server);
	free(t->socket);
	free(t->where);
	free(t->application);
	free(t->tls_ca);
	free(t->tls_ca_directory);
	free(t->tls_cert);
	free(t->tls_key);
	memset(t, 0, sizeof(*t));
}
