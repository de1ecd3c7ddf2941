/* What `check` reports, and what `run` refuses: severity, code, text, fix. */
#ifndef TIDEMARK_CORE_PLUGIN_PROBLEM_H
#define TIDEMARK_CORE_PLUGIN_PROBLEM_H

#include <stddef.h>

#include "core/base/error.h"

enum severity { SEVERITY_ERROR, SEVERITY_WARNING, SEVERITY_INFO };
const char *severity_name(enum severity s);

struct problem {
	enum severity severity;
	/* What run would fail with; ERROR_NONE below severity error. */
	enum error_code error;
	char *code; /* stable, kebab-case: "mark-without-index" */
	char *message; /* what and where: table, column */
	char *fix; /* what to do: a statement, a grant, a config key */
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
/* What an error says, of severity error: message with the server's code, and
 * the fix that ERROR_FIX or a hint told, else what the kind of error asks
 * for. */
void problems_add_error(struct problems *list, const char *code,
			const struct error *err);
void problems_release(struct problems *list);
/* The first problem of severity error becomes `err` (message + fix); 0 if
 * there is none. */
int problems_to_error(const struct problems *list, struct error *err);

#endif
