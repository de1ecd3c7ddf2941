#include "core/serve/http_socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define HTTP_BACKLOG 128

union http_name {
	struct sockaddr any;
	struct sockaddr_in four;
	struct sockaddr_in6 six;
	struct sockaddr_un file;
};

static socklen_t socket_name(const struct listen_address *a,
			     union http_name *out)
{
	memset(out, 0, sizeof(*out));
	if (a->kind == LISTEN_UNIX) {
		out->file.sun_family = AF_UNIX;
		memcpy(out->file.sun_path, a->path, sizeof(out->file.sun_path));
		return sizeof(out->file);
	}
	if (a->six) {
		out->six.sin6_family = AF_INET6;
		out->six.sin6_port = htons((in_port_t)a->port);
		inet_pton(AF_INET6, a->host, &out->six.sin6_addr);
		return sizeof(out->six);
	}
	out->four.sin_family = AF_INET;
	out->four.sin_port = htons((in_port_t)a->port);
	inet_pton(AF_INET, a->host, &out->four.sin_addr);
	return sizeof(out->four);
}

static int socket_fail(const struct listen_address *a, int number,
		       struct error *err)
{
	struct strbuf text = STRBUF_INIT;
	bool absent = number == EADDRNOTAVAIL || number == EAFNOSUPPORT ||
		      number == ENOENT || number == ENOTDIR;
	const char *fix = "Set serve.listen to another address";
	int rc;

	listen_add_text(&text, a);
	if (number == EADDRINUSE && a->kind == LISTEN_UNIX)
		fix = "Another process listens there: stop it, or set "
		      "serve.listen to another path, or to off";
	else if (number == EADDRINUSE)
		fix = "Another process has this port: stop it, or set "
		      "serve.listen to another port, or to off";
	else if (number == EEXIST)
		fix = "The file is not a socket that was left behind: remove "
		      "it, or set serve.listen to another path";
	else if (number == EACCES && a->kind == LISTEN_TCP)
		fix = "Ports below 1024 are root's: set serve.listen to "
		      "another port";
	rc = error_set(err, absent ? ERROR_CONFIG : ERROR_ACCESS,
		       "cannot listen on %s: %s", text.data, strerror(number));
	error_hint(err, "%s", fix);
	strbuf_release(&text);
	return rc;
}

/* A file that a dead process has left may go. errno says why it may not. */
static bool socket_clear(const struct listen_address *a,
			 const union http_name *name, socklen_t length)
{
	struct stat file;
	int fd, number;

	if (lstat(a->path, &file))
		return errno == ENOENT;
	errno = EEXIST;
	if (!S_ISSOCK(file.st_mode))
		return false;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return false;
	number = connect(fd, &name->any, length) ? errno : 0;
	close(fd);
	if (number == ECONNREFUSED)
		return !unlink(a->path);
	errno = !number || number == EAGAIN ? EADDRINUSE : number;
	return false;
}

/* The mode is set before listen(), and nobody can connect before that. */
static int socket_bind(int fd, const struct listen_address *a)
{
	union http_name name;
	socklen_t length = socket_name(a, &name);
	int on = 1, off = 0;

	if (a->kind == LISTEN_UNIX)
		return !socket_clear(a, &name, length) ||
		       bind(fd, &name.any, length) || chmod(a->path, a->mode);
	/* Connections of a process before us do not keep the port. */
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)))
		return -1;
	if (a->six &&
	    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)))
		return -1;
	return bind(fd, &name.any, length);
}

static int socket_learn(struct http_socket *s)
{
	union http_name name = { .six = { .sin6_port = 0 } };
	socklen_t length = sizeof(name);
	struct stat file;

	if (s->at.kind == LISTEN_UNIX) {
		if (lstat(s->at.path, &file))
			return -1;
		s->device = file.st_dev;
		s->inode = file.st_ino;
		return 0;
	}
	if (getsockname(s->fd, &name.any, &length))
		return -1;
	s->at.port = ntohs(s->at.six ? name.six.sin6_port : name.four.sin_port);
	return 0;
}

int http_socket_open(const struct listen_address *address,
		     struct http_socket *out, struct error *err)
{
	int family = address->six ? AF_INET6 : AF_INET, fd, rc;

	if (address->kind == LISTEN_UNIX)
		family = AF_UNIX;
	fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	*out = (struct http_socket){ .fd = fd, .at = *address };
	if (fd < 0)
		return socket_fail(address, errno, err);
	if (!socket_bind(fd, address) && !listen(fd, HTTP_BACKLOG) &&
	    !socket_learn(out))
		return 0;
	rc = socket_fail(address, errno, err);
	close(fd);
	out->fd = -1;
	return rc;
}

void http_socket_remove(const struct http_socket *s)
{
	struct stat file;

	if (s->at.kind == LISTEN_UNIX && !lstat(s->at.path, &file) &&
	    file.st_dev == s->device && file.st_ino == s->inode)
		unlink(s->at.path);
}
