#include "core/base/row_values.h"

#include <ctype.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"

#define VALUE_LEFT_OUT "..."

static atomic_bool values_shown;

void row_values_show(bool shown)
{
	atomic_store(&values_shown, shown);
}

bool row_values_shown(void)
{
	return atomic_load(&values_shown);
}

bool row_values_told_by(enum error_code code)
{
	return code == ERROR_DATA || code == ERROR_UNKNOWN;
}

static bool value_is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Does the text before `at` end with the word, and blanks or a colon behind
 * it? */
static bool value_follows(const char *text, const char *at, const char *word)
{
	size_t n = strlen(word);

	while (at > text && strchr(" :", at[-1]))
		at--;
	return (size_t)(at - text) >= n && !strncasecmp(at - n, word, n) &&
	       (at - n == text || !value_is_word(at[-(ptrdiff_t)n - 1]));
}

static bool value_follows_any(const char *text, const char *at,
			      const char *const *words)
{
	for (; *words; words++)
		if (value_follows(text, at, *words))
			return true;
	return false;
}

static bool value_is_name(const char *text, const char *at)
{
	static const char *const before[] = {
		"column",   "constraint", "table",  "relation", "index",
		"type",	    "field",	  "view",   "database", "schema",
		"function", "trigger",	  "domain", "encoding", "for key",
		"dataset",  NULL,
	};

	return value_follows_any(text, at, before);
}

/* Behind the name that begins at `at`: "a"."b" is one. */
static const char *value_name_end(const char *at)
{
	const char *end = strchr(at + 1, *at);

	while (end && end[1] == '.' && end[2] == *at)
		end = strchr(end + 3, *at);
	return end ? end + 1 : at + strlen(at);
}

/* Nothing in a value is doubled or escaped, so it may go on to the last quote
 * that can be its end. */
static const char *value_end(const char *at, const char *const *tails)
{
	const char *last = NULL, *found = NULL;

	for (const char *p = at + 1; *p; p++) {
		if (*p != *at)
			continue;
		if (!value_is_word(p[1]))
			last = p + 1;
		for (size_t i = 0; tails && tails[i]; i++)
			if (!strncmp(p + 1, tails[i], strlen(tails[i])))
				found = p + 1;
	}
	if (found)
		return found;
	return last ? last : at + strlen(at);
}

/* Is it a number in a type such as "DECIMAL(18,3)"? */
static bool value_in_type(const char *text, const char *at)
{
	while (at > text && strchr("0123456789, ", at[-1]))
		at--;
	return at > text + 1 && at[-1] == '(' && value_is_word(at[-2]);
}

static bool value_is_number(const char *text, const char *at)
{
	static const char *const before[] = { "row",	  "rows",   "line",
					      "byte",	  "errors", "position",
					      "location", NULL };

	if (at > text && (value_is_word(at[-1]) || strchr("$.`", at[-1])))
		return false;
	return isdigit((unsigned char)at[*at == '-']) &&
	       !value_in_type(text, at) && !value_follows_any(text, at, before);
}

/* Dates, times and exponents count too, the full stop behind them does not. */
static size_t value_number_length(const char *at)
{
	size_t n = 1;

	while (isalnum((unsigned char)at[n]) ||
	       (at[n] && strchr(".:+-", at[n]) &&
		isdigit((unsigned char)at[n + 1])))
		n++;
	return n;
}

static bool value_is_cut(const char *text, const char *at,
			 const char *const *cuts)
{
	for (; cuts && *cuts; cuts++) {
		size_t n = strlen(*cuts);

		if ((size_t)(at - text) >= n && !strncmp(at - n, *cuts, n))
			return true;
	}
	return false;
}

static bool value_is_quoted(const char *text, const char *at)
{
	return (*at == '\'' || *at == '"') &&
	       (at == text || !value_is_word(at[-1]));
}

static bool value_is_quote(char c)
{
	return c && strchr("\"'`", c);
}

/* Find the place behind `name` in `text`, as a whole word, whatever quotes
 * either has. NULL: the name does not begin there. */
