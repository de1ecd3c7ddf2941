/*
 * The one error object: what happened, where, why, what to do next.
 *
 * Every fallible function returns 0 or a negative `enum error_code` and takes
 * a caller-owned `struct error *` as its last argument. The error is set once
 * at the leaf with everything needed, prefixed on the way up, and logged once
 * at the top. It never holds a secret: text goes through secret_scrub().
 */
#ifndef TIDEMARK_CORE_BASE_ERROR_H
#define TIDEMARK_CORE_BASE_ERROR_H

#include <stdarg.h>
#include <stdbool.h>

/* Codes say what to do next; functions return them negated. */
enum error_code {
	ERROR_NONE = 0,
	ERROR_CONFIG, /* usage or configuration; exit 2 */
	ERROR_ACCESS, /* unreachable, denied, out of room; exit 3 */
	ERROR_TRANSIENT, /* worth another try (retried, then exit 3) */
	ERROR_SCHEMA, /* the tables disagree; exit 4 */
	ERROR_DATA, /* data refused; exit 5 */
	ERROR_STATE, /* lease held or lost, mark moved by another; exit 6 */
	ERROR_DIFFERENT, /* verify found differences; exit 7 */
	ERROR_STOPPED, /* stopped by a signal; exit 8 */
	ERROR_BUG, /* internal; exit 1 */
	/* Lost against another transaction and rolled back. The session is
	 * fine: the same batch is tried again (then exit 3). */
	ERROR_CONFLICT,
	/* The other side's code is in no table: retried less; exit 1. */
	ERROR_UNKNOWN,
};
#define ERROR_CODES ((size_t)ERROR_UNKNOWN + 1)

struct error {
	enum error_code code;
	char server_code[16]; /* SQLSTATE, errno or status as text, or "" */
	char message[1998]; /* UTF-8, always terminated */
	unsigned short fix; /* where in it begins what to do; 0: not said */
};

/*
 * In a format, this stands before the advice and the text that leads to it: "%s
 * has no key" ERROR_FIX ": name one". It is no part of the message.
 */
#define ERROR_FIX "\x1f"

#define ERROR_INIT                                                             \
	{                                                                      \
		ERROR_NONE, "", "", 0                                          \
	}

/* Set code and formatted message; returns -code, so `return error_set(...)`.
 * A message that is too long is cut and ends in "...". First error wins: an
 * error that is already set is kept (and its code returned). `err` may be
 * NULL. */
int error_set(struct error *err, enum error_code code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int error_vset(struct error *err, enum error_code code, const char *fmt,
	       va_list ap) __attribute__((format(printf, 3, 0)));

/* Put "formatted: " before the message. No-op when nothing is set, or `err` is
 * NULL. It returns no code: the caller returns the one that it has, which
 * counts where nobody asks for the error, too. */
void error_prefix(struct error *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Append advice, as if behind ERROR_FIX. Whatever the message ends with, the
 * advice is joined well: ". Formatted", "; formatted", " (formatted)". */
int error_hint(struct error *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The message in two parts: the fault, and the advice, "" if there is none.
 * Caller frees. */
char *error_what(const struct error *err);
char *error_fix(const struct error *err);

void error_clear(struct error *err);
/* Did the server give this code: SQLSTATE, errno or status as text? */
bool error_has_code(const struct error *err, const char *code);

/* Process exit status of product.md for a code. */
int error_exit_status(enum error_code code);

/* Is another try worth it? TRANSIENT, CONFLICT, UNKNOWN. */
bool error_may_pass(enum error_code code);

/* Stable lower-case name: "config", "access", "transient", ... */
const char *error_code_name(enum error_code code);

#endif
