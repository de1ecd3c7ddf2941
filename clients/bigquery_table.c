#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clients/bigquery_handle.h"
#include "clients/bigquery_reply.h"
#include "core/base/alloc.h"

#define TABLE_PAGE  1000
#define TABLE_MS    1000
#define PAGES_EMPTY 1000

static char *table_path(const struct bigquery *b, const char *dataset,
			const char *table)
{
	struct strbuf name = STRBUF_INIT;
	char *path;

	http_add_escaped(&name, table);
	path = bigquery_path(b, "/datasets/%s/tables/%s", dataset, name.data);
	strbuf_release(&name);
	return path;
}

/* No such table is an answer, no such dataset an error. */
static bool table_is_missing(const json_t *error, long status)
{
	const char *message = json_string_value(
		json_object_get(json_object_get(error, "error"), "message"));

	return status == 404 && message && strcasestr(message, "table");
}

/* A table lies where its dataset does, so its place need not be asked for. */
static void table_locate(struct bigquery *b, const json_t *table)
{
	const char *location =
		json_string_value(json_object_get(table, "location"));

	if (!b->location && location && *location)
		b->location = xstrdup(location);
}

int bigquery_get_table(struct bigquery *b, const char *dataset,
		       const char *table, json_t **out, struct error *err)
{
	char *path = table_path(b, dataset, table);
	struct http_request request = { .method = "GET", .path = path };
	json_t *reply = NULL;
	int rc = bigquery_call(b, &request, err);

	*out = NULL;
	if (!rc && b->answer.status == 404)
		reply = json_loadb(b->answer.body.data, b->answer.body.len, 0,
				   NULL);
	if (!rc && !table_is_missing(reply, b->answer.status))
		rc = bigquery_take(b, 0, out, err);
	if (!rc && b->answer.status / 100 == 2)
		rc = bigquery_reply_table(*out, b->shown, err);
	if (!rc)
		table_locate(b, *out);
	if (rc) {
		json_decref(*out);
		*out = NULL;
	}
	json_decref(reply);
	free(path);
	return rc;
}

int bigquery_make_stage(struct bigquery *b, const char *dataset,
			const char *table, json_t *fields, int64_t expires_us,
			struct error *err)
{
	char *path = bigquery_path(b, "/datasets/%s/tables", dataset);
	char *until = xstrfmt("%lld", (long long)(expires_us / TABLE_MS));
	json_t *body = json_pack(
		"{s:{s:s, s:s, s:s}, s:{s:O}, s:s}", "tableReference",
		"projectId", b->project, "datasetId", dataset, "tableId", table,
		"schema", "fields", fields, "expirationTime", until);
	int rc = bigquery_call_json(b, "POST", path, body, 409, NULL, err);

	json_decref(body);
	free(until);
	free(path);
	return rc;
}

int bigquery_drop_table(struct bigquery *b, const char *dataset,
			const char *table, struct error *err)
{
	char *path = table_path(b, dataset, table);
	int rc = bigquery_call_json(b, "DELETE", path, NULL, 404, NULL, err);

	free(path);
	return rc;
}

int bigquery_page_check(const struct bigquery *b, const char *token,
			const char *used, size_t items, unsigned *empty,
			struct error *err)
{
	*empty = items ? 0 : *empty + 1;
	if (used && !strcmp(token, used))
		return error_set(err, ERROR_TRANSIENT,
				 "%s: no answer of BigQuery's: the page behind "
				 "this one is said to be this one again",
				 b->shown);
	if (*empty >= PAGES_EMPTY)
		return error_set(err, ERROR_TRANSIENT,
				 "%s: no answer of BigQuery's: %u pages in a "
				 "row are empty, and more are announced",
				 b->shown, *empty);
	return 0;
}

static void table_add(const json_t *item, struct strlist *out)
{
	const char *name = NULL, *type = NULL;

	if (json_unpack((json_t *)item, "{s:{s:s}, s?s}", "tableReference",
			"tableId", &name, "type", &type))
		return;
	strlist_add(out, name);
	strlist_add(out, type ? type : "TABLE");
}

/* One page; `*token` becomes that of the next one, or NULL. */
static int table_page(struct bigquery *b, const char *dataset, char **token,
		      unsigned *empty, struct strlist *out, struct error *err)
{
	struct strbuf escaped = STRBUF_INIT;
	json_t *reply = NULL;
	const json_t *tables;
	const char *next;
	char *path;
	int rc;

	if (*token)
		http_add_escaped(&escaped, *token);
	path = bigquery_path(b, "/datasets/%s/tables?maxResults=%d%s%s",
			     dataset, TABLE_PAGE, *token ? "&pageToken=" : "",
			     escaped.len ? escaped.data : "");
	rc = bigquery_call_json(b, "GET", path, NULL, 0, &reply, err);
	tables = json_object_get(reply, "tables");
	for (size_t i = 0; !rc && i < json_array_size(tables); i++)
		table_add(json_array_get(tables, i), out);
	next = bigquery_reply_text(reply, "nextPageToken");
	if (!rc && *next)
		rc = bigquery_page_check(b, next, *token,
					 json_array_size(tables), empty, err);
	free(*token);
	*token = !rc && *next ? xstrdup(next) : NULL;
	json_decref(reply);
	strbuf_release(&escaped);
	free(path);
	return rc;
}

int bigquery_list_tables(struct bigquery *b, const char *dataset,
			 struct strlist *out, struct error *err)
{
	unsigned empty = 0;
	char *token = NULL;
	int rc;

	do
		rc = table_page(b, dataset, &token, &empty, out, err);
	while (!rc && token);
	free(token);
	return rc;
}
