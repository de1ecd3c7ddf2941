/* The HTTP client against a server that says what it is told to. */
#include <pthread.h>
#include <unistd.h>

#include "unit.h"

#include "clients/http.h"
#include "clients/tls.h"
#include "core/base/clock.h"
#include "core/base/secret.h"
#include "http_peer.h"

#define OK   "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
#define BUSY "HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n"
#define BIG  ((size_t)64 << 20)

struct world {
	struct peer peer;
	struct http *http;
	struct http_response response;
	struct error err;
};

static void world_open(struct world *w, const struct peer_answer *answers,
		       int64_t silence_us)
{
	struct connection conn = { .connect_timeout_us = 5 * US_PER_SECOND,
				   .silence_timeout_us = silence_us };
	char *base;

	memset(w, 0, sizeof(*w));
	peer_start(&w->peer, answers);
	http_response_init(&w->response);
	base = xstrfmt("http://127.0.0.1:%u", w->peer.port);
	assert_int_equal(http_open(&w->http, &conn, base, "the peer", &w->err),
			 0);
	free(base);
}

static void world_leave(struct world *w)
{
	http_close(w->http);
	peer_stop(&w->peer);
}

static void world_close(struct world *w)
{
	http_response_release(&w->response);
	peer_release(&w->peer);
}

static int world_do(struct world *w, const char *method, const char *body)
{
	struct http_request request = { .method = method,
					.path = "/x?y=1",
					.body = body,
					.n_body = body ? strlen(body) : 0 };

	return http_do(w->http, &request, 1000, &w->response, &w->err);
}

static void keeps_its_connection(void **state)
{
	static const struct peer_answer answers[] = {
		{ .text = OK }, { .text = OK }, { .text = OK },
		{ .text = OK }, { .text = OK }, { .text = NULL }
	};
	static const char *const methods[] = { "GET", "POST", "PUT", "PATCH",
					       "DELETE" };
	struct world w;
	char *line;

	(void)state;
	world_open(&w, answers, 0);
	for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
		assert_int_equal(
			world_do(&w, methods[i], i % 4 ? "body" : NULL), 0);
		assert_int_equal(w.response.status, 200);
		assert_string_equal(w.response.body.data, "ok");
		assert_int_equal(http_check(w.http, &w.response, &w.err), 0);
	}
	world_leave(&w);
	assert_int_equal(w.peer.connections, 1);
	for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
		line = xstrfmt("%s /x?y=1 HTTP/1.1\r\n", methods[i]);
		assert_non_null(strstr(w.peer.asked.data, line));
		free(line);
	}
	assert_non_null(strstr(w.peer.asked.data, "\r\n\r\nbodyPUT"));
	assert_null(strstr(w.peer.asked.data, "Expect"));
	assert_null(strstr(w.peer.asked.data, "form-urlencoded"));
	world_close(&w);
}

/* A body of `left` bytes, of which `fails_at` is where it breaks. */
struct supply {
	size_t size, left, fails_at;
	int begun;
	bool packed, noise;
};

static char supply_byte(const struct supply *s, size_t at)
{
	uint64_t x = (at + 1) * UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	return s->noise ? (char)(x >> 56) : 'b';
}

static long supply_next(void *ctx, void *out, size_t room, struct error *err)
{
	struct supply *s = ctx;
	size_t n = s->left < room ? s->left : room;

	if (s->fails_at && s->left <= s->fails_at)
		return error_set(err, ERROR_DATA, "row 7 is not good");
	for (size_t i = 0; i < n; i++)
		((char *)out)[i] = supply_byte(s, s->size - s->left + i);
	s->left -= n;
	return (long)n;
}

static void supply_rewind(void *ctx)
{
	struct supply *s = ctx;

	s->left = s->size;
	s->begun++;
}

static int world_send(struct world *w, struct supply *s, int64_t size,
		      bool again)
{
	const char *headers[] = { "X-Some: thing", NULL };
	struct http_request request = { .method = "POST",
					.path = "/",
					.headers = headers,
					.source = supply_next,
					.rewind = again ? supply_rewind : NULL,
					.ctx = s,
					.size = size,
					.pack = s->packed };

	s->left = s->size;
	return http_do(w->http, &request, 1000, &w->response, &w->err);
}

