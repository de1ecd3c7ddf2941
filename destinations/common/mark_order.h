/*
 * The order of marks that a destination keeps as text: '9' stands behind '10'
 * there, and an instant has many notations. SQL that compares such texts as
 * the numbers they are, digit by digit: no value passes through a double, and
 * none is too long.
 */
#ifndef TIDEMARK_DESTINATIONS_COMMON_MARK_ORDER_H
#define TIDEMARK_DESTINATIONS_COMMON_MARK_ORDER_H

#include <stdbool.h>

#include "core/base/strbuf.h"
#include "core/data/type.h"

enum mark_order {
	MARK_ORDER_PLAIN, /* the column's own order is that of the marks */
	MARK_ORDER_NUMBER,
	MARK_ORDER_TIME
};
/* How marks of this kind are compared. `text`: the column is one. */
enum mark_order mark_order_of(enum type_kind kind, bool text);

/* How an engine calls what is needed, around its arguments. */
struct mark_order_sql {
	/* Does a text match a regular expression? "f(", ", ", ")" */
	const char *match[3];
	/* All that matches taken out of a text: the same. */
	const char *strip[3];
	const char *text; /* the type for CAST */
};
/* Append a condition: is number `a` as large as `b`, or larger? Both are SQL of
 * a text: "9", "-0.50", "NaN" (the largest), "Infinity". NULL where one of them
 * is no number. */
void mark_order_not_less(struct strbuf *sql, const struct mark_order_sql *d,
			 const char *a, const char *b);

#endif
