#include "core/plugin/problem.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/strbuf.h"

static const char *const severity_names[] = {
	[SEVERITY_ERROR] = "error",
	[SEVERITY_WARNING] = "warning",
	[SEVERITY_INFO] = "info",
};

const char *severity_name(enum severity s)
{
	return severity_names[s];
}

/* The compiler does not see what a plug-in of an older contract passes. */
static char *problem_fix(const char *fix)
{
	return xstrdup(fix ? fix : "");
}

void problems_add(struct problems *list, enum severity severity,
		  enum error_code error, const char *code, const char *fix,
		  const char *fmt, ...)
{
	struct strbuf message = STRBUF_INIT;
	struct problem *problem;
	va_list ap;

	va_start(ap, fmt);
	strbuf_vaddf(&message, fmt, ap);
	va_end(ap);
	list->items = xgrow(list->items, &list->capacity, list->n + 1,
			    sizeof(*list->items));
	problem = &list->items[list->n++];
	problem->severity = severity;
	problem->error = severity == SEVERITY_ERROR ? error : ERROR_NONE;
	problem->code = xstrdup(code);
	problem->message = strbuf_detach(&message);
	problem->fix = problem_fix(fix);
}

/* Advice for an error that brings none. */
static const char *problem_advice(enum error_code code)
{
	switch (code) {
	case ERROR_CONFIG:
		return "change what it names in the config";
	case ERROR_ACCESS:
		return "see that address, user, password and rights are right";
	case ERROR_TRANSIENT:
	case ERROR_CONFLICT:
	case ERROR_STOPPED:
		return "see that it can be reached, and check again";
	case ERROR_SCHEMA:
		return "change the table, or leave out what it names under "
		       "source.columns";
	case ERROR_DATA:
		return "mend the rows, or leave them out with source.where";
	case ERROR_STATE:
		return "see that no other run is at work, and check again";
	default:
		return "report it, with what -v prints";
	}
}

void problems_add_error(struct problems *list, const char *code,
			const struct error *err)
{
	bool coded = *err->server_code != '\0';
	char *what = error_what(err), *fix = error_fix(err);

	problems_add(list, SEVERITY_ERROR, err->code, code,
		     *fix ? fix : problem_advice(err->code), "%s%s%s%s", what,
		     coded ? " [" : "", err->server_code, coded ? "]" : "");
	free(what);
	free(fix);
}

void problems_release(struct problems *list)
{
	if (!list)
		return;
	for (size_t i = 0; i < list->n; i++) {
		free(list->items[i].code);
		free(list->items[i].message);
		free(list->items[i].fix);
	}
	free(list->items);
	memset(list, 0, sizeof(*list));
}

int problems_to_error(const struct problems *list, struct error *err)
{
	for (size_t i = 0; i < list->n; i++) {
		const struct problem *problem = &list->items[i];
		/* An error without a code would look like success. */
		enum error_code code =
			problem->error ? problem->error : ERROR_BUG;
		int rc;

		if (problem->severity != SEVERITY_ERROR)
			continue;
		rc = error_set(err, code, "%s", problem->message);
		if (*problem->fix)
			error_hint(err, "(%s)", problem->fix);
		return rc;
	}
	return 0;
}
