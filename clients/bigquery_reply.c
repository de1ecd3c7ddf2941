#include "clients/bigquery_reply.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "clients/http.h"
#include "core/base/alloc.h"
#include "core/base/row_values.h"

#define EXCERPT_BYTES 200

/* The answer of a proxy or another server: tell enough of it to show who sent
 * it. */
static int reply_of_others(const char *text, size_t n, const char *content_type,
			   long status, const char *what, const char *shown,
			   struct error *err)
{
	struct strbuf excerpt = STRBUF_INIT;
	enum error_code code =
		status / 100 == 2 ? ERROR_TRANSIENT : http_status_class(status);
	int rc;

	http_add_excerpt(&excerpt, text, n, EXCERPT_BYTES);
	rc = error_set(
		err, code == ERROR_UNKNOWN ? ERROR_ACCESS : code,
		"%s: no answer of BigQuery's but HTTP %ld%s, %.80s%s%s%s",
		shown, status,
		status / 100 == 3 ? " (a redirect, which is not followed)" : "",
		content_type ? content_type : "of no type", what,
		excerpt.len ? ": " : "", excerpt.data);
	strbuf_release(&excerpt);
	return rc;
}

int bigquery_reply_parse(json_t **out, const char *text, size_t n,
			 const char *content_type, long status,
			 const char *shown, struct error *err)
{
	json_error_t where;

	if (!content_type ||
	    strncasecmp(content_type, "application/json", 16) != 0)
		return reply_of_others(text, n, content_type, status, "", shown,
				       err);
	/* A STRING may hold U+0000. */
	*out = json_loadb(text, n, JSON_ALLOW_NUL, &where);
	if (!*out && status / 100 == 2)
		return error_set(err, ERROR_TRANSIENT,
				 "%s: the answer of %zu bytes is not whole: %s",
				 shown, n, where.text);
	if (json_is_object(*out))
		return 0;
	json_decref(*out);
	*out = NULL;
	return reply_of_others(text, n, content_type, status, " (no object)",
			       shown, err);
}

/* cloud.google.com/bigquery/docs/error-messages */
static const struct {
	const char *reason;
	enum error_code code;
} reply_reasons[] = {
	{ "accessDenied", ERROR_ACCESS },
	{ "authError", ERROR_ACCESS },
	{ "backendError", ERROR_TRANSIENT },
	{ "billingNotEnabled", ERROR_ACCESS },
	{ "billingTierLimitExceeded", ERROR_ACCESS },
	{ "blocked", ERROR_ACCESS },
	{ "forbidden", ERROR_ACCESS },
	{ "internalError", ERROR_TRANSIENT },
	{ "invalidUser", ERROR_ACCESS },
	{ "jobBackendError", ERROR_TRANSIENT },
	{ "jobInternalError", ERROR_TRANSIENT },
	{ "jobRateLimitExceeded", ERROR_TRANSIENT },
	{ "notFound", ERROR_ACCESS },
	{ "proxyAuthenticationRequired", ERROR_ACCESS },
	{ "quotaExceeded", ERROR_ACCESS },
	{ "rateLimitExceeded", ERROR_TRANSIENT },
	{ "resourceInUse", ERROR_TRANSIENT },
	{ "resourcesExceeded", ERROR_TRANSIENT },
	{ "responseTooLarge", ERROR_ACCESS },
	{ "stopped", ERROR_TRANSIENT },
	{ "tableUnavailable", ERROR_TRANSIENT },
	{ "timeout", ERROR_TRANSIENT },
};

/* Statements that lost against others'. */
static const char *const reply_conflicts[] = {
	"aborted due to concurrent update",
	"Could not serialize access",
	"due to concurrent",
};

/* Messages about a table or a statement that lacks something. */
static const struct {
	const char *said;
	enum error_code code;
} reply_words[] = {
	{ BIGQUERY_ASSERTED, ERROR_STATE },
	{ "Not found: Table", ERROR_SCHEMA },
	{ "Table not found: ", ERROR_SCHEMA },
	{ "Syntax error", ERROR_BUG },
	{ "Unrecognized name", ERROR_SCHEMA },
	{ "No matching signature", ERROR_SCHEMA },
	{ "Invalid field name", ERROR_SCHEMA },
	{ "Invalid table ID", ERROR_SCHEMA },
};

