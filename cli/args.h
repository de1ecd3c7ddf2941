/*
 * The command line, parsed from const tables: the same tables give help,
 * typo hints and parsing. Pure: reads no file, no environment, prints nothing.
 *
 * Global flags stand before or after the command; a command's own flags stand
 * behind it. `--flag value`, `--flag=value`, `-c FILE`, `-cFILE`; `--` ends
 * the flags.
 */
#ifndef TIDEMARK_CLI_ARGS_H
#define TIDEMARK_CLI_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/strlist.h"

enum flag_kind {
	FLAG_SWITCH, /* takes no value */
	FLAG_TEXT,
	FLAG_LIST, /* a text, given as often as one likes */
	FLAG_COUNT, /* whole number >= 1 */
	FLAG_DURATION /* "30s", longer than nothing; kept in µs */
};

struct flag {
	const char *name; /* without "--"; NULL ends a table */
	char letter; /* the short form's, or 0 */
	enum flag_kind kind;
	const char *value; /* the value's name in help: "FILE"; NULL: none */
	const char *doc;
};

struct arguments;

struct command {
	const char *name;
	const char *operands; /* for help: "[PIPELINE...]" */
	size_t min_operands, max_operands;
	const char *summary;
	const char *details; /* more for `help COMMAND`, or "" */
	const char *example;
	const struct flag *flags;
	/* Does the command; prints results to stdout. An error that it has
	 * already logged is cleared from `err`, the code returned all the
	 * same. */
	int (*run)(const struct arguments *args, struct error *err);
};

#define OPERANDS_ANY ((size_t)-1)

/* The commands and flags of a command line. */
struct syntax {
	const struct command *const *commands; /* ends with NULL */
	const struct flag *flags; /* global */
};

struct flag_value {
	const struct flag *flag;
	const char *text; /* points into argv; NULL for a switch */
	int64_t number; /* a count's or duration's */
};

#define ARGUMENTS_MAX_FLAGS 32

struct arguments {
	const struct syntax *syntax;
	const struct command *command; /* NULL: none was named */
	struct flag_value flags[ARGUMENTS_MAX_FLAGS];
	size_t n_flags;
	struct strlist operands;
	/* The pipeline that SOURCE_URL and DESTINATION_URL have made, whose
	 * name is among the operands in their place; NULL: none. */
	const char *copied;
};

/* CONFIG error naming the word and the nearest valid one. `out` is to be
 * released in any case. With --help among the flags, the number of operands
 * is not checked. */
int arguments_parse(struct arguments *out, const struct syntax *syntax,
		    int argc, char *const *argv, struct error *err);
void arguments_release(struct arguments *a);

bool arguments_has(const struct arguments *a, const char *flag);
/* The value of the flag, or NULL if it was not given. */
const char *arguments_text(const struct arguments *a, const char *flag);
/* Append every value of a FLAG_LIST, in order. */
void arguments_list(const struct arguments *a, const char *flag,
		    struct strlist *out);
/* The number of a count or duration, or 0 if it was not given. */
int64_t arguments_number(const struct arguments *a, const char *flag);

/* A flag of every command or of `c` (NULL: none was named yet); NULL: there is
 * none. `name` has `n` bytes, without dashes. */
const struct flag *syntax_flag(const struct syntax *s, const struct command *c,
			       const char *name, size_t n);
const struct flag *syntax_flag_letter(const struct syntax *s,
				      const struct command *c, char letter);

/* By name; NULL with a CONFIG error that says the nearest name. */
const struct command *syntax_command(const struct syntax *s, const char *name,
				     struct error *err);

#endif
