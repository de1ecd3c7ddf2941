/*
 * Any request, as it comes out of the library that reads HTTP: method, target,
 * headers, body. A handler runs only for one that has passed the guards, which
 * are asked here in another way. The text that it is told is clean. Every other
 * request gets an error in JSON. The same bytes are taken for an address to
 * listen on, which is read again as it is written.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/listen.h"
#include "core/base/utf8.h"
#include "core/serve/http_call.h"
#include "tests/fuzz/fuzz.h"

#define TOKEN "a-token-of-24-characters"

static const struct http_head *asked;
static unsigned calls;

static void fuzz_clean(const char *text)
{
	fuzz_check(utf8_is_valid(text, strlen(text)));
	for (const char *p = text; *p; p++)
		fuzz_check((unsigned char)*p >= 0x20 && *p != 0x7f);
}

/* The guards, by other means. */
static void fuzz_may(const struct http_request *r, unsigned flags)
{
	fuzz_check(asked->host && !asked->bad);
	fuzz_check(!strncasecmp(asked->host, "localhost", 9) &&
		   (!asked->host[9] || asked->host[9] == ':'));
	if (!(flags & ROUTE_OPEN))
		fuzz_check(asked->authorization &&
			   strstr(asked->authorization, TOKEN) &&
			   strlen(asked->authorization) <
				   strlen("Bearer  " TOKEN) + 64);
	if (strcmp(r->method, "POST") != 0) {
		fuzz_check(!r->body_length);
		return;
	}
	fuzz_check(!asked->origin || strcasestr(asked->origin, "localhost"));
	if (r->body_length)
		fuzz_check(r->json && asked->type &&
			   !strncasecmp(asked->type, "application/json", 16));
}

static void fuzz_answer(const struct http_request *r, struct http_reply *out,
			void *ctx)
{
	unsigned flags = *(const unsigned *)ctx;

	calls++;
	fuzz_may(r, flags);
	for (size_t i = 0; i < r->n_parts; i++) {
		fuzz_check(*r->parts[i]);
		fuzz_clean(r->parts[i]);
	}
	for (size_t i = 0; i < r->query->n; i++) {
		fuzz_clean(r->query->items[i].name);
		fuzz_clean(r->query->items[i].value);
	}
	fuzz_check(http_request_value(r, "none of these names\n") == NULL);
	http_reply_json(out, json_object());
}

static const struct http_route routes[] = {
	{ "GET", "/healthz", ROUTE_OPEN, fuzz_answer },
	{ "GET", "/a/{}", 0, fuzz_answer },
	{ "POST", "/a/{}/b/{}", ROUTE_TOKEN, fuzz_answer },
	{ "GET", "/a/{}/b/{}", 0, fuzz_answer },
};

static void fuzz_reply(const struct http_call *c, const struct http_reply *out)
{
	json_t *json, *error;

	if (out->fixed || out->status == 304)
		return;
	json = json_loadb(out->body.data, out->body.len, 0, NULL);
	fuzz_check(json != NULL);
	if (out->status >= 400) {
		error = json_object_get(json, "error");
		fuzz_check(json_string_length(json_object_get(error, "code")));
		fuzz_check(
			json_string_length(json_object_get(error, "message")));
		fuzz_check((out->status == 405) == (out->allow != NULL));
	}
	fuzz_check(!c->refusal || out->status >= 400);
	json_decref(json);
}

static void fuzz_listen(const char *text)
{
	struct strbuf why = STRBUF_INIT, first = STRBUF_INIT,
		      second = STRBUF_INIT;
	struct listen_address a, b;

	if (listen_parse(&a, text, &why)) {
		listen_add_text(&first, &a);
		fuzz_check(listen_parse(&b, first.data, &why));
		listen_add_text(&second, &b);
		fuzz_check(!strcmp(first.data, second.data));
		fuzz_check(listen_is_local(&a) == listen_is_local(&b));
	} else {
		fuzz_check(why.len);
	}
	strbuf_release(&second);
	strbuf_release(&first);
	strbuf_release(&why);
}

/* Lines "Name: value", up to an empty one. */
static void fuzz_headers(struct http_head *head, char *lines)
{
	char *rest = lines, *line;

	while ((line = strsep(&rest, "\n")) && *line) {
		char *value = strstr(line, ": ");

		if (!value)
			continue;
		*value = '\0';
		http_head_note(head, line, value + 2, strlen(value + 2));
	}
}

/* The library gives bodies of the length that was said, in pieces. */
static void fuzz_body(struct http_call *c, const struct fuzz_input *in)
{
	size_t half = in->n / 2;

	if (!c->head.coding && http_head_length(&c->head) != (long)in->n)
		return;
	if (half)
		fuzz_check(http_call_take(c, (const char *)in->data, half));
	if (in->n)
		fuzz_check(http_call_take(c, (const char *)in->data + half,
					  in->n - half));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const methods[] = { "GET", "POST", "HEAD", "PUT" };
	struct fuzz_input in = { data, size };
	const char *method = methods[fuzz_byte(&in) % 4];
	char *uri = fuzz_text(&in), *lines = fuzz_text(&in);
	struct http_site site = { .guard.token = TOKEN,
				  .routes = routes,
				  .n_routes = ARRAY_SIZE(routes) };
	struct http_call *c = http_call_new(&site, uri);
	struct http_reply reply;
	unsigned flags;

	strlist_add(&site.guard.hosts, "localhost");
	fuzz_listen(uri);
	fuzz_headers(&c->head, lines);
	asked = &c->head;
	http_call_begin(c, method);
	flags = c->route ? c->route->flags : 0;
	site.ctx = &flags;
	fuzz_body(c, &in);
	calls = 0;
	http_reply_init(&reply);
	http_call_answer(c, "127.0.0.1", &reply);
	fuzz_check(calls <= (c->route && !c->refusal));
	fuzz_reply(c, &reply);
	http_reply_release(&reply);
	http_call_free(c);
	strlist_release(&site.guard.hosts);
	free(lines);
	free(uri);
	return 0;
}
