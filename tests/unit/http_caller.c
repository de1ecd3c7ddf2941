#include "tests/unit/http_caller.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/listen.h"
#include "tests/unit/unit.h"

static int caller_connect_unix(const char *path)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	memcpy(name.sun_path, path, strlen(path) + 1);
	if (connect(fd, (struct sockaddr *)&name, sizeof(name)))
		fail_msg("%s: %s", path, strerror(errno));
	return fd;
}

int caller_connect(const char *address, const char *from)
{
	struct strbuf why = STRBUF_INIT;
	struct sockaddr_in four = { .sin_family = AF_INET };
	struct sockaddr_in6 six = { .sin6_family = AF_INET6 };
	struct listen_address a;
	int fd;

	assert_true(listen_parse(&a, address, &why));
	if (a.kind == LISTEN_UNIX)
		return caller_connect_unix(a.path);
	fd = socket(a.six ? AF_INET6 : AF_INET, SOCK_STREAM, 0);
	assert_true(fd >= 0);
	if (from) {
		inet_pton(AF_INET, from, &four.sin_addr);
		assert_int_equal(
			bind(fd, (struct sockaddr *)&four, sizeof(four)), 0);
	}
	four.sin_port = six.sin6_port = htons((in_port_t)a.port);
	if (a.six)
		inet_pton(AF_INET6, a.host, &six.sin6_addr);
	else
		inet_pton(AF_INET, a.host, &four.sin_addr);
	if (a.six ? connect(fd, (struct sockaddr *)&six, sizeof(six))
		  : connect(fd, (struct sockaddr *)&four, sizeof(four)))
		fail_msg("%s: %s", address, strerror(errno));
	return fd;
}

bool caller_send(int fd, const char *data, size_t n)
{
	while (n) {
		ssize_t sent = send(fd, data, n, MSG_NOSIGNAL);

		if (sent <= 0)
			return false;
		data += sent;
		n -= (size_t)sent;
	}
	return true;
}

char *caller_read(int fd)
{
	struct strbuf all = STRBUF_INIT;
	char room[4096];
	ssize_t n;

	while ((n = recv(fd, room, sizeof(room), 0)) > 0)
		strbuf_add(&all, room, (size_t)n);
	return strbuf_detach(&all);
}

char *caller_read_reply(int fd)
{
	struct strbuf all = STRBUF_INIT;
	size_t want = SIZE_MAX;
	char c;

	while (all.len < want && recv(fd, &c, 1, 0) == 1) {
		const char *body, *length;

		strbuf_addch(&all, c);
		body = want == SIZE_MAX ? strstr(all.data, "\r\n\r\n") : NULL;
		if (!body)
			continue;
		length = strstr(all.data, "Content-Length: ");
		want = all.len + (length ? strtoul(length + 16, NULL, 10) : 0);
	}
	if (all.len == want)
		return strbuf_detach(&all);
	strbuf_release(&all);
	return NULL;
}

char *caller_ask(const char *address, const char *data, size_t n)
{
	int fd = caller_connect(address, NULL);
	char *reply;

	caller_send(fd, data, n);
	reply = caller_read(fd);
	close(fd);
	return reply;
}

unsigned reply_status(const char *reply)
{
	bool http = !strncmp(reply, "HTTP/1.", 7) && strlen(reply) > 12;

	return http ? (unsigned)strtoul(reply + 9, NULL, 10) : 0;
}

const char *reply_body(const char *reply)
{
	const char *body = strstr(reply, "\r\n\r\n");

	return body ? body + 4 : "";
}

bool reply_has(const char *reply, const char *line)
{
	const char *end = strstr(reply, "\r\n\r\n");
	const char *at = strstr(reply, line);

	return end && at && at < end && at[-1] == '\n' &&
	       at[strlen(line)] == '\r';
}