static const char *value_match(const char *text, const char *name, size_t n)
{
	const char *end = name + n;

	for (; name < end; name++) {
		if (value_is_quote(*name))
			continue;
		while (value_is_quote(*text))
			text++;
		if (*text++ != *name)
			return NULL;
	}
	return value_is_word(*text) ? NULL : text;
}

static bool value_occurs(const char *text, const char *name, size_t n)
{
	for (const char *at = text; *at; at++)
		if ((at == text || !value_is_word(at[-1])) &&
		    value_match(at, name, n))
			return true;
	return false;
}

static bool value_is_listed(const struct row_value_words *words,
			    const char *name, size_t n)
{
	for (const char *const *known = words->names; known && *known;
	     known++) {
		const char *end = value_match(*known, name, n);

		if (end && !end[strspn(end, "\"'`")])
			return true;
	}
	return words->statement && value_occurs(words->statement, name, n);
}

/* Is this quoted name known, or are both halves of "a.b"? */
static bool value_is_known(const struct row_value_words *words,
			   const char *name, size_t n)
{
	const char *dot = memchr(name, '.', n);

	if (n <= strlen("''"))
		return false;
	if (value_is_listed(words, name, n))
		return true;
	if (!dot || dot == name + 1 || dot == name + n - 2)
		return false;
	return value_is_listed(words, name, (size_t)(dot - name)) &&
	       value_is_listed(words, dot + 1, (size_t)(name + n - dot - 1));
}

bool row_values_known(const struct row_value_words *words, const char *text,
		      size_t n)
{
	char *quoted = xstrfmt("'%.*s'", (int)n, text);
	bool known = value_is_known(words, quoted, n + strlen("''"));

	free(quoted);
	return known;
}

/* Find the place behind the name that begins at `at`. NULL: it is no name, or
 * may be a value. */
static const char *value_skip_name(const char *text, const char *at,
				   const struct row_value_words *words)
{
	bool listed = words->statement || words->names;
	const char *end;

	if (!value_is_quoted(text, at))
		return NULL;
	if ((!listed || words->strict) && !value_is_name(text, at))
		return NULL;
	end = value_name_end(at);
	return !listed || value_is_known(words, at, (size_t)(end - at)) ? end
									: NULL;
}

/* Behind the value that begins at `at`, or NULL: none does. */
static const char *value_skip(const char *text, const char *at,
			      const struct row_value_words *words)
{
	if (value_is_cut(text, at, words->cuts))
		return at + strlen(at);
	if (value_is_quoted(text, at))
		return value_end(at, words->tails);
	if (words->numbers && value_is_number(text, at))
		return at + value_number_length(at);
	return NULL;
}

static bool value_leave_out(struct strbuf *out, const char *text,
			    const struct row_value_words *words)
{
	static const struct row_value_words quoted = { .tails = NULL };
	bool left_out = false;

	words = words ? words : &quoted;
	for (const char *at = text; *at;) {
		const char *end = value_skip_name(text, at, words);

		if (end) {
			strbuf_add(out, at, (size_t)(end - at));
		} else if ((end = value_skip(text, at, words))) {
			strbuf_addstr(out, VALUE_LEFT_OUT);
			left_out = true;
		} else {
			strbuf_addch(out, *at);
		}
		at = end ? end : at + 1;
	}
	return left_out;
}

bool row_values_add(struct strbuf *out, const char *text,
		    const struct row_value_words *words)
{
	if (!row_values_shown())
		return value_leave_out(out, text, words);
	strbuf_addstr(out, text);
	return false;
}

char *row_values_frame(const char *text, const struct row_value_words *words)
{
	struct strbuf out = STRBUF_INIT;

	value_leave_out(&out, text, words);
	return strbuf_detach(&out);
}

void row_values_note(struct strbuf *out)
{
	strbuf_addstr(out, " (values are left out; log.row_values: true shows "
			   "them)");
}

char *row_values_text(enum error_code code, const char *text,
		      const struct row_value_words *words)
{
	struct strbuf out = STRBUF_INIT;

	if (!row_values_told_by(code))
		return xstrdup(text);
	if (row_values_add(&out, text, words))
		row_values_note(&out);
	return strbuf_detach(&out);
}

const char *row_value(const char *text)
{
	return row_values_shown() ? text : VALUE_LEFT_OUT;
}
