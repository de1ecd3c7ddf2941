/*
 * The keys that a map of the config file may hold. These const tables drive the
 * parser (into the fields of a struct), the error texts, the JSON Schema and
 * the reference page. Tables end with a NULL name. Such an end may have a
 * `.table`: the rows of that one follow, as rows of this one.
 *
 * A key whose feature is not built yet has OPTION_UNSUPPORTED in its row. Its
 * default is accepted. Any other value is refused by name, never ignored.
 */
#ifndef TIDEMARK_CORE_BASE_OPTION_H
#define TIDEMARK_CORE_BASE_OPTION_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/config.h"
#include "core/base/strbuf.h"

enum option_type {
	OPTION_TEXT, /* char *, owned */
	OPTION_COUNT, /* int64_t */
	OPTION_SIZE, /* int64_t bytes */
	OPTION_DURATION, /* int64_t µs */
	OPTION_CHOICE, /* an enum, bool or int64_t; may also have a table */
	OPTION_LIST, /* struct strlist of distinct texts; with a table a list of
		      * maps, stored by parse() */
	OPTION_TABLE, /* nested keys, fields of the same struct */
	OPTION_MAP, /* names of the user's own, each with a table or an
		     * element; stored by parse() */
};

enum option_flags {
	OPTION_REQUIRED = 1 << 0,
	OPTION_UNSUPPORTED = 1 << 1,
	OPTION_SECRET = 1 << 2, /* not to be written out in an exposed file */
	OPTION_URL = 1 << 3, /* the same for the password inside */
	OPTION_PARTIAL = 1 << 4, /* nothing inside is required */
	OPTION_OR_COUNT = 1 << 5, /* a text that may be a bare integer */
	OPTION_OR_NUMBER = 1 << 6, /* TEXT, MAP of them: a bare number */
	OPTION_OR_TEXT = 1 << 7, /* LIST: a bare text, which is all of it */
	OPTION_REPEATS = 1 << 8, /* LIST: a text may come twice */
};

struct option_choice {
	const char *name;
	int64_t value;
	bool unsupported;
};

struct option_context {
	const struct config_file *file;
	struct strbuf
		path; /* path to the key in hand: "pipelines.orders.load" */
	unsigned flags; /* OPTION_UNSUPPORTED, OPTION_PARTIAL of those above */
	struct error *err;
};

struct option {
	const char *name;
	enum option_type type;
	unsigned flags;
	size_t offset, size; /* the field's; size 0: not stored */
	const char *default_text; /* as a user would write it; NULL: none */
	const char *example; /* for "missing" errors; NULL: none */
	const char *unless; /* required only where this key is not; or NULL */
	const char
		*expects; /* describes the value if the type says too little */
	const char *doc; /* one or two sentences */
	const struct option_choice *choices;
	/* Words that people bring from other tools, in pairs that a NULL ends:
	 * the word, and the choice that it means. */
	const char *const *also; /* ends with a NULL name */
	const struct option *table;
	const char *shorthand; /* TABLE, MAP: key a bare text stands for */
	enum option_type element; /* a MAP's without a table */
	int64_t min, max; /* COUNT, SIZE, DURATION; max 0: no limit */
	/* Takes over from storing the (checked) value of a TEXT or MAP, and
	 * from parsing a TABLE or a LIST of maps. */
	int (*parse)(struct option_context *, const struct option *,
		     const struct config_node *, void *base);
};

#define OPTION_FIELD(type, member)                                             \
	.offset = offsetof(type, member), .size = sizeof(((type *)0)->member)

/* The row at `o`, or the first of the table that goes on there; NULL: the end.
 */
const struct option *option_row(const struct option *o);
/* Every field its default; those without one 0 or NULL. */
void option_init(const struct option *table, void *base);
void option_release(const struct option *table, void *base);
/* Parse the map (or null) `node` into the fields of `base`, which option_init
 * has seen. CONFIG error with place, path, what was found, what is allowed. */
int option_parse(struct option_context *ctx, const struct option *table,
		 const struct config_node *node, void *base);
/* One value of the type of `option`. */
int option_parse_value(struct option_context *ctx, const struct option *option,
		       const struct config_node *node, void *base);

/* A nested table, or the bare text that its shorthand allows. */
int option_parse_table(struct option_context *ctx, const struct option *option,
		       const struct config_node *node, void *base);

/* Lengthen the path by a key; returns what option_path_pop() needs. */
size_t option_path_push(struct option_context *ctx, const char *key);
void option_path_pop(struct option_context *ctx, size_t length);
/* CONFIG error "place: path: text". */
int option_fail(struct option_context *ctx, struct config_place at,
		const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* "a count such as 20000". */
const char *option_expects(const struct option *option);
/* Schema of a map with these keys; new reference. */
json_t *option_json_schema(const struct option *table, unsigned flags);
/* Markdown rows "| key | value | default | meaning |", nested keys dotted. */
void option_reference(const struct option *table, struct strbuf *markdown);

#endif
