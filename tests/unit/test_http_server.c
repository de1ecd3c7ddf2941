#include "tests/unit/unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/secret.h"
#include "core/serve/http.h"
#include "tests/unit/http_caller.h"

#define TOKEN "a-token-of-24-characters"

/* Handlers at /block wait for it. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int waiting, most;
	bool open;
} gate = { .lock = PTHREAD_MUTEX_INITIALIZER,
	   .changed = PTHREAD_COND_INITIALIZER };

static void answer_health(const struct http_request *r, struct http_reply *out,
			  void *ctx)
{
	(void)r;
	(void)ctx;
	out->type = "text/plain; charset=utf-8";
	strbuf_addstr(&out->body, "ok\n");
}

/* All that the handler was told. */
static void answer_echo(const struct http_request *r, struct http_reply *out,
			void *ctx)
{
	const char *q = http_request_value(r, "q");
	json_t *parts = json_array();

	assert_ptr_equal(ctx, &gate);
	for (size_t i = 0; i < r->n_parts; i++)
		json_array_append_new(parts, json_string(r->parts[i]));
	http_reply_json(out,
			json_pack("{ss so ss ss* sI sO?}", "method", r->method,
				  "parts", parts, "by", r->by, "q", q, "length",
				  (json_int_t)r->body_length, "json",
				  (json_t *)r->json));
}

static void answer_block(const struct http_request *r, struct http_reply *out,
			 void *ctx)
{
	pthread_mutex_lock(&gate.lock);
	gate.waiting++;
	if (gate.waiting > gate.most)
		gate.most = gate.waiting;
	pthread_cond_broadcast(&gate.changed);
	while (!gate.open)
		pthread_cond_wait(&gate.changed, &gate.lock);
	gate.waiting--;
	pthread_mutex_unlock(&gate.lock);
	answer_health(r, out, ctx);
}

static void answer_large(const struct http_request *r, struct http_reply *out,
			 void *ctx)
{
	char *room = strbuf_reserve(&out->body, 64 << 20);

	(void)r;
	(void)ctx;
	memset(room, 'x', 64 << 20);
	out->body.len += 64 << 20;
}

static void answer_error(const struct http_request *r, struct http_reply *out,
			 void *ctx)
{
	(void)ctx;
	strbuf_addstr(&out->body, "half a rep");
	http_reply_error(out, 404, "no_pipeline", "no pipeline \"%s\"",
			 r->parts[0]);
}

static void gate_wait(int n)
{
	pthread_mutex_lock(&gate.lock);
	while (gate.waiting < n)
		pthread_cond_wait(&gate.changed, &gate.lock);
	pthread_mutex_unlock(&gate.lock);
}

static void gate_set(bool open)
{
	pthread_mutex_lock(&gate.lock);
	gate.open = open;
	pthread_cond_broadcast(&gate.changed);
	pthread_mutex_unlock(&gate.lock);
}

static const struct http_route routes[] = {
	{ "GET", "/healthz", ROUTE_OPEN, answer_health },
	{ "GET", "/echo/{}", 0, answer_echo },
	{ "GET", "/echo/{}/and/{}", 0, answer_echo },
	{ "GET", "/echo", 0, answer_echo },
	{ "POST", "/echo", 0, answer_echo },
	{ "POST", "/api/v1/pipelines/{}/pause", ROUTE_TOKEN, answer_echo },
	{ "GET", "/block", 0, answer_block },
	{ "GET", "/large", 0, answer_large },
	{ "GET", "/error/{}", 0, answer_error },
};

static struct http_server *start(const char *listen, const char *token,
				 int64_t request_us)
{
	struct strlist hosts = STRLIST_INIT;
	struct http_terms terms = { .token = token,
				    .hosts = &hosts,
				    .request_us = request_us };
	struct error err = ERROR_INIT;
	struct strbuf why = STRBUF_INIT;
	struct http_server *h = NULL;

	strlist_add(&hosts, "localhost");
	strlist_add(&hosts, "Tide.Example");
	strlist_add(&hosts, "[2001:DB8::0:1]");
	assert_true(listen_parse(&terms.listen, listen, &why));
	if (http_start(&terms, routes, ARRAY_SIZE(routes), &gate, &h, &err))
		fail_msg("%s", err.message);
	strlist_release(&hosts);
	return h;
}

/* No test waits for the end of a time, but those that give one. */
static struct http_server *start_plain(const char *token)
{
	return start("127.0.0.1:0", token, INT64_C(600) * US_PER_SECOND);
}

static char *ask(const struct http_server *h, const char *text)
{
	return caller_ask(http_address(h), text, strlen(text));
}

static void expect(const struct http_server *h, const char *text,
		   unsigned status)
{
	char *reply = ask(h, text);

	if (reply_status(reply) != status)
		fail_msg("expected %u for\n%s\ngot\n%s", status, text, reply);
	free(reply);
}

/* The rest of a request, whose end hangs up. */
#define HOST	  " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
#define GET(path) "GET " path HOST "\r\n"
#define BEARER	  "Authorization: Bearer " TOKEN "\r\n"

#define POLICY                                                                 \
	"Content-Security-Policy: default-src 'none'; script-src 'self'; "     \
	"style-src 'self'; img-src 'self' data:; connect-src 'self'; "         \
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

