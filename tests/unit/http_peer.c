#include "http_peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/pool.h"

static const char *peer_find(const char *text, const char *what)
{
	return strcasestr(text, what);
}

/* Has the whole request come, as its head says how long it is? */
static bool peer_is_whole(const char *request, size_t n)
{
	const char *end = strstr(request, "\r\n\r\n");
	const char *length;

	if (!end)
		return false;
	length = peer_find(request, "\r\nContent-Length:");
	if (length && length < end)
		return n >= (size_t)(end + 4 - request) +
				    strtoul(length + 17, NULL, 10);
	if (peer_find(request, "chunked") &&
	    peer_find(request, "chunked") < end)
		return n >= 5 && !memcmp(request + n - 5, "0\r\n\r\n", 5);
	return true;
}

/* False: the client has left. */
static bool peer_receive(struct peer *p, int s, bool early)
{
	struct strbuf request = STRBUF_INIT;
	char piece[65536];
	bool whole = false;

	while (!whole) {
		ssize_t n = recv(s, piece, sizeof(piece), 0);

		if (n <= 0)
			break;
		strbuf_add(&request, piece, (size_t)n);
		whole = early ? strstr(request.data, "\r\n\r\n") != NULL
			      : peer_is_whole(request.data, request.len);
	}
	strbuf_add(&p->asked, request.data, request.len);
	strbuf_release(&request);
	return whole;
}

static void peer_send(struct peer *p, int s, const char *text, size_t n)
{
	while (n) {
		ssize_t sent = send(s, text, n, MSG_NOSIGNAL);

		if (sent <= 0)
			return;
		text += sent;
		n -= (size_t)sent;
		atomic_fetch_add(&p->sent, (size_t)sent);
	}
}

static void peer_answer(struct peer *p, int s, const struct peer_answer *answer)
{
	char filler[16384];

	memset(filler, 'x', sizeof(filler));
	peer_send(p, s, answer->text, strlen(answer->text));
	for (size_t left = answer->filler; left;) {
		size_t n = left < sizeof(filler) ? left : sizeof(filler);

		for (size_t i = 0; answer->numbered && i < n; i++)
			filler[i] = PEER_BYTE(answer->filler - left + i);
		if (answer->drips) {
			n = 1;
			usleep(100000);
		}
		peer_send(p, s, filler, n);
		left -= n;
	}
}

static void peer_wait_for_end(int s)
{
	char piece[65536];

	while (recv(s, piece, sizeof(piece), 0) > 0)
		;
}

/* One connection; returns with the answer that comes next. */
static const struct peer_answer *peer_serve(struct peer *p, int s,
					    const struct peer_answer *answer)
{
	for (; answer->text; answer++) {
		if (!peer_receive(p, s, answer->early))
			return answer;
		p->requests++;
		peer_answer(p, s, answer);
		if (answer->then == PEER_KEEP)
			continue;
		if (answer->then == PEER_CLOSE)
			shutdown(s, SHUT_WR);
		peer_wait_for_end(s);
		return answer + 1;
	}
	peer_wait_for_end(s);
	return answer;
}

static void *peer_main(void *ctx)
{
	struct peer *p = ctx;
	const struct peer_answer *answer = p->answers;

	for (;;) {
		int s = accept(p->listener, NULL, NULL);

		if (s < 0)
			return NULL;
		p->connections++;
		answer = peer_serve(p, s, answer);
		close(s);
	}
}

void peer_start(struct peer *p, const struct peer_answer *answers)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t n = sizeof(address);

	memset(p, 0, sizeof(*p));
	strbuf_init(&p->asked);
	p->answers = answers;
	p->listener = socket(AF_INET, SOCK_STREAM, 0);
	if (p->listener < 0 ||
	    bind(p->listener, (struct sockaddr *)&address, n) ||
	    listen(p->listener, 8) ||
	    getsockname(p->listener, (struct sockaddr *)&address, &n) ||
	    pthread_create(&p->thread, NULL, peer_main, p))
		abort();
	p->port = ntohs(address.sin_port);
}

void peer_stop(struct peer *p)
{
	/* It waits for the end of its connection, which may be kept. */
	pool_pause(INT64_MAX);
	shutdown(p->listener, SHUT_RDWR);
	pthread_join(p->thread, NULL);
	close(p->listener);
}

void peer_release(struct peer *p)
{
	strbuf_release(&p->asked);
}
