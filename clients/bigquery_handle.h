/* The open client, shared by its files. */
#ifndef TIDEMARK_CLIENTS_BIGQUERY_HANDLE_H
#define TIDEMARK_CLIENTS_BIGQUERY_HANDLE_H

#include "clients/bigquery.h"
#include "clients/bigquery_auth.h"
#include "clients/http.h"

/* An answer is held whole: rows come in pages that are kept below it. */
#define BIGQUERY_MOST_ANSWER ((size_t)24 << 20)

struct bigquery {
	struct http *http;
	struct bigquery_auth *auth; /* NULL: no sign-in, as to an emulator */
	char *project, *dataset, *location; /* location may be NULL */
	char *shown;
	bool emulator; /* not the service itself */
	bool probed, bare; /* as bigquery_is_bare() */
	bool unreached;
	struct strbuf v2, upload; /* paths: "/bigquery/v2/projects/P" */
	struct http_response answer; /* to the last call */
};

/* Send one request, and try again while that may help. Returns 0 for any status
 * but 401; `b->answer` has the status. */
int bigquery_call(struct bigquery *b, const struct http_request *request,
		  struct error *err);
/* The same for a JSON body (may be NULL) and a JSON answer. The service's error
 * is returned, except that the status `expected` (0: none) returns 0 with `out`
 * NULL. `out` gets a new reference; it may be NULL. */
int bigquery_call_json(struct bigquery *b, const char *method, const char *path,
		       const json_t *body, long expected, json_t **out,
		       struct error *err);
/* Take the JSON out of b->answer, as bigquery_call_json() does. */
int bigquery_take(struct bigquery *b, long expected, json_t **out,
		  struct error *err);
/* v2 and what is behind it; caller frees. */
char *bigquery_path(const struct bigquery *b, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* bigquery_table.c: may the page behind `token` be asked for? `used` is the
 * token of the page at hand, or NULL. `empty` counts pages without items in a
 * row and is kept here. `items` is the count of the page at hand. TRANSIENT if
 * the pages have no end. */
int bigquery_page_check(const struct bigquery *b, const char *token,
			const char *used, size_t items, unsigned *empty,
			struct error *err);
/* bigquery_job.c: find the dataset's place once, because jobs are looked up
 * there. ACCESS if there is no such dataset. */
int bigquery_locate(struct bigquery *b, struct error *err);
/* {"jobReference": ..., "configuration": ...}; takes the
 * configuration over. */
json_t *bigquery_job_body(const struct bigquery *b, const char *job_id,
			  json_t *configuration);
/* Wait until the job is done: its resource (new reference), or its error. */
int bigquery_job_wait(struct bigquery *b, const char *job_id, json_t **out,
		      struct error *err);

#endif
