#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "clients/bigquery_handle.h"
#include "clients/bigquery_reply.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/retry.h"

/* How long an answer may be waited for before the job is asked for again. */
#define JOB_WAIT_MS	 20000
#define JOB_LOOK_US	 (US_PER_SECOND / 200)
#define JOB_MOST_LOOK_US (2 * US_PER_SECOND)

struct bigquery_rows {
	struct bigquery *b;
	char *job_id;
	size_t page_rows;
	json_t *page; /* rows of the answer at hand */
	size_t at, n; /* the row at hand is at - 1 */
	unsigned empty; /* pages without rows, in a row */
	json_t *fields; /* the schema's */
};

int bigquery_locate(struct bigquery *b, struct error *err)
{
	json_t *dataset = NULL;
	const char *location;
	char *path;
	int rc;

	if (b->location)
		return 0;
	path = bigquery_path(b, "/datasets/%s", b->dataset);
	rc = bigquery_call_json(b, "GET", path, NULL, 0, &dataset, err);
	location = json_string_value(json_object_get(dataset, "location"));
	if (!rc)
		b->location = xstrdup(location ? location : "US");
	json_decref(dataset);
	free(path);
	return rc;
}

json_t *bigquery_job_body(const struct bigquery *b, const char *job_id,
			  json_t *configuration)
{
	return json_pack("{s:{s:s, s:s, s:s}, s:o}", "jobReference",
			 "projectId", b->project, "jobId", job_id, "location",
			 b->location ? b->location : "US", "configuration",
			 configuration);
}

static json_t *job_value(const char *text)
{
	return text ? json_pack("{s:s}", "value", text)
		    : json_pack("{s:n}", "value");
}

static json_t *job_parameter(const struct bigquery_parameter *p)
{
	json_t *parameter = json_object(), *values;

	if (p->name)
		json_object_set_new(parameter, "name", json_string(p->name));
	if (!p->items) {
		json_object_set_new(parameter, "parameterType",
				    json_pack("{s:s}", "type", p->type));
		json_object_set_new(parameter, "parameterValue",
				    job_value(p->value));
		return parameter;
	}
	values = json_array();
	for (size_t i = 0; i < p->items->n; i++)
		json_array_append_new(values, job_value(p->items->items[i]));
	json_object_set_new(parameter, "parameterType",
			    json_pack("{s:s, s:{s:s}}", "type", "ARRAY",
				      "arrayType", "type", p->type));
	json_object_set_new(parameter, "parameterValue",
			    json_pack("{s:o}", "arrayValues", values));
	return parameter;
}

static json_t *job_query(const struct bigquery *b,
			 const struct bigquery_query *q, bool dry)
{
	json_t *parameters = json_array(), *query;
	bool named = q->n_parameters && q->parameters[0].name;

	for (size_t i = 0; i < q->n_parameters; i++)
		json_array_append_new(parameters,
				      job_parameter(&q->parameters[i]));
	/* A project may have another default zone. */
	query = json_pack("{s:s, s:b, s:{s:s, s:s}, s:[{s:s, s:s}]}", "query",
			  q->sql, "useLegacySql", 0, "defaultDataset",
			  "projectId", b->project, "datasetId", b->dataset,
			  "connectionProperties", "key", "time_zone", "value",
			  "UTC");
	if (q->n_parameters)
		json_object_set_new(
			query, "parameterMode",
			json_string(named ? "NAMED" : "POSITIONAL"));
	json_object_set_new(query, "queryParameters", parameters);
	return json_pack("{s:o, s:b}", "query", query, "dryRun", dry);
}

static void rows_path(struct strbuf *path, const struct bigquery_rows *r)
{
	const char *token =
		json_string_value(json_object_get(r->page, "pageToken"));

	strbuf_addf(path,
		    "%s/queries/%s?location=%s&timeoutMs=%d&maxResults=%zu"
		    "&formatOptions.useInt64Timestamp=true",
		    r->b->v2.data, r->job_id, r->b->location, JOB_WAIT_MS,
		    r->page_rows);
	if (token) {
		strbuf_addstr(path, "&pageToken=");
		http_add_escaped(path, token);
	}
}

/* Time passes between two looks at a job, less at first. */
static int job_pause(const struct bigquery *b, int64_t *wait_us,
		     struct error *err)
{
	if (clock_sleep_us(*wait_us))
		return error_set(err, ERROR_STOPPED, "%s: stopped", b->shown);
	if (*wait_us < JOB_MOST_LOOK_US)
		*wait_us *= 2;
	return 0;
}

static int rows_check_token(struct bigquery_rows *r, const json_t *page,
			    struct error *err)
{
	const char *used = bigquery_reply_text(r->page, "pageToken");
	const char *token = bigquery_reply_text(page, "pageToken");

	if (!*token)
		return 0;
	return bigquery_page_check(
		r->b, token, *used ? used : NULL,
		json_array_size(json_object_get(page, "rows")), &r->empty, err);
}

/* 20 s at the server, then again. */
static int rows_fetch(struct bigquery_rows *r, struct error *err)
{
	struct strbuf path = STRBUF_INIT;
	int64_t wait_us = JOB_LOOK_US;
	json_t *page = NULL;
	bool done = false;
	int rc = 0;

	rows_path(&path, r);
	while (!rc && !done) {
		json_decref(page);
		rc = bigquery_call_json(r->b, "GET", path.data, NULL, 0, &page,
					err);
		if (!rc)
			rc = bigquery_reply_complete(page, &done, r->b->shown,
						     err);
		if (!rc && !done)
			rc = job_pause(r->b, &wait_us, err);
	}
	if (!rc)
		rc = rows_check_token(r, page, err);
	strbuf_release(&path);
	json_decref(r->page);
	r->page = page;
	r->at = 0;
	r->n = json_array_size(json_object_get(page, "rows"));
	if (!r->fields)
		r->fields = json_incref(json_object_get(
			json_object_get(page, "schema"), "fields"));
	return rc;
}

