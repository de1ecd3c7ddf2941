/*
 * Contents of rows in the texts of servers: "Duplicate entry 'ann@x.org' for
 * key 'email'". They stay out of errors, and so out of logs, history and
 * notifications, unless `log.row_values` asks for them. Names of tables,
 * columns and constraints stay. Every client passes a server's text through
 * here if it may tell of a row.
 */
#ifndef TIDEMARK_CORE_BASE_ROW_VALUES_H
#define TIDEMARK_CORE_BASE_ROW_VALUES_H

#include <stdbool.h>

#include "core/base/error.h"
#include "core/base/strbuf.h"

void row_values_show(bool shown); /* default: false */
bool row_values_shown(void);

/* Do errors of this class tell of rows? DATA, UNKNOWN. */
bool row_values_told_by(enum error_code code);

/* How an engine writes. Lists end with NULL; NULL: none. */
struct row_value_words {
	/* These follow the quote that ends a value, which may hold quotes
	 * itself: " for key '". The last one counts. */
	const char *const *tails;
	/* Values follow these, to the end. */
	const char *const *cuts;
	/* Numbers without quotes are values, except numbers of rows, lines and
	 * types. */
	bool numbers;
	/* Names that come from no row: the statement that was sent, and more
	 * names. If either is set, a quoted text is shown only if it is one
	 * of these. With `strict` it is shown only behind a word such as
	 * "column". */
	const char *statement;
	const char *const *names;
	bool strict;
};

/* Is the text one of `names`, or does it stand in `statement`? "a.b": both
 * halves do. */
bool row_values_known(const struct row_value_words *words, const char *text,
		      size_t n);
/* Append `text` with "..." for its values, or all of it if values are shown. A
 * quoted text behind a word such as "column" is a name. True: something was
 * left out. `words` NULL: only quoted texts are values. */
bool row_values_add(struct strbuf *out, const char *text,
		    const struct row_value_words *words);
/* The text without its values, even if they are shown. An error is classed by
 * the server's words, and a row may hold the same words. Caller frees. */
char *row_values_frame(const char *text, const struct row_value_words *words);
/* Tell how to see what was left out. */
void row_values_note(struct strbuf *out);
/* A server's text as an error of this class may tell it, with the note. Caller
 * frees. */
char *row_values_text(enum error_code code, const char *text,
		      const struct row_value_words *words);
/* A value in an error of our own: `text`, or "...". */
const char *row_value(const char *text);

#endif
