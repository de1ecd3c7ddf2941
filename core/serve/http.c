#include "core/serve/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/library.h"
#include "core/serve/http_call.h"
#include "core/serve/http_socket.h"
#include "core/serve/http_watch.h"

/* "token from " and an address. */
#define HTTP_BY_SIZE (INET6_ADDRSTRLEN + 32)

extern struct library library_microhttpd;

struct http_server {
	struct http_site site;
	char *token;
	struct http_socket socket;
	struct strbuf address;
	struct http_watch *watch;
	struct MHD_Daemon *daemon;
};

/* The page loads its own files and asks this server, and nothing else. */
static const struct {
	const char *name, *value;
} http_always[] = {
	{ "Content-Security-Policy",
	  "default-src 'none'; script-src 'self'; style-src 'self'; "
	  "img-src 'self' data:; connect-src 'self'; base-uri 'none'; "
	  "form-action 'none'; frame-ancestors 'none'" },
	{ "X-Content-Type-Options", "nosniff" },
	{ "X-Frame-Options", "DENY" },
	{ "Referrer-Policy", "no-referrer" },
	{ "Cross-Origin-Resource-Policy", "same-origin" },
};

static struct http_line *http_line_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

static void http_say_peer(struct MHD_Connection *connection,
			  char out[HTTP_BY_SIZE])
{
	const union MHD_ConnectionInfo *fd = MHD_get_connection_info(
		connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct sockaddr_storage name = { .ss_family = AF_UNSPEC };
	socklen_t length = sizeof(name);
	char text[INET6_ADDRSTRLEN] = "?";
	struct ucred peer;

	if (!fd ||
	    getpeername(fd->connect_fd, (struct sockaddr *)&name, &length))
		name.ss_family = AF_UNSPEC;
	length = sizeof(peer);
	if (name.ss_family == AF_INET)
		inet_ntop(AF_INET, &((struct sockaddr_in *)&name)->sin_addr,
			  text, sizeof(text));
	else if (name.ss_family == AF_INET6)
		inet_ntop(AF_INET6, &((struct sockaddr_in6 *)&name)->sin6_addr,
			  text, sizeof(text));
	else if (name.ss_family == AF_UNIX &&
		 !getsockopt(fd->connect_fd, SOL_SOCKET, SO_PEERCRED, &peer,
			     &length))
		snprintf(text, sizeof(text), "uid %lu",
			 (unsigned long)peer.uid);
	snprintf(out, HTTP_BY_SIZE, "%s", text);
}

/* It got here, so the token was the right one where there is one. */
static void http_say_who(const struct http_call *c,
			 struct MHD_Connection *connection,
			 char out[HTTP_BY_SIZE])
{
	char peer[HTTP_BY_SIZE];
	bool token = *c->site->guard.token && c->route &&
		     !(c->route->flags & ROUTE_OPEN);

	http_say_peer(connection, peer);
	snprintf(out, HTTP_BY_SIZE, "%s%.60s", token ? "token from " : "",
		 peer);
}

static void http_header(struct MHD_Response *response, const char *name,
			const char *value)
{
	if (value && MHD_add_response_header(response, name, value) != MHD_YES)
		alloc_die();
}

static void http_headers(struct MHD_Response *response,
			 const struct http_reply *reply)
{
	for (size_t i = 0; i < ARRAY_SIZE(http_always); i++)
		http_header(response, http_always[i].name,
			    http_always[i].value);
	if (reply->status != 304)
		http_header(response, "Content-Type",
			    reply->type ? reply->type : "application/json");
	http_header(response, "Cache-Control",
		    reply->cache ? reply->cache : "no-store");
	http_header(response, "ETag", reply->etag);
	http_header(response, "Allow", reply->allow);
	http_header(response, "Vary", reply->varies ? "Accept-Encoding" : NULL);
	http_header(response, "Content-Encoding",
		    reply->packed ? "gzip" : NULL);
	http_header(response, "WWW-Authenticate",
		    reply->status == 401 ? "Bearer realm=\"tidemark\"" : NULL);
}

static enum MHD_Result http_send(struct MHD_Connection *connection,
				 struct http_reply *reply)
{
	struct MHD_Response *response;
	enum MHD_Result rc;
	size_t n = reply->body.len;

	if (reply->fixed)
		response = MHD_create_response_from_buffer(
			reply->fixed_length, (void *)reply->fixed,
			MHD_RESPMEM_PERSISTENT);
	else
		response = MHD_create_response_from_buffer(
			n, strbuf_detach(&reply->body), MHD_RESPMEM_MUST_FREE);
	if (!response)
		alloc_die();
	http_headers(response, reply);
	rc = MHD_queue_response(connection, reply->status, response);
	MHD_destroy_response(response);
	return rc;
}

/* However long the handler takes, the client is not to blame. */
static enum MHD_Result http_answer(struct http_server *h, struct http_call *c,
				   struct MHD_Connection *connection)
{
	struct http_line *line = http_line_of(connection);
	struct http_reply reply;
	char by[HTTP_BY_SIZE];
	enum MHD_Result rc;

	http_say_who(c, connection, by);
	http_watch_hold(h->watch, line);
	http_reply_init(&reply);
	http_call_answer(c, by, &reply);
	http_watch_renew(h->watch, line);
	rc = http_send(connection, &reply);
	http_reply_release(&reply);
	return rc;
}

static enum MHD_Result http_note_header(void *ctx, enum MHD_ValueKind kind,
					const char *name, size_t name_length,
					const char *value, size_t n)
{
	(void)kind;
	(void)name_length;
	http_head_note(ctx, name, value, n);
	return MHD_YES;
}

/* Called with the headers, with each piece of the body, and at its end. */
static enum MHD_Result http_handle(void *ctx, struct MHD_Connection *connection,
				   const char *url, const char *method,
				   const char *version, const char *data,
				   size_t *n, void **call)
{
	struct http_call *c = *call;

	(void)url;
	(void)version;
	if (!c)
		return MHD_NO;
	if (!c->begun) {
		MHD_get_connection_values_n(connection, MHD_HEADER_KIND,
					    http_note_header, &c->head);
		http_call_begin(c, method);
		if (http_call_is_hopeless(c))
			return http_answer(ctx, c, connection);
		return MHD_YES;
	}
	if (*n) {
		bool goes_on = http_call_take(c, data, *n);

		*n = 0;
		return goes_on ? MHD_YES : MHD_NO;
	}
	return http_answer(ctx, c, connection);
}

/* The first line, before anything of it is decoded. */
static void *http_begin_call(void *ctx, const char *uri,
			     struct MHD_Connection *connection)
{
	const struct http_server *h = ctx;

	(void)connection;
	return http_call_new(&h->site, uri);
}

static void http_end_call(void *ctx, struct MHD_Connection *connection,
			  void **call, enum MHD_RequestTerminationCode why)
{
	struct http_server *h = ctx;

	(void)why;
	http_call_free(*call);
	*call = NULL;
	http_watch_renew(h->watch, http_line_of(connection));
}

static void http_note_connection(void *ctx, struct MHD_Connection *connection,
				 void **line,
				 enum MHD_ConnectionNotificationCode why)
{
	struct http_server *h = ctx;
	const union MHD_ConnectionInfo *fd;

	if (why == MHD_CONNECTION_NOTIFY_CLOSED) {
		http_watch_leave(h->watch, *line);
		*line = NULL;
		return;
	}
	fd = MHD_get_connection_info(connection,
				     MHD_CONNECTION_INFO_CONNECTION_FD);
	*line = http_watch_enter(h->watch, fd->connect_fd);
}

/* A thread for each connection: one that waits for the state store, or for a
 * slow client, is in nobody's way. */
static struct MHD_Daemon *http_start_daemon(struct http_server *h)
{
	return MHD_start_daemon(
		MHD_USE_POLL_INTERNAL_THREAD | MHD_USE_THREAD_PER_CONNECTION |
			MHD_USE_ITC,
		0, NULL, NULL, http_handle, h, MHD_OPTION_LISTEN_SOCKET,
		h->socket.fd, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned)HTTP_CONNECTIONS, MHD_OPTION_PER_IP_CONNECTION_LIMIT,
		(unsigned)HTTP_CONNECTIONS_EACH,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HTTP_HEADER_BYTES,
		MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_URI_LOG_CALLBACK,
		http_begin_call, h, MHD_OPTION_NOTIFY_COMPLETED, http_end_call,
		h, MHD_OPTION_NOTIFY_CONNECTION, http_note_connection, h,
		MHD_OPTION_END);
}

