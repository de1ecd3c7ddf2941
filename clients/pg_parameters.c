#include "clients/pg_parameters.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clients/tls.h"
#include "core/base/alloc.h"

void pg_target_note(struct pg_target *t, const char *keyword, const char *value)
{
	if (!value || !*value)
		return;
	if (!strcmp(keyword, "host") && !t->host)
		t->host = xstrdup(value);
	else if (!strcmp(keyword, "hostaddr") && !t->address)
		t->address = xstrdup(value);
	else if (!strcmp(keyword, "user") && !t->user)
		t->user = xstrdup(value);
	else if (!strcmp(keyword, "dbname") && !t->database)
		t->database = xstrdup(value);
	else if (!strcmp(keyword, "sslrootcert"))
		t->has_root_cert = true;
}

void pg_target_release(struct pg_target *t)
{
	free(t->host);
	free(t->address);
	free(t->user);
	free(t->database);
	memset(t, 0, sizeof(*t));
}

/* Loopback and sockets only. Both may be lists; libpq connects to the host
 * whose address is empty. */
static bool pg_all_local(const struct pg_target *t)
{
	const char *host = t->host ? t->host : "";
	const char *address = t->address ? t->address : "";

	for (;;) {
		size_t h = strcspn(host, ","), a = strcspn(address, ",");

		if (a ? !tls_is_local(address, a) : !tls_is_local(host, h))
			return false;
		if (!host[h] && !address[a])
			return true;
		host += h + (host[h] == ',');
		address += a + (address[a] == ',');
	}
}

static void pg_set(struct pg_parameters *p, const char *keyword,
		   const char *value)
{
	if (!value)
		return;
	p->keywords[p->n] = keyword;
	p->values[p->n++] = value;
}

/* libpq looks into ~/.postgresql/root.crt by itself. If that file does not
 * exist, use the distribution's authorities. Since libpq 16,
 * sslrootcert=system means the places that the TLS library was built with,
 * which may be another distribution's. So it is only for a directory, which
 * libpq cannot take otherwise. */
static const char *pg_default_authorities(int libpq)
{
	const char *home = getenv("HOME"), *file;
	char *own = xstrfmt("%s/.postgresql/root.crt", home ? home : "");
	bool has_own = access(own, R_OK) == 0;

	free(own);
	if (has_own)
		return NULL;
	file = tls_authorities();
	if (libpq >= 160000 && (!file || tls_authorities_directory()))
		return "system";
	return file;
}

static void pg_set_tls(struct pg_parameters *p, const struct connection *conn,
		       const struct pg_target *target, int libpq)
{
	static const char *const modes[] = {
		[TLS_DISABLED] = "disable",
		[TLS_REQUIRED] = "require",
		[TLS_VERIFY_CA] = "verify-ca",
		[TLS_VERIFY_FULL] = "verify-full",
	};
	bool automatic = conn->tls_mode == TLS_AUTO && !target->has_sslmode;
	bool local = pg_all_local(target);
	bool verify = conn->tls_mode >= TLS_VERIFY_CA || (automatic && !local);

	if (automatic)
		pg_set(p, "sslmode", local ? "prefer" : "verify-full");
	else if (conn->tls_mode != TLS_AUTO)
		pg_set(p, "sslmode", modes[conn->tls_mode]);
	if (conn->tls_ca)
		pg_set(p, "sslrootcert", conn->tls_ca);
	else if (verify && !target->has_root_cert)
		pg_set(p, "sslrootcert", pg_default_authorities(libpq));
	pg_set(p, "sslcert", conn->tls_cert);
	pg_set(p, "sslkey", conn->tls_key);
}

/* Nobody will have verified the server, unless the user's own sslmode does. */
static bool pg_is_unverified(const struct connection *conn,
			     const struct pg_target *target)
{
	if (conn->tls_mode != TLS_AUTO)
		return conn->tls_mode < TLS_VERIFY_CA;
	return !target->has_sslmode && pg_all_local(target);
}

/* An unverified server may ask for the password in clear. Before version 16
 * libpq gives it to everybody. The user's own choice counts. */
static void pg_set_auth(struct pg_parameters *p, const struct connection *conn,
			const struct pg_target *target, int libpq)
{
	if (libpq >= 160000 && !getenv("PGREQUIREAUTH") &&
	    pg_is_unverified(conn, target))
		pg_set(p, "require_auth", "!password");
}

void pg_parameters_fill(struct pg_parameters *p, const struct connection *conn,
			const struct pg_target *target, const char *application,
			int libpq)
{
	memset(p, 0, sizeof(*p));
	p->silence =
		xstrfmt("%lld", (long long)(conn->silence_timeout_us / 1000));
	p->application = xstrfmt("tidemark/%s", application);
	pg_set(p, "keepalives_idle", "30");
	pg_set(p, "keepalives_interval", "10");
	pg_set(p, "keepalives_count", "3");
	pg_set(p, "tcp_user_timeout", p->silence);
	pg_set_auth(p, conn, target, libpq);
	pg_set(p, "dbname", conn->url.text);
	pg_set(p, "password", conn->password);
	pg_set_tls(p, conn, target, libpq);
	pg_set(p, "application_name", p->application);
	pg_set(p, "client_encoding", "UTF8");
}

void pg_parameters_release(struct pg_parameters *p)
{
	free(p->silence);
	free(p->application);
	memset(p, 0, sizeof(*p));
}
