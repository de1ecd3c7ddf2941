/*
 * Reads BigQuery's answers: errors by their reasons, rows of a page. Any bytes
 * are safe: at worst they give an error.
 */
#ifndef TIDEMARK_CLIENTS_BIGQUERY_REPLY_H
#define TIDEMARK_CLIENTS_BIGQUERY_REPLY_H

#include <jansson.h>
#include <stdbool.h>

#include "core/base/error.h"

/* Tidemark's own scripts put this into the message of an ASSERT. */
#define BIGQUERY_ASSERTED "Assertion failed: "

/* Parse `text` as an object: new reference. Any other text was cut or comes
 * from another program. It is TRANSIENT, or as the status says, and at least
 * says that the service cannot be reached. */
int bigquery_reply_parse(json_t **out, const char *text, size_t n,
			 const char *content_type, long status,
			 const char *shown, struct error *err);
/* The class of a reason ("rateLimitExceeded") with its text. */
enum error_code bigquery_reason_class(const char *reason, const char *message,
				      long status);
/* The error in {"error": {"message", "errors": [{"reason"}]}}. */
int bigquery_reply_refused(const json_t *reply, long status, const char *shown,
			   struct error *err);
/* How a job ended: 0, or its error. `done` may be NULL. */
int bigquery_reply_job(const json_t *job, bool *done, const char *shown,
		       struct error *err);
/* Is a page of a job's rows complete? TRANSIENT if it does not say. */
int bigquery_reply_complete(const json_t *page, bool *done, const char *shown,
			    struct error *err);
/* TRANSIENT if that is no `Table`. */
int bigquery_reply_table(const json_t *table, const char *shown,
			 struct error *err);
/* Member `name` as text; "" if it is none. */
const char *bigquery_reply_text(const json_t *object, const char *name);
/* A field's type by its name in SQL: the API has old names ("INTEGER"). */
const char *bigquery_reply_type(const json_t *field);
/* Member `name`, text or number, as a number; `otherwise` if it is none. */
long long bigquery_reply_number(const json_t *object, const char *name,
				long long otherwise);
/* Row `row` of a page, column `column`: false if there is no such cell;
 * `*text` NULL for NULL. */
bool bigquery_reply_cell(const json_t *page, size_t row, size_t column,
			 const char **text, size_t *n);

#endif
