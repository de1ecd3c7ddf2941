/*
 * Decimal numbers as text, compared as they are: no value passes through a
 * double.
 */
#ifndef TIDEMARK_CORE_DATA_DECIMAL_H
#define TIDEMARK_CORE_DATA_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/strbuf.h"

/* Parts of a text that must outlive it. */
struct decimal {
	int sign; /* -1, 0, 1 */
	bool infinite;
	const char *whole, *fraction; /* without the zeros that do not count */
	size_t n_whole, n_fraction;
};

/* "[+-]digits[.digits]", "Infinity", "-Infinity"; false on anything else,
 * "NaN" included. */
bool decimal_parse(struct decimal *out, const char *text, size_t n);
/* Negative, 0 or positive as a is less than, equal to or more than b. */
int decimal_compare(const struct decimal *a, const struct decimal *b);
/* Append the text that all spellings of a number share, without an exponent:
 * "1.50" and "+01.5" are "1.5", "-0.0" is "0". Any other text stays as it is.
 * Where a key holds a number as text, it has to be written so: 1.0 and 1.00 are
 * one row. */
void decimal_print(struct strbuf *sb, const char *text, size_t n);

#endif