static void body_comes_from_a_source(void **state)
{
	static const struct peer_answer answers[] = { { .text = OK },
						      { .text = OK },
						      { .text = NULL } };
	struct supply s = { .size = 1000000 };
	struct world w;

	(void)state;
	world_open(&w, answers, 0);
	assert_int_equal(world_send(&w, &s, 1000000, false), 0);
	assert_int_equal(world_send(&w, &s, -1, false), 0);
	world_leave(&w);
	assert_non_null(strstr(w.peer.asked.data, "Content-Length: 1000000"));
	assert_non_null(
		strstr(w.peer.asked.data, "Transfer-Encoding: chunked"));
	assert_non_null(strstr(w.peer.asked.data, "X-Some: thing"));
	assert_true(w.peer.asked.len > 2000000);
	world_close(&w);
}

/* The bodies of requests in chunks, one behind the other. */
static void take_chunks(const struct strbuf *asked, struct strbuf *out)
{
	const char *at = asked->data, *end = asked->data + asked->len;

	while ((at = memmem(at, (size_t)(end - at), "\r\n\r\n", 4))) {
		size_t n = strtoul(at += 4, NULL, 16);

		for (; n; n = strtoul(at, NULL, 16)) {
			at = strstr(at, "\r\n") + 2;
			strbuf_add(out, at, n);
			at += n + 2;
		}
	}
}

/* The same frame three times, each with the sign of zstd. What is in it the
 * suites look at that have a server which unpacks it. */
static void check_frames(const struct strbuf *bodies)
{
	size_t n = bodies->len / 3;

	assert_int_equal(bodies->len, 3 * n);
	assert_memory_equal(bodies->data, "\x28\xb5\x2f\xfd", 4);
	assert_memory_equal(bodies->data, bodies->data + n, n);
	assert_memory_equal(bodies->data, bodies->data + 2 * n, n);
}

