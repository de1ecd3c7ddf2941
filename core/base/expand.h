/*
 * ${VAR}, ${VAR:-text} and ${file:PATH} inside the values of a config file.
 * ":-text" replaces a variable that is not set or empty. A file loses its last
 * line break, and its content is a secret (secret_add()). "$${" gives a literal
 * "${", and a "$" before anything else is just a "$". An inserted text is not
 * expanded again.
 *
 * A text that is inserted into the user:password@ part of a URL is
 * percent-encoded where it would otherwise end that part. Behind the colon it
 * is a secret.
 */
#ifndef TIDEMARK_CORE_BASE_EXPAND_H
#define TIDEMARK_CORE_BASE_EXPAND_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/error.h"
#include "core/base/strbuf.h"

/* Append `raw` expanded. CONFIG error on a variable that is not set, a file
 * that cannot be read, or a reference that is not closed. */
int expand_text(struct strbuf *out, const char *raw, struct error *err);
/* Append `text` so that expand_text() gives it back: each "${" is "$${". */
void expand_escape(struct strbuf *out, const char *text);

/* Append the content of a file of at most `limit` bytes. CONFIG error naming
 * the path. */
int file_read(struct strbuf *out, const char *path, size_t limit,
	      struct error *err);

#endif
