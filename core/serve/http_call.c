#include "core/serve/http_call.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

/* So much of a body that is refused is read, so that the client gets to the
 * reply. */
#define HTTP_DRAIN_BYTES (1024 * 1024)

struct http_call *http_call_new(const struct http_site *site, const char *uri)
{
	struct http_call *c = xcalloc(1, sizeof(*c));

	c->site = site;
	c->uri = xstrdup(uri ? uri : "");
	strbuf_init(&c->body);
	return c;
}

void http_call_free(struct http_call *c)
{
	if (!c)
		return;
	http_target_release(&c->target);
	http_parts_release(&c->parts);
	http_query_release(&c->query);
	strbuf_release(&c->body);
	free(c->uri);
	free(c);
}

static const char *call_allow(bool reads, bool writes)
{
	if (reads && writes)
		return "GET, HEAD, POST";
	return reads ? "GET, HEAD" : "POST";
}

/* Keeps the parts of the path if the route is the one. */
static enum http_fit call_try(struct http_call *c,
			      const struct http_route *route, bool method)
{
	struct http_parts parts;
	enum http_fit fit = http_path_fit(route->path, c->target.path, &parts);

	if (fit == HTTP_FITS && method && !c->route) {
		c->route = route;
		c->parts = parts;
		return fit;
	}
	http_parts_release(&parts);
	return fit;
}

static const struct http_refusal *call_find_asset(struct http_call *c,
						  bool reads)
{
	c->asset = http_page_find(c->target.path);
	if (!c->asset)
		return &http_not_found;
	c->allow = "GET, HEAD";
	return reads ? NULL : &http_wrong_method;
}

static const struct http_refusal *call_find(struct http_call *c, bool reads)
{
	bool readable = false, writable = false;

	for (size_t i = 0; i < c->site->n_routes; i++) {
		const struct http_route *route = &c->site->routes[i];
		bool writes = !strcmp(route->method, "POST");
		enum http_fit fit =
			call_try(c, route, writes ? c->is_write : reads);

		if (fit == HTTP_BROKEN)
			return &http_bad_path;
		readable |= fit == HTTP_FITS && !writes;
		writable |= fit == HTTP_FITS && writes;
	}
	if (!readable && !writable)
		return call_find_asset(c, reads);
	c->allow = call_allow(readable, writable);
	return c->route ? NULL : &http_wrong_method;
}

static const struct http_refusal *call_judge_body(const struct http_call *c)
{
	if (http_head_length(&c->head) > HTTP_BODY_BYTES)
		return &http_too_large;
	if (c->is_write)
		return http_guard_write(&c->head);
	/* Nothing that reads has a use for a body. */
	if (c->head.coding || http_head_length(&c->head) > 0)
		return &http_bad_request;
	return NULL;
}

static const struct http_refusal *call_judge(struct http_call *c, bool reads)
{
	const struct http_guard *guard = &c->site->guard;
	bool readable = http_target_parse(&c->target, c->uri);
	const struct http_refusal *no =
		http_guard_head(guard, &c->head, &c->target);

	if (!no && !readable)
		no = &http_bad_request;
	if (!no)
		no = call_find(c, reads);
	if (!no)
		no = http_guard_token(guard, &c->head,
				      c->route ? c->route->flags : ROUTE_OPEN);
	if (!no)
		no = call_judge_body(c);
	if (!no && !http_query_parse(&c->query, c->target.query))
		no = &http_bad_query;
	return no;
}

void http_call_begin(struct http_call *c, const char *method)
{
	bool reads = !strcmp(method, "GET") || !strcmp(method, "HEAD");

	c->begun = true;
	c->is_write = !strcmp(method, "POST");
	c->refusal = call_judge(c, reads);
}

bool http_call_is_hopeless(const struct http_call *c)
{
	return c->refusal && http_head_length(&c->head) > HTTP_DRAIN_BYTES;
}

bool http_call_take(struct http_call *c, const char *data, size_t n)
{
	c->received += n;
	if (!c->refusal && c->received > HTTP_BODY_BYTES)
		c->refusal = &http_too_large;
	if (c->refusal)
		strbuf_reset(&c->body);
	else
		strbuf_add(&c->body, data, n);
	return c->received <= HTTP_DRAIN_BYTES;
}

static void call_refuse(const struct http_call *c,
			const struct http_refusal *no, struct http_reply *out)
{
	http_reply_error(out, no->status, no->code, "%s", no->message);
	if (no == &http_wrong_method)
		out->allow = c->allow;
}

void http_call_answer(const struct http_call *c, const char *by,
		      struct http_reply *out)
{
	struct http_request r = {
		.method = c->is_write ? "POST" : "GET",
		.parts = (const char *const *)c->parts.items,
		.n_parts = c->parts.n,
		.body = c->body.data,
		.body_length = c->body.len,
		.by = by,
		.accept = c->head.accept ? c->head.accept : "",
		.query = &c->query,
	};
	json_t *json = NULL;

	if (c->refusal) {
		call_refuse(c, c->refusal, out);
		return;
	}
	if (c->asset) {
		http_page_answer(c->asset, &c->head, out);
		return;
	}
	if (c->body.len) {
		json = json_loadb(c->body.data, c->body.len,
				  JSON_REJECT_DUPLICATES, NULL);
		if (!json) {
			call_refuse(c, &http_bad_json, out);
			return;
		}
	}
	r.json = json;
	c->route->answer(&r, out, c->site->ctx);
	json_decref(json);
}