/* And begun anew, for a server that asks for it again. */
static void body_is_packed(void **state)
{
	static const struct peer_answer answers[] = {
		{ .text = BUSY "Retry-After: 0\r\n\r\nbusy" },
		{ .text = OK },
		{ .text = OK },
		{ .text = NULL }
	};
	struct supply cases[] = {
		{ .size = 3000000, .packed = true },
		{ .size = 1000001, .packed = true, .noise = true },
		{ .size = 1, .packed = true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct strbuf body = STRBUF_INIT;
		struct world w;

		world_open(&w, answers, 0);
		assert_int_equal(world_send(&w, &cases[i], -1, true), 0);
		assert_int_equal(world_send(&w, &cases[i], -1, true), 0);
		world_leave(&w);
		assert_int_equal(w.peer.requests, 3);
		assert_non_null(strstr(w.peer.asked.data,
				       "Content-Encoding: zstd\r\n"));
		take_chunks(&w.peer.asked, &body);
		assert_true(cases[i].noise ? body.len > 3 * cases[i].size
					   : body.len < 10000);
		check_frames(&body);
		strbuf_release(&body);
		world_close(&w);
	}
}

static void source_gives_up(void **state)
{
	static const struct peer_answer answers[] = { { .text = OK },
						      { .text = OK },
						      { .text = NULL } };
	struct supply s = { .size = 1000000, .fails_at = 1 };
	struct world w;

	(void)state;
	world_open(&w, answers, 0);
	s.fails_at = 300000;
	assert_int_equal(world_send(&w, &s, -1, true), -ERROR_DATA);
	assert_string_equal(w.err.message, "row 7 is not good");
	error_clear(&w.err);
	assert_int_equal(world_do(&w, "GET", NULL), 0);
	world_leave(&w);
	assert_int_equal(w.peer.connections, 2);
	world_close(&w);
}

static void waits_as_it_is_told(void **state)
{
	static const struct peer_answer answers[] = {
		{ .text = BUSY "Retry-After: 1\r\n\r\nbusy" },
		{ .text = "HTTP/1.1 429 Slow\r\nContent-Length: 0\r\n"
			  "Retry-After: 0\r\n\r\n" },
		{ .text = OK },
		{ .text = NULL }
	};
	struct supply s = { .size = 100 };
	struct world w;
	int64_t begin = clock_monotonic_us();

	(void)state;
	world_open(&w, answers, 0);
	assert_int_equal(world_send(&w, &s, 100, true), 0);
	assert_int_equal(w.response.status, 200);
	assert_int_equal(s.begun, 2);
	assert_true(clock_monotonic_us() - begin >= US_PER_SECOND);
	world_leave(&w);
	assert_int_equal(w.peer.requests, 3);
	world_close(&w);
}

static void does_not_wait_otherwise(void **state)
{
	static const struct peer_answer answers[] = {
		{ .text = BUSY "\r\nbusy" },
		{ .text = BUSY "Retry-After: 3600\r\n\r\nbusy" },
		{ .text = BUSY "Retry-After: 0\r\n\r\nbusy" },
		{ .text = "HTTP/1.1 500 No\r\nContent-Length: 0\r\n"
			  "Retry-After: 0\r\n\r\n" },
		{ .text = NULL }
	};
	static const int64_t told[] = { -1, 3600 * US_PER_SECOND, 0 };
	struct supply s = { .size = 100 };
	struct world w;

	(void)state;
	world_open(&w, answers, 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(world_send(&w, &s, 100, i < 2), 0);
		assert_int_equal(w.response.status, 503);
		assert_int_equal(w.response.retry_after_us, told[i]);
	}
	assert_int_equal(http_check(w.http, &w.response, &w.err),
			 -ERROR_TRANSIENT);
	assert_string_equal(w.err.message, "the peer answers HTTP 503: busy");
	assert_true(error_has_code(&w.err, "503"));
	assert_int_equal(world_do(&w, "GET", NULL), 0);
	assert_int_equal(w.response.status, 500);
	world_leave(&w);
	assert_int_equal(w.peer.requests, 4);
	world_close(&w);
}

static void gives_up_waiting_in_the_end(void **state)
{
	static const struct peer_answer answers[] = {
		{ .text = BUSY "Retry-After: 0\r\n\r\nbusy" },
		{ .text = BUSY "Retry-After: 0\r\n\r\nbusy" },
		{ .text = BUSY "Retry-After: 0\r\n\r\nbusy" },
		{ .text = BUSY "Retry-After: 0\r\n\r\nbusy" },
		{ .text = OK },
		{ .text = NULL }
	};
	struct world w;

	(void)state;
	world_open(&w, answers, 0);
	assert_int_equal(world_do(&w, "GET", NULL), 0);
	assert_int_equal(w.response.status, 503);
	world_leave(&w);
	assert_int_equal(w.peer.requests, 4);
	world_close(&w);
}

static void follows_no_redirect(void **state)
{
	static const struct peer_answer answers[] = {
		{ .text = "HTTP/1.1 302 Found\r\nContent-Length: 0\r\n"
			  "Location: http://127.0.0.1:1/\r\n\r\n" },
		{ .text = NULL }
	};
	struct world w;
	char *location;

	(void)state;
	world_open(&w, answers, 0);
	assert_int_equal(world_do(&w, "GET", NULL), 0);
	location = http_response_header(&w.response, "location");
	assert_string_equal(location, "http://127.0.0.1:1/");
	free(location);
	assert_int_equal(http_check(w.http, &w.response, &w.err),
			 -ERROR_ACCESS);
	assert_non_null(strstr(w.err.message, "redirect"));
	world_leave(&w);
	assert_int_equal(w.peer.requests, 1);
	world_close(&w);
}

/* Answers that are not what HTTP promises, and what is said of them. */
static const struct {
	struct peer_answer answer;
	enum error_code code;
	const char *says;
} broken[] = {
	{ { .text = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort",
	    .then = PEER_CLOSE },
	  ERROR_TRANSIENT,
	  "the peer: " },
	{ { .text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
		    "5\r\nshort\r\n",
	    .then = PEER_CLOSE },
	  ERROR_TRANSIENT,
	  "the peer: " },
	{ { .text = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nshort",
	    .then = PEER_CLOSE },
	  ERROR_TRANSIENT,
	  "how long it is" },
	{ { .text = "HTTP/1.0 200 OK\r\n\r\n", .then = PEER_CLOSE },
	  ERROR_TRANSIENT,
	  "how long it is" },
	{ { .text = "HTTP/1.1 200 OK\r\nContent-Encoding: br\r\n"
		    "Content-Length: 2\r\n\r\nok" },
	  ERROR_ACCESS,
	  "Content-Encoding: br" },
	{ { .text = "", .then = PEER_CLOSE }, ERROR_TRANSIENT, "the peer: " },
	{ { .text = "HTTP/1.1 2", .then = PEER_CLOSE },
	  ERROR_TRANSIENT,
	  "the peer: " },
	{ { .text = "HTTP/1.1 200 OK\r\nContent-Ty", .then = PEER_CLOSE },
	  ERROR_TRANSIENT,
	  "the peer: Server returned nothing" },
	{ { .text = "HTTP/1.1 100 Continue\r\n\r\n", .then = PEER_CLOSE },
	  ERROR_TRANSIENT,
	  "the peer: " },
	{ { .text = "SSH-2.0-OpenSSH\r\n", .then = PEER_CLOSE },
	  ERROR_ACCESS,
	  "the peer: " },
	{ { .text = "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n",
	    .filler = 5000 },
	  ERROR_ACCESS,
	  "more than 1000 bytes" },
	{ { .text = "HTTP/1.1 200 OK\r\nX: ",
	    .filler = 200000,
	    .then = PEER_CLOSE },
	  ERROR_ACCESS,
	  "the peer" },
	{ { .text = "HTTP/1.1 200 OK\r\nContent-Length: 60\r\n\r\n",
	    .filler = 60,
	    .drips = true },
	  ERROR_TRANSIENT,
	  "the peer: " },
	{ { .text = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n",
	    .then = PEER_HANG },
	  ERROR_TRANSIENT,
	  "the peer: " },
};

static void broken_answers_are_errors(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(broken); i++) {
		struct peer_answer answers[2] = { broken[i].answer };
		struct world w;
		int rc;

		world_open(&w, answers, US_PER_SECOND);
		rc = world_do(&w, "GET", NULL);
		if (rc != -(int)broken[i].code)
			print_message("case %zu: %s\n", i, w.err.message);
		assert_int_equal(rc, -(int)broken[i].code);
		assert_non_null(strstr(w.err.message, broken[i].says));
		assert_true(strlen(w.err.message) < 500);
		world_leave(&w);
		world_close(&w);
	}
}

