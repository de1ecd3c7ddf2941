#include "core/sync/parts/changing.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"
#include "core/base/engine.h"

/* Words of the SQL standard, and now(). The rest are facts of the engines. */
static const struct engine_word changing_standard[] = {
	{ "current_timestamp", WORD_ALONE },
	{ "current_date", WORD_ALONE },
	{ "current_time", WORD_ALONE },
	{ "now", WORD_CALL },
	{ NULL, WORD_CALL },
};

/* A walk through SQL by its words and literals. */
struct changing_walk {
	const struct engine_word *words; /* NULL: those of every engine */
	unsigned traits; /* how it is read: ENGINE_SQL_* */
	const char *at;
	char before[32]; /* the word before, in lower case; "" */
	bool dotted; /* a dot stands before what comes */
	bool dates; /* SQLite: a function of dates was called */
	bool opened; /* a parenthesis stands before what comes */
	bool reads; /* rows of a table were asked for */
};

static struct changing_walk changing_walk_of(const char *engine,
					     const char *sql)
{
	const struct engine *e = engine_named(engine);
	bool known = e && e->words;

	return (struct changing_walk){ .words = known ? e->words : NULL,
				       .traits = known ? e->traits : ~0U,
				       .at = sql };
}

static bool changing_is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (c & 0x80);
}

static const char *changing_skip_space(const char *at)
{
	return at + strspn(at, " \t\r\n\f\v");
}

/* Behind the quoted thing that begins here. */
static const char *changing_skip_quoted(const struct changing_walk *w,
					const char *at)
{
	bool escapes = w->traits & ENGINE_SQL_BACKSLASH;
	char quote = *at++;

	for (; *at; at++) {
		if ((escapes && *at == '\\' && at[1]) ||
		    (*at == quote && at[1] == quote))
			at++;
		else if (*at == quote)
			return at + 1;
	}
	return at;
}

/* $tag$ ... $tag$; NULL: none begins here. */
static const char *changing_skip_dollars(const struct changing_walk *w,
					 const char *at)
{
	size_t n = 1;
	const char *end;
	char *tag;

	while (changing_is_word(at[n]) && at[n] != '$')
		n++;
	if (!(w->traits & ENGINE_SQL_DOLLARS) || at[n] != '$')
		return NULL;
	tag = xstrndup(at, n + 1);
	end = strstr(at + n + 1, tag);
	free(tag);
	return end ? end + n + 1 : at + strlen(at);
}

/* NULL: no comment begins here. */
static const char *changing_skip_comment(const struct changing_walk *w,
					 const char *at)
{
	const char *end;

	if (!strncmp(at, "/*", 2)) {
		end = strstr(at + 2, "*/");
		return end ? end + 2 : at + strlen(at);
	}
	if (!strncmp(at, "--", 2) ||
	    (*at == '#' && (w->traits & ENGINE_SQL_HASH)))
		return at + strcspn(at, "\n");
	return NULL;
}

/* The arguments between parentheses: 0, 1 or more; -1 without parentheses. */
static int changing_arguments(const struct changing_walk *w, const char *at)
{
	int depth = 0, n = 0;

	at = changing_skip_space(at);
	if (*at++ != '(')
		return -1;
	for (at = changing_skip_space(at); *at && depth >= 0;) {
		if (*at == '\'' || *at == '"' || *at == '`') {
			n = n ? n : 1;
			at = changing_skip_quoted(w, at);
			continue;
		}
		depth += (*at == '(') - (*at == ')');
		if (depth >= 0)
			n = !depth && *at == ',' ? n + 1 : (n ? n : 1);
		at++;
	}
	return n;
}

static bool changing_fits(const struct changing_walk *w,
			  enum engine_word_form form, int arguments)
{
	switch (form) {
	case WORD_ALONE:
		return arguments >= 0 || !w->dotted;
	case WORD_CALL:
		return arguments >= 0;
	case WORD_EMPTY:
		return arguments == 0;
	case WORD_ONE:
		return arguments == 1;
	}
	return false;
}

static const char *changing_among(const struct changing_walk *w,
				  const struct engine_word *words,
				  const char *begin, size_t n, int arguments)
{
	for (; words->name; words++)
		if (strlen(words->name) == n &&
		    !strncasecmp(words->name, begin, n) &&
		    changing_fits(w, words->form, arguments))
			return words->name;
	return NULL;
}