static void test_get(void **state)
{
	static const char *const headers[] = {
		"Content-Type: text/plain; charset=utf-8",
		"Content-Length: 3",
		"X-Content-Type-Options: nosniff",
		"Referrer-Policy: no-referrer",
		"Cache-Control: no-store",
	};
	struct http_server *h = start_plain(NULL);
	char *reply = ask(h, GET("/healthz"));

	(void)state;
	assert_int_equal(reply_status(reply), 200);
	assert_string_equal(reply_body(reply), "ok\n");
	for (size_t i = 0; i < ARRAY_SIZE(headers); i++)
		if (!reply_has(reply, headers[i]))
			fail_msg("%s is not in\n%s", headers[i], reply);
	assert_true(reply_has(reply, POLICY));
	assert_null(strstr(reply, "Access-Control"));
	assert_null(strstr(reply, "Set-Cookie"));
	free(reply);
	reply = ask(h, "HEAD /healthz" HOST "\r\n");
	assert_int_equal(reply_status(reply), 200);
	assert_true(reply_has(reply, "Content-Length: 3"));
	assert_string_equal(reply_body(reply), "");
	free(reply);
	http_stop(h);
}

static void expect_error(const struct http_server *h, const char *text,
			 unsigned status, const char *code)
{
	char *reply = ask(h, text);
	json_t *json = json_loads(reply_body(reply), 0, NULL);
	const char *found = NULL, *message = NULL;

	if (reply_status(reply) != status ||
	    json_unpack(json, "{s{ssss}}", "error", "code", &found, "message",
			&message) ||
	    strcmp(found, code) != 0 || !*message)
		fail_msg("expected %u %s for\n%s\ngot\n%s", status, code, text,
			 reply);
	assert_true(reply_has(reply, "Content-Type: application/json"));
	assert_true(reply_has(reply, "X-Content-Type-Options: nosniff"));
	assert_null(strstr(reply, "evil"));
	json_decref(json);
	free(reply);
}

static void test_hosts(void **state)
{
	static const struct {
		const char *lines;
		unsigned status;
		const char *code;
	} cases[] = {
		{ "Host: localhost\r\n", 200, NULL },
		{ "Host: LOCALHOST:9464\r\n", 200, NULL },
		{ "Host: 127.0.0.1:1\r\n", 200, NULL },
		{ "host: tide.example\r\n", 200, NULL },
		{ "Host: [2001:db8::1]:80\r\n", 200, NULL },
		{ "Host: evil.example\r\n", 421, "wrong_host" },
		{ "Host: localhost.evil.example\r\n", 421, "wrong_host" },
		{ "Host: evil.localhost\r\n", 421, "wrong_host" },
		{ "Host: localhost.\r\n", 421, "wrong_host" },
		{ "Host: localhost:80:evil\r\n", 421, "wrong_host" },
		{ "Host: localhost@evil.example\r\n", 421, "wrong_host" },
		{ "Host: localhost, evil.example\r\n", 421, "wrong_host" },
		{ "Host: 127.0.0.2\r\n", 421, "wrong_host" },
		{ "Host: 127.1\r\n", 421, "wrong_host" },
		{ "Host: [::1]\r\n", 421, "wrong_host" },
		{ "Host: [::ffff:127.0.0.1]\r\n", 421, "wrong_host" },
		{ "Host:\r\n", 421, "wrong_host" },
		{ "Host: localhost\r\nHost: localhost\r\n", 400,
		  "bad_request" },
		{ "Host: localhost\r\nHost: evil.example\r\n", 400,
		  "bad_request" },
		{ "Host: evil.example\r\nHost: localhost\r\n", 400,
		  "bad_request" },
	};
	/* Each kind of thing that is answered. */
	static const char *const asked[] = { "/healthz", "/echo/a", "/",
					     "/none" };
	struct http_server *h = start_plain(NULL);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		for (size_t j = 0; j < ARRAY_SIZE(asked); j++) {
			char *text = xstrfmt("GET %s HTTP/1.1\r\n%sConnection: "
					     "close\r\n\r\n",
					     asked[j], cases[i].lines);

			if (cases[i].code)
				expect_error(h, text, cases[i].status,
					     cases[i].code);
			else
				expect(h, text, j == 3 ? 404 : 200);
			free(text);
		}
	http_stop(h);
}

static void test_hosts_of_old_requests(void **state)
{
	struct http_server *h = start_plain(NULL);

	(void)state;
	expect(h, "GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n", 400);
	expect(h, "GET /healthz HTTP/1.0\r\n\r\n", 400);
	expect(h, "GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n", 200);
	expect(h, "GET /healthz HTTP/1.0\r\nHost: evil\r\n\r\n", 421);
	expect(h, GET("http://localhost/healthz"), 200);
	expect(h, GET("http://LOCALHOST:80/healthz?a"), 200);
	expect_error(h, GET("http://evil.example/healthz"), 421, "wrong_host");
	expect_error(h, GET("http://localhost@evil.example/healthz"), 421,
		     "wrong_host");
	expect_error(h,
		     "GET http://localhost/healthz HTTP/1.1\r\n"
		     "Host: evil.example\r\nConnection: close\r\n\r\n",
		     421, "wrong_host");
	expect_error(h, GET("http://"), 421, "wrong_host");
	expect(h, GET("ftp://localhost/healthz"), 400);
	http_stop(h);
}