static void nobody_there(void **state)
{
	static const struct peer_answer none[] = { { .text = NULL } };
	struct world w;

	(void)state;
	world_open(&w, none, 0);
	peer_stop(&w.peer);
	assert_int_equal(world_do(&w, "GET", NULL), -ERROR_TRANSIENT);
	http_close(w.http);
	world_close(&w);
}

static void refused_in_the_middle_of_a_body(void **state)
{
	static const struct peer_answer answers[] = {
		{ .text = "HTTP/1.1 413 Big\r\nContent-Length: 7\r\n"
			  "Connection: close\r\n\r\ntoo big",
		  .then = PEER_CLOSE,
		  .early = true },
		{ .text = NULL }
	};
	struct supply s = { .size = BIG };
	struct world w;

	(void)state;
	world_open(&w, answers, 5 * US_PER_SECOND);
	assert_int_equal(world_send(&w, &s, (int64_t)BIG, true), 0);
	assert_int_equal(w.response.status, 413);
	assert_int_equal(http_check(w.http, &w.response, &w.err), -ERROR_DATA);
	world_leave(&w);
	world_close(&w);
}

/* What is sent ahead of a reader lies in the sockets, and a little here. */
#define MOST_AHEAD   ((size_t)16 << 20)
#define MOST_WAITING ((size_t)512 << 10)

static void check_piece(const char *piece, size_t n, size_t at)
{
	for (size_t i = 0; i < n; i++)
		if (piece[i] != PEER_BYTE(at + i))
			fail_msg("byte %zu is not what was sent", at + i);
}

/* A reader that rests now and then, longer than it takes to fill what lies
 * between, and asks for a byte, for less than there is, and for more. */
