#include "core/base/error.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/secret.h"

static const struct {
	const char *name;
	int exit_status;
} error_codes[] = {
	[ERROR_NONE] = { "none", 0 },
	[ERROR_CONFIG] = { "config", 2 },
	[ERROR_ACCESS] = { "access", 3 },
	[ERROR_TRANSIENT] = { "transient", 3 },
	[ERROR_SCHEMA] = { "schema", 4 },
	[ERROR_DATA] = { "data", 5 },
	[ERROR_STATE] = { "state", 6 },
	[ERROR_DIFFERENT] = { "different", 7 },
	[ERROR_STOPPED] = { "stopped", 8 },
	[ERROR_BUG] = { "bug", 1 },
};

/* Ends a cut text in "...", never inside a UTF-8 sequence. */
static void error_mark_cut(char *text, size_t size)
{
	size_t at = size - 4;

	while (at > 0 && ((unsigned char)text[at] & 0xc0) == 0x80)
		at--;
	memcpy(text + at, "...", 4);
}

/* Replace the message by `text`, scrubbed. */
static void error_put(struct error *err, const char *text)
{
	int n = snprintf(err->message, sizeof(err->message), "%s", text);

	if (n >= (int)sizeof(err->message))
		error_mark_cut(err->message, sizeof(err->message));
	secret_scrub(err->message);
}

int error_vset(struct error *err, enum error_code code, const char *fmt,
	       va_list ap)
{
	char text[sizeof(err->message) * 2];

	if (!err)
		return -(int)code;
	if (err->code)
		return -(int)err->code;
	vsnprintf(text, sizeof(text), fmt, ap);
	err->code = code;
	error_put(err, text);
	return -(int)code;
}

int error_set(struct error *err, enum error_code code, const char *fmt, ...)
{
	va_list ap;
	int rc;

	va_start(ap, fmt);
	rc = error_vset(err, code, fmt, ap);
	va_end(ap);
	return rc;
}

int error_prefix(struct error *err, const char *fmt, ...)
{
	char text[sizeof(err->message) * 2];
	va_list ap;
	int n;

	if (!err || !err->code)
		return 0;
	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(err->message), fmt, ap);
	va_end(ap);
	if (n < 0 || n >= (int)sizeof(err->message))
		n = (int)sizeof(err->message) - 1;
	snprintf(text + n, sizeof(text) - (size_t)n, ": %s", err->message);
	error_put(err, text);
	return -(int)err->code;
}

int error_hint(struct error *err, const char *fmt, ...)
{
	char text[sizeof(err->message) * 2];
	va_list ap;
	int n;

	if (!err || !err->code)
		return 0;
	n = snprintf(text, sizeof(text), "%s ", err->message);
	va_start(ap, fmt);
	vsnprintf(text + n, sizeof(text) - (size_t)n, fmt, ap);
	va_end(ap);
	error_put(err, text);
	return -(int)err->code;
}

void error_clear(struct error *err)
{
	*err = (struct error)ERROR_INIT;
}

int error_exit_status(enum error_code code)
{
	return error_codes[code].exit_status;
}

const char *error_code_name(enum error_code code)
{
	return error_codes[code].name;
}
