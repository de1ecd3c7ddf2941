#include "tests/unit/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/serve/http.h"
#include "core/serve/http_socket.h"
#include "tests/unit/http_caller.h"

static char folder[] = "/tmp/tidemark-socket-XXXXXX";

static void answer_by(const struct http_request *r, struct http_reply *out,
		      void *ctx)
{
	(void)ctx;
	out->type = "text/plain";
	strbuf_addstr(&out->body, r->by);
}

static const struct http_route routes[] = {
	{ "GET", "/by", 0, answer_by },
	{ "POST", "/by", ROUTE_TOKEN, answer_by },
};

static int start(const char *listen, struct http_server **out,
		 struct error *err)
{
	struct strlist hosts = STRLIST_INIT;
	struct http_terms terms = { .hosts = &hosts };
	struct strbuf why = STRBUF_INIT;
	int rc;

	strlist_add(&hosts, "localhost");
	assert_true(listen_parse(&terms.listen, listen, &why));
	rc = http_start(&terms, routes, ARRAY_SIZE(routes), NULL, out, err);
	strlist_release(&hosts);
	return rc;
}

static char *path_of(const char *name)
{
	return xstrfmt("%s/%s", folder, name);
}

/* It answers, and says who has asked. */
static void expect_served(const struct http_server *h, const char *by)
{
	static const char text[] = "GET /by HTTP/1.1\r\nHost: localhost\r\n"
				   "Connection: close\r\n\r\n";
	char *reply = caller_ask(http_address(h), text, sizeof(text) - 1);

	assert_int_equal(reply_status(reply), 200);
	assert_string_equal(reply_body(reply), by);
	free(reply);
}

static void test_unix(void **state)
{
	static const struct {
		const char *more;
		mode_t mode;
	} cases[] = { { "", 0600 },
		      { "?mode=0600", 0600 },
		      { "?mode=0660", 0660 } };
	static const char write[] = "POST /by HTTP/1.1\r\nHost: localhost\r\n"
				    "Connection: close\r\n\r\n";
	char *path = path_of("a.sock"), *by, *reply;
	mode_t before = umask(0);

	(void)state;
	by = xstrfmt("uid %lu", (unsigned long)getuid());
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *listen = xstrfmt("unix:%s%s", path, cases[i].more);
		struct error err = ERROR_INIT;
		struct http_server *h;
		struct stat file;

		umask(i % 2 ? 0777 : 0);
		assert_int_equal(start(listen, &h, &err), 0);
		assert_int_equal(stat(path, &file), 0);
		assert_int_equal(file.st_mode & 07777, cases[i].mode);
		expect_served(h, by);
		/* The file's mode stands for no token. */
		reply = caller_ask(http_address(h), write, sizeof(write) - 1);
		assert_int_equal(reply_status(reply), 403);
		free(reply);
		http_stop(h);
		assert_int_not_equal(stat(path, &file), 0);
		free(listen);
	}
	umask(before);
	free(by);
	free(path);
}

static void expect_refused(const char *listen, enum error_code code,
			   const char *text, const char *fix)
{
	struct error err = ERROR_INIT;
	struct http_server *h;

	assert_int_equal(start(listen, &h, &err), -(int)code);
	if (!strstr(err.message, listen) || !strstr(err.message, text) ||
	    !strstr(err.message, fix))
		fail_msg("expected %s, %s and %s in: %s", listen, text, fix,
			 err.message);
}

static void test_unix_taken(void **state)
{
	char *path = path_of("b.sock");
	char *listen = xstrfmt("unix:%s", path);
	struct error err = ERROR_INIT;
	struct http_server *h;
	char *by;

	(void)state;
	by = xstrfmt("uid %lu", (unsigned long)getuid());
	assert_int_equal(start(listen, &h, &err), 0);
	expect_refused(listen, ERROR_ACCESS, "Address already in use",
		       "stop it");
	expect_served(h, by);
	http_stop(h);
	free(by);
	free(listen);
	free(path);
}

