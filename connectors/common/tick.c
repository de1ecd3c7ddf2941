#include "connectors/common/tick.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "connectors/common/settle.h"
#include "core/base/alloc.h"

/* Functions that choose one of their arguments, or tell the time. */
static const char *const tick_functions[] = {
	"coalesce",
	"greatest",
	"cast",
	"now",
	/* A word that may stand before a parenthesis. */
	"zone",
	NULL,
};
/* Types that take a number of digits. */
static const char *const tick_precise[] = {
	"timestamp",	     "timestamptz",    "datetime",
	"current_timestamp", "localtimestamp", NULL
};
/* Words that make a mark coarse. A subquery may compute anything, in SQL or in
 * a plan of it, and so do the others. CASE may choose an older value than the
 * one that a write has set. */
static const char *const tick_never[] = { "select", "subplan", "initplan",
					  "div",    "mod",     "case",
					  NULL };
/* Aggregates and window functions that pass on a row's value. */
static const char *const tick_groups[] = { "min",
					   "max",
					   "any_value",
					   "arg_min",
					   "arg_max",
					   "min_by",
					   "max_by",
					   "first",
					   "last",
					   "first_value",
					   "lag",
					   "last_value",
					   "nth_value",
					   "lead",
					   "mode",
					   "over",
					   "percentile_disc",
					   "arbitrary",
					   NULL };
static const char *const tick_days[] = { "current_date", "curdate", "utc_date",
					 NULL };

#define TICK_GROUP_FIX                                                         \
	"use mode replace, or read the table below and group at the "          \
	"destination"
#define TICK_OTHERS_FIX                                                        \
	"use mode replace, or read the tables below and put them together at " \
	"the destination"
