#include "core/base/error.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/secret.h"
#include "core/base/strbuf.h"
#include "core/base/utf8.h"

#define ERROR_CUT "..."

/* Scrubbed whole before it is cut: half a secret would not be recognised. */
static void error_store(struct error *err, char *text)
{
	size_t room = sizeof(err->message) - 1;
	size_t n;

	secret_scrub(text);
	utf8_repair(text);
	n = strlen(text);
	if (n <= room) {
		memcpy(err->message, text, n + 1);
		return;
	}
	n = utf8_cut(text, room - strlen(ERROR_CUT));
	memcpy(err->message, text, n);
	memcpy(err->message + n, ERROR_CUT, sizeof(ERROR_CUT));
}

int error_vset(struct error *err, enum error_code code, const char *fmt,
	       va_list ap)
{
	struct strbuf text = STRBUF_INIT;

	if (!err)
		return -(int)code;
	if (err->code)
		return -(int)err->code;
	strbuf_vaddf(&text, fmt, ap);
	err->code = code;
	error_store(err, text.data);
	strbuf_release(&text);
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
	struct strbuf text = STRBUF_INIT;
	va_list ap;

	if (!err || !err->code)
		return 0;
	va_start(ap, fmt);
	strbuf_vaddf(&text, fmt, ap);
	va_end(ap);
	strbuf_addstr(&text, ": ");
	strbuf_addstr(&text, err->message);
	error_store(err, text.data);
	strbuf_release(&text);
	return -(int)err->code;
}

/* What stands between a message, which may be a server's own, and a hint. */
static const char *error_joint(const char *message, const char *hint)
{
	size_t n = strlen(message);

	if (*hint == '(' || (n && strchr(".!?:;", message[n - 1])))
		return " ";
	return isupper((unsigned char)*hint) ? ". " : "; ";
}

int error_hint(struct error *err, const char *fmt, ...)
{
	struct strbuf text = STRBUF_INIT, hint = STRBUF_INIT;
	va_list ap;

	if (!err || !err->code)
		return 0;
	va_start(ap, fmt);
	strbuf_vaddf(&hint, fmt, ap);
	va_end(ap);
	strbuf_addstr(&text, err->message);
	while (text.len && isspace((unsigned char)text.data[text.len - 1]))
		text.data[--text.len] = '\0';
	strbuf_addstr(&text, error_joint(text.data, hint.data));
	strbuf_addstr(&text, hint.data);
	error_store(err, text.data);
	strbuf_release(&text);
	strbuf_release(&hint);
	return -(int)err->code;
}

bool error_has_code(const struct error *err, const char *code)
{
	return err && !strcmp(err->server_code, code);
}

void error_clear(struct error *err)
{
	if (!err)
		return;
	err->code = ERROR_NONE;
	err->server_code[0] = '\0';
	err->message[0] = '\0';
}

static const struct {
	const char *name;
	int exit_status;
} error_classes[] = {
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
	[ERROR_CONFLICT] = { "conflict", 3 },
	[ERROR_UNKNOWN] = { "unknown", 1 },
};

static enum error_code error_known(enum error_code code)
{
	return (unsigned)code <= ERROR_UNKNOWN ? code : ERROR_BUG;
}

int error_exit_status(enum error_code code)
{
	return error_classes[error_known(code)].exit_status;
}

const char *error_code_name(enum error_code code)
{
	return error_classes[error_known(code)].name;
}

bool error_may_pass(enum error_code code)
{
	return code == ERROR_TRANSIENT || code == ERROR_CONFLICT ||
	       code == ERROR_UNKNOWN;
}
