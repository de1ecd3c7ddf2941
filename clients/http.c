#include "clients/http.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "clients/http_errors.h"
#include "clients/http_handle.h"
#include "clients/http_pack.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/stop.h"

/* The transfer pauses when so many bytes of an answer wait here. */
#define WAITING_BYTES (256L * 1024)
#define HEADER_BYTES  (64L * 1024)
#define SENT_AT_ONCE  (256L * 1024)
#define TRIES	      3
#define LONGEST_WAIT  (60 * US_PER_SECOND)
#define POLL_MS	      1000

/* An answer may come in several heads: "100 Continue" before the real one. */
static size_t http_on_header(char *line, size_t size, size_t n, void *ctx)
{
	struct http *h = ctx;
	struct http_response *r = h->response;
	size_t len = n * size;

	if (len >= 5 && !memcmp(line, "HTTP/", 5)) {
		strbuf_reset(&r->headers);
		return len;
	}
	while (n && (line[n - 1] == '\r' || line[n - 1] == '\n'))
		n--;
	if (!n) {
		curl_easy_getinfo(h->easy, CURLINFO_RESPONSE_CODE, &r->status);
		h->head = r->status >= 200;
		return len;
	}
	if (r->headers.len + n >= HEADER_BYTES) {
		error_set(&h->failed, ERROR_ACCESS,
			  "%s sends more than %ld bytes of headers", h->shown,
			  HEADER_BYTES);
		return 0;
	}
	strbuf_add(&r->headers, line, n);
	strbuf_addch(&r->headers, '\n');
	return len;
}

static size_t http_on_body(char *data, size_t size, size_t n, void *ctx)
{
	struct http *h = ctx;

	n *= size;
	if (h->waiting.len - h->taken >= WAITING_BYTES) {
		h->paused = true;
		return CURL_WRITEFUNC_PAUSE;
	}
	if (h->taken == h->waiting.len) {
		strbuf_reset(&h->waiting);
		h->taken = 0;
	}
	strbuf_add(&h->waiting, data, n);
	return n;
}

static size_t http_on_send(char *out, size_t size, size_t n, void *ctx)
{
	struct http *h = ctx;
	const struct http_request *r = h->request;
	long given = r->pack ? http_pack_read(h->pack, r->source, r->ctx, out,
					      n * size, &h->failed)
			     : r->source(r->ctx, out, n * size, &h->failed);

	return given < 0 ? CURL_READFUNC_ABORT : (size_t)given;
}

static int http_on_seek(void *ctx, curl_off_t offset, int origin)
{
	struct http *h = ctx;

	if (!h->request->rewind || offset || origin != SEEK_SET)
		return CURL_SEEKFUNC_CANTSEEK;
	h->request->rewind(h->request->ctx);
	if (h->request->pack)
		http_pack_restart(h->pack);
	return CURL_SEEKFUNC_OK;
}

static void http_add_header(struct http *h, const char *line)
{
	h->headers = curl_slist_append(h->headers, line);
	if (!h->headers)
		alloc_die();
}

/* libcurl's own "Expect: 100-continue" costs a second with a server that does
 * not know it. Its Content-Type would say that the body is a form. */
static void http_set_headers(struct http *h)
{
	http_add_header(h, "Expect:");
	http_add_header(h, "Content-Type:");
	if (h->request->source && h->request->size < 0)
		http_add_header(h, "Transfer-Encoding: chunked");
	if (h->request->pack)
		http_add_header(h, "Content-Encoding: " HTTP_PACK_NAME);
	for (const char *const *line = h->request->headers; line && *line;
	     line++)
		http_add_header(h, *line);
	curl_easy_setopt(h->easy, CURLOPT_HTTPHEADER, h->headers);
}

static void http_begin_pack(struct http *h)
{
	if (!h->pack)
		h->pack = http_pack_new();
	else
		http_pack_restart(h->pack);
}

static void http_set_body(struct http *h)
{
	const struct http_request *r = h->request;

	if (r->pack)
		http_begin_pack(h);
	if (r->source) {
		curl_easy_setopt(h->easy, CURLOPT_POST, 1L);
		curl_easy_setopt(h->easy, CURLOPT_READFUNCTION, http_on_send);
		curl_easy_setopt(h->easy, CURLOPT_READDATA, h);
		curl_easy_setopt(h->easy, CURLOPT_SEEKFUNCTION, http_on_seek);
		curl_easy_setopt(h->easy, CURLOPT_SEEKDATA, h);
		curl_easy_setopt(h->easy, CURLOPT_POSTFIELDSIZE_LARGE,
				 (curl_off_t)r->size);
	} else if (r->body || strcmp(r->method, "GET") != 0) {
		curl_easy_setopt(h->easy, CURLOPT_POSTFIELDSIZE_LARGE,
				 (curl_off_t)r->n_body);
		curl_easy_setopt(h->easy, CURLOPT_POSTFIELDS,
				 r->body ? r->body : "");
	}
	curl_easy_setopt(h->easy, CURLOPT_CUSTOMREQUEST, r->method);
}