static size_t read_slowly(struct world *w, size_t until)
{
	static char piece[1 << 20];
	static const size_t rooms[] = { 10000, 1, sizeof(piece), 70000 };
	size_t all = 0, n = 1, rested = 0;

	for (size_t turn = 0; n && all < until; turn++) {
		if (all >= rested) {
			usleep(100000);
			assert_true(atomic_load(&w->peer.sent) - all <
				    MOST_AHEAD);
			rested = all + BIG / 8;
		}
		if (http_read(w->http, piece, rooms[turn % 4], &n, &w->err))
			fail_msg("%s", w->err.message);
		assert_true(n <= MOST_WAITING);
		check_piece(piece, n, all);
		all += n;
	}
	return all;
}

/* Who does not read is not sent more: 64 MiB do not come to lie in memory, and
 * none of them is lost, or comes twice, when it goes on. */
static void answer_waits_for_its_reader(void **state)
{
	static const struct peer_answer answers[] = {
		{ .text = "HTTP/1.1 200 OK\r\nContent-Length: 67108864\r\n\r\n",
		  .filler = BIG,
		  .numbered = true },
		{ .text = "HTTP/1.1 200 OK\r\nConnection: close\r\n"
			  "Content-Length: 67108864\r\n\r\n",
		  .filler = BIG,
		  .numbered = true,
		  .then = PEER_CLOSE },
		{ .text = OK },
		{ .text = NULL }
	};
	struct http_request request = { .method = "GET", .path = "/" };
	struct world w;

	(void)state;
	world_open(&w, answers, 0);
	for (int i = 0; i < 2; i++) {
		atomic_store(&w.peer.sent, 0);
		assert_int_equal(
			http_begin(w.http, &request, &w.response, &w.err), 0);
		assert_int_equal(read_slowly(&w, SIZE_MAX), BIG);
		http_end(w.http);
	}
	assert_int_equal(world_do(&w, "GET", NULL), 0);
	world_leave(&w);
	assert_int_equal(w.peer.connections, 2);
	world_close(&w);
}

/* Left in the middle while it waits: the next answer has nothing of it. */
static void waiting_answer_is_left(void **state)
{
	static const struct peer_answer answers[] = {
		{ .text = "HTTP/1.1 200 OK\r\nContent-Length: 67108864\r\n\r\n",
		  .filler = BIG,
		  .numbered = true,
		  .then = PEER_HANG },
		{ .text = OK },
		{ .text = NULL }
	};
	struct http_request request = { .method = "GET", .path = "/" };
	struct world w;

	(void)state;
	world_open(&w, answers, 0);
	assert_int_equal(http_begin(w.http, &request, &w.response, &w.err), 0);
	assert_true(read_slowly(&w, BIG / 4) < BIG / 2);
	assert_int_equal(world_do(&w, "GET", NULL), 0);
	assert_string_equal(w.response.body.data, "ok");
	world_leave(&w);
	assert_int_equal(w.peer.connections, 2);
	world_close(&w);
}

static void long_answer_is_cut(void **state)
{
	static const struct peer_answer answers[] = {
		{ .text = "HTTP/1.1 400 No\r\nContent-Length: 5000\r\n\r\n",
		  .filler = 5000 },
		{ .text = NULL }
	};
	struct http_request request = { .method = "GET", .path = "/" };
	struct world w;

	(void)state;
	world_open(&w, answers, 0);
	assert_int_equal(http_begin(w.http, &request, &w.response, &w.err), 0);
	assert_int_equal(http_drain(w.http, &w.response, 1000, true, &w.err),
			 0);
	http_end(w.http);
	assert_int_equal(w.response.body.len, 1000);
	assert_int_equal(http_check(w.http, &w.response, &w.err),
			 -ERROR_UNKNOWN);
	assert_true(strlen(w.err.message) < 400);
	world_leave(&w);
	world_close(&w);
}

static void *interrupt_later(void *ctx)
{
	usleep(100000);
	http_interrupt(ctx);
	return NULL;
}

static void is_interrupted(void **state)
{
	static const struct peer_answer answers[] = {
		{ .text = "HTTP/1.1 200 OK\r\n", .then = PEER_HANG },
		{ .text = NULL }
	};
	struct world w;
	pthread_t thread;
	int64_t begin = clock_monotonic_us();

	(void)state;
	world_open(&w, answers, 0);
	pthread_create(&thread, NULL, interrupt_later, w.http);
	assert_int_equal(world_do(&w, "GET", NULL), -ERROR_STOPPED);
	assert_true(clock_monotonic_us() - begin < US_PER_SECOND);
	pthread_join(thread, NULL);
	world_leave(&w);
	world_close(&w);
}

