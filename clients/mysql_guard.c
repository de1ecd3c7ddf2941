#include "clients/mysql_connect.h"

#include <mysql.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/alloc.h"

#ifdef MARIADB_PACKAGE_VERSION_ID
#include <mysql/plugin_auth.h>

/* From <mysql/client_plugin.h>, which includes a file that is not installed. */
#define GUARD_KIND    2 /* MYSQL_CLIENT_AUTHENTICATION_PLUGIN */
#define GUARD_VERSION 0x0100

struct guard_plugin {
	int type;
	unsigned interface_version;
	const char *name, *author, *desc;
	unsigned version[3];
	const char *license;
	void *mysql_api;
	int (*init)(char *, size_t, int, va_list);
	int (*deinit)(void);
	int (*options)(const char *option, const void *);
	int (*authenticate_user)(MYSQL_PLUGIN_VIO *vio, MYSQL *conn);
};

#define GUARD_NAME    "tidemark_tls"
#define GUARD_REFUSED 2026 /* the library's number for what TLS fails at */
#define GUARD_BARRED  5010 /* CR_PLUGIN_NOT_ALLOWED */

/* Ways to sign in, among which the server chooses. These only prove that the
 * client knows the password. Two of them send it under a key of the server's,
 * once after each start of MySQL. */
#define GUARD_WAYS                                                             \
	GUARD_NAME ",mysql_native_password,client_ed25519,parsec,"             \
		   "caching_sha2_password,sha256_password"
/* These hand over the password as it is, or a ticket that is good for other
 * services. */
#define GUARD_MORE_WAYS                                                        \
	GUARD_WAYS ",mysql_clear_password,dialog,auth_gssapi_client"

/* A connection is made by one thread. */
static _Thread_local const char *guard_password;

static bool guard_refuse(MYSQL *conn)
{
	conn->net.last_errno = GUARD_REFUSED;
	snprintf(conn->net.last_error, sizeof(conn->net.last_error),
		 "the server offers no TLS");
	snprintf(conn->net.sqlstate, sizeof(conn->net.sqlstate), "HY000");
	return false;
}

/*
 * A server, or somebody in between, may claim to have no TLS. The library then
 * signs in without TLS, whatever was asked for. So the library gets no
 * password, and this plug-in speaks first. We send nothing before the server
 * has said that it has TLS, and our first packet begins TLS. The server does
 * not know the plug-in's name and goes on with the user's own way of signing
 * in.
 */
static int guard_speak(MYSQL_PLUGIN_VIO *vio, MYSQL *conn)
{
	if (!(conn->server_capabilities & CLIENT_SSL)) {
		guard_refuse(conn);
		return CR_ERROR;
	}
	free(conn->passwd);
	conn->passwd = xstrdup(guard_password ? guard_password : "");
	return vio->write_packet(vio, (const unsigned char *)"", 0) ? CR_ERROR
								    : CR_OK;
}

static struct guard_plugin guard_ours = {
	.type = GUARD_KIND,
	.interface_version = GUARD_VERSION,
	.name = GUARD_NAME,
	.author = "Tidemark",
	.desc = "no sign-in before TLS",
	.version = { 1, 0, 0 },
	.license = "Apache-2.0",
	.authenticate_user = guard_speak,
};

void mysql_client_guard_library(void)
{
	MYSQL *conn = mysql_init(NULL);

	if (!conn || !mysql_client_register_plugin(conn, (void *)&guard_ours))
		alloc_die();
	mysql_close(conn);
}

void mysql_client_guard_set(void *conn, enum tls_mode mode)
{
	if (mode != TLS_DISABLED)
		mysql_options(conn, MYSQL_DEFAULT_AUTH, GUARD_NAME);
	mysql_options(conn, MARIADB_OPT_RESTRICTED_AUTH,
		      mode >= TLS_VERIFY_CA ? GUARD_MORE_WAYS : GUARD_WAYS);
}

/* The library complains about a list of plug-ins that the user has not made. It
 * has lost the plug-in's name by then, and shows bytes of another packet
 * instead (3.3.20). */
void mysql_client_guard_explain(void *conn)
{
	NET *net = &((MYSQL *)conn)->net;

	if (net->last_errno == GUARD_BARRED)
		snprintf(net->last_error, sizeof(net->last_error),
			 "the server asks for a plugin to sign in that hands "
			 "over the password, or what is as good, and nobody "
			 "has verified which server it is");
}

const char *mysql_client_guard_take(const char *password)
{
	guard_password = password;
	return "";
}

/* A server that claims to know no plugins does not meet ours. It gets the
 * user's name and an empty password. */
bool mysql_client_guard_holds(void *conn)
{
	return mysql_get_ssl_cipher(conn) || guard_refuse(conn);
}
#else
/* Oracle's library ends such a connection itself. */
void mysql_client_guard_library(void)
{
}

/* Off unless it is switched on, and LIBMYSQL_ENABLE_CLEARTEXT_PLUGIN is not
 * set. */
void mysql_client_guard_set(void *conn, enum tls_mode mode)
{
	bool clear = mode >= TLS_VERIFY_CA;

	mysql_options(conn, MYSQL_ENABLE_CLEARTEXT_PLUGIN, &clear);
}

void mysql_client_guard_explain(void *conn)
{
	(void)conn;
}

const char *mysql_client_guard_take(const char *password)
{
	return password;
}

bool mysql_client_guard_holds(void *conn)
{
	(void)conn;
	return true;
}
#endif