static void http_set_answer(struct http *h)
{
	curl_easy_setopt(h->easy, CURLOPT_ERRORBUFFER, h->detail);
	curl_easy_setopt(h->easy, CURLOPT_BUFFERSIZE, SENT_AT_ONCE);
	curl_easy_setopt(h->easy, CURLOPT_UPLOAD_BUFFERSIZE, SENT_AT_ONCE);
	curl_easy_setopt(h->easy, CURLOPT_HEADERFUNCTION, http_on_header);
	curl_easy_setopt(h->easy, CURLOPT_HEADERDATA, h);
	curl_easy_setopt(h->easy, CURLOPT_WRITEFUNCTION, http_on_body);
	curl_easy_setopt(h->easy, CURLOPT_WRITEDATA, h);
}

/* A success without a length ends where its connection does, whole or not. An
 * error that is cut there still has its status. */
static bool http_ends_anywhere(struct http *h)
{
	long status = h->response->status;
	char *chunked = http_response_header(h->response, "Transfer-Encoding");
	char *length = http_response_header(h->response, "Content-Length");
	bool anywhere =
		!chunked && !length && status / 100 == 2 && status != 204;

	free(chunked);
	free(length);
	return anywhere;
}

/* The transfer is over. A server that has refused stops reading and closes. Its
 * answer counts, and the failure to send the rest does not. libcurl 7.88 calls
 * an answer whole that ends in its head. */
static void http_note_end(struct http *h, CURLcode result)
{
	h->over = true;
	h->result = result;
	if (result == CURLE_OK && !h->head) {
		h->result = CURLE_GOT_NOTHING;
	} else if (result == CURLE_OK && http_ends_anywhere(h)) {
		h->result = CURLE_PARTIAL_FILE;
		snprintf(h->detail, sizeof(h->detail),
			 "an answer that does not say how long it is may have "
			 "been cut off (a proxy that speaks HTTP/1.0?)");
	}
	if (result == CURLE_SEND_ERROR && h->head && h->response->status >= 400)
		h->result = CURLE_OK;
}

static int http_end_error(struct http *h, struct error *err)
{
	if (h->failed.code)
		return error_set(err, h->failed.code, "%s", h->failed.message);
	if (h->result == CURLE_OK)
		return 0;
	return http_fail(err, h->shown, (int)h->result, h->detail);
}

/* Let the transfer go on until something has happened, for a second at most. */
static int http_step(struct http *h, struct error *err)
{
	int running, left;
	CURLMsg *message;

	if (atomic_load(&h->interrupted))
		return error_set(err, ERROR_STOPPED, "%s: interrupted",
				 h->shown);
	if (h->heeds_stop && stop_requested())
		return error_set(err, ERROR_STOPPED,
				 "%s: stopped while connecting", h->shown);
	if (curl_multi_perform(h->multi, &running) != CURLM_OK)
		return error_set(err, ERROR_BUG, "%s: libcurl gives up",
				 h->shown);
	while ((message = curl_multi_info_read(h->multi, &left))) {
		if (message->msg == CURLMSG_DONE)
			http_note_end(h, message->data.result);
	}
	return h->over ? http_end_error(h, err) : 0;
}

static void http_wait(struct http *h)
{
	struct curl_waitfd stop = { .fd = stop_fd(),
				    .events = CURL_WAIT_POLLIN };

	curl_multi_poll(h->multi, &stop, h->heeds_stop ? 1 : 0, POLL_MS, NULL);
}

static void http_take_retry_after(struct http *h)
{
	curl_off_t seconds = 0;
	char *header = http_response_header(h->response, "Retry-After");

	curl_easy_getinfo(h->easy, CURLINFO_RETRY_AFTER, &seconds);
	h->response->retry_after_us = -1;
	if (header && seconds >= 0 && seconds < INT64_MAX / US_PER_SECOND)
		h->response->retry_after_us = seconds * US_PER_SECOND;
	free(header);
}

/* Nothing was said of what we could unpack. */
static int http_check_encoding(struct http *h, struct error *err)
{
	char *name = http_response_header(h->response, "Content-Encoding");
	int rc = 0;

	if (name && *name && strcasecmp(name, "identity") != 0 &&
	    h->response->status / 100 == 2)
		rc = error_set(err, ERROR_ACCESS,
			       "%s: the answer is packed (Content-Encoding: "
			       "%.40s), which was not asked for: is there a "
			       "proxy?",
			       h->shown, name);
	free(name);
	return rc;
}