/* The name of the word that changes, or NULL. */
static const char *changing_name(const struct changing_walk *w,
				 const char *begin, size_t n, int arguments)
{
	const char *found =
		changing_among(w, changing_standard, begin, n, arguments);
	const struct engine *e;

	if (!found && w->words)
		return changing_among(w, w->words, begin, n, arguments);
	for (size_t i = 0; !found && (e = engine_at(i)); i++)
		if (e->words)
			found = changing_among(w, e->words, begin, n,
					       arguments);
	return found;
}

/* SELECT, TABLE x, and DuckDB's (FROM x): the first two are reserved. */
static bool changing_is_query(const struct changing_walk *w, const char *word,
			      size_t n)
{
	return !w->dotted && ((n == 6 && !strncasecmp(word, "select", n)) ||
			      (n == 5 && !strncasecmp(word, "table", n)) ||
			      (n == 4 && !strncasecmp(word, "from", n) &&
			       w->opened && (w->traits & ENGINE_SQL_FROM)));
}

/* The word that begins here; true: it changes by itself. */
static bool changing_take_word(struct changing_walk *w, char **found)
{
	const char *begin = w->at, *name;
	int arguments;
	size_t n = 0;

	while (changing_is_word(w->at[n]))
		n++;
	w->at += n;
	w->reads |= changing_is_query(w, begin, n);
	arguments = changing_arguments(w, w->at);
	name = changing_name(w, begin, n, arguments);
	if (name) {
		*found = xstrfmt("%s%s", name, arguments >= 0 ? "()" : "");
		return true;
	}
	snprintf(w->before, sizeof(w->before), "%.*s",
		 (int)(n < sizeof(w->before) ? n : 0), begin);
	w->dates |= arguments >= 0 && (w->traits & ENGINE_SQL_NOW_DATE) &&
		    (strcasestr(w->before, "date") ||
		     strcasestr(w->before, "time") ||
		     strcasestr(w->before, "julian") ||
		     strcasestr(w->before, "epoch"));
	return false;
}

static bool changing_is_time(const char *word)
{
	return !strncasecmp(word, "timestamp", 9) ||
	       !strncasecmp(word, "date", 4) || !strncasecmp(word, "time", 4);
}

/* 'now'::timestamptz, timestamp 'today', CAST('now' AS date). */
static bool changing_is_cast(const struct changing_walk *w, const char *behind)
{
	behind = changing_skip_space(behind);
	if (!strncmp(behind, "::", 2))
		return changing_is_time(changing_skip_space(behind + 2));
	if (!strncasecmp(behind, "as", 2) && isspace((unsigned char)behind[2]))
		return changing_is_time(changing_skip_space(behind + 2));
	return changing_is_time(w->before) || !strcasecmp(w->before, "zone");
}

static bool changing_take_literal(struct changing_walk *w, char **found)
{
	static const char *const times[] = { "'now'", "'today'", "'tomorrow'",
					     "'yesterday'" };
	const char *begin = w->at;
	size_t n;

	w->at = changing_skip_quoted(w, begin);
	n = (size_t)(w->at - begin);
	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		bool same = strlen(times[i]) == n &&
			    !strncasecmp(times[i], begin, n);

		if (same && (((w->traits & ENGINE_SQL_NOW_CAST) &&
			      changing_is_cast(w, w->at)) ||
			     (w->dates && !i))) {
			*found = xstrdup(times[i]);
			return true;
		}
	}
	*w->before = '\0';
	return false;
}

/* Something that is neither a word nor a text. */
static void changing_skip_other(struct changing_walk *w)
{
	const char *behind = changing_skip_comment(w, w->at);

	if (!behind && *w->at == '$')
		behind = changing_skip_dollars(w, w->at);
	if (!behind && (*w->at == '"' || *w->at == '`'))
		behind = changing_skip_quoted(w, w->at);
	if (!isspace((unsigned char)*w->at)) {
		w->dotted = *w->at == '.';
		w->opened = *w->at == '(';
		*w->before = '\0';
	}
	w->at = behind ? behind : w->at + 1;
}

