#include "core/base/listen.h"

#include <arpa/inet.h>
#include <string.h>

static bool listen_fail(struct strbuf *why, const char *text)
{
	strbuf_addf(why, "expected %s, found \"%.80s\"", LISTEN_EXPECTS, text);
	return false;
}

/* Up to five digits, 0 to 65535. */
static bool port_parse(const char *text, size_t n, unsigned *out)
{
	unsigned port = 0;

	if (!n || n > 5)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		port = port * 10 + (unsigned)(text[i] - '0');
	}
	*out = port;
	return port <= 65535;
}

/* One text for each address. */
static bool host_address(char host[LISTEN_HOST_SIZE], int family)
{
	unsigned char address[sizeof(struct in6_addr)];

	return inet_pton(family, host, address) == 1 &&
	       inet_ntop(family, address, host, LISTEN_HOST_SIZE);
}

static bool host_is_name(const char *host)
{
	for (const char *p = host; *p; p++) {
		bool inside = (*p >= 'a' && *p <= 'z') ||
			      (*p >= '0' && *p <= '9') || *p == '_';

		if (!inside && ((*p != '-' && *p != '.') || p == host))
			return false;
	}
	return *host;
}

static bool host_copy(char out[LISTEN_HOST_SIZE], const char *text, size_t n)
{
	if (!n || n >= LISTEN_HOST_SIZE || memchr(text, '\0', n))
		return false;
	memcpy(out, text, n);
	out[n] = '\0';
	for (char *p = out; *p; p++)
		if (*p >= 'A' && *p <= 'Z')
			*p = (char)(*p - 'A' + 'a');
	return true;
}

bool host_parse(const char *text, size_t n, char out[LISTEN_HOST_SIZE],
		bool *port)
{
	const char *end, *rest;
	unsigned number;
	bool six = n && *text == '[';

	end = n ? memchr(text, six ? ']' : ':', n) : NULL;
	if (six && !end)
		return false;
	if (!end)
		end = text + n;
	rest = six ? end + 1 : end;
	if (!host_copy(out, text + six, (size_t)(end - text) - six))
		return false;
	if (six ? !host_address(out, AF_INET6)
		: !host_address(out, AF_INET) && !host_is_name(out))
		return false;
	if (port)
		*port = rest < text + n;
	return rest == text + n ||
	       (*rest == ':' &&
		port_parse(rest + 1, (size_t)(text + n - rest) - 1, &number));
}

static bool listen_parse_unix(struct listen_address *out, const char *path,
			      struct strbuf *why)
{
	const char *query = strchr(path, '?');
	size_t n = query ? (size_t)(query - path) : strlen(path);

	out->kind = LISTEN_UNIX;
	out->mode = 0600;
	if (query && !strcmp(query, "?mode=0660"))
		out->mode = 0660;
	else if (query && strcmp(query, "?mode=0600") != 0) {
		strbuf_addf(why,
			    "\"%.40s\" is not allowed behind the path; "
			    "allowed: ?mode=0600, ?mode=0660",
			    query);
		return false;
	}
	if (!n || n >= LISTEN_PATH_SIZE) {
		strbuf_addf(why, "the path of a socket has 1 to %d bytes",
			    LISTEN_PATH_SIZE - 1);
		return false;
	}
	memcpy(out->path, path, n);
	return true;
}

static bool listen_parse_tcp(struct listen_address *out, const char *text,
			     struct strbuf *why)
{
	const char *colon = strrchr(text, ':');
	bool port = false;

	out->kind = LISTEN_TCP;
	if (!host_parse(text, strlen(text), out->host, &port))
		return listen_fail(why, text);
	if (!port || !port_parse(colon + 1, strlen(colon + 1), &out->port)) {
		strbuf_addf(why, "\"%.80s\" has no port; write %.80s:9464",
			    text, text);
		return false;
	}
	if (!strcmp(out->host, "localhost"))
		memcpy(out->host, "127.0.0.1", sizeof("127.0.0.1"));
	out->six = host_address(out->host, AF_INET6);
	if (!out->six && !host_address(out->host, AF_INET)) {
		strbuf_addf(why,
			    "\"%.80s\" is no address; a server listens on "
			    "addresses of its machine, such as 127.0.0.1 or "
			    "0.0.0.0 (all)",
			    out->host);
		return false;
	}
	return true;
}

bool listen_parse(struct listen_address *out, const char *text,
		  struct strbuf *why)
{
	memset(out, 0, sizeof(*out));
	if (!strcmp(text, "off"))
		return true;
	if (!strncmp(text, "unix:", 5))
		return listen_parse_unix(out, text + 5, why);
	return listen_parse_tcp(out, text, why);
}

bool listen_is_local(const struct listen_address *a)
{
	if (a->kind != LISTEN_TCP)
		return true;
	if (a->six)
		return !strcmp(a->host, "::1") ||
		       !strncmp(a->host, "::ffff:127.", 11);
	return !strncmp(a->host, "127.", 4);
}

void listen_add_text(struct strbuf *out, const struct listen_address *a)
{
	if (a->kind == LISTEN_OFF)
		strbuf_addstr(out, "off");
	else if (a->kind == LISTEN_UNIX)
		strbuf_addf(out, "unix:%s%s", a->path,
			    a->mode == 0660 ? "?mode=0660" : "");
	else
		strbuf_addf(out, a->six ? "[%s]:%u" : "%s:%u", a->host,
			    a->port);
}