static const struct {
	const char *path;
	unsigned status;
	const char *parts; /* NULL: not looked at */
} paths[] = {
	{ "/echo/a", 200, "[\"a\"]" },
	{ "/echo/a/and/b", 200, "[\"a\",\"b\"]" },
	{ "/echo/a%2Fb", 200, "[\"a/b\"]" },
	{ "/echo/%2e%2E", 200, "[\"..\"]" },
	{ "/echo/..", 200, "[\"..\"]" },
	{ "/echo/%252e", 200, "[\"%2e\"]" },
	{ "/echo/+", 200, "[\"+\"]" },
	{ "/echo/%c3%a4", 200, "[\"\xc3\xa4\"]" },
	{ "/%65cho/a", 200, "[\"a\"]" },
	{ "/echo/a?q=1", 200, "[\"a\"]" },
	{ "/echo%2Fa", 404, NULL },
	{ "/echo/", 404, NULL },
	{ "/echo//and/b", 404, NULL },
	{ "//echo/a", 404, NULL },
	{ "/echo//a", 404, NULL },
	{ "/echo/a/", 404, NULL },
	{ "/../echo/a", 404, NULL },
	{ "/x/../healthz", 404, NULL },
	{ "/healthz/", 404, NULL },
	{ "/Healthz", 404, NULL },
	{ "/healthz/../../etc/passwd", 404, NULL },
	{ "/page/index.html", 404, NULL },
	{ "/echo/%00", 400, NULL },
	{ "/echo/a%00b", 400, NULL },
	{ "/echo/%0a", 400, NULL },
	{ "/echo/%1b[31m", 400, NULL },
	{ "/echo/%7f", 400, NULL },
	{ "/echo/%e2%80%ae", 400, NULL },
	{ "/echo/%", 400, NULL },
	{ "/echo/%4", 400, NULL },
	{ "/echo/%zz", 400, NULL },
	{ "/echo/%c3", 400, NULL },
	{ "/echo/%c0%af", 400, NULL },
	{ "/echo/%ed%a0%80", 400, NULL },
	{ "/echo/a\xff", 400, NULL },
	{ "/none/%ff", 400, NULL },
	{ "/healthz#a", 400, NULL },
	{ "*", 400, NULL },
	{ "healthz", 400, NULL },
	{ "/echo?q=%00", 400, NULL },
	{ "/echo?q=%zz", 400, NULL },
	{ "/echo?q=1&q=2", 400, NULL },
	{ "/echo?q=1&%71=2", 400, NULL },
};

static void test_paths(void **state)
{
	struct http_server *h = start_plain(NULL);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		char *text = xstrfmt("GET %s" HOST "\r\n", paths[i].path);
		char *reply = ask(h, text);

		if (reply_status(reply) != paths[i].status ||
		    (paths[i].parts && !strstr(reply, paths[i].parts)))
			fail_msg("expected %u of %s, got\n%s", paths[i].status,
				 paths[i].path, reply);
		free(reply);
		free(text);
	}
	http_stop(h);
}

static void test_query(void **state)
{
	static const struct {
		const char *query, *q; /* NULL: none */
	} cases[] = {
		{ "?q=a", "a" },
		{ "?q=a+b%2B%26", "a b+&" },
		{ "?x=1&q=b=c&", "b=c" },
		{ "?&&q", "" },
		{ "?Q=a", NULL },
		{ "?", NULL },
		{ "?q=%3Cscript%3E", "<script>" },
	};
	struct http_server *h = start_plain(NULL);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *text = xstrfmt("GET /echo%s" HOST "\r\n", cases[i].query);
		char *reply = ask(h, text);
		json_t *json = json_loads(reply_body(reply), 0, NULL);
		const char *q = json_string_value(json_object_get(json, "q"));

		assert_int_equal(reply_status(reply), 200);
		if (cases[i].q)
			assert_string_equal(q, cases[i].q);
		else
			assert_null(q);
		json_decref(json);
		free(reply);
		free(text);
	}
	http_stop(h);
}

static void test_methods(void **state)
{
	struct http_server *h = start_plain(NULL);
	char *reply;

	(void)state;
	reply = ask(h, "DELETE /echo" HOST "\r\n");
	assert_int_equal(reply_status(reply), 405);
	assert_true(reply_has(reply, "Allow: GET, HEAD, POST"));
	free(reply);
	reply = ask(h, "POST /healthz" HOST "Content-Length: 0\r\n\r\n");
	assert_int_equal(reply_status(reply), 405);
	assert_true(reply_has(reply, "Allow: GET, HEAD"));
	free(reply);
	reply = ask(h, GET("/api/v1/pipelines/a/pause"));
	assert_int_equal(reply_status(reply), 405);
	assert_true(reply_has(reply, "Allow: POST"));
	free(reply);
	expect(h, "POST /" HOST "Content-Length: 0\r\n\r\n", 405);
	expect(h, "OPTIONS /echo" HOST "\r\n", 405);
	expect(h, "TRACE /echo" HOST "\r\n", 405);
	expect(h, "get /echo" HOST "\r\n", 405);
	expect(h, "QWERTY /echo" HOST "\r\n", 405);
	expect(h, "QWERTY /none" HOST "\r\n", 404);
	http_stop(h);
}

#define PAUSE "/api/v1/pipelines/a/pause"

