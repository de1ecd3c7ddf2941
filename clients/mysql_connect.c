#include "clients/mysql_connect.h"
#include "clients/mysql_local.h"

#include <mysql.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/bundle.h"
#include "core/base/stop.h"

#ifdef MARIADB_PACKAGE_VERSION_ID
typedef my_bool mysql_client_bool;
#else
typedef bool mysql_client_bool;
#endif

/* Owned by the one of the two that is done with it last. */
struct mysql_client_attempt {
	MYSQL *conn;
	struct url_server server;
	char *password, *socket;
	bool tls, ok;
	int done_fd; /* readable once it is over */
	atomic_int left; /* users of this struct: two at first */
	pthread_t thread;
};

static pthread_once_t mysql_client_once = PTHREAD_ONCE_INIT;

#ifdef MARIADB_PACKAGE_VERSION_ID
/* The library's own 8 KiB cost a system call for every 80 rows, and often wake
 * the server. */
#define SEND_BYTES (64 * 1024)

/* Before 3.4, the authority is checked if one is given, and the host's name
 * with this option. Since then the option turns both off. So there verify-ca is
 * verify-full. */
static bool mysql_client_can_verify_ca_alone(void)
{
	const char *version = mysql_get_client_info();

	return !strncmp(version, "3.", 2) && strtoul(version + 2, NULL, 10) < 4;
}

static void mysql_client_set_tls(MYSQL *conn, enum tls_mode mode)
{
	mysql_client_bool on = mode >= TLS_REQUIRED;
	mysql_client_bool verify =
		mode == TLS_VERIFY_FULL ||
		(mode == TLS_VERIFY_CA && !mysql_client_can_verify_ca_alone());

	mysql_options(conn, MYSQL_OPT_SSL_ENFORCE, &on);
	mysql_options(conn, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &verify);
}

/* The bytes that are sent at a time. The library has one value for all
 * connections. */
static void mysql_client_set_buffer(void)
{
	unsigned long bytes = SEND_BYTES;
	MYSQL *any = mysql_init(NULL);

	mysql_options(any, MYSQL_OPT_NET_BUFFER_LENGTH, &bytes);
	mysql_close(any);
}

int mysql_client_socket(void *conn)
{
	return (int)mysql_get_socket(conn);
}
#else
static void mysql_client_set_tls(MYSQL *conn, enum tls_mode mode)
{
	static const unsigned modes[] = {
		[TLS_DISABLED] = SSL_MODE_DISABLED,
		[TLS_REQUIRED] = SSL_MODE_REQUIRED,
		[TLS_VERIFY_CA] = SSL_MODE_VERIFY_CA,
		[TLS_VERIFY_FULL] = SSL_MODE_VERIFY_IDENTITY,
	};
	/* Without TLS, and so on loopback alone. */
	mysql_client_bool key = mode == TLS_DISABLED;

	mysql_options(conn, MYSQL_OPT_SSL_MODE, &modes[mode]);
	mysql_options(conn, MYSQL_OPT_GET_SERVER_PUBLIC_KEY, &key);
}

/* The library's packets would grow too, and max_allowed_packet bounds those. */
static void mysql_client_set_buffer(void)
{
}

int mysql_client_socket(void *conn)
{
	return (int)((MYSQL *)conn)->net.fd;
}
#endif

static void mysql_client_library_begin(void)
{
	mysql_library_init(0, NULL, NULL);
	mysql_client_set_buffer();
	mysql_client_guard_library();
}

/* Ways to sign in, such as caching_sha2_password, are files. The library looks
 * where it was installed at its own build. A package that carries it has them
 * elsewhere. */
static void mysql_client_set_plugins(MYSQL *conn)
{
	char *bundled = bundle_path("mariadb");

	if (bundled)
		mysql_options(conn, MYSQL_PLUGIN_DIR, bundled);
	free(bundled);
}

static MYSQL *
mysql_client_prepare_connection(const struct mysql_client_target *t,
				enum tls_mode mode,
				struct mysql_client_local *local)
{
	MYSQL *conn = mysql_init(NULL);
	unsigned tcp = MYSQL_PROTOCOL_TCP;