/* A process that was killed leaves the file. */
static void test_unix_left_behind(void **state)
{
	char *path = path_of("c.sock");
	char *listen = xstrfmt("unix:%s", path);
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	struct error err = ERROR_INIT;
	struct http_server *h;

	(void)state;
	snprintf(name.sun_path, sizeof(name.sun_path), "%s", path);
	assert_int_equal(bind(fd, (struct sockaddr *)&name, sizeof(name)), 0);
	close(fd);
	assert_int_equal(start(listen, &h, &err), 0);
	http_stop(h);
	free(listen);
	free(path);
}

/* Files that are none of ours stay. */
static void test_unix_no_socket(void **state)
{
	char *path = path_of("file"), *link = path_of("link");
	char *listen = xstrfmt("unix:%s", path);
	char *by_link = xstrfmt("unix:%s", link);
	char *nowhere = xstrfmt("unix:%s/none/a", folder);
	FILE *file = fopen(path, "w");

	(void)state;
	assert_non_null(file);
	fclose(file);
	assert_int_equal(symlink("elsewhere", link), 0);
	expect_refused(listen, ERROR_ACCESS, "File exists", "remove it");
	expect_refused(by_link, ERROR_ACCESS, "File exists", "remove it");
	expect_refused(nowhere, ERROR_CONFIG, "No such file", "serve.listen");
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(unlink(link), 0);
	free(nowhere);
	free(by_link);
	free(listen);
	free(link);
	free(path);
}

/* Another process took the path over meanwhile: its file stays. */
static void test_unix_replaced(void **state)
{
	char *path = path_of("d.sock");
	char *listen = xstrfmt("unix:%s", path);
	struct error err = ERROR_INIT;
	struct http_server *old, *new;
	struct stat file;

	(void)state;
	assert_int_equal(start(listen, &old, &err), 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(start(listen, &new, &err), 0);
	http_stop(old);
	assert_int_equal(stat(path, &file), 0);
	http_stop(new);
	assert_int_not_equal(stat(path, &file), 0);
	free(listen);
	free(path);
}

static void test_port(void **state)
{
	struct error err = ERROR_INIT;
	struct http_server *h, *again;
	char *address;

	(void)state;
	assert_int_equal(start("127.0.0.1:0", &h, &err), 0);
	expect_served(h, "127.0.0.1");
	expect_refused(http_address(h), ERROR_ACCESS, "Address already in use",
		       "stop it, or set serve.listen");
	address = xstrdup(http_address(h));
	assert_null(strstr(address, ":0"));
	http_stop(h);
	/* Connections of the one before do not keep it. */
	assert_int_equal(start(address, &again, &err), 0);
	expect_served(again, "127.0.0.1");
	http_stop(again);
	free(address);
	expect_refused("203.0.113.7:9464", ERROR_CONFIG,
		       "Cannot assign requested address", "serve.listen");
}

static void test_six(void **state)
{
	struct error err = ERROR_INIT;
	struct http_server *h;

	(void)state;
	assert_int_equal(start("[::1]:0", &h, &err), 0);
	assert_int_equal(strncmp(http_address(h), "[::1]:", 6), 0);
	expect_served(h, "::1");
	http_stop(h);
}

/* Its own children do not inherit the socket. */
static void test_inherits_nothing(void **state)
{
	const struct listen_address at = { .kind = LISTEN_TCP,
					   .host = "127.0.0.1" };
	struct http_socket s = { .fd = -1 };
	struct error err = ERROR_INIT;

	(void)state;
	assert_int_equal(http_socket_open(&at, &s, &err), 0);
	assert_true(fcntl(s.fd, F_GETFD) & FD_CLOEXEC);
	close(s.fd);
}

static int remove_folder(void **state)
{
	(void)state;
	return rmdir(folder);
}

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unix),
		cmocka_unit_test(test_unix_taken),
		cmocka_unit_test(test_unix_left_behind),
		cmocka_unit_test(test_unix_no_socket),
		cmocka_unit_test(test_unix_replaced),
		cmocka_unit_test(test_port),
		cmocka_unit_test(test_six),
		cmocka_unit_test(test_inherits_nothing),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
