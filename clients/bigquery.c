#include "clients/bigquery.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "clients/bigquery_handle.h"
#include "clients/bigquery_reply.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/nearest.h"
#include "core/base/retry.h"

#define BIGQUERY_BASE "https://bigquery.googleapis.com"

static const struct retry_policy bigquery_retry = {
	.attempts = 5,
	.backoff_us = US_PER_SECOND / 4,
	.max_backoff_us = 8 * US_PER_SECOND,
};
/* Few tries: each may wait for a whole silence to pass, and the run tries
 * again, too. */
#define TRIES_WITHOUT_ANSWER 2

/* Names of a project or dataset are plain. */
static bool bigquery_is_plain(const char *text)
{
	return *text && !text[strspn(text, "abcdefghijklmnopqrstuvwxyz"
					   "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
					   "0123456789-_.:")];
}

static int bigquery_check_options(const struct url *url,
				  const char *const *options, struct error *err)
{
	const char *at = url_query(url);
	size_t n = 0;
	int rc = 0;

	while (options[n])
		n++;
	while (!rc && at && *at && at[1]) {
		char *name = xstrndup(at + 1, strcspn(at + 1, "=&"));
		const char *near = nearest_name(name, options, n);
		size_t i = 0;

		while (i < n && strcmp(name, options[i]) != 0)
			i++;
		if (i == n)
			rc = error_set(err, ERROR_CONFIG,
				       "bigquery: unknown option %s in the URL",
				       name);
		if (rc && near)
			error_hint(err, "(did you mean %s?)", near);
		free(name);
		at = strchr(at + 1, '&');
	}
	return rc;
}

/* bigquery://project/dataset */
static int bigquery_read_url(struct bigquery *b, const struct url *url,
			     struct error *err)
{
	const char *project = url->text + strlen("bigquery://");
	const char *dataset = project + strcspn(project, "/?");
	const char *end;

	b->project = xstrndup(project, (size_t)(dataset - project));
	dataset += *dataset == '/';
	end = dataset + strcspn(dataset, "/?");
	b->dataset = xstrndup(dataset, (size_t)(end - dataset));
	b->location = url_query_value(url, "location");
	if (*end != '/' && bigquery_is_plain(b->project) &&
	    bigquery_is_plain(b->dataset))
		return 0;
	return error_set(err, ERROR_CONFIG,
			 "%s: write bigquery://PROJECT/DATASET, maybe with "
			 "?location=EU",
			 url->shown);
}

/* An emulator asks nobody to sign in, unless a file or a metadata server is
 * named for it. */
static int bigquery_open_auth(struct bigquery *b, const struct connection *conn,
			      bool emulator, struct error *err)
{
	char *named = url_query_value(&conn->url, "credentials");
	const char *path =
		named ? named : getenv("GOOGLE_APPLICATION_CREDENTIALS");
	int rc = 0;

	if (named || !emulator || getenv("GCE_METADATA_HOST"))
		rc = bigquery_auth_open(&b->auth, conn,
					path && *path ? path : NULL, err);
	free(named);
	return rc;
}

static int bigquery_open_http(struct bigquery *b, const struct connection *conn,
			      const char *emulator, struct error *err)
{
	bool whole = emulator && strstr(emulator, "://");
	char *base = emulator
			     ? xstrfmt("%s%s", whole ? "" : "http://", emulator)
			     : xstrdup(BIGQUERY_BASE);
	size_t n = strlen(base);
	int rc;

	while (n && base[n - 1] == '/')
		base[--n] = '\0';
	rc = http_open(&b->http, conn, base, b->shown, err);
	free(base);
	return rc;
}

int bigquery_open(struct bigquery **out, const struct connection *conn,
		  const char *const *options, struct error *err)
{
	const char *emulator = getenv("BIGQUERY_EMULATOR_HOST");
	struct bigquery *b = xcalloc(1, sizeof(*b));
	int rc = bigquery_check_options(&conn->url, options, err);

	if (emulator && !*emulator)
		emulator = NULL;
	http_response_init(&b->answer);
	strbuf_init(&b->v2);
	strbuf_init(&b->upload);
	if (!rc)
		rc = bigquery_read_url(b, &conn->url, err);
	if (!rc) {
		strbuf_addf(&b->v2, "/bigquery/v2/projects/%s", b->project);
		strbuf_addf(&b->upload, "/upload%s/jobs", b->v2.data);
		b->emulator = emulator != NULL;
		b->shown = xstrfmt("BigQuery %s%s%s", b->project,
				   emulator ? " at " : "",
				   emulator ? emulator : "");
		rc = bigquery_open_http(b, conn, emulator, err);
	}
	if (!rc)
		rc = bigquery_open_auth(b, conn, emulator != NULL, err);
	if (rc)
		bigquery_close(b);
	else
		*out = b;
	return rc;
}