static void test_token(void **state)
{
	static const char *const wrong[] = {
		"",
		"Authorization: Bearer\r\n",
		"Authorization: Bearer \r\n",
		"Authorization: Bearer evil\r\n",
		"Authorization: Bearer " TOKEN "x\r\n",
		"Authorization: Bearer " TOKEN TOKEN "\r\n",
		"Authorization: Bearer A-token-of-24-characters\r\n",
		"Authorization: Bearer a-token-of-24-character\r\n",
		"Authorization: Bearer a-token-of-24-characterS\r\n",
		"Authorization: Basic " TOKEN "\r\n",
		"Authorization: " TOKEN "\r\n",
		"Cookie: token=" TOKEN "\r\n",
	};
	struct http_server *h = start_plain(TOKEN);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		char *read = xstrfmt("GET /echo" HOST "%s\r\n", wrong[i]);
		char *write = xstrfmt("POST " PAUSE HOST "%s\r\n", wrong[i]);
		char *open = xstrfmt("GET /healthz" HOST "%s\r\n", wrong[i]);
		char *reply = ask(h, read);

		assert_true(reply_has(reply, "WWW-Authenticate: Bearer "
					     "realm=\"tidemark\""));
		free(reply);
		expect_error(h, read, 401, "unauthorized");
		expect_error(h, write, 401, "unauthorized");
		expect(h, open, 200);
		free(read);
		free(write);
		free(open);
	}
	expect(h, "GET /echo" HOST BEARER "\r\n", 200);
	expect(h, "GET /echo" HOST "authorization: bearer  " TOKEN "\r\n\r\n",
	       200);
	expect(h, "POST " PAUSE HOST BEARER "\r\n", 200);
	expect(h, "POST " PAUSE HOST BEARER BEARER "\r\n", 400);
	expect(h, "GET /echo?token=" TOKEN HOST "\r\n", 401);
	/* The page is that of any installation. */
	expect(h, GET("/"), 200);
	http_stop(h);
}

/* Without a token nothing can be changed, not even from here. */
static void test_no_token(void **state)
{
	struct http_server *h = start_plain("");

	(void)state;
	expect(h, GET("/echo"), 200);
	expect_error(h, "POST " PAUSE HOST "\r\n", 403, "forbidden");
	expect_error(h, "POST " PAUSE HOST "Authorization: Bearer \r\n\r\n",
		     403, "forbidden");
	expect_error(h, "POST " PAUSE HOST BEARER "\r\n", 403, "forbidden");
	http_stop(h);
}

static void test_who_asks(void **state)
{
	struct http_server *h = start_plain(TOKEN);
	char *reply = ask(h, "POST " PAUSE HOST BEARER "\r\n");

	(void)state;
	assert_non_null(strstr(reply, "\"by\":\"token from 127.0.0.1\""));
	free(reply);
	http_stop(h);
	h = start_plain("");
	reply = ask(h, GET("/echo"));
	assert_non_null(strstr(reply, "\"by\":\"127.0.0.1\""));
	free(reply);
	http_stop(h);
	h = start("[::1]:0", TOKEN, 0);
	reply = ask(h, "GET /echo HTTP/1.1\r\nHost: [::1]:80\r\n" BEARER
		       "Connection: close\r\n\r\n");
	assert_non_null(strstr(reply, "\"by\":\"token from ::1\""));
	free(reply);
	http_stop(h);
}

#define JSON "Content-Type: application/json\r\n"

static void test_pages_of_others(void **state)
{
	static const struct {
		const char *lines;
		unsigned status;
	} cases[] = {
		{ "\r\n", 200 },
		{ "Content-Length: 0\r\n\r\n", 200 },
		{ JSON "Content-Length: 2\r\n\r\n{}", 200 },
		{ "Content-Type: Application/JSON; charset=utf-8\r\n"
		  "Content-Length: 2\r\n\r\n{}",
		  200 },
		{ JSON "Origin: http://localhost\r\n\r\n", 200 },
		{ JSON "Origin: https://localhost\r\n\r\n", 200 },
		{ JSON "Sec-Fetch-Site: same-origin\r\n\r\n", 200 },
		{ JSON "Sec-Fetch-Site: none\r\n\r\n", 200 },
		{ "Content-Length: 2\r\n\r\n{}", 415 },
		{ "Content-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}",
		  415 },
		{ "Content-Type: text/plain\r\n\r\n", 415 },
		{ "Content-Type: application/x-www-form-urlencoded\r\n"
		  "Content-Length: 3\r\n\r\na=b",
		  415 },
		{ "Content-Type: application/jsonp\r\n\r\n", 415 },
		{ "Content-Type: text/plain; application/json\r\n\r\n", 415 },
		{ JSON "Content-Type: text/plain\r\n\r\n", 400 },
		{ JSON "Origin: http://evil.example\r\n\r\n", 403 },
		{ JSON "Origin: http://localhost:3000\r\n\r\n", 403 },
		{ JSON "Origin: http://localhost.evil.example\r\n\r\n", 403 },
		{ JSON "Origin: null\r\n\r\n", 403 },
		{ JSON "Origin: \r\n\r\n", 403 },
		{ JSON "Origin: file://localhost\r\n\r\n", 403 },
		{ JSON "Sec-Fetch-Site: cross-site\r\n\r\n", 403 },
		{ JSON "Sec-Fetch-Site: same-site\r\n\r\n", 403 },
		{ JSON "Origin: http://localhost\r\n"
		       "Sec-Fetch-Site: cross-site\r\n\r\n",
		  403 },
	};
	struct http_server *h = start_plain(NULL);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *text = xstrfmt("POST /echo" HOST "%s", cases[i].lines);

		expect(h, text, cases[i].status);
		free(text);
	}
	http_stop(h);
}

