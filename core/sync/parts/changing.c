#include "core/sync/parts/changing.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"

enum changing_form {
	FORM_CALL, /* with parentheses, whatever is in them */
	FORM_EMPTY, /* with nothing in them */
	FORM_ONE, /* with one argument */
	FORM_WORD /* also without */
};

enum changing_engine {
	POSTGRES = 1 << 0,
	MYSQL = 1 << 1,
	SQLITE = 1 << 2,
	DUCKDB = 1 << 3,
	CLICKHOUSE = 1 << 4,
	BIGQUERY = 1 << 5,
	EVERY = (1 << 6) - 1
};

static const struct {
	const char *name;
	unsigned engine;
} changing_engines[] = {
	{ "postgres", POSTGRES },     { "mysql", MYSQL },
	{ "sqlite", SQLITE },	      { "duckdb", DUCKDB },
	{ "clickhouse", CLICKHOUSE }, { "bigquery", BIGQUERY },
};

static const struct changing_word {
	const char *name;
	enum changing_form form;
	unsigned engines;
} changing_words[] = {
	{ "current_timestamp", FORM_WORD, EVERY },
	{ "current_date", FORM_WORD, EVERY },
	{ "current_time", FORM_WORD, EVERY },
	{ "current_datetime", FORM_WORD, BIGQUERY },
	{ "localtime", FORM_WORD, POSTGRES | MYSQL | DUCKDB },
	{ "localtimestamp", FORM_WORD, POSTGRES | MYSQL | DUCKDB },
	{ "utc_date", FORM_WORD, MYSQL },
	{ "utc_time", FORM_WORD, MYSQL },
	{ "utc_timestamp", FORM_WORD, MYSQL },
	{ "now", FORM_CALL, EVERY },
	{ "clock_timestamp", FORM_CALL, POSTGRES },
	{ "statement_timestamp", FORM_CALL, POSTGRES },
	{ "transaction_timestamp", FORM_CALL, POSTGRES | DUCKDB },
	{ "timeofday", FORM_CALL, POSTGRES },
	{ "age", FORM_ONE, POSTGRES | DUCKDB },
	{ "sysdate", FORM_CALL, MYSQL },
	{ "curdate", FORM_CALL, MYSQL },
	{ "curtime", FORM_CALL, MYSQL },
	{ "unix_timestamp", FORM_EMPTY, MYSQL },
	{ "get_current_timestamp", FORM_CALL, DUCKDB },
	{ "get_current_time", FORM_CALL, DUCKDB },
	{ "today", FORM_CALL, DUCKDB | CLICKHOUSE },
	{ "yesterday", FORM_CALL, CLICKHOUSE },
	{ "now64", FORM_CALL, CLICKHOUSE },
	{ "nowinblock", FORM_CALL, CLICKHOUSE },
	{ "date", FORM_EMPTY, SQLITE },
	{ "time", FORM_EMPTY, SQLITE },
	{ "datetime", FORM_EMPTY, SQLITE },
	{ "julianday", FORM_EMPTY, SQLITE },
	{ "unixepoch", FORM_EMPTY, SQLITE },
	{ "random", FORM_CALL, POSTGRES | SQLITE | DUCKDB },
	{ "random_normal", FORM_CALL, POSTGRES },
	{ "rand", FORM_CALL, MYSQL | CLICKHOUSE | BIGQUERY },
	{ "rand32", FORM_CALL, CLICKHOUSE },
	{ "rand64", FORM_CALL, CLICKHOUSE },
	{ "randconstant", FORM_CALL, CLICKHOUSE },
	{ "randuniform", FORM_CALL, CLICKHOUSE },
	{ "randnormal", FORM_CALL, CLICKHOUSE },
	{ "randomstring", FORM_CALL, CLICKHOUSE },
	{ "randomfixedstring", FORM_CALL, CLICKHOUSE },
	{ "randomprintableascii", FORM_CALL, CLICKHOUSE },
	{ "randomblob", FORM_CALL, SQLITE },
	{ "random_bytes", FORM_CALL, MYSQL },
	{ "gen_random_bytes", FORM_CALL, POSTGRES },
	{ "gen_random_uuid", FORM_CALL, POSTGRES | DUCKDB },
	{ "uuid", FORM_EMPTY, MYSQL | DUCKDB },
	{ "uuidv4", FORM_CALL, POSTGRES | DUCKDB },
	{ "uuidv7", FORM_CALL, POSTGRES | DUCKDB },
	{ "uuid_generate_v1", FORM_CALL, POSTGRES },
	{ "uuid_generate_v1mc", FORM_CALL, POSTGRES },
	{ "uuid_generate_v4", FORM_CALL, POSTGRES },
	{ "uuid_short", FORM_CALL, MYSQL },
	{ "uuid_v4", FORM_CALL, MYSQL },
	{ "uuid_v7", FORM_CALL, MYSQL },
	{ "generateuuidv4", FORM_CALL, CLICKHOUSE },
	{ "generateuuidv7", FORM_CALL, CLICKHOUSE },
	{ "generate_uuid", FORM_CALL, BIGQUERY },
	{ "nextval", FORM_CALL, POSTGRES | MYSQL | DUCKDB },
	{ "lastval", FORM_CALL, POSTGRES | MYSQL },
	{ "currval", FORM_CALL, POSTGRES | DUCKDB },
	{ "last_insert_id", FORM_CALL, MYSQL },
	{ "last_insert_rowid", FORM_CALL, SQLITE },
	{ "connection_id", FORM_CALL, MYSQL },
	{ "pg_backend_pid", FORM_CALL, POSTGRES },
	{ "txid_current", FORM_CALL, POSTGRES | DUCKDB },
	{ "txid_current_snapshot", FORM_CALL, POSTGRES },
	{ "pg_current_xact_id", FORM_CALL, POSTGRES },
	{ "pg_current_snapshot", FORM_CALL, POSTGRES },
	{ "pg_current_wal_lsn", FORM_CALL, POSTGRES },
};