int bigquery_run(struct bigquery *b, const struct bigquery_query *query,
		 size_t page_rows, struct bigquery_rows **out, bool *taken,
		 struct error *err)
{
	struct bigquery_rows *r = xcalloc(1, sizeof(*r));
	char *path = bigquery_path(b, "/jobs");
	json_t *body = NULL;
	int rc = bigquery_locate(b, err);

	r->b = b;
	r->page_rows = page_rows;
	r->job_id = query->job_id
			    ? xstrdup(query->job_id)
			    : xstrfmt("tidemark_%016" PRIx64 "%016" PRIx64,
				      retry_random(), retry_random());
	if (taken)
		*taken = false;
	if (!rc) {
		body = bigquery_job_body(b, r->job_id,
					 job_query(b, query, false));
		rc = bigquery_call_json(b, "POST", path, body, 409, NULL, err);
	}
	if (!rc && taken)
		*taken = b->answer.status == 409;
	if (!rc)
		rc = rows_fetch(r, err);
	json_decref(body);
	free(path);
	if (rc)
		bigquery_rows_free(r);
	else
		*out = r;
	return rc;
}

bool bigquery_rows_next(struct bigquery_rows *r, struct error *err)
{
	while (r->at == r->n) {
		if (!json_object_get(r->page, "pageToken") ||
		    rows_fetch(r, err))
			return false;
	}
	r->at++;
	return true;
}

size_t bigquery_rows_columns(const struct bigquery_rows *r)
{
	return json_array_size(r->fields);
}

const json_t *bigquery_rows_field(const struct bigquery_rows *r, size_t column)
{
	return json_array_get(r->fields, column);
}

const char *bigquery_rows_cell(const struct bigquery_rows *r, size_t column,
			       size_t *n)
{
	const char *text = NULL;
	size_t length = 0;

	bigquery_reply_cell(r->page, r->at - 1, column, &text, &length);
	if (n)
		*n = length;
	return text;
}

void bigquery_rows_free(struct bigquery_rows *r)
{
	if (!r)
		return;
	json_decref(r->page);
	json_decref(r->fields);
	free(r->job_id);
	free(r);
}

/* The job as it would be: a new reference. */
static int job_try(struct bigquery *b, const struct bigquery_query *query,
		   json_t **out, struct error *err)
{
	char *path = bigquery_path(b, "/jobs");
	json_t *body =
		json_pack("{s:o}", "configuration", job_query(b, query, true));
	int rc = bigquery_call_json(b, "POST", path, body, 0, out, err);

	if (!rc)
		rc = bigquery_reply_job(*out, NULL, b->shown, err);
	json_decref(body);
	free(path);
	return rc;
}

int bigquery_dry_run(struct bigquery *b, const struct bigquery_query *query,
		     int64_t *bytes, struct error *err)
{
	json_t *job = NULL;
	int rc = job_try(b, query, &job, err);

	if (!rc)
		*bytes = bigquery_reply_number(
			json_object_get(job, "statistics"),
			"totalBytesProcessed", -1);
	json_decref(job);
	return rc;
}

int bigquery_only_reads(struct bigquery *b, const char *sql, struct error *err)
{
	const struct bigquery_query query = { .sql = sql };
	json_t *job = NULL;
	int rc = job_try(b, &query, &job, err);
	const char *kind = json_string_value(json_object_get(
		json_object_get(json_object_get(job, "statistics"), "query"),
		"statementType"));

	if (!rc && kind && strcmp(kind, "SELECT") != 0)
		rc = error_set(err, ERROR_ACCESS,
			       "%s: a source is read-only, and this is no "
			       "SELECT but a %s",
			       b->shown, kind);
	json_decref(job);
	return rc;
}

/* A server that ends this script without an error knows no scripts. */
int bigquery_is_bare(struct bigquery *b, bool *bare, struct error *err)
{
	static const char script[] = "BEGIN TRANSACTION; ASSERT FALSE AS "
				     "'tidemark: asked'; COMMIT TRANSACTION";
	char *path = bigquery_path(b, "/queries");
	json_t *body =
		json_pack("{s:s, s:b}", "query", script, "useLegacySql", 0);
	struct error failed = ERROR_INIT;
	int rc = 0;

	if (b->emulator && !b->probed) {
		rc = bigquery_call_json(b, "POST", path, body, 0, NULL,
					&failed);
		b->bare = !rc;
		b->probed = true;
	}
	*bare = b->bare;
	json_decref(body);
	free(path);
	return rc == -ERROR_STOPPED
		       ? error_set(err, failed.code, "%s", failed.message)
		       : 0;
}

int bigquery_job_wait(struct bigquery *b, const char *job_id, json_t **out,
		      struct error *err)
{
	char *path = bigquery_path(b, "/jobs/%s?location=%s", job_id,
				   b->location ? b->location : "US");
	int64_t wait_us = JOB_LOOK_US;
	bool done = false;
	int rc = 0;

	while (!rc && !done) {
		json_decref(*out);
		rc = bigquery_call_json(b, "GET", path, NULL, 0, out, err);
		if (!rc)
			rc = bigquery_reply_job(*out, &done, b->shown, err);
		if (!rc && !done)
			rc = job_pause(b, &wait_us, err);
	}
	free(path);
	return rc;
}
