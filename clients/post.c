#include "core/base/post.h"

#include <stdlib.h>
#include <string.h>

#include "clients/http.h"
#include "core/base/alloc.h"

/* Enough of an answer to tell a refusal by. */
#define POST_ANSWER 4096

/* `own`: authorities could be named, and are not. */
static int post_through(struct http *h, const struct http_request *request,
			bool own, struct error *err)
{
	struct http_response answer;
	int rc;

	http_response_init(&answer);
	http_heed_stop(h, true);
	rc = http_begin(h, request, &answer, err);
	if (rc == -ERROR_ACCESS && own)
		error_hint(err, "(authorities of your own: notify has `ca`)");
	/* A success is one by its head. */
	if (!rc && answer.status / 100 != 2) {
		rc = http_drain(h, &answer, POST_ANSWER, true, err);
		if (!rc)
			rc = http_check(h, &answer, err);
	}
	http_end(h);
	http_response_release(&answer);
	return rc;
}

int post_send(const struct post *p, struct error *err)
{
	const struct connection conn = { .connect_timeout_us = p->timeout_us,
					 .silence_timeout_us = p->timeout_us,
					 .tls_ca = (char *)p->ca };
	const char *host = strstr(p->url, "://");
	size_t n = host ? strcspn(host + 3, "/?") : 0;
	struct http *h = NULL;
	char *base, *path, *shown;
	int rc;

	if (!n)
		return error_set(err, ERROR_CONFIG, "a webhook without a host");
	base = xstrfmt("%.*s", (int)(host + 3 + n - p->url), p->url);
	path = xstrfmt("%s%s", host[3 + n] == '/' ? "" : "/", host + 3 + n);
	shown = xstrfmt("the webhook at %.*s", (int)n, host + 3);
	rc = http_open_apart(&h, &conn, base, shown, err);
	if (!rc) {
		const struct http_request request = { .method = "POST",
						      .path = path,
						      .headers = p->headers,
						      .body = p->body,
						      .n_body = p->n,
						      .timeout_us =
							      p->timeout_us,
						      .once = true };

		rc = post_through(h, &request,
				  !p->ca && !strncmp(base, "https", 5), err);
	}
	http_close(h);
	free(base);
	free(path);
	free(shown);
	return rc;
}
