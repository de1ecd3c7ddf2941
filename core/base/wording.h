/*
 * A server's own wording of an error, as a pattern: letters as the server has
 * them, and marks where it puts names and values. A function or trigger may
 * give any text the number of a server's error. So a text that follows no
 * pattern does not come from the server and is not shown at all.
 */
#ifndef TIDEMARK_CORE_BASE_WORDING_H
#define TIDEMARK_CORE_BASE_WORDING_H

#include "core/base/row_values.h"

/*
 * Marks of a pattern; two of them never touch.
 *   %  names, separated by ", ", " or " or ".": shown if `words` knows them
 *   &  a name that the server gives, if `given` and it looks like a name;
 *      otherwise as %
 *   ~  a piece of the statement: shown if the statement holds it
 *   #  a count or the position of a row: shown if it is short
 *   *  a value: never shown
 */
struct wording_words {
	struct row_value_words known; /* `statement` and `names` count */
	bool given;
};

/* If `text` follows one of the patterns, append it with "..." for the hidden
 * parts. The first pattern counts; the list ends with NULL. Returns whether it
 * does; `*left_out`: whether something was left out. */
bool wording_add(struct strbuf *out, const char *text,
		 const char *const *patterns, const struct wording_words *words,
		 bool *left_out);

#endif