enum error_code bigquery_reason_class(const char *reason, const char *message,
				      long status)
{
	/* In a script's statement the message is "Query error: ... at
	 * [3:1]". */
	for (size_t i = 0; i < ARRAY_SIZE(reply_words); i++)
		if (strstr(message, reply_words[i].said))
			return reply_words[i].code;
	for (size_t i = 0; i < ARRAY_SIZE(reply_conflicts); i++)
		if (strstr(message, reply_conflicts[i]))
			return ERROR_CONFLICT;
	for (size_t i = 0; i < ARRAY_SIZE(reply_reasons); i++)
		if (!strcmp(reason, reply_reasons[i].reason))
			return reply_reasons[i].code;
	if (status == 413)
		return ERROR_DATA;
	if (status == 401 || status == 403 || status == 404)
		return ERROR_ACCESS;
	if (status == 429 || status >= 500)
		return ERROR_TRANSIENT;
	/* A value or a statement that the service refuses. */
	return ERROR_DATA;
}

const char *bigquery_reply_text(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text ? text : "";
}

static const struct {
	const char *api, *sql;
} reply_types[] = {
	{ "INTEGER", "INT64" },
	{ "FLOAT", "FLOAT64" },
	{ "BOOLEAN", "BOOL" },
	{ "RECORD", "STRUCT" },
};

const char *bigquery_reply_type(const json_t *field)
{
	const char *type = bigquery_reply_text(field, "type");

	for (size_t i = 0; i < ARRAY_SIZE(reply_types); i++)
		if (!strcmp(type, reply_types[i].api))
			return reply_types[i].sql;
	return type;
}

/* Tell an administrator how to mend it. */
static void reply_hint(const char *reason, const char *message,
		       struct error *err)
{
	if (!strcmp(reason, "notFound") && strcasestr(message, "dataset "))
		error_hint(err, "Make the dataset (bq mk --dataset), or name "
				"where it is: ?location=EU in the URL");
	else if (!strcmp(reason, "accessDenied") && strstr(message, "Project"))
		error_hint(err, "Grant roles/bigquery.jobUser on the project "
				"to the account");
	else if (!strcmp(reason, "accessDenied"))
		error_hint(err, "Grant roles/bigquery.dataEditor on the "
				"dataset to the account");
	else if (!strcmp(reason, "quotaExceeded"))
		error_hint(err, "Wait until the quota is filled again, or ask "
				"for a larger one");
}

/* Values follow these words:
 * - "Could not parse 'x' as INT64 for field c3 (position 2) starting at
 *   location 0"
 * - "Field: c3; Value: x"
 * - "Bad int64 value: x"
 * - "Invalid time zone: x" */
static const char *const reply_tails[] = { " as ", NULL };
static const char *const reply_cuts[] = {
	"Value: ", " value: ",	" WKT: ",	 " WKB: ",
	" date: ", " time: ",	" datetime: ",	 " timestamp: ",
	" zone: ", " string: ", " expression: ", NULL
};
static const struct row_value_words reply_values = {
	.tails = reply_tails,
	.cuts = reply_cuts,
	.numbers = true,
};

static enum error_code reply_class(const char *reason, const char *message,
				   long status)
{
	char *frame = row_values_frame(message, &reply_values);
	enum error_code code = bigquery_reason_class(reason, frame, status);

	free(frame);
	return code;
}

static int reply_fail(const char *reason, const char *message, long status,
		      const char *shown, struct error *err)
{
	enum error_code code = reply_class(reason, message, status);
	char *told = row_values_text(code, *message ? message : reason,
				     &reply_values);
	int rc = error_set(err, code, "%s: %s", shown, told);

	free(told);
	if (err && !err->server_code[0])
		strncat(err->server_code, reason, sizeof(err->server_code) - 1);
	reply_hint(reason, message, err);
	return rc;
}

