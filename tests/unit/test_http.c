/* Requests of the HTTP client to a server that follows a script: over which
 * connection, with which body, and when again. */
#include "core/base/clock.h"
#include "tests/unit/http_world.h"
#include "tests/unit/unit.h"

#define BUSY "HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n"

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

/* The same frame three times, each with the sign of zstd. Suites with a server
 * that unpacks it look at its content. */
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
		cmocka_unit_test(refused_in_the_middle_of_a_body),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