/* Up to the next thing that changes by itself: caller frees. NULL: the end. */
static char *changing_next(struct changing_walk *w)
{
	char *found = NULL;

	while (!found && *w->at) {
		if (*w->at == '\'') {
			changing_take_literal(w, &found);
		} else if (changing_is_word(*w->at) && *w->at != '$') {
			changing_take_word(w, &found);
			w->dotted = w->opened = false;
		} else {
			changing_skip_other(w);
		}
	}
	return found;
}

char *changing_find(const char *engine, const char *sql)
{
	struct changing_walk w = changing_walk_of(engine, sql);

	return changing_next(&w);
}

bool changing_reads(const char *engine, const char *sql)
{
	struct changing_walk w = changing_walk_of(engine, sql);

	while (*w.at)
		free(changing_next(&w));
	return w.reads;
}

#define CHANGING_WHY                                                           \
	"its value changes by itself, so it can be neither compared nor "      \
	"verified"

static char *changing_fix(const char *column)
{
	return xstrfmt("leave it out under source.expressions; for the time of "
		       "loading set load.loaded_at: %s",
		       column);
}

/* NULL: it does not change. Caller frees. */
static char *changing_where(const struct pipeline_settings *p)
{
	char *what, *why;

	if (!p->where)
		return NULL;
	what = changing_find(p->source->url.engine, p->where);
	if (!what && changing_reads(p->source->url.engine, p->where))
		return xstrdup("source.where reads other rows (SELECT): rows "
			       "come to fit it, and cease to, without a newer "
			       "mark");
	if (!what)
		return NULL;
	why = xstrfmt("source.where uses %s, which changes by itself: rows "
		      "come to fit it, and cease to, without a newer mark",
		      what);
	free(what);
	return why;
}

/* The same of the columns that are computed. */
static char *changing_expression(const struct pipeline_settings *p)
{
	for (size_t i = 0; i < p->n_expressions; i++) {
		const struct source_expression *e = &p->expressions[i];

		if (changing_reads(p->source->url.engine, e->sql))
			return xstrfmt("source.expressions.%s reads other rows "
				       "(SELECT): its value changes without a "
				       "newer mark",
				       e->name);
	}
	return NULL;
}

static void changing_inspect_one(const struct pipeline_settings *p,
				 const struct source_expression *e,
				 struct problems *out)
{
	char *what = changing_find(p->source->url.engine, e->sql);
	char *fix = changing_fix(e->name);

	if (what)
		problems_add(out, SEVERITY_ERROR, ERROR_CONFIG,
			     "expression-changes", fix,
			     "pipeline %s: column \"%s\" of %s is computed by "
			     "%s, which uses %s: " CHANGING_WHY,
			     p->name, e->name, p->source_table, e->sql, what);
	free(fix);
	free(what);
}

void changing_inspect(const struct pipeline_settings *p, struct problems *out)
{
	char *why = changing_where(p), *reads = changing_expression(p);

	for (size_t i = 0; i < p->n_expressions; i++)
		changing_inspect_one(p, &p->expressions[i], out);
	if (reads)
		problems_add(out, SEVERITY_WARNING, ERROR_NONE,
			     "expression-reads",
			     "compute the column of its own row, or let "
			     "`tidemark verify --repair` bring what changed",
			     "%s", reads);
	free(reads);
	if (why)
		problems_add(out, SEVERITY_WARNING, ERROR_NONE, "where-changes",
			     "name the rows under source.where by what is "
			     "stored in them",
			     "%s", why);
	free(why);
}

int changing_refuse(const struct pipeline_settings *p, struct error *err)
{
	struct problems found = { NULL, 0, 0 };
	int rc;

	changing_inspect(p, &found);
	rc = problems_to_error(&found, err);
	problems_release(&found);
	return rc;
}

void changing_settled(const struct pipeline_settings *p, struct settled *s)
{
	char *why = NULL;

	if (s->guarantee == GUARANTEE_EXACT)
		why = changing_where(p);
	if (s->guarantee == GUARANTEE_EXACT && !why)
		why = changing_expression(p);
	if (!why)
		return;
	s->guarantee = GUARANTEE_LAG;
	free(s->reason);
	s->reason = why;
}
