#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "clients/bigquery_handle.h"
#include "clients/bigquery_reply.h"
#include "clients/libraries.h"
#include "core/base/alloc.h"
#include "core/base/failpoint.h"
#include "core/base/retry.h"

/* A piece of a resumable upload: BigQuery wants a multiple of 256 KiB. */
#define LOAD_PIECE    ((size_t)4 << 20)
#define LOAD_BOUNDARY "tidemark_part"
#define LOAD_GZIP     (15 + 16)
#define LOAD_LEVEL    1

struct bigquery_load {
	struct bigquery *b;
	char *job_id;
	json_t *body;
	z_stream gzip;
	bool plain; /* not packed, and in one piece */
	struct strbuf piece; /* packed, and not sent yet */
	char *session; /* path of the resumable upload, once it has begun */
	size_t sent;
};

int bigquery_load_begin(struct bigquery_load **out, struct bigquery *b,
			const char *job_id, const char *dataset,
			const char *table, struct error *err)
{
	struct bigquery_load *l;
	json_t *load;
	bool bare = false;
	int rc = library_load(&library_zlib, err);

	if (!rc)
		rc = bigquery_locate(b, err);
	if (!rc)
		rc = bigquery_is_bare(b, &bare, err);
	if (rc)
		return rc;
	l = xcalloc(1, sizeof(*l));
	load = json_pack("{s:{s:{s:s, s:s, s:s}, s:s, s:s, s:s, s:i}}", "load",
			 "destinationTable", "projectId", b->project,
			 "datasetId", dataset, "tableId", table, "sourceFormat",
			 "NEWLINE_DELIMITED_JSON", "writeDisposition",
			 "WRITE_TRUNCATE", "createDisposition", "CREATE_NEVER",
			 "maxBadRecords", 0);

	l->b = b;
	l->plain = bare;
	l->job_id = xstrdup(job_id);
	l->body = bigquery_job_body(b, job_id, load);
	strbuf_init(&l->piece);
	if (deflateInit2(&l->gzip, LOAD_LEVEL, Z_DEFLATED, LOAD_GZIP, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK) {
		bigquery_load_free(l);
		return error_set(err, ERROR_BUG, "zlib does not begin");
	}
	*out = l;
	return 0;
}

void bigquery_load_free(struct bigquery_load *l)
{
	if (!l)
		return;
	deflateEnd(&l->gzip);
	json_decref(l->body);
	strbuf_release(&l->piece);
	free(l->job_id);
	free(l->session);
	free(l);
}

/* Where pieces go: "https://host/path" of the Location header. */
static int load_take_session(struct bigquery_load *l, struct error *err)
{
	char *location = http_response_header(&l->b->answer, "Location");
	const char *path = location ? strstr(location, "://") : NULL;
	int rc = 0;

	path = path ? strchr(path + 3, '/') : NULL;
	if (path)
		l->session = xstrdup(path);
	else
		rc = error_set(err, ERROR_TRANSIENT,
			       "%s: no place for the upload was given",
			       l->b->shown);
	free(location);
	return rc;
}

static int load_open_session(struct bigquery_load *l, struct error *err)
{
	char *path = xstrfmt("%s?uploadType=resumable", l->b->upload.data);
	int rc =
		bigquery_call_json(l->b, "POST", path, l->body, 409, NULL, err);

	if (!rc && l->b->answer.status != 409)
		rc = load_take_session(l, err);
	free(path);
	return rc;
}

/* Bytes that the server has of the upload. */
static size_t load_received(const struct bigquery_load *l)
{
	char *range = http_response_header(&l->b->answer, "Range");
	const char *dash = range ? strchr(range, '-') : NULL;
	size_t n = dash ? (size_t)strtoull(dash + 1, NULL, 10) + 1 : 0;

	free(range);
	return n;
}

static int load_put(struct bigquery_load *l, const char *range,
		    const void *data, size_t n, struct error *err)
{
	const char *headers[] = { "Content-Type: application/octet-stream",
				  range, NULL };
	struct http_request request = {
		.method = "PUT",
		.path = l->session,
		.headers = headers,
		.body = data,
		.n_body = n,
	};
	int rc = bigquery_call(l->b, &request, err);

	return rc || l->b->answer.status == 308
		       ? rc
		       : bigquery_take(l->b, 409, NULL, err);
}

/* Send a piece, or with `last` the rest. If the server has taken only a part of
 * it, send the other part again. */
static int load_send_piece(struct bigquery_load *l, size_t n, bool last,
			   struct error *err)
{
	size_t done = 0;
	int rc = failpoint("mid_load", err);

	while (!rc && (done < n || (last && !done))) {
		size_t from = l->sent + done, received;
		char *total = last ? xstrfmt("%zu", l->sent + n) : NULL;
		char *range =
			n ? xstrfmt("Content-Range: bytes %zu-%zu/%s", from,
				    l->sent + n - 1, last ? total : "*")
			  : xstrfmt("Content-Range: bytes */%s", total);

		rc = load_put(l, range, l->piece.data + done, n - done, err);
		received = l->b->answer.status == 308 ? load_received(l)
						      : l->sent + n;
		free(range);
		free(total);
		if (!rc && (received <= from || received > l->sent + n) && n)
			rc = error_set(err, ERROR_TRANSIENT,
				       "%s: the upload does not go on",
				       l->b->shown);
		else if (!rc)
			done = received - l->sent;
		if (!n)
			break;
	}
	l->sent += n;
	memmove(l->piece.data, l->piece.data + n, l->piece.len - n);
	l->piece.len -= n;
	return rc;
}

static int load_flush(struct bigquery_load *l, struct error *err)
{
	int rc = 0;

	if (l->piece.len < LOAD_PIECE)
		return 0;
	if (!l->session)
		rc = load_open_session(l, err);
	if (!rc && !l->session)
		return error_set(err, ERROR_TRANSIENT,
				 "%s: the job %s is there already", l->b->shown,
				 l->job_id);
	return rc ? rc : load_send_piece(l, LOAD_PIECE, false, err);
}

static int load_deflate(struct bigquery_load *l, int how, struct error *err)
{
	int done = Z_OK, rc = 0;

	do {
		char *room = strbuf_reserve(&l->piece, 64 << 10);

		l->gzip.next_out = (unsigned char *)room;
		l->gzip.avail_out = 64 << 10;
		done = deflate(&l->gzip, how);
		l->piece.len += (64 << 10) - l->gzip.avail_out;
		rc = load_flush(l, err);
	} while (!rc && (l->gzip.avail_in ||
			 (how == Z_FINISH && done != Z_STREAM_END)));
	return rc;
}

int bigquery_load_write(struct bigquery_load *l, const void *data, size_t n,
			struct error *err)
{
	if (l->plain) {
		strbuf_add(&l->piece, data, n);
		return 0;
	}
	l->gzip.next_in = (unsigned char *)data;
	l->gzip.avail_in = (unsigned)n;
	return load_deflate(l, Z_NO_FLUSH, err);
}

static int load_multipart(struct bigquery_load *l, struct error *err)
{
	const char *headers[] = {
		"Content-Type: multipart/related; boundary=" LOAD_BOUNDARY, NULL
	};
	char *path = xstrfmt("%s?uploadType=multipart", l->b->upload.data);
	char *job = json_dumps(l->body, JSON_COMPACT);
	struct strbuf body = STRBUF_INIT;
	struct http_request request = { .method = "POST",
					.path = path,
					.headers = headers };
	int rc = failpoint("mid_load", err);

	strbuf_addf(&body,
		    "--" LOAD_BOUNDARY "\r\nContent-Type: application/json\r\n"
		    "\r\n%s\r\n--" LOAD_BOUNDARY
		    "\r\nContent-Type: application/octet-stream\r\n\r\n",
		    job);
	strbuf_add(&body, l->piece.data, l->piece.len);
	strbuf_addstr(&body, "\r\n--" LOAD_BOUNDARY "--\r\n");
	request.body = body.data;
	request.n_body = body.len;
	if (!rc)
		rc = bigquery_call(l->b, &request, err);
	if (!rc)
		rc = bigquery_take(l->b, 409, NULL, err);
	strbuf_release(&body);
	free(job);
	free(path);
	return rc;
}

int bigquery_load_finish(struct bigquery_load *l, int64_t *rows,
			 struct error *err)
{
	json_t *job = NULL;
	int rc = l->plain ? 0 : load_deflate(l, Z_FINISH, err);

	if (!rc)
		rc = l->session ? load_send_piece(l, l->piece.len, true, err)
				: load_multipart(l, err);
	if (!rc)
		rc = bigquery_job_wait(l->b, l->job_id, &job, err);
	if (!rc)
		*rows = bigquery_reply_number(
			json_object_get(json_object_get(job, "statistics"),
					"load"),
			"outputRows", -1);
	json_decref(job);
	return rc;
}