/* A walk through SQL by its words and literals. */
struct changing_walk {
	unsigned engine;
	const char *at;
	char before[32]; /* the word before, in lower case; "" */
	bool dotted; /* a dot stands before what comes */
	bool dates; /* SQLite: a function of dates was called */
	bool opened; /* a parenthesis stands before what comes */
	bool reads; /* rows of a table were asked for */
};

static unsigned changing_engine_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(changing_engines); i++)
		if (!strcmp(changing_engines[i].name, name))
			return changing_engines[i].engine;
	return EVERY; /* a plug-in's */
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
	bool escapes = w->engine & (MYSQL | CLICKHOUSE | BIGQUERY);
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
	if (!(w->engine & (POSTGRES | DUCKDB)) || at[n] != '$')
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
	if (!strncmp(at, "--", 2) || (*at == '#' && (w->engine & MYSQL)))
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
			  const struct changing_word *word, int arguments)
{
	if (!(word->engines & w->engine))
		return false;
	switch (word->form) {
	case FORM_WORD:
		return arguments >= 0 || !w->dotted;
	case FORM_CALL:
		return arguments >= 0;
	case FORM_EMPTY:
		return arguments == 0;
	case FORM_ONE:
		return arguments == 1;
	}
	return false;
}

/* SELECT, TABLE x, and DuckDB's (FROM x): the first two are reserved. */
static bool changing_is_query(const struct changing_walk *w, const char *word,
			      size_t n)
{
	return !w->dotted && ((n == 6 && !strncasecmp(word, "select", n)) ||
			      (n == 5 && !strncasecmp(word, "table", n)) ||
			      (n == 4 && !strncasecmp(word, "from", n) &&
			       w->opened && (w->engine & DUCKDB)));
}

/* The word that begins here; true: it changes by itself. */
static bool changing_take_word(struct changing_walk *w, char **found)
{
	const char *begin = w->at;
	int arguments;
	size_t n = 0;

	while (changing_is_word(w->at[n]))
		n++;
	w->at += n;
	w->reads |= changing_is_query(w, begin, n);
	arguments = changing_arguments(w, w->at);
	for (size_t i = 0; i < ARRAY_SIZE(changing_words); i++) {
		const struct changing_word *word = &changing_words[i];

		if (strlen(word->name) != n ||
		    strncasecmp(word->name, begin, n) != 0 ||
		    !changing_fits(w, word, arguments))
			continue;
		*found =
			xstrfmt("%s%s", word->name, arguments >= 0 ? "()" : "");
		return true;
	}
	snprintf(w->before, sizeof(w->before), "%.*s",
		 (int)(n < sizeof(w->before) ? n : 0), begin);
	w->dates |= arguments >= 0 && (w->engine & SQLITE) &&
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

		if (same && (((w->engine & (POSTGRES | DUCKDB)) &&
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
	struct changing_walk w = { .engine = changing_engine_of(engine),
				   .at = sql };

	return changing_next(&w);
}

bool changing_reads(const char *engine, const char *sql)
{
	struct changing_walk w = { .engine = changing_engine_of(engine),
				   .at = sql };

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