struct tick_text {
	const char *begin, *at;
	const struct type *type;
	const char *const *functions;
	bool chooses; /* a call of one of the functions */
	bool instant; /* a time that is written out */
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

/* "::date" or "AS date", and no column of that name. */
static bool tick_is_cast(const struct tick_text *t, const char *word)
{
	size_t n = (size_t)(word - t->begin);

	while (n && isspace((unsigned char)t->begin[n - 1]))
		n--;
	return (n && t->begin[n - 1] == ':') ||
	       (n >= 2 && !strncasecmp(t->begin + n - 2, "as", 2));
}

/* A row for which it is chosen has an old mark. */
static bool tick_is_instant(const char *literal)
{
	return isdigit((unsigned char)*literal) ||
	       !strncasecmp(literal, "epoch'", 6) ||
	       !strncasecmp(literal, "infinity'", 9) ||
	       !strncasecmp(literal, "-infinity'", 10);
}

/* Skip a text or a name in quotes. False: it is the name of a type of days, and
 * the marks are no days. */
static bool tick_quoted(struct tick_text *t)
{
	const char *begin = t->at;
	char quote = *t->at++;

	t->instant |= quote == '\'' && tick_is_instant(t->at);
	while (*t->at && *t->at != quote)
		t->at++;
	if (*t->at)
		t->at++;
	return t->type->kind == TYPE_DATE || quote == '\'' ||
	       t->at - begin != 6 || strncasecmp(begin + 1, "date", 4) != 0 ||
	       !tick_is_cast(t, begin);
}

/* Read a word and the text behind it: a call, or the precision of a type. Is it
 * as fine as the mark's own type? False if it is, or may be, coarser. */
static bool tick_word(struct tick_text *t)
{
	const char *word = t->at;
	size_t n;

	while (isalnum((unsigned char)*t->at) || *t->at == '_')
		t->at++;
	n = (size_t)(t->at - word);
	tick_skip_space(t);
	if (tick_among(word, n, tick_never))
		return false;
	if (tick_among(word, n, tick_days) ||
	    (n == 4 && !strncasecmp(word, "date", n) &&
	     (*t->at == '(' || tick_is_cast(t, word))))
		return t->type->kind == TYPE_DATE;
	if (*t->at != '(')
		return true;
	if (tick_among(word, n, tick_precise))
		return t->type->digits == strtol(t->at + 1, NULL, 10);
	t->chooses |= strncasecmp(word, "cast", n) != 0;
	return tick_among(word, n, t->functions) ||
	       tick_among(word, n, tick_functions);
}

/* Arithmetic moves a mark away from when it was written. */
bool tick_is_plain(const char *text, const struct type *type,
		   const char *const *functions)
{
	struct tick_text t = { text, text, type, functions, false, false };

	while (text && *t.at) {
		if (strchr("'\"`", *t.at)) {
			if (!tick_quoted(&t))
				return false;
		} else if (isalpha((unsigned char)*t.at) || *t.at == '_') {
			if (!tick_word(&t))
				return false;
		} else if (strchr("+-*/%^|&#~@!?$[", *t.at)) {
			return false;
		} else {
			t.at++;
		}
	}
	return !t.chooses || !t.instant;
}

static bool tick_is_grouped(const char *text)
{
	while (text && *text) {
		size_t n = 0, behind;

		while (isalnum((unsigned char)text[n]) || text[n] == '_')
			n++;
		behind = n + strspn(text + n, " ");
		if (text[behind] == '(' && tick_among(text, n, tick_groups))
			return true;
		text += n ? n : 1;
	}
	return false;
}

enum tick_doubt tick_doubt(const char *expression, const char *computed)
{
	if (tick_is_grouped(expression) || tick_is_grouped(computed))
		return TICK_IS_GROUPED;
	return computed && strstr(computed, TICK_OTHERS) ? TICK_HAS_OTHERS
							 : TICK_IS_COARSE;
}

bool tick_lists(const char *words, const char *word, size_t n)
{
	while ((words = strchr(words, ' ')) && words[1]) {
		if (!strncasecmp(++words, word, n) && words[n] == ' ')
			return true;
	}
	return false;
}

void tick_explain(const char *column, enum tick_doubt doubt,
		  struct settled *out, struct strbuf *reason)
{
	settle_weaken(out, GUARANTEE_LAG);
	switch (doubt) {
	case TICK_IS_GROUPED:
		reason_add(reason,
			   "\"%s\" is chosen among the values of several rows "
			   "(an aggregate or a window): when a row joins or "
			   "leaves them, the result may have a value that the "
			   "mark has passed (" TICK_GROUP_FIX ")",
			   column);
		return;
	case TICK_HAS_OTHERS:
		reason_add(reason,
			   "\"%s\" is of a view that is more than columns and "
			   "filters of one table (a join, a subquery, UNION, "
			   "DISTINCT, LIMIT, a table with partitions or "
			   "children, or a function that may change by "
			   "itself): a row may appear or change while its mark "
			   "is old (" TICK_OTHERS_FIX ")",
			   column);
		return;
	case TICK_IS_COARSE:
		reason_add(reason,
			   "how coarse \"%s\" is, and so which values are "
			   "still being written, is not known of what it is "
			   "computed from (let the mark be a column that holds "
			   "the time as it was written, or set watermark.lag "
			   "to as long as a value stays the same)",
			   column);
	}
}

void tick_report(struct problems *out, const char *table, const char *column,
		 enum tick_doubt doubt)
{
	switch (doubt) {
	case TICK_IS_GROUPED:
		problems_add(out, SEVERITY_WARNING, ERROR_NONE, "mark-grouped",
			     TICK_GROUP_FIX,
			     "\"%s\" of %s is chosen among the values of "
			     "several rows (an aggregate or a window), so the "
			     "guarantee is lag",
			     column, table);
		return;
	case TICK_HAS_OTHERS:
		problems_add(out, SEVERITY_WARNING, ERROR_NONE,
			     "mark-of-several", TICK_OTHERS_FIX,
			     "\"%s\" of %s is of a view that is more than "
			     "columns and filters of one table (a join, a "
			     "subquery, UNION, DISTINCT, LIMIT, a table with "
			     "partitions or children, or a function that may "
			     "change by itself): a row may appear or change "
			     "while its mark is old, so the guarantee is lag",
			     column, table);
		return;
	case TICK_IS_COARSE:
		problems_add(out, SEVERITY_WARNING, ERROR_NONE, "mark-coarse",
			     "let the mark be a column that holds the time as "
			     "it was written, or set watermark.lag to as long "
			     "as a value stays the same",
			     "how coarse \"%s\" of %s is, is not known of "
			     "what it is computed from, so the guarantee is "
			     "lag",
			     column, table);
	}
}
