/*
 * Rights that a pipeline takes at a server, as SQL for an administrator there.
 * Engines fill it from the config alone and connect to nothing: the user may
 * not be there yet.
 */
#ifndef TIDEMARK_CORE_PLUGIN_GRANTS_H
#define TIDEMARK_CORE_PLUGIN_GRANTS_H

#include <stddef.h>

#include "core/base/error.h"

struct grant {
	char *why; /* a few words: what would fail without it */
	char *sql; /* one statement without ";"; NULL: SQL cannot say it */
};

struct grants {
	struct grant *items;
	size_t n;
	size_t capacity;
};

/* Texts copied; `sql` may be NULL. */
void grants_add(struct grants *g, const char *why, const char *sql);
void grants_add_fmt(struct grants *g, const char *why, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void grants_release(struct grants *g);

/* A table's place, each name in quotes. */
struct grants_place {
	char *schema;
	/* for MySQL's GRANT, where "_" and "%" stand for themselves */
	char *schema_pattern;
	char *table; /* with its schema */
	char *plain; /* the same without escapes, for a literal */
};

/* `schema`: where the text names none; NULL: a CONFIG error then, for which
 * `connection` is named. */
int grants_place_find(struct grants_place *out, const char *connection,
		      const char *text, const char *schema, char quote,
		      struct error *err);
void grants_place_release(struct grants_place *p);
/* A name or a text in one line of SQL; caller frees. Control characters have no
 * place in a line. They are escaped where it is possible: in double quotes,
 * which are PostgreSQL's, and in its literals (U&). */
char *grants_quote(const char *name, char quote);
char *grants_literal(const char *text);

#endif