static void headers_are_of_the_last_head(void **state)
{
	static const struct peer_answer answers[] = {
		{ .text = "HTTP/1.1 100 Continue\r\nX-Who: first\r\n\r\n"
			  "HTTP/1.1 201 Made\r\nContent-Length: 0\r\n"
			  "x-who:  second \r\nX-Whom: nobody\r\n\r\n" },
		{ .text = NULL }
	};
	struct world w;
	char *who;

	(void)state;
	world_open(&w, answers, 0);
	assert_int_equal(world_do(&w, "GET", NULL), 0);
	assert_int_equal(w.response.status, 201);
	who = http_response_header(&w.response, "X-Who");
	assert_non_null(strstr(who, "second"));
	free(who);
	assert_null(http_response_header(&w.response, "X"));
	assert_null(http_response_header(&w.response, "nothing"));
	world_leave(&w);
	world_close(&w);
}

static const struct {
	const char *base, *ca;
	enum tls_mode mode;
	enum error_code code;
} bases[] = {
	{ "http://127.0.0.1:8123", NULL, TLS_AUTO, ERROR_NONE },
	{ "http://localhost:8123", NULL, TLS_AUTO, ERROR_NONE },
	{ "http://[::1]:8123", NULL, TLS_AUTO, ERROR_NONE },
	{ "https://db.example", NULL, TLS_AUTO, ERROR_NONE },
	{ "http://db.example:8123", NULL, TLS_AUTO, ERROR_CONFIG },
	{ "http://db.example:8123", NULL, TLS_DISABLED, ERROR_CONFIG },
	{ "http://127.db.example:8123", NULL, TLS_AUTO, ERROR_CONFIG },
	{ "http://localhost.example", NULL, TLS_AUTO, ERROR_CONFIG },
	{ "http://@db.example", NULL, TLS_AUTO, ERROR_CONFIG },
	{ "http:///db.example", NULL, TLS_AUTO, ERROR_CONFIG },
	{ "http://127.0.0.1@db.example", NULL, TLS_AUTO, ERROR_CONFIG },
	{ "https://db.example", NULL, TLS_DISABLED, ERROR_CONFIG },
	{ "https://db.example", "/nowhere/ca.pem", TLS_AUTO, ERROR_CONFIG },
};

static void only_loopback_goes_without_tls(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bases); i++) {
		struct connection conn = { .tls_mode = bases[i].mode,
					   .tls_ca = (char *)bases[i].ca };
		struct http *http = NULL;
		struct error err = ERROR_INIT;
		int rc = http_open(&http, &conn, bases[i].base, "it", &err);

		if (rc != -(int)bases[i].code)
			print_message("%s\n", bases[i].base);
		assert_int_equal(rc, -(int)bases[i].code);
		http_close(http);
	}
	assert_true(tls_is_local("127.0.0.2", 9));
	assert_false(tls_is_local("127.example", 11));
}

/* Plain http leaves the machine for nobody but its metadata server. */
static void metadata_goes_without_tls(void **state)
{
	static const struct {
		const char *named, *host;
		enum error_code code;
	} cases[] = {
		{ NULL, "metadata.google.internal", ERROR_NONE },
		{ NULL, "169.254.169.254", ERROR_NONE },
		{ "", "169.254.169.254", ERROR_NONE },
		{ "meta.example:8080", "meta.example:8080", ERROR_NONE },
		{ "meta.example:8080", "meta.example", ERROR_CONFIG },
		{ "@meta.example", "@meta.example", ERROR_CONFIG },
		{ NULL, "169.254.169.253", ERROR_CONFIG },
		{ NULL, "metadata.google.internal.example", ERROR_CONFIG },
		{ NULL, "127.0.0.1", ERROR_CONFIG },
		{ "", "", ERROR_CONFIG },
	};
	struct connection conn = { .tls_mode = TLS_AUTO };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct http *http = NULL;
		struct error err = ERROR_INIT;
		int rc;

		unsetenv("GCE_METADATA_HOST");
		if (cases[i].named)
			setenv("GCE_METADATA_HOST", cases[i].named, 1);
		rc = http_open_metadata(&http, &conn, cases[i].host, "it",
					&err);
		if (rc != -(int)cases[i].code)
			fail_msg("%s: %s", cases[i].host, err.message);
		http_close(http);
	}
	unsetenv("GCE_METADATA_HOST");
	assert_int_not_equal(http_open(&(struct http *){ NULL }, &conn,
				       "http://169.254.169.254", "it",
				       &(struct error)ERROR_INIT),
			     0);
}

