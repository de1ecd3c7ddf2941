/*
 * The facts of an engine: everything that the rest of core has to know of it
 * before, or without, opening it. engines/ has the facts of the engines in the
 * tree. A plug-in brings its own (struct plugin, .engine).
 */
#ifndef TIDEMARK_CORE_BASE_ENGINE_H
#define TIDEMARK_CORE_BASE_ENGINE_H

#include <stdbool.h>

#include "core/base/error.h"
#include "core/base/strbuf.h"

/* Without ENGINE_FILE and ENGINE_SERVER, the text behind the scheme of a URL is
 * the engine's own affair. */
enum engine_trait {
	/* NAME:PATH, a file or a directory of this machine. */
	ENGINE_FILE = 1 << 0,
	/* NAME://user:password@host:port/database. */
	ENGINE_SERVER = 1 << 1,
	/* libpq reads the server's URLs. The user and the password reach up to
	 * an "@" in front of the first slash, whatever is in between. */
	ENGINE_LIBPQ_URL = 1 << 2,
	/* One process at a time writes to it. */
	ENGINE_ONE_WRITER = 1 << 3,
	/* Letters of ASCII in names of tables match in either case. */
	ENGINE_FOLDS_NAMES = 1 << 4,
	/* `copy` keeps the schema of a source's name: of any engine's, or of
	 * that of its own kind. */
	ENGINE_ANY_SCHEMA = 1 << 5,
	ENGINE_OWN_SCHEMA = 1 << 6,
	/* Rows carry the number of the transaction that wrote them: strategy
	 * xmin. */
	ENGINE_XMIN = 1 << 7,
	/* Dates may have a month or a day of 0. */
	ENGINE_ZERO_DATES = 1 << 8,
	/* Years are 1 to 9999. */
	ENGINE_SHORT_YEARS = 1 << 9,
	/* A mark is stored as each writer writes it, so that a later change
	 * may carry the same. */
	ENGINE_LOOSE_MARKS = 1 << 10,
	/* A read is paid for by its bytes: none is made just to try. */
	ENGINE_PAID_READS = 1 << 11,
	/* It takes no table whose rows have no key. */
	ENGINE_KEYED = 1 << 12,
	/* Several sessions of the process that writes may have it open, and
	 * take turns. */
	ENGINE_TURNS = 1 << 13,

	/* How its SQL is read, for functions that change by themselves.
	 * 'it\'s'. */
	ENGINE_SQL_BACKSLASH = 1 << 16,
	/* $tag$ text $tag$ */
	ENGINE_SQL_DOLLARS = 1 << 17,
	/* # a comment */
	ENGINE_SQL_HASH = 1 << 18,
	/* (FROM x) is a query. */
	ENGINE_SQL_FROM = 1 << 19,
	/* 'now' changes as a literal of time: 'today'::date. */
	ENGINE_SQL_NOW_CAST = 1 << 20,
	/* 'now' changes as an argument of a function of dates. */
	ENGINE_SQL_NOW_DATE = 1 << 21,
};

/* A word of SQL whose value changes by itself. */
enum engine_word_form {
	WORD_CALL, /* with parentheses, whatever is in them */
	WORD_EMPTY, /* with nothing in them */
	WORD_ONE, /* with one argument */
	WORD_ALONE /* also without */
};
struct engine_word {
	const char *name; /* in lower case */
	enum engine_word_form form;
};

struct engine {
	const char *name;
	/* Its URLs' schemes, in lower case, ends with NULL; the name is one. */
	const char *const *schemes;
	unsigned traits; /* enum engine_trait */
	/* Where a name without a schema is. NULL: in the URL's database. */
	const char *schema;
	/* Besides now() and what the SQL standard has; ends with a NULL name.
	 * NULL: not known, so the words of every engine count, and its SQL is
	 * read in every way. */
	const struct engine_word *words;
	/* Schemes as an error lists them; NULL: the name. */
	const char *listed;
	/* The hint for a user whose Tidemark has it not; or NULL. */
	const char *absent;
};

/* The engines of the tree, ends with NULL: engines/table.c. */
extern const struct engine *const engine_table[];

/* Make an engine known, for as long as the process lives. CONFIG if its facts
 * have holes, contradict each other, or claim a name or scheme that is taken.
 * To add the same facts again does nothing. One thread at a time; others may
 * look engines up meanwhile. */
int engine_add(const struct engine *e, struct error *err);
/* A loader for unknown schemes. It adds the engine if it finds one, and returns
 * a code if the module of that very name cannot be used. The reasons against
 * other modules go to `refused`. */
typedef int (*engine_loader)(const char *scheme, struct strbuf *refused,
			     struct error *err);
void engine_set_loader(engine_loader loader);

/* The engine of a scheme, asking the loader if need be. CONFIG: unknown, with
 * the nearest one; or the loader's error. */
int engine_find(const char *scheme, const struct engine **out,
		struct error *err);
/* The engine at the head of `text`, a URL, in any case of letters; NULL if none
 * that is known. Nothing is loaded. */
const struct engine *engine_of_url(const char *text);
/* By its name; NULL if it is not known. Nothing is loaded. */
const struct engine *engine_named(const char *name);
/* False, too, for a name that is not known. */
bool engine_has(const char *name, enum engine_trait trait);
/* The known engines, in order; NULL behind the last. */
const struct engine *engine_at(size_t i);

#endif