int http_begin(struct http *h, const struct http_request *request,
	       struct http_response *out, struct error *err)
{
	int rc = 0;

	http_end(h);
	h->request = request;
	h->response = out;
	out->status = 0;
	out->retry_after_us = -1;
	strbuf_reset(&out->headers);
	strbuf_reset(&out->body);
	http_options_apply(&h->options, h->easy, request->path);
	curl_easy_setopt(h->easy, CURLOPT_FRESH_CONNECT,
			 request->once ? 1L : 0L);
	curl_easy_setopt(h->easy, CURLOPT_TIMEOUT_MS,
			 (long)(request->timeout_us / 1000));
	http_set_answer(h);
	http_set_body(h);
	http_set_headers(h);
	h->active = true;
	if (curl_multi_add_handle(h->multi, h->easy) != CURLM_OK)
		return error_set(err, ERROR_BUG, "%s: libcurl takes no request",
				 h->shown);
	while (!rc && !h->head && !h->over) {
		rc = http_step(h, err);
		if (!rc && !h->head && !h->over)
			http_wait(h);
	}
	if (!rc)
		http_take_retry_after(h);
	return rc ? rc : http_check_encoding(h, err);
}

static int http_fill(struct http *h, struct error *err)
{
	int rc = 0;

	while (!rc && h->taken == h->waiting.len && !h->over) {
		if (h->paused) {
			h->paused = false;
			curl_easy_pause(h->easy, CURLPAUSE_CONT);
		}
		rc = http_step(h, err);
		if (!rc && h->taken == h->waiting.len && !h->over)
			http_wait(h);
	}
	return rc;
}

int http_read(struct http *h, void *buffer, size_t room, size_t *n,
	      struct error *err)
{
	size_t left;
	int rc = http_fill(h, err);

	*n = 0;
	if (rc)
		return rc;
	left = h->waiting.len - h->taken;
	*n = left < room ? left : room;
	if (*n)
		memcpy(buffer, h->waiting.data + h->taken, *n);
	h->taken += *n;
	return 0;
}

int http_drain(struct http *h, struct http_response *out, size_t limit,
	       bool cut, struct error *err)
{
	char piece[16384];
	size_t n = 0;
	int rc;

	while (!(rc = http_read(h, piece, sizeof(piece), &n, err)) && n) {
		size_t room = limit - out->body.len;

		strbuf_add(&out->body, piece, n < room ? n : room);
		if (n <= room)
			continue;
		if (cut)
			return 0;
		return error_set(err, ERROR_ACCESS,
				 "%s answers with more than %zu bytes",
				 h->shown, limit);
	}
	return rc;
}

void http_end(struct http *h)
{
	if (h->active)
		curl_multi_remove_handle(h->multi, h->easy);
	curl_easy_reset(h->easy);
	curl_slist_free_all(h->headers);
	h->headers = NULL;
	strbuf_reset(&h->waiting);
	h->taken = 0;
	h->detail[0] = '\0';
	error_clear(&h->failed);
	h->result = CURLE_OK;
	h->active = h->over = h->head = h->paused = false;
}

static int http_once_through(struct http *h, const struct http_request *request,
			     size_t limit, struct http_response *out,
			     struct error *err)
{
	int rc = http_begin(h, request, out, err);

	if (!rc)
		rc = http_drain(h, out, limit, false, err);
	http_end(h);
	return rc;
}

/* Has the server asked for another try after a short time? */
static bool http_may_repeat(const struct http_request *request,
			    const struct http_response *r, int64_t patience_us)
{
	return !request->once && (r->status == 429 || r->status == 503) &&
	       (!request->source || request->rewind) &&
	       r->retry_after_us >= 0 && r->retry_after_us <= patience_us;
}

int http_do(struct http *h, const struct http_request *request, size_t limit,
	    struct http_response *out, struct error *err)
{
	int64_t patience_us = LONGEST_WAIT;

	for (int tries = 0;; tries++) {
		int rc = http_once_through(h, request, limit, out, err);

		if (rc || tries == TRIES ||
		    !http_may_repeat(request, out, patience_us))
			return rc;
		patience_us -= out->retry_after_us;
		if (clock_sleep_us(out->retry_after_us) ||
		    atomic_load(&h->interrupted))
			return error_set(err, ERROR_STOPPED, "%s: interrupted",
					 h->shown);
		if (request->source)
			request->rewind(request->ctx);
	}
}
