#include "connectors/postgres/tick.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "connectors/postgres/types.h"

/* Which choose one of their arguments, or tell the time. */
static const char *const tick_functions[] = {
	"coalesce",
	"greatest",
	"least",
	"timezone",
	"now",
	"transaction_timestamp",
	"statement_timestamp",
	"clock_timestamp",
	/* Words that may stand before a parenthesis. */
	"when",
	"then",
	"else",
	"and",
	"or",
	"not",
	"in",
	"is",
	"case",
	"zone",
	NULL,
};
/* What takes a number of digits. */
static const char *const tick_precise[] = { "timestamp", "timestamptz",
					    "current_timestamp",
					    "localtimestamp", NULL };

struct tick_text {
	const char *begin, *at;
	const struct layout_column *mark;
};

static bool tick_among(const char *word, size_t n, const char *const *names)
{
	for (; *names; names++) {
		if (strlen(*names) == n && !strncasecmp(*names, word, n))
			return true;
	}
	return false;
}

static void tick_skip_space(struct tick_text *t)
{
	while (isspace((unsigned char)*t->at))
		t->at++;
}

/* Behind a text or a name in quotes. */
static void tick_skip_quoted(struct tick_text *t)
{
	char quote = *t->at++;

	while (*t->at && *t->at != quote)
		t->at++;
	if (*t->at)
		t->at++;
}

/* "::date" or "AS date", and no column of that name. */
static bool tick_is_cast(const struct tick_text *t, const char *word)
{
	size_t n = (size_t)(word - t->begin);

	while (n && isspace((unsigned char)t->begin[n - 1]))
		n--;
	return (n && t->begin[n - 1] == ':') ||
	       (n >= 2 && !strncasecmp(t->begin + n - 2, "as", 2));
}

/* A word, and what stands behind it: a call, or the precision of a type. That
 * is as coarse as the mark's own type, or coarser than that says. */
static bool tick_word(struct tick_text *t)
{
	const char *word = t->at;
	size_t n;

	while (isalnum((unsigned char)*t->at) || *t->at == '_')
		t->at++;
	n = (size_t)(t->at - word);
	if (n == 6 && !strncasecmp(word, "select", n))
		return false;
	if (n == 4 && !strncasecmp(word, "date", n) && tick_is_cast(t, word))
		return t->mark->wire->oid == WIRE_DATE;
	tick_skip_space(t);
	if (*t->at != '(')
		return true;
	if (tick_among(word, n, tick_precise))
		return t->mark->type.digits == strtol(t->at + 1, NULL, 10);
	return tick_among(word, n, tick_functions);
}

/* Arithmetic moves a mark away from when it was written. */
static bool tick_text_is_plain(const struct layout_column *mark,
			       const char *text)
{
	struct tick_text t = { text, text, mark };

	while (*t.at) {
		if (*t.at == '\'' || *t.at == '"')
			tick_skip_quoted(&t);
		else if (isalpha((unsigned char)*t.at) || *t.at == '_') {
			if (!tick_word(&t))
				return false;
		} else if (strchr("+-*/%^|&#~@!?$[", *t.at)) {
			return false;
		} else {
			t.at++;
		}
	}
	return true;
}

bool tick_is_known(const struct layout_column *mark)
{
	return (!mark->expression ||
		tick_text_is_plain(mark, mark->expression)) &&
	       (!mark->computed || tick_text_is_plain(mark, mark->computed));
}
