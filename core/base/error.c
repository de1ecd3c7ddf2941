#include "core/base/error.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/secret.h"
#include "core/base/strbuf.h"
#include "core/base/utf8.h"

#define ERROR_CUT "..."

/* Take every ERROR_FIX out. Returns where the first one was, 0 if there is
 * none. */
static size_t error_unmark(char *text)
{
	char *first = strchr(text, *ERROR_FIX);
	char *out = first;

	if (!first)
		return 0;
	for (const char *in = first; *in; in++)
		if (*in != *ERROR_FIX)
			*out++ = *in;
	*out = '\0';
	return (size_t)(first - text);
}

/* The message with its mark again, to be stored anew. */
static void error_add_marked(struct strbuf *sb, const struct error *err)
{
	strbuf_add(sb, err->message, err->fix);
	if (err->fix)
		strbuf_addstr(sb, ERROR_FIX);
	strbuf_addstr(sb, err->message + err->fix);
}

/* The text is scrubbed whole before it is cut: nobody would recognise half a
 * secret. */
static void error_store(struct error *err, char *text)
{
	size_t room = sizeof(err->message) - 1;
	size_t n, fix;

	secret_scrub(text);
	utf8_repair(text);
	fix = error_unmark(text);
	n = strlen(text);
	err->fix = fix < n && fix < room ? (unsigned short)fix : 0;
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
	/* A server's or a row's text may have it. */
	if (!strchr(fmt, *ERROR_FIX))
		error_unmark(text.data);
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

void error_prefix(struct error *err, const char *fmt, ...)
{
	struct strbuf text = STRBUF_INIT;
	va_list ap;

	if (!err || !err->code)
		return;
	va_start(ap, fmt);
	strbuf_vaddf(&text, fmt, ap);
	va_end(ap);
	error_unmark(text.data);
	strbuf_addstr(&text, ": ");
	error_add_marked(&text, err);
	error_store(err, text.data);
	strbuf_release(&text);
}

/* The separator between a message, which may be a server's own, and a hint. */
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
	const char *joint;
	va_list ap;

	if (!err || !err->code)
		return 0;
	va_start(ap, fmt);
	strbuf_vaddf(&hint, fmt, ap);
	va_end(ap);
	error_add_marked(&text, err);
	while (text.len && isspace((unsigned char)text.data[text.len - 1]))
		text.data[--text.len] = '\0';
	joint = error_joint(text.data, hint.data);
	if (!err->fix && text.len)
		strbuf_addstr(&text, ERROR_FIX);
	strbuf_addstr(&text, joint);
	strbuf_addstr(&text, hint.data);
	error_store(err, text.data);
	strbuf_release(&text);
	strbuf_release(&hint);
	return -(int)err->code;
}

/* The separator belongs neither to the message nor to the fix. */
char *error_what(const struct error *err)
{
	size_t n = err->fix ? err->fix : strlen(err->message);

	while (err->fix && n && strchr(" :;,", err->message[n - 1]))
		n--;
	return xstrndup(err->message, n);
}

char *error_fix(const struct error *err)
{
	const char *from = err->message + err->fix;
	size_t n;

	if (!err->fix)
		return xstrdup("");
	from += strspn(from, " .:;,");
	n = strlen(from);
	if (n > 1 && *from == '(' && from[n - 1] == ')')
		return xstrndup(from + 1, n - 2);
	return xstrndup(from, n);
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
	err->fix = 0;
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
