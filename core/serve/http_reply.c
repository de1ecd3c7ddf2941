#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json_text.h"
#include "core/base/secret.h"
#include "core/base/utf8.h"
#include "core/serve/http_call.h"

void http_reply_init(struct http_reply *out)
{
	memset(out, 0, sizeof(*out));
	strbuf_init(&out->body);
	out->status = 200;
}

void http_reply_release(struct http_reply *out)
{
	strbuf_release(&out->body);
}

void http_reply_json(struct http_reply *out, json_t *json)
{
	char *text = json ? json_text_dump(json, JSON_COMPACT) : NULL;

	strbuf_reset(&out->body);
	if (!text)
		out->status = 500;
	strbuf_addstr(&out->body,
		      text ? text
			   : "{\"error\":{\"code\":\"internal\",\"message\":"
			     "\"the reply is no JSON\"}}");
	strbuf_addch(&out->body, '\n');
	out->type = NULL;
	free(text);
	json_decref(json);
}

void http_reply_error(struct http_reply *out, unsigned status, const char *code,
		      const char *fmt, ...)
{
	struct strbuf text = STRBUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	strbuf_vaddf(&text, fmt, ap);
	va_end(ap);
	utf8_repair(text.data);
	secret_scrub(text.data);
	out->status = status;
	out->fixed = NULL;
	out->etag = NULL;
	http_reply_json(out, json_pack("{s{ssss}}", "error", "code", code,
				       "message", text.data));
	strbuf_release(&text);
}

const char *http_request_value(const struct http_request *r, const char *name)
{
	return http_query_value(r->query, name);
}