static void statuses_have_classes(void **state)
{
	static const struct {
		long status;
		enum error_code code;
	} cases[] = {
		{ 301, ERROR_ACCESS },	  { 400, ERROR_UNKNOWN },
		{ 401, ERROR_ACCESS },	  { 403, ERROR_ACCESS },
		{ 404, ERROR_ACCESS },	  { 408, ERROR_TRANSIENT },
		{ 409, ERROR_UNKNOWN },	  { 413, ERROR_DATA },
		{ 429, ERROR_TRANSIENT }, { 500, ERROR_TRANSIENT },
		{ 501, ERROR_UNKNOWN },	  { 503, ERROR_TRANSIENT },
		{ 504, ERROR_TRANSIENT }, { 507, ERROR_ACCESS },
		{ 999, ERROR_ACCESS },	  { 600, ERROR_ACCESS },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(http_status_class(cases[i].status),
				 cases[i].code);
}

static void foreign_texts_are_short_and_safe(void **state)
{
	struct strbuf sb = STRBUF_INIT;

	(void)state;
	http_add_excerpt(&sb, "a\r\nb\0c\x1b[0m\xff \n", 13, 100);
	assert_string_equal(sb.data, "a  b?c?[0m?");
	strbuf_reset(&sb);
	http_add_excerpt(&sb, "aaa\xc3\xa4zzz", 8, 4);
	assert_string_equal(sb.data, "aaa...");
	strbuf_reset(&sb);
	http_add_escaped(&sb, "a b&\xc3\xa4-_.~%");
	assert_string_equal(sb.data, "a%20b%26%C3%A4-_.~%25");
	strbuf_release(&sb);
}

static void errors_hold_no_secret(void **state)
{
	static const struct peer_answer answers[] = {
		{ .text = "HTTP/1.1 403 No\r\nContent-Length: 15\r\n\r\n"
			  "key was hunter2" },
		{ .text = NULL }
	};
	struct world w;

	(void)state;
	secret_add("hunter2");
	world_open(&w, answers, 0);
	assert_int_equal(world_do(&w, "GET", NULL), 0);
	assert_int_equal(http_check(w.http, &w.response, &w.err),
			 -ERROR_ACCESS);
	assert_null(strstr(w.err.message, "hunter2"));
	world_leave(&w);
	world_close(&w);
	secret_forget_all();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_its_connection),
		cmocka_unit_test(body_comes_from_a_source),
		cmocka_unit_test(body_is_packed),
		cmocka_unit_test(source_gives_up),
		cmocka_unit_test(waits_as_it_is_told),
		cmocka_unit_test(does_not_wait_otherwise),
		cmocka_unit_test(gives_up_waiting_in_the_end),
		cmocka_unit_test(follows_no_redirect),
		cmocka_unit_test(broken_answers_are_errors),
		cmocka_unit_test(nobody_there),
		cmocka_unit_test(refused_in_the_middle_of_a_body),
		cmocka_unit_test(answer_waits_for_its_reader),
		cmocka_unit_test(waiting_answer_is_left),
		cmocka_unit_test(long_answer_is_cut),
		cmocka_unit_test(is_interrupted),
		cmocka_unit_test(headers_are_of_the_last_head),
		cmocka_unit_test(only_loopback_goes_without_tls),
		cmocka_unit_test(metadata_goes_without_tls),
		cmocka_unit_test(statuses_have_classes),
		cmocka_unit_test(foreign_texts_are_short_and_safe),
		cmocka_unit_test(errors_hold_no_secret),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
