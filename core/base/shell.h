/*
 * Words for a shell, so that people can paste advice from a message, whatever a
 * name or a value holds.
 */
#ifndef TIDEMARK_CORE_BASE_SHELL_H
#define TIDEMARK_CORE_BASE_SHELL_H

#include "core/base/strbuf.h"

/* Append `word` as a POSIX shell takes it: as it is, or in single quotes. */
void shell_add_word(struct strbuf *sb, const char *word);

#endif