/* Its threads inherit the mask: signals are for others to take. */
static int http_run(struct http_server *h, int64_t request_us,
		    struct error *err)
{
	sigset_t all, before;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = http_watch_new(request_us ? request_us : HTTP_REQUEST_US,
			    &h->watch, err);
	if (!rc)
		h->daemon = http_start_daemon(h);
	if (!rc && !h->daemon)
		rc = error_set(err, ERROR_ACCESS,
			       "cannot start the HTTP server on %s: %s",
			       h->address.data, strerror(errno));
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

static void http_set_hosts(struct http_server *h,
			   const struct http_terms *terms)
{
	struct strlist *hosts = &h->site.guard.hosts;
	char host[LISTEN_HOST_SIZE];

	for (size_t i = 0; terms->hosts && i < terms->hosts->n; i++) {
		const char *item = terms->hosts->items[i];

		if (host_parse(item, strlen(item), host, NULL))
			strlist_add(hosts, host);
	}
	/* "All addresses" is no name of anybody. */
	if (terms->listen.kind == LISTEN_TCP &&
	    strcmp(terms->listen.host, "0.0.0.0") != 0 &&
	    strcmp(terms->listen.host, "::") != 0)
		strlist_add(hosts, terms->listen.host);
}

int http_start(const struct http_terms *terms, const struct http_route *routes,
	       size_t n, void *ctx, struct http_server **out, struct error *err)
{
	struct http_server *h;
	int rc;

	*out = NULL;
	if (terms->listen.kind == LISTEN_OFF)
		return 0;
	h = xcalloc(1, sizeof(*h));
	h->token = xstrdup(terms->token ? terms->token : "");
	h->site = (struct http_site){
		.guard.token = h->token,
		.routes = routes,
		.n_routes = n,
		.ctx = ctx,
	};
	http_set_hosts(h, terms);
	strbuf_init(&h->address);
	h->socket.fd = -1;
	rc = library_load(&library_microhttpd, err);
	if (!rc)
		rc = http_socket_open(&terms->listen, &h->socket, err);
	if (!rc) {
		listen_add_text(&h->address, &h->socket.at);
		rc = http_run(h, terms->request_us, err);
	}
	if (rc)
		http_stop(h);
	else
		*out = h;
	return rc;
}

const char *http_address(const struct http_server *h)
{
	return h ? h->address.data : "off";
}

void http_stop(struct http_server *h)
{
	if (!h)
		return;
	if (h->socket.fd >= 0)
		http_socket_remove(&h->socket);
	if (h->daemon)
		MHD_stop_daemon(h->daemon); /* closes the socket, too */
	else if (h->socket.fd >= 0)
		close(h->socket.fd);
	http_watch_free(h->watch);
	strlist_release(&h->site.guard.hosts);
	strbuf_release(&h->address);
	free(h->token);
	free(h);
}
