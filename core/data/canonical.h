/*
 * One spelling for values that have many, so that equal content hashes alike.
 * For numbers, 1.10, 01.1 and 11e-1 are one. For JSON, spaces, the order of
 * members, escapes and the spelling of numbers do not count, and the last of
 * repeated members wins. No value passes through a double. The result is for
 * hashing and comparing, not for people or servers.
 */
#ifndef TIDEMARK_CORE_DATA_CANONICAL_H
#define TIDEMARK_CORE_DATA_CANONICAL_H

#include "core/base/strbuf.h"

/* Append the canonical form of a decimal number: sign, digits without zeros at
 * either end, "e", exponent. Zero of either sign is "0". A text that is no
 * number ("NaN") is appended as it is. */
void canonical_number(struct strbuf *sb, const char *text, size_t n);

/* Append the canonical form of a JSON text. A text that is not JSON, or nested
 * deeper than 512, is appended as it is, behind a byte that no JSON begins
 * with. */
void canonical_json(struct strbuf *sb, const char *text, size_t n);

#endif