static void test_json(void **state)
{
	static const struct {
		const char *body;
		unsigned status;
	} cases[] = {
		{ "{\"a\":[1,\"\xc3\xa4\"]}", 200 },
		{ "[]", 200 },
		{ "{", 400 },
		{ "{\"a\":1,\"a\":2}", 400 },
		{ "{}{}", 400 },
		{ "1", 400 },
		{ "\"a\"", 400 },
		{ "{\"a\":\"\xff\"}", 400 },
		{ "{\"a\":\"\\u0000\"}", 400 },
		{ "a=b", 400 },
		{ " ", 400 },
	};
	struct http_server *h = start_plain(NULL);
	char *deep = xmalloc(60001), *text;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		text = xstrfmt("POST /echo" HOST JSON
			       "Content-Length: %zu\r\n\r\n%s",
			       strlen(cases[i].body), cases[i].body);
		expect(h, text, cases[i].status);
		free(text);
	}
	memset(deep, '[', 60000);
	deep[60000] = '\0';
	text = xstrfmt("POST /echo" HOST JSON "Content-Length: 60000\r\n\r\n%s",
		       deep);
	expect(h, text, 400);
	free(text);
	free(deep);
	http_stop(h);
}

/* A body of `n` bytes, all in JSON; with its length or in chunks. */
static char *body_of(size_t n, size_t chunk)
{
	struct strbuf body = STRBUF_INIT, text = STRBUF_INIT;

	strbuf_addstr(&body, "[\"");
	while (body.len + 2 < n)
		strbuf_addch(&body, 'x');
	strbuf_addstr(&body, "\"]");
	strbuf_addstr(&text, "POST /echo" HOST JSON);
	if (!chunk) {
		strbuf_addf(&text, "Content-Length: %zu\r\n\r\n%s", n,
			    body.data);
	} else {
		strbuf_addstr(&text, "Transfer-Encoding: chunked\r\n\r\n");
		for (size_t i = 0; i < n; i += chunk) {
			size_t part = n - i < chunk ? n - i : chunk;

			strbuf_addf(&text, "%zx\r\n%.*s\r\n", part, (int)part,
				    body.data + i);
		}
		strbuf_addstr(&text, "0\r\n\r\n");
	}
	strbuf_release(&body);
	return strbuf_detach(&text);
}

static void test_body_sizes(void **state)
{
	static const struct {
		size_t n, chunk;
		unsigned status;
	} cases[] = {
		{ HTTP_BODY_BYTES, 0, 200 },
		{ HTTP_BODY_BYTES + 1, 0, 413 },
		{ 1 << 20, 0, 413 },
		{ 1000, 1, 200 },
		{ HTTP_BODY_BYTES, 1000, 200 },
		{ HTTP_BODY_BYTES + 1, 1000, 413 },
		{ 1 << 20, 50000, 413 },
	};
	struct http_server *h = start_plain(NULL);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *text = body_of(cases[i].n, cases[i].chunk);
		char *reply = ask(h, text);

		if (reply_status(reply) != cases[i].status)
			fail_msg("expected %u of %zu bytes, got\n%.2000s",
				 cases[i].status, cases[i].n, reply);
		free(reply);
		free(text);
	}
	http_stop(h);
}

/* The announcement alone is refused: no byte of the body is waited for. */
static void test_announced(void **state)
{
	struct http_server *h = start_plain(NULL);

	(void)state;
	expect_error(
		h, "POST /echo" HOST JSON "Content-Length: 1000000000\r\n\r\n",
		413, "too_large");
	http_stop(h);
}

/* Far too much is not waited for: the connection ends, with a reply or
 * without. */
static void test_floods(void **state)
{
	static const char *const begins[] = {
		"GET /",
		"GET / HTTP/1.1\r\nHost: localhost\r\nX: ",
		"POST /echo" HOST JSON "Content-Length: 1000000000\r\n\r\n",
		"POST /echo" HOST JSON
		"Transfer-Encoding: chunked\r\n\r\nffffffffffff\r\n",
	};
	struct http_server *h = start_plain(NULL);
	char *piece = xmalloc(1 << 16);

	(void)state;
	memset(piece, 'x', 1 << 16);
	for (size_t i = 0; i < ARRAY_SIZE(begins); i++) {
		int fd = caller_connect(http_address(h), NULL);
		char *reply;

		caller_send(fd, begins[i], strlen(begins[i]));
		while (caller_send(fd, piece, 1 << 16))
			;
		reply = caller_read(fd);
		assert_int_not_equal(reply_status(reply), 200);
		free(reply);
		close(fd);
	}
	free(piece);
	expect(h, GET("/healthz"), 200);
	http_stop(h);
}

