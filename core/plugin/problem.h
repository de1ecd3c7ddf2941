/* A problem that `check` reports and `run` refuses: severity, code, text,
 * fix. */
#ifndef TIDEMARK_CORE_PLUGIN_PROBLEM_H
#define TIDEMARK_CORE_PLUGIN_PROBLEM_H

#include <stddef.h>

#include "core/base/error.h"

enum severity { SEVERITY_ERROR, SEVERITY_WARNING, SEVERITY_INFO };
const char *severity_name(enum severity s);

struct problem {
	enum severity severity;
	/* The code with which run would fail; ERROR_NONE below severity
	 * error. */
	enum error_code error;
	char *code; /* stable, kebab-case: "mark-without-index" */
	char *message; /* fault and place: table, column */
	char *fix; /* remedy: a statement, a grant, a config key */
};

struct problems {
	struct problem *items;
	size_t n;
	size_t capacity;
};

/* Texts copied. There is always something to do, or to be said about why
 * nothing is. */
void problems_add(struct problems *list, enum severity severity,
		  enum error_code error, const char *code, const char *fix,
		  const char *fmt, ...)
	__attribute__((format(printf, 6, 7), nonnull(5)));
/* Add an error as a problem of severity error: its message with the server's
 * code, and its fix. The fix is the one that ERROR_FIX or a hint told, or else
 * the usual one for this kind of error. */
void problems_add_error(struct problems *list, const char *code,
			const struct error *err);
void problems_release(struct problems *list);
/* The first problem of severity error becomes `err` (message + fix); 0 if
 * there is none. */
int problems_to_error(const struct problems *list, struct error *err);

#endif
