#include "clients/clickhouse_errors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/row_values.h"

#define EXCEPTION_BYTES	   600
#define EXCEPTION_TAIL	   16384
#define UNKNOWN_SETTING	   115
#define SETTING_CONSTRAINT 452

/* Numbers as in the server's ErrorCodes.cpp. A number in no row is UNKNOWN. */
static const struct {
	enum error_code code;
	long numbers[28]; /* ends with 0 */
} exception_classes[] = {
	/* Timeouts, too many queries at once, out of memory for now,
	 * replicas. */
	{ ERROR_TRANSIENT,
	  { 3,	 159, 160, 202, 203, 209, 210, 225, 236, 241, 242,
	    252, 279, 285, 319, 341, 394, 439, 473, 499, 999, 0 } },
	/* Rights, and what a profile or quota allows. */
	{ ERROR_ACCESS,
	  { 115, 158, 164, 191, 192, 193, 194, 195, 243, 291, 307, 372, 373,
	    396, 451, 452, 497, 516, 0 } },
	{ ERROR_SCHEMA,
	  { 10, 16, 20, 44, 47, 48, 53, 57, 60, 80, 81, 82, 122, 218, 352,
	    0 } },
	{ ERROR_DATA,
	  { 6,	 27,  32,  33,	34,  38,  41,  69,  70,	 72,  117, 130,
	    131, 153, 190, 321, 349, 376, 395, 407, 441, 469, 691, 0 } },
};

enum error_code clickhouse_class(long code)
{
	for (size_t i = 0; i < ARRAY_SIZE(exception_classes); i++) {
		const long *number = exception_classes[i].numbers;

		for (; *number; number++)
			if (*number == code)
				return exception_classes[i].code;
	}
	return ERROR_UNKNOWN;
}

static const char *exception_next(const char *at, const char *end)
{
	static const char sign[] = "Code: ", words[] = ". DB::Exception: ";

	while ((at = memmem(at, (size_t)(end - at), sign, sizeof(sign) - 1))) {
		const char *p = at + sizeof(sign) - 1;

		while (p < end && *p >= '0' && *p <= '9')
			p++;
		if ((size_t)(end - p) >= sizeof(words) - 1 &&
		    p > at + sizeof(sign) - 1 &&
		    !memcmp(p, words, sizeof(words) - 1))
			return at;
		at++;
	}
	return NULL;
}

static bool exception_is_alone(const char *text, size_t n)
{
	return n > 6 && !strncmp(text, "Code: ", 6);
}

/* An exception may stand behind rows, and a value may look like one. If two
 * texts look like one, nobody can tell which it is. */
static bool exception_is_doubtful(const char *text, size_t n)
{
	const char *first = exception_next(text, text + n);

	return !exception_is_alone(text, n) && first &&
	       exception_next(first + 1, text + n);
}

long clickhouse_find_exception(const char *text, size_t n, size_t *begin,
			       size_t *end)
{
	static const char words[] = "DB::Exception: ", version[] = " (version ";
	const char *at = exception_is_alone(text, n)
				 ? text
				 : exception_next(text, text + n);
	const char *last = text + n, *what;
	long code = 0;

	if (!at)
		return 0;
	for (at += 6; at < last && *at >= '0' && *at <= '9' && code < 100000;
	     at++)
		code = 10 * code + *at - '0';
	what = memmem(at, (size_t)(last - at), words, sizeof(words) - 1);
	if (!what)
		return 0;
	what += sizeof(words) - 1;
	*begin = (size_t)(what - text);
	at = memmem(what, (size_t)(last - what), version, sizeof(version) - 1);
	*end = at ? (size_t)(at - text) : n;
	return code;
}

static void clickhouse_fail_hint(struct error *err, long code)
{
	if (code == SETTING_CONSTRAINT)
		error_hint(err, "Take the constraint of that setting out of "
				"the user's profile, or give Tidemark another "
				"user: with the value that it has, statements "
				"may do something else");
	else if (code == UNKNOWN_SETTING)
		error_hint(err, "25.8 is the oldest ClickHouse that Tidemark "
				"speaks to");
}