/* Requests whose end is not clear, or that are none. */
static void test_garbage(void **state)
{
	static const struct {
		const char *text;
		size_t n;
	} cases[] = {
#define RAW(text) { text, sizeof(text) - 1 }
		RAW("\r\n\r\n"),
		RAW("GET\r\n\r\n"),
		RAW("GET /healthz\r\n\r\n"),
		RAW("GET /healthz HTTP/9.9\r\n\r\n"),
		RAW("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
		RAW("\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03\r\n\r\n"),
		RAW("GET /echo/a b" HOST "\r\n"),
		RAW("POST /echo" HOST JSON "Content-Length: 2\r\n"
		    "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
		RAW("POST /echo" HOST JSON "Content-Length: 2\r\n"
		    "Content-Length: 3\r\n\r\n{} "),
		RAW("POST /echo" HOST JSON "Content-Length: -1\r\n\r\n{}"),
		RAW("POST /echo" HOST JSON "Content-Length: 2x\r\n\r\n{}"),
		RAW("POST /echo" HOST JSON "Content-Length: +2\r\n\r\n{}"),
		RAW("POST /echo" HOST JSON
		    "Content-Length: 99999999999999999999\r\n\r\n{}"),
		RAW("POST /echo" HOST JSON
		    "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
		RAW("POST /echo" HOST JSON
		    "Transfer-Encoding: chunked\r\n\r\nxyz\r\n\r\n"),
		RAW("GET /echo" HOST "Content-Length: 2\r\n\r\n{}"),
#undef RAW
	};
	struct http_server *h = start_plain(NULL);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int fd = caller_connect(http_address(h), NULL);
		char *reply;

		caller_send(fd, cases[i].text, cases[i].n);
		shutdown(fd, SHUT_WR);
		reply = caller_read(fd);
		if (reply_status(reply) == 200)
			fail_msg("answered:\n%s\n%s", cases[i].text, reply);
		free(reply);
		close(fd);
	}
	expect(h, GET("/healthz"), 200);
	http_stop(h);
}

/* A NUL ends no path in the middle of a name that is then taken for another. */
static void test_nul_in_path(void **state)
{
	static const char text[] = "GET /echo/a\0b" HOST "\r\n";
	struct http_server *h = start_plain(NULL);
	char *reply = caller_ask(http_address(h), text, sizeof(text) - 1);

	(void)state;
	assert_null(strstr(reply, "b\""));
	free(reply);
	http_stop(h);
}

static void test_pipelined(void **state)
{
	static const char text[] =
		"GET /echo/1 HTTP/1.1\r\nHost: localhost\r\n\r\n"
		"POST /echo HTTP/1.1\r\nHost: localhost\r\n" JSON
		"Content-Length: 6\r\n\r\n[\"2\"] "
		"GET /none HTTP/1.1\r\nHost: localhost\r\n\r\n"
		"GET /echo/4 HTTP/1.1\r\nHost: localhost\r\n\r\n";
	static const char *const found[] = { "\"1\"", "\"2\"", "not_found",
					     "\"4\"" };
	struct http_server *h = start_plain(NULL);
	int fd = caller_connect(http_address(h), NULL);

	(void)state;
	caller_send(fd, text, sizeof(text) - 1);
	for (size_t i = 0; i < ARRAY_SIZE(found); i++) {
		char *reply = caller_read_reply(fd);

		assert_non_null(reply);
		if (!strstr(reply_body(reply), found[i]))
			fail_msg("%s is not in\n%s", found[i], reply);
		free(reply);
	}
	close(fd);
	http_stop(h);
}

static void test_handler_error(void **state)
{
	struct http_server *h = start_plain(NULL);
	char *reply = ask(h, GET("/error/a%22%3Cb%3E"));

	(void)state;
	assert_int_equal(reply_status(reply), 404);
	assert_string_equal(reply_body(reply),
			    "{\"error\":{\"code\":\"no_pipeline\",\"message\":"
			    "\"no pipeline \\\"a\\\"<b>\\\"\"}}\n");
	free(reply);
	http_stop(h);
}

static void answer_odd(const struct http_request *r, struct http_reply *out,
		       void *ctx)
{
	(void)ctx;
	if (http_request_value(r, "bytes"))
		http_reply_error(out, 400, "odd", "a \xff b hunter22");
	else
		http_reply_json(out, json_string("\xff"));
}

/* Texts of servers may be anything, and hold a secret. */
static void test_odd_replies(void **state)
{
	static const struct http_route odd = { "GET", "/odd", 0, answer_odd };
	struct http_terms terms = { .listen = { .kind = LISTEN_TCP,
						.host = "127.0.0.1" } };
	struct error err = ERROR_INIT;
	struct http_server *h;
	char *reply;

	(void)state;
	secret_add("hunter22");
	assert_int_equal(http_start(&terms, &odd, 1, NULL, &h, &err), 0);
	reply = ask(h, "GET /odd?bytes HTTP/1.1\r\nHost: 127.0.0.1\r\n"
		       "Connection: close\r\n\r\n");
	assert_int_equal(reply_status(reply), 400);
	assert_non_null(strstr(reply, "\"a ? b ***\""));
	free(reply);
	reply = ask(h, "GET /odd HTTP/1.1\r\nHost: 127.0.0.1\r\n"
		       "Connection: close\r\n\r\n");
	assert_int_equal(reply_status(reply), 500);
	assert_non_null(strstr(reply, "\"internal\""));
	free(reply);
	http_stop(h);
	secret_forget_all();
}

static void test_off(void **state)
{
	struct http_terms terms = { .listen = { .kind = LISTEN_OFF } };
	struct error err = ERROR_INIT;
	struct http_server *h;

	(void)state;
	assert_int_equal(http_start(&terms, NULL, 0, NULL, &h, &err), 0);
	assert_null(h);
	assert_string_equal(http_address(h), "off");
	http_stop(h);
}

/* Listening on all addresses gives no name by which it may be asked. */
static void test_all_addresses(void **state)
{
	struct http_server *h = start("0.0.0.0:0", TOKEN, 0);
	char *near = xstrfmt("127.0.0.1%s", strchr(http_address(h), ':'));
	static const char wrong[] = "GET /healthz HTTP/1.1\r\nHost: 0.0.0.0\r\n"
				    "Connection: close\r\n\r\n";
	static const char right[] = GET("/healthz");
	char *reply = caller_ask(near, wrong, sizeof(wrong) - 1);

	(void)state;
	assert_int_equal(reply_status(reply), 421);
	free(reply);
	reply = caller_ask(near, right, sizeof(right) - 1);
	assert_int_equal(reply_status(reply), 200);
	free(reply);
	free(near);
	http_stop(h);
}

static void test_page(void **state)
{
	struct http_server *h = start_plain(TOKEN);
	char *reply = ask(h, GET("/")), *again, *etag;
	const char *at;

	(void)state;
	assert_true(reply_has(reply, "Content-Type: text/html; charset=utf-8"));
	assert_true(reply_has(reply, "Vary: Accept-Encoding"));
	assert_true(reply_has(reply, "Cache-Control: no-cache"));
	assert_non_null(strstr(reply_body(reply), "<!doctype html>"));
	at = strstr(reply, "ETag: \"");
	assert_non_null(at);
	etag = xstrndup(at + 6, strcspn(at + 6, "\r"));
	free(reply);
	again = xstrfmt("GET /" HOST "If-None-Match: W/%s\r\n\r\n", etag);
	reply = ask(h, again);
	assert_int_equal(reply_status(reply), 304);
	assert_string_equal(reply_body(reply), "");
	assert_null(strstr(reply, "\nContent-Type"));
	free(reply);
	/* The packed form is another one. */
	free(again);
	again = xstrfmt("GET /" HOST "Accept-Encoding: br, gzip\r\n"
			"If-None-Match: %s\r\n\r\n",
			etag);
	reply = ask(h, again);
	assert_int_equal(reply_status(reply), 200);
	free(reply);
	expect(h, "POST /" HOST BEARER "\r\n", 405);
	expect(h, GET("/index.html"), 404);
	free(again);
	free(etag);
	http_stop(h);
}

/* A byte now and then keeps nobody here: each of these would go on for far
 * longer than the limit. */
static void test_slow_clients(void **state)
{
	static const char *const begins[] = {
		"",
		"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ",
		"POST /echo" HOST JSON "Content-Length: 60000\r\n\r\n[",
		"POST /echo" HOST JSON "Transfer-Encoding: chunked\r\n\r\n"
		"ea60\r\n[",
	};
	struct http_server *h = start("127.0.0.1:0", NULL, US_PER_SECOND / 3);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(begins); i++) {
		int fd = caller_connect(http_address(h), NULL);
		int sent = 0;

		caller_send(fd, begins[i], strlen(begins[i]));
		while (sent < 8000 && caller_send(fd, " ", 1)) {
			sent++;
			usleep(5000);
		}
		if (sent == 8000)
			fail_msg("not cut: %s", begins[i]);
		close(fd);
	}
	http_stop(h);
}

/* Does the server's end of this connection still stand? */
static bool is_established(int fd)
{
	struct sockaddr_in here = { .sin_port = 0 }, there = here;
	socklen_t length = sizeof(here);
	FILE *file = fopen("/proc/net/tcp", "r");
	char line[256], *end = NULL;
	bool found = false;

	assert_non_null(file);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&here, &length), 0);
	assert_int_equal(getpeername(fd, (struct sockaddr *)&there, &length),
			 0);
	end = xstrfmt(":%04X 0100007F:%04X 01 ", ntohs(there.sin_port),
		      ntohs(here.sin_port));
	while (!found && fgets(line, sizeof(line), file))
		found = strstr(line, end) != NULL;
	free(end);
	fclose(file);
	return found;
}

