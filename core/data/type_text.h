/*
 * The name of a type as another server writes it. It is taken apart and printed
 * again before it may stand in a statement. A text that could be read as more
 * than one type, such as one with a comment, a semicolon or an open quote, is
 * refused.
 */
#ifndef TIDEMARK_CORE_DATA_TYPE_TEXT_H
#define TIDEMARK_CORE_DATA_TYPE_TEXT_H

#include <stdbool.h>

struct type_text_rules {
	char quote; /* a quote inside is doubled or follows a backslash */
	bool backslash; /* it escapes in quotes */
	const char *marks; /* single characters besides ( ) and , */
	bool one_word; /* no second word but in parentheses */
};
extern const struct type_text_rules type_text_postgres, type_text_clickhouse;

/* The type printed again, for the caller to free; NULL: it is no type. */
char *type_text_print(const char *text, const struct type_text_rules *rules);

#endif
