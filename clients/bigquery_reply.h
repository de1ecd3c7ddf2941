/*
 * What BigQuery answers, made out: errors by their reasons, rows of a page.
 * Whatever the bytes are, an error comes of them and no more.
 */
#ifndef TIDEMARK_CLIENTS_BIGQUERY_REPLY_H
#define TIDEMARK_CLIENTS_BIGQUERY_REPLY_H

#include <jansson.h>
#include <stdbool.h>

#include "core/base/error.h"

/* Set in the message of an error of an ASSERT by Tidemark's own scripts. */
#define BIGQUERY_ASSERTED "Assertion failed: "

/* `text` as an object: new reference. TRANSIENT if it is none: an answer that
 * was cut, or not the service's. */
int bigquery_reply_parse(json_t **out, const char *text, size_t n,
			 const char *content_type, const char *shown,
			 struct error *err);
/* The class of a reason ("rateLimitExceeded") with its text. */
enum error_code bigquery_reason_class(const char *reason, const char *message,
				      long status);
/* Of {"error": {"message", "errors": [{"reason"}]}}. */
int bigquery_reply_refused(const json_t *reply, long status, const char *shown,
			   struct error *err);
/* Of a job: 0, or what it ended with. `done` may be NULL. */
int bigquery_reply_job(const json_t *job, bool *done, const char *shown,
		       struct error *err);
/* Member `name`, text or number, as a number; `otherwise` if it is none. */
long long bigquery_reply_number(const json_t *object, const char *name,
				long long otherwise);
/* Row `row` of a page, column `column`: false if there is no such cell;
 * `*text` NULL for NULL. */
bool bigquery_reply_cell(const json_t *page, size_t row, size_t column,
			 const char **text, size_t *n);

#endif