	if (!conn)
		alloc_die();
	mysql_options(conn, MYSQL_OPT_CONNECT_TIMEOUT, &t->connect_s);
	mysql_options(conn, MYSQL_OPT_READ_TIMEOUT, &t->silence_s);
	mysql_options(conn, MYSQL_OPT_WRITE_TIMEOUT, &t->silence_s);
	mysql_client_set_plugins(conn);
	mysql_client_local_offer(conn, local);
	mysql_options(conn, MYSQL_SET_CHARSET_NAME, "utf8mb4");
	mysql_options4(conn, MYSQL_OPT_CONNECT_ATTR_ADD, "program_name",
		       t->application);
	if (!t->socket)
		mysql_options(conn, MYSQL_OPT_PROTOCOL, &tcp);
	if (mode != TLS_DISABLED) {
		mysql_options(conn, MYSQL_OPT_SSL_KEY, t->tls_key);
		mysql_options(conn, MYSQL_OPT_SSL_CERT, t->tls_cert);
		mysql_options(conn, MYSQL_OPT_SSL_CA, t->tls_ca);
		mysql_options(conn, MYSQL_OPT_SSL_CAPATH, t->tls_ca_directory);
	}
	mysql_client_guard_set(conn, mode);
	mysql_client_set_tls(conn, mode);
	return conn;
}

static struct mysql_client_attempt *
mysql_client_attempt_new(const struct mysql_client_target *t, MYSQL *conn,
			 bool tls)
{
	struct mysql_client_attempt *a = xcalloc(1, sizeof(*a));

	a->conn = conn;
	a->tls = tls;
	a->server.host = xstrdup(t->server.host ? t->server.host : "127.0.0.1");
	a->server.user = xstrdup(t->server.user);
	a->server.database = xstrdup(t->server.database);
	a->server.port = t->server.port;
	a->password = xstrdup(t->password);
	a->socket = xstrdup(t->socket);
	a->done_fd = eventfd(0, EFD_CLOEXEC);
	atomic_init(&a->left, 2);
	return a;
}

/* The connection goes to whoever took it before. */
static void mysql_client_attempt_leave(struct mysql_client_attempt *a)
{
	if (atomic_fetch_sub(&a->left, 1) > 1)
		return;
	if (a->conn)
		mysql_close(a->conn);
	if (a->done_fd >= 0)
		close(a->done_fd);
	url_server_release(&a->server);
	free(a->password);
	free(a->socket);
	free(a);
}

static void mysql_client_attempt_run(struct mysql_client_attempt *a)
{
	const char *password =
		a->tls ? mysql_client_guard_take(a->password) : a->password;

	a->ok = mysql_real_connect(a->conn, a->socket ? NULL : a->server.host,
				   a->server.user, password, a->server.database,
				   a->server.port, a->socket,
				   CLIENT_MULTI_STATEMENTS) != NULL;
	mysql_client_guard_take(NULL);
	a->ok = a->ok && (!a->tls || mysql_client_guard_holds(a->conn));
	mysql_client_guard_explain(a->conn);
}

static void *mysql_client_attempt_main(void *arg)
{
	struct mysql_client_attempt *a = arg;
	const uint64_t one = 1;

	mysql_thread_init();
	mysql_client_attempt_run(a);
	if (write(a->done_fd, &one, sizeof(one)) < 0)
		abort(); /* a counter of 1 always has room */
	mysql_client_attempt_leave(a);
	mysql_thread_end();
	return NULL;
}

/* False: it is over already. */
static bool mysql_client_attempt_begin(struct mysql_client_attempt *a)
{
	if (a->done_fd >= 0 &&
	    !pthread_create(&a->thread, NULL, mysql_client_attempt_main, a))
		return true;
	atomic_fetch_sub(&a->left, 1);
	mysql_client_attempt_run(a);
	return false;
}

/* False: given up. Otherwise the thread has ended, too. If it outlived main, a
 * leak check would count the TLS library's memory for it as lost. */
static bool mysql_client_attempt_wait(struct mysql_client_attempt *a,
				      bool heed_stop, int limit_ms)
{
	struct pollfd fds[] = { { .fd = a->done_fd, .events = POLLIN },
				{ .fd = stop_fd(), .events = POLLIN } };
	int n;

	do {
		n = poll(fds, heed_stop ? 2 : 1, limit_ms);
	} while (n < 0 || (n && !fds[0].revents && !stop_requested()));
	if (fds[0].revents)
		pthread_join(a->thread, NULL);
	else
		pthread_detach(a->thread);
	return fds[0].revents != 0;
}

void *mysql_client_connect(const struct mysql_client_target *t,
			   enum tls_mode mode, struct mysql_client_local *local,
			   bool heed_stop, int limit_ms, bool *ok)
{
	struct mysql_client_attempt *a;
	MYSQL *conn = NULL;

	pthread_once(&mysql_client_once, mysql_client_library_begin);
	a = mysql_client_attempt_new(
		t, mysql_client_prepare_connection(t, mode, local),
		mode >= TLS_REQUIRED);
	*ok = false;
	if (!mysql_client_attempt_begin(a) ||
	    mysql_client_attempt_wait(a, heed_stop, limit_ms)) {
		conn = a->conn;
		a->conn = NULL;
		*ok = a->ok;
	}
	mysql_client_attempt_leave(a);
	return conn;
}
