/* Answers to the HTTP client that are broken, come slowly or not at all, wait
 * for their reader, or are an error. */
#include <pthread.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/secret.h"
#include "tests/unit/http_world.h"
#include "tests/unit/unit.h"

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

/* Bytes that are sent ahead of a reader lie in the sockets, and a few here. */
#define MOST_AHEAD   ((size_t)16 << 20)
#define MOST_WAITING ((size_t)512 << 10)

static void check_piece(const char *piece, size_t n, size_t at)
{
	for (size_t i = 0; i < n; i++)
		if (piece[i] != PEER_BYTE(at + i))
			fail_msg("byte %zu is not what was sent", at + i);
}

/* A reader that rests now and then, for longer than it takes to fill the space
 * in between. It asks for a byte, for less than there is, and for more. */
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

/* The server cannot send more while nobody reads. 64 MiB do not come to lie in
 * memory, and none of them is lost, or comes twice, when reading goes on. */
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

	(void)state;
	world_open(&w, answers, 0);
	pthread_create(&thread, NULL, interrupt_later, w.http);
	assert_int_equal(world_do(&w, "GET", NULL), -ERROR_STOPPED);
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
		cmocka_unit_test(broken_answers_are_errors),
		cmocka_unit_test(nobody_there),
		cmocka_unit_test(answer_waits_for_its_reader),
		cmocka_unit_test(waiting_answer_is_left),
		cmocka_unit_test(long_answer_is_cut),
		cmocka_unit_test(is_interrupted),
		cmocka_unit_test(headers_are_of_the_last_head),
		cmocka_unit_test(statuses_have_classes),
		cmocka_unit_test(foreign_texts_are_short_and_safe),
		cmocka_unit_test(errors_hold_no_secret),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
