/*
 * BigQuery's REST API (v2), as far as Tidemark needs it: tables' metadata,
 * queries and scripts as jobs, and load jobs. The client signs in with a
 * service account's file or at the metadata server. It knows nothing of rows or
 * types beyond text.
 *
 * Every request may arrive twice. Statements run under job ids that the caller
 * makes, and an id that is taken (409) is looked up instead of run again. A 401
 * renews the token once. A passing failure (429, 5xx, a broken connection) is
 * tried again for a short while and is then TRANSIENT. One thread uses a
 * client; only bigquery_interrupt() may come from another.
 */
#ifndef TIDEMARK_CLIENTS_BIGQUERY_H
#define TIDEMARK_CLIENTS_BIGQUERY_H

#include <jansson.h>
#include <stdint.h>

#include "core/base/connection.h"
#include "core/base/strlist.h"

struct bigquery;

/* bigquery://PROJECT/DATASET?location=EU&credentials=PATH. CONFIG: the URL has
 * an option that `options` (ends with NULL) does not name. CONFIG also if
 * others can read the credentials file, or it is no such file. Nothing is sent
 * yet. */
int bigquery_open(struct bigquery **out, const struct connection *conn,
		  const char *const *options, struct error *err);
void bigquery_close(struct bigquery *b); /* NULL is fine */
void bigquery_interrupt(struct bigquery *b);
const char *bigquery_project(const struct bigquery *b);
const char *bigquery_dataset(const struct bigquery *b);
const char *bigquery_shown(const struct bigquery *b); /* for messages */
/* The last request got no answer at all. */
bool bigquery_is_unreached(const struct bigquery *b);

/* Is the server that BIGQUERY_EMULATOR_HOST names a bare one? A bare server
 * runs one statement at a time, and knows neither scripts, transactions nor
 * packed uploads. It is asked once. `*bare` is false for the service itself. */
int bigquery_is_bare(struct bigquery *b, bool *bare, struct error *err);

/* The `Table` resource: new reference, NULL if there is no such table. ACCESS
 * if there is no such dataset. */
int bigquery_get_table(struct bigquery *b, const char *dataset,
		       const char *table, json_t **out, struct error *err);
/* Make a table that BigQuery removes by itself at `expires_us`. `fields` are
 * those of a TableSchema, borrowed. An existing table is left as it is. */
int bigquery_make_stage(struct bigquery *b, const char *dataset,
			const char *table, json_t *fields, int64_t expires_us,
			struct error *err);
/* Harmless where there is none. */
int bigquery_drop_table(struct bigquery *b, const char *dataset,
			const char *table, struct error *err);
/* Appends name and then type ("TABLE", "VIEW") of each. */
int bigquery_list_tables(struct bigquery *b, const char *dataset,
			 struct strlist *out, struct error *err);

struct bigquery_parameter {
	const char *name; /* NULL: by position */
	const char *type; /* "STRING", "INT64"; "ARRAY<STRING>" has `items` */
	const char *value; /* NULL is NULL */
	const struct strlist *items;
};

struct bigquery_query {
	const char *sql; /* a statement, or a script */
	const struct bigquery_parameter *parameters;
	size_t n_parameters;
	/* NULL: one of its own, for what may be run twice. */
	const char *job_id;
};

/* The rows that a query gave, or the last statement of a script; all cells
 * text. */
struct bigquery_rows;
/* Run to the end. An answer brings at most `page_rows` rows. `*taken` (may be
 * NULL) is true if a job had this id already. If that job ended well, `out` has
 * its rows; else its error is returned. */
int bigquery_run(struct bigquery *b, const struct bigquery_query *query,
		 size_t page_rows, struct bigquery_rows **out, bool *taken,
		 struct error *err);
/* False at the end, and with `err` set when the next rows cannot be had. */
bool bigquery_rows_next(struct bigquery_rows *r, struct error *err);
size_t bigquery_rows_columns(const struct bigquery_rows *r);
/* A column's field of the TableSchema: borrowed, or NULL. */
const json_t *bigquery_rows_field(const struct bigquery_rows *r, size_t column);
/* NULL is NULL; lives until the next call. `n` may be NULL. */
const char *bigquery_rows_cell(const struct bigquery_rows *r, size_t column,
			       size_t *n);
void bigquery_rows_free(struct bigquery_rows *r); /* NULL is fine */

/* Bytes that a statement would read. */
int bigquery_dry_run(struct bigquery *b, const struct bigquery_query *query,
		     int64_t *bytes, struct error *err);
/* ACCESS if BigQuery says that the statement would do more than read. Nothing
 * is run. */
int bigquery_only_reads(struct bigquery *b, const char *sql, struct error *err);

/* A load job: newline-delimited JSON replaces the rows of a table. Written
 * bytes are packed and held only up to a piece of a few MiB, which is sent when
 * it is full. A body of one piece goes in one request, a larger one by a
 * resumable upload. */
struct bigquery_load;
int bigquery_load_begin(struct bigquery_load **out, struct bigquery *b,
			const char *job_id, const char *dataset,
			const char *table, struct error *err);
int bigquery_load_write(struct bigquery_load *l, const void *data, size_t n,
			struct error *err);
/* Wait for the job. DATA with the service's words if it refuses the rows.
 * `*rows`: how many it took. */
int bigquery_load_finish(struct bigquery_load *l, int64_t *rows,
			 struct error *err);
void bigquery_load_free(struct bigquery_load *l); /* NULL is fine */

#endif
