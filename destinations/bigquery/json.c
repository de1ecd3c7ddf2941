#include "destinations/bigquery/json.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "core/base/strbuf.h"
#include "core/data/canonical.h"
#include "core/data/value.h"

#define JSON_NUMBER "0123456789+-.eE"
#define JSON_FLAGS                                                             \
	(JSON_DECODE_ANY | JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL |  \
	 JSON_ALLOW_NUL)

/* Whole numbers are kept in 64 bits, with a sign or without. */
static bool json_is_whole(const char *number)
{
	if (strpbrk(number, ".eE"))
		return false;
	errno = 0;
	if (*number == '-')
		(void)strtoll(number, NULL, 10);
	else
		(void)strtoull(number, NULL, 10);
	return !errno;
}

/* Is the nearest double the same number, in its shortest text? PARSE_JSON wants
 * this unless it is told to round. */
static bool json_is_kept(const char *number)
{
	struct strbuf wanted = STRBUF_INIT, kept = STRBUF_INIT,
		      shortest = STRBUF_INIT;
	double x = strtod(number, NULL);
	bool same = false;

	if (isfinite(x)) {
		value_print_float64(&shortest, x);
		canonical_number(&kept, shortest.data, shortest.len);
		canonical_number(&wanted, number, strlen(number));
		same = !strcmp(kept.data, wanted.data);
	}
	strbuf_release(&wanted);
	strbuf_release(&kept);
	strbuf_release(&shortest);
	return same;
}

static size_t json_string_end(const char *text, size_t at, size_t n)
{
	for (at++; at < n && text[at] != '"'; at++)
		at += text[at] == '\\';
	return at + 1;
}

/* Check a text that is JSON. */
static bool json_keeps_numbers(const char *text, size_t n)
{
	struct strbuf number = STRBUF_INIT;
	bool kept = true;
	size_t at = 0;

	while (kept && at < n) {
		if (text[at] == '"') {
			at = json_string_end(text, at, n);
			continue;
		}
		if (text[at] != '-' && (text[at] < '0' || text[at] > '9')) {
			at++;
			continue;
		}
		strbuf_reset(&number);
		while (at < n && strchr(JSON_NUMBER, text[at]))
			strbuf_addch(&number, text[at++]);
		kept = json_is_whole(number.data) || json_is_kept(number.data);
	}
	strbuf_release(&number);
	return kept;
}

/* If two members have one name, BigQuery keeps the first. */
const char *bigquery_json_refused(const char *text, size_t n)
{
	json_error_t why;
	json_t *value = json_loadb(text, n, JSON_FLAGS, &why);
	enum json_error_code code =
		value ? json_error_unknown : json_error_code(&why);

	json_decref(value);
	if (value)
		return json_keeps_numbers(text, n)
			       ? NULL
			       : "JSON with a number that no double holds";
	switch (code) {
	case json_error_duplicate_key:
		return "JSON with two members of one name";
	case json_error_numeric_overflow:
		return "JSON with a number that no double holds";
	default:
		return "text that is no JSON to BigQuery";
	}
}