/* Whoever asks nothing is cut, and so is who rests between two requests. */
static void test_idle_clients(void **state)
{
	static const char once[] =
		"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
	struct http_server *h = start("127.0.0.1:0", NULL, 2 * US_PER_SECOND);
	int silent = caller_connect(http_address(h), NULL);
	int kept = caller_connect(http_address(h), NULL);
	char *reply;

	(void)state;
	caller_send(kept, once, sizeof(once) - 1);
	reply = caller_read(silent);
	assert_string_equal(reply, "");
	free(reply);
	reply = caller_read(kept);
	assert_int_equal(reply_status(reply), 200);
	free(reply);
	close(silent);
	close(kept);
	http_stop(h);
}

/* Whoever does not take the reply is cut as well, and gets no more of it than
 * had room on the way. */
static void test_deaf_client(void **state)
{
	static const char large[] = GET("/large");
	struct http_server *h = start("127.0.0.1:0", NULL, 2 * US_PER_SECOND);
	int deaf = caller_connect(http_address(h), NULL);
	char *reply;

	(void)state;
	caller_send(deaf, large, sizeof(large) - 1);
	while (is_established(deaf))
		usleep(10000);
	reply = caller_read(deaf);
	assert_int_equal(reply_status(reply), 200);
	assert_true(strlen(reply) < 64 << 20);
	free(reply);
	close(deaf);
	http_stop(h);
}

