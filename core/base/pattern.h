/*
 * The only file pair that knows pcre2.h: regular expressions over UTF-8, in
 * Perl's notation. A pattern may match anywhere in the text unless it says ^ or
 * $. $ is the very end, not before a last newline. Bytes that are no UTF-8
 * match nothing.
 */
#ifndef TIDEMARK_CORE_BASE_PATTERN_H
#define TIDEMARK_CORE_BASE_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/error.h"

struct pattern;

/* CONFIG saying what is wrong, and from which character on. */
int pattern_new(struct pattern **out, const char *text, struct error *err);
void pattern_free(struct pattern *p); /* NULL is fine */

/* 0, and whether it matches. DATA if the pattern needs more steps or memory
 * for this text than the limits allow. A pattern is used by one thread at a
 * time. */
int pattern_match(struct pattern *p, const char *text, size_t n, bool *matches,
		  struct error *err);

#endif
