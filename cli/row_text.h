/*
 * Rows as text for programs: one JSON object a line, or CSV (RFC 4180).
 *
 * JSON: booleans and floats are themselves. Whole numbers are numbers with all
 * their digits. Every other value is a string as value_print() writes it, so
 * decimals are exact, bytes are "\x6869", and NaN is "NaN". NULL is null.
 * CSV: the same texts. NULL is nothing, an empty text is "".
 */
#ifndef TIDEMARK_CLI_ROW_TEXT_H
#define TIDEMARK_CLI_ROW_TEXT_H

#include "core/base/strbuf.h"
#include "core/data/batch.h"

/* Append the row, and its line's end. */
void row_text_json(struct strbuf *out, const struct batch *b, size_t row);
void row_text_csv(struct strbuf *out, const struct batch *b, size_t row);
/* Append the line of names. */
void row_text_csv_names(struct strbuf *out, const struct schema *s);

#endif