int bigquery_reply_refused(const json_t *reply, long status, const char *shown,
			   struct error *err)
{
	const json_t *error = json_object_get(reply, "error");
	const json_t *first =
		json_array_get(json_object_get(error, "errors"), 0);
	const char *message = bigquery_reply_text(error, "message");
	char *bare = xstrfmt("status %ld", status);
	int rc;

	if (!json_is_object(error) && !json_is_string(error)) {
		free(bare);
		return reply_of_others("", 0, "application/json", status,
				       " without an error", shown, err);
	}
	/* As the token's giver has it. */
	if (json_is_string(error))
		message = bigquery_reply_text(reply, "error_description");
	rc = reply_fail(json_is_string(error)
				? json_string_value(error)
				: bigquery_reply_text(first, "reason"),
			*message ? message : bare, status, shown, err);
	free(bare);
	return rc;
}

/* When a job failed, its first error says less than the later ones. */
static const char *reply_detail(const json_t *status, const char *message)
{
	const json_t *errors = json_object_get(status, "errors");

	for (size_t i = 0; i < json_array_size(errors); i++) {
		const char *text = bigquery_reply_text(
			json_array_get(errors, i), "message");

		if (*text && strcmp(text, message) != 0)
			return text;
	}
	return "";
}

int bigquery_reply_job(const json_t *job, bool *done, const char *shown,
		       struct error *err)
{
	const json_t *status = json_object_get(job, "status");
	const json_t *result = json_object_get(status, "errorResult");
	const char *state = bigquery_reply_text(status, "state");
	const char *message = bigquery_reply_text(result, "message");
	const char *detail = reply_detail(status, message);
	char *both;
	int rc;

	if (!*state)
		return error_set(err, ERROR_TRANSIENT,
				 "%s: no answer of BigQuery's: it tells no "
				 "job's state",
				 shown);
	if (done)
		*done = !strcmp(state, "DONE");
	if (strcmp(state, "DONE") != 0 || !json_is_object(result))
		return 0;
	both = xstrfmt("%s%s%s", message, *detail ? "; " : "", detail);
	rc = reply_fail(bigquery_reply_text(result, "reason"), both, 400, shown,
			err);
	free(both);
	return rc;
}

int bigquery_reply_complete(const json_t *page, bool *done, const char *shown,
			    struct error *err)
{
	const json_t *said = json_object_get(page, "jobComplete");

	*done = json_is_true(said);
	if (json_is_boolean(said))
		return 0;
	return error_set(err, ERROR_TRANSIENT,
			 "%s: no answer of BigQuery's: it does not tell "
			 "whether the job is complete",
			 shown);
}

int bigquery_reply_table(const json_t *table, const char *shown,
			 struct error *err)
{
	const json_t *reference = json_object_get(table, "tableReference");

	if (*bigquery_reply_text(reference, "tableId") &&
	    *bigquery_reply_text(table, "type"))
		return 0;
	return error_set(err, ERROR_TRANSIENT,
			 "%s: no answer of BigQuery's: it describes no table",
			 shown);
}

long long bigquery_reply_number(const json_t *object, const char *name,
				long long otherwise)
{
	const json_t *value = json_object_get(object, name);
	const char *text = json_string_value(value);
	char *end;
	long long number;

	if (json_is_integer(value))
		return json_integer_value(value);
	if (!text || !*text)
		return otherwise;
	number = strtoll(text, &end, 10);
	return *end ? otherwise : number;
}

bool bigquery_reply_cell(const json_t *page, size_t row, size_t column,
			 const char **text, size_t *n)
{
	const json_t *fields = json_object_get(
		json_array_get(json_object_get(page, "rows"), row), "f");
	const json_t *value =
		json_object_get(json_array_get(fields, column), "v");

	*text = NULL;
	*n = 0;
	if (json_is_null(value))
		return true;
	if (!json_is_string(value))
		return false;
	*text = json_string_value(value);
	*n = json_string_length(value);
	return true;
}