/* The time of a handler is not the client's. */
static void test_slow_handler(void **state)
{
	static const char block[] = GET("/block");
	struct http_server *h = start("127.0.0.1:0", NULL, 2 * US_PER_SECOND);
	int fd = caller_connect(http_address(h), NULL);
	char *reply;

	(void)state;
	gate_set(false);
	caller_send(fd, block, sizeof(block) - 1);
	gate_wait(1);
	clock_sleep_us(3 * US_PER_SECOND);
	gate_set(true);
	reply = caller_read(fd);
	assert_int_equal(reply_status(reply), 200);
	free(reply);
	close(fd);
	http_stop(h);
}

/* The place of a connection that has ended is soon free again. */
static void wait_for_place(const struct http_server *h)
{
	unsigned status = 0;

	while (status != 200) {
		char *reply = ask(h, GET("/healthz"));

		status = reply_status(reply);
		free(reply);
		usleep(1000);
	}
}

/* From one address so many are served, and each further one is closed at once.
 */
static void test_many_of_one(void **state)
{
	static const char block[] = GET("/block");
	struct http_server *h = start_plain(NULL);
	int fds[40];
	int served = 0;

	(void)state;
	gate_set(false);
	for (size_t i = 0; i < 40; i++)
		fds[i] = caller_connect(http_address(h), NULL);
	for (size_t i = 0; i < 40; i++)
		caller_send(fds[i], block, sizeof(block) - 1);
	gate_wait(HTTP_CONNECTIONS_EACH);
	/* Others are not kept from asking. */
	{
		int other = caller_connect(http_address(h), "127.0.0.2");
		static const char health[] = GET("/healthz");
		char *reply;

		caller_send(other, health, sizeof(health) - 1);
		reply = caller_read(other);
		assert_int_equal(reply_status(reply), 200);
		free(reply);
		close(other);
	}
	gate_set(true);
	for (size_t i = 0; i < 40; i++) {
		char *reply = caller_read(fds[i]);

		served += reply_status(reply) == 200;
		free(reply);
		close(fds[i]);
	}
	assert_int_equal(served, HTTP_CONNECTIONS_EACH);
	wait_for_place(h);
	http_stop(h);
}

/* However many addresses they have: so many are served at once. Each further
 * one waits to be accepted, or is closed. */
static void test_many_of_all(void **state)
{
	static const char *const from[] = { "127.0.0.2", "127.0.0.3",
					    "127.0.0.4" };
	static const char block[] = GET("/block");
	struct http_server *h = start_plain(NULL);
	int fds[48];
	int served = 0;

	(void)state;
	gate_set(false);
	gate.most = 0;
	for (size_t i = 0; i < 48; i++) {
		fds[i] = caller_connect(http_address(h), from[i / 16]);
		caller_send(fds[i], block, sizeof(block) - 1);
	}
	gate_wait(HTTP_CONNECTIONS);
	clock_sleep_us(US_PER_SECOND / 5);
	gate_set(true);
	for (size_t i = 0; i < 48; i++) {
		char *reply = caller_read(fds[i]);

		served += reply_status(reply) == 200;
		free(reply);
		close(fds[i]);
	}
	assert_true(served >= HTTP_CONNECTIONS);
	assert_int_equal(gate.most, HTTP_CONNECTIONS);
	wait_for_place(h);
	http_stop(h);
}

static void *stop_main(void *h)
{
	http_stop(h);
	return NULL;
}

/* A stop waits for the handlers, and for nobody else. */
static void test_stop(void **state)
{
	static const char block[] = GET("/block");
	struct http_server *h = start_plain(NULL);
	int fd = caller_connect(http_address(h), NULL);
	int idle = caller_connect(http_address(h), NULL);
	pthread_t thread;

	(void)state;
	gate_set(false);
	caller_send(fd, block, sizeof(block) - 1);
	gate_wait(1);
	pthread_create(&thread, NULL, stop_main, h);
	clock_sleep_us(US_PER_SECOND / 5);
	assert_int_equal(pthread_tryjoin_np(thread, NULL), EBUSY);
	gate_set(true);
	pthread_join(thread, NULL);
	close(fd);
	close(idle);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_get),
		cmocka_unit_test(test_hosts),
		cmocka_unit_test(test_hosts_of_old_requests),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_query),
		cmocka_unit_test(test_methods),
		cmocka_unit_test(test_token),
		cmocka_unit_test(test_no_token),
		cmocka_unit_test(test_who_asks),
		cmocka_unit_test(test_pages_of_others),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_body_sizes),
		cmocka_unit_test(test_announced),
		cmocka_unit_test(test_floods),
		cmocka_unit_test(test_garbage),
		cmocka_unit_test(test_nul_in_path),
		cmocka_unit_test(test_pipelined),
		cmocka_unit_test(test_handler_error),
		cmocka_unit_test(test_odd_replies),
		cmocka_unit_test(test_off),
		cmocka_unit_test(test_all_addresses),
		cmocka_unit_test(test_page),
		cmocka_unit_test(test_slow_clients),
		cmocka_unit_test(test_idle_clients),
		cmocka_unit_test(test_deaf_client),
		cmocka_unit_test(test_slow_handler),
		cmocka_unit_test(test_many_of_one),
		cmocka_unit_test(test_many_of_all),
		cmocka_unit_test(test_stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