void bigquery_close(struct bigquery *b)
{
	if (!b)
		return;
	http_close(b->http);
	bigquery_auth_close(b->auth);
	free(b->project);
	free(b->dataset);
	free(b->location);
	free(b->shown);
	strbuf_release(&b->v2);
	strbuf_release(&b->upload);
	http_response_release(&b->answer);
	free(b);
}

void bigquery_interrupt(struct bigquery *b)
{
	http_interrupt(b->http);
	if (b->auth)
		bigquery_auth_interrupt(b->auth);
}

bool bigquery_is_unreached(const struct bigquery *b)
{
	return b->unreached;
}

const char *bigquery_project(const struct bigquery *b)
{
	return b->project;
}

const char *bigquery_dataset(const struct bigquery *b)
{
	return b->dataset;
}

const char *bigquery_shown(const struct bigquery *b)
{
	return b->shown;
}

char *bigquery_path(const struct bigquery *b, const char *fmt, ...)
{
	struct strbuf sb = STRBUF_INIT;
	va_list ap;

	strbuf_addstr(&sb, b->v2.data);
	va_start(ap, fmt);
	strbuf_vaddf(&sb, fmt, ap);
	va_end(ap);
	return strbuf_detach(&sb);
}

/* With the token in front of the request's own headers. */
static int bigquery_send(struct bigquery *b, struct http_request request,
			 struct error *err)
{
	const char *headers[8] = { NULL };
	size_t n = 0;
	int rc = 0;

	if (b->auth)
		rc = bigquery_auth_header(b->auth, &headers[n++], err);
	for (size_t i = 0; request.headers && request.headers[i]; i++)
		headers[n++] = request.headers[i];
	request.headers = headers;
	if (!rc)
		rc = http_do(b->http, &request, BIGQUERY_MOST_ANSWER,
			     &b->answer, err);
	return rc;
}

static bool bigquery_may_pass(const struct bigquery *b, int rc)
{
	if (rc)
		return rc == -ERROR_TRANSIENT;
	return b->answer.status == 429 || b->answer.status == 500 ||
	       b->answer.status == 502 || b->answer.status == 503 ||
	       b->answer.status == 504;
}

int bigquery_call(struct bigquery *b, const struct http_request *request,
		  struct error *err)
{
	bool renewed = false;
	int64_t attempt = 1;

	for (;;) {
		struct error failed = ERROR_INIT;
		int rc = bigquery_send(b, *request, &failed);

		if (!rc && b->answer.status == 401 && b->auth && !renewed) {
			renewed = true;
			bigquery_auth_forget(b->auth);
			continue;
		}
		b->unreached = rc == -ERROR_TRANSIENT;
		if (!bigquery_may_pass(b, rc) ||
		    attempt >= (b->unreached ? TRIES_WITHOUT_ANSWER
					     : bigquery_retry.attempts) ||
		    clock_sleep_us(retry_delay_us(&bigquery_retry, attempt,
						  retry_random())))
			return rc ? error_set(err, failed.code, "%s",
					      failed.message)
				  : 0;
		attempt++;
	}
}

int bigquery_take(struct bigquery *b, long expected, json_t **out,
		  struct error *err)
{
	char *type = http_response_header(&b->answer, "Content-Type");
	json_t *reply = NULL;
	int rc = 0;

	if (out)
		*out = NULL;
	if (expected && b->answer.status == expected)
		goto out;
	/* DELETE answers nothing. */
	if (b->answer.status / 100 == 2 && !b->answer.body.len)
		goto out;
	rc = bigquery_reply_parse(&reply, b->answer.body.data,
				  b->answer.body.len, type, b->answer.status,
				  b->shown, err);
	if (!rc && b->answer.status / 100 != 2)
		rc = bigquery_reply_refused(reply, b->answer.status, b->shown,
					    err);
	if (!rc && out) {
		*out = reply;
		reply = NULL;
	}
out:
	json_decref(reply);
	free(type);
	return rc;
}

int bigquery_call_json(struct bigquery *b, const char *method, const char *path,
		       const json_t *body, long expected, json_t **out,
		       struct error *err)
{
	const char *const json[] = { "Content-Type: application/json", NULL };
	char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
	struct http_request request = {
		.method = method,
		.path = path,
		.headers = text ? json : NULL,
		.body = text,
		.n_body = text ? strlen(text) : 0,
	};
	int rc;

	if (out)
		*out = NULL;
	rc = bigquery_call(b, &request, err);
	if (!rc)
		rc = bigquery_take(b, expected, out, err);
	free(text);
	return rc;
}
