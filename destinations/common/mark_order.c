#include "destinations/common/mark_order.h"

#define NUMBER	 "'^[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)$'"
#define NEGATIVE "'^-([0-9]*[1-9][0-9]*[.]?[0-9]*|[0-9]*[.][0-9]*[1-9][0-9]*)$'"
/* Patterns for text outside of the whole digits, and outside of the fraction's:
 * signs, and zeros that do not count. Neither matches the empty text, because
 * MariaDB 10.11 stops there. */
#define NOT_WHOLE    "'^[-+]?0+|^[-+]|[.].*$'"
#define NOT_FRACTION "'^[^.]+$|^[^.]*[.]|0+$'"
/* More than there are digits in any number: so many have one length. */
#define SIZE_BASE "1000000000"
/* Larger than any size. */
#define INFINITE "'8'"
#define NAN_SIZE "'9'"

enum mark_order mark_order_of(enum type_kind kind, bool text)
{
	switch (text ? kind : TYPE_NATIVE) {
	case TYPE_INT16:
	case TYPE_INT32:
	case TYPE_INT64:
	case TYPE_UINT64:
	case TYPE_DECIMAL:
		return MARK_ORDER_NUMBER;
	case TYPE_DATE:
	case TYPE_TIMESTAMP:
	case TYPE_TIMESTAMPTZ:
		return MARK_ORDER_TIME;
	default:
		return MARK_ORDER_PLAIN;
	}
}

static void order_call(struct strbuf *sql, const char *const call[3],
		       const char *value, const char *pattern)
{
	strbuf_addf(sql, "%s%s%s%s%s", call[0], value, call[1], pattern,
		    call[2]);
}

/* A text that sorts as the number does without its sign: how many whole digits,
 * these, and the fraction. */
static void order_size(struct strbuf *sql, const struct mark_order_sql *d,
		       const char *value)
{
	strbuf_addstr(sql, "CONCAT(CAST(" SIZE_BASE " + LENGTH(");
	order_call(sql, d->strip, value, NOT_WHOLE);
	strbuf_addf(sql, ") AS %s), ", d->text);
	order_call(sql, d->strip, value, NOT_WHOLE);
	strbuf_addstr(sql, ", '.', ");
	order_call(sql, d->strip, value, NOT_FRACTION);
	strbuf_addch(sql, ')');
}

/* The size of a number that is not below zero; '' is below each of these. */
static void order_above(struct strbuf *sql, const struct mark_order_sql *d,
			const char *value)
{
	strbuf_addf(sql,
		    "CASE WHEN %s = 'NaN' THEN " NAN_SIZE
		    " WHEN %s = 'Infinity' THEN " INFINITE
		    " WHEN %s = '-Infinity' OR ",
		    value, value, value);
	order_call(sql, d->match, value, NEGATIVE);
	strbuf_addstr(sql, " THEN '' WHEN ");
	order_call(sql, d->match, value, NUMBER);
	strbuf_addstr(sql, " THEN ");
	order_size(sql, d, value);
	strbuf_addstr(sql, " END");
}

/* The same of one that is below. */
static void order_below(struct strbuf *sql, const struct mark_order_sql *d,
			const char *value)
{
	strbuf_addf(sql, "CASE WHEN %s = '-Infinity' THEN " INFINITE " WHEN ",
		    value);
	order_call(sql, d->match, value, NEGATIVE);
	strbuf_addstr(sql, " THEN ");
	order_size(sql, d, value);
	strbuf_addf(sql, " WHEN %s IN ('NaN', 'Infinity') OR ", value);
	order_call(sql, d->match, value, NUMBER);
	strbuf_addstr(sql, " THEN '' END");
}

void mark_order_not_less(struct strbuf *sql, const struct mark_order_sql *d,
			 const char *a, const char *b)
{
	strbuf_addch(sql, '(');
	order_above(sql, d, a);
	strbuf_addstr(sql, " >= ");
	order_above(sql, d, b);
	strbuf_addstr(sql, "\n    AND ");
	order_below(sql, d, a);
	strbuf_addstr(sql, " <= ");
	order_below(sql, d, b);
	strbuf_addch(sql, ')');
}