/* "(CANNOT_PARSE_DATE)" at the end: the error's name. */
static const char *clickhouse_name(const char *text)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
	const char *open = strrchr(text, '(');
	size_t n = open ? strspn(open + 1, letters) : 0;

	return n && !strcmp(open + 1 + n, ")") ? open : "";
}

/* Drop the row's values from a message. For a constraint they follow the
 * expression, which stays. For a refused value, most often without quotes, the
 * type that it was to have stays. */
static char *clickhouse_told(enum error_code code, const char *text)
{
	static const char *const row[] = { "Column values: ", NULL };
	static const char *const value[] = { ": ",    "IPv4 ", "IPv6 ",
					     "uuid ", "UUID ", "at position ",
					     NULL };
	static const char *const hints[] = {
		" here: ", "parsed text: ", " before: ", " Row 1:",
		"IPv4 ",   "IPv6 ",	    "uuid ",	 "UUID ",
		"re2: ",   "re2 pattern: ", "str: ",	 "Syntax error: ",
		NULL
	};
	bool constraint = !strncmp(text, "Constraint ", 11);
	const struct row_value_words words = {
		.cuts = constraint	     ? row
			: code == ERROR_DATA ? value
					     : hints,
		.numbers = !constraint,
	};
	const char *name = clickhouse_name(text);
	struct strbuf out = STRBUF_INIT;

	if (row_values_shown() || !row_values_told_by(code))
		return xstrdup(text);
	if (row_values_add(&out, text, &words)) {
		if (*name && !strstr(out.data, name))
			strbuf_addf(&out, " %s", name);
		row_values_note(&out);
	}
	return strbuf_detach(&out);
}

int clickhouse_fail_text(struct error *err, const char *shown, const char *text,
			 size_t n)
{
	struct strbuf what = STRBUF_INIT;
	size_t begin = 0, end = 0;
	char *told;
	long code;
	int rc;

	if (n > EXCEPTION_TAIL) {
		text += n - EXCEPTION_TAIL;
		n = EXCEPTION_TAIL;
	}
	code = clickhouse_find_exception(text, n, &begin, &end);
	if (!code)
		return 0;
	http_add_excerpt(&what, text + begin, end - begin, EXCEPTION_BYTES);
	told = exception_is_doubtful(text, n) && !row_values_shown()
		       ? xstrdup("an exception in the middle of rows (its text "
				 "is left out; log.row_values: true shows it)")
		       : clickhouse_told(clickhouse_class(code), what.data);
	rc = error_set(err, clickhouse_class(code), "%s: %s", shown, told);
	if (err)
		snprintf(err->server_code, sizeof(err->server_code), "%ld",
			 code);
	clickhouse_fail_hint(err, code);
	strbuf_release(&what);
	free(told);
	return rc;
}

int clickhouse_check_other(const struct http *h, const struct http_response *r,
			   bool good, const char *due, struct error *err)
{
	char *id = http_response_header(r, "X-ClickHouse-Query-Id");
	char *type = http_response_header(r, "Content-Type");
	int rc = 0;

	if (!id || !good)
		rc = error_set(err, ERROR_ACCESS,
			       "%s answers with %.60s%s where %s is due: is it "
			       "ClickHouse's HTTP port?",
			       http_shown(h),
			       type ? type : "something nameless",
			       id ? "" : " and no X-ClickHouse-Query-Id", due);
	free(id);
	free(type);
	return rc;
}

int clickhouse_check(const struct http *h, const struct http_response *r,
		     struct error *err)
{
	char *number = http_response_header(r, "X-ClickHouse-Exception-Code");
	bool good = r->status >= 200 && r->status < 300;
	int rc = 0;

	if (!good || number)
		rc = clickhouse_fail_text(err, http_shown(h), r->body.data,
					  r->body.len);
	if (!rc && !good)
		rc = http_check(h, r, err);
	if (!rc && number)
		rc = error_set(err, clickhouse_class(strtol(number, NULL, 10)),
			       "%s: exception %.20s", http_shown(h), number);
	free(number);
	return rc;
}
