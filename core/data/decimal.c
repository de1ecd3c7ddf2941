#include "core/data/decimal.h"

#include <string.h>

static size_t decimal_digits(const char *text, size_t n)
{
	size_t i = 0;

	while (i < n && text[i] >= '0' && text[i] <= '9')
		i++;
	return i;
}

bool decimal_parse(struct decimal *out, const char *text, size_t n)
{
	bool negative = n && *text == '-';
	size_t skip = n && (*text == '-' || *text == '+');
	size_t whole, fraction = 0;

	text += skip;
	n -= skip;
	memset(out, 0, sizeof(*out));
	out->sign = negative ? -1 : 1;
	out->infinite = n == 8 && !memcmp(text, "Infinity", 8);
	if (out->infinite)
		return true;
	whole = decimal_digits(text, n);
	if (whole < n && text[whole] == '.')
		fraction = decimal_digits(text + whole + 1, n - whole - 1);
	if (whole + fraction == 0 || whole + (whole < n) + fraction != n)
		return false;
	out->whole = text;
	out->n_whole = whole;
	while (out->n_whole && *out->whole == '0') {
		out->whole++;
		out->n_whole--;
	}
	out->fraction = text + whole + 1;
	out->n_fraction = fraction;
	while (out->n_fraction && out->fraction[out->n_fraction - 1] == '0')
		out->n_fraction--;
	if (!out->n_whole && !out->n_fraction)
		out->sign = 0;
	return true;
}

static int decimal_order(size_t a, size_t b)
{
	return a < b ? -1 : a > b;
}

/* Compare two numbers of the same sign by their size alone. */
static int decimal_compare_size(const struct decimal *a,
				const struct decimal *b)
{
	size_t shared =
		a->n_fraction < b->n_fraction ? a->n_fraction : b->n_fraction;
	int order = decimal_order(a->infinite, b->infinite);

	if (!order)
		order = decimal_order(a->n_whole, b->n_whole);
	if (!order && a->n_whole)
		order = memcmp(a->whole, b->whole, a->n_whole);
	if (!order && shared)
		order = memcmp(a->fraction, b->fraction, shared);
	return order ? order : decimal_order(a->n_fraction, b->n_fraction);
}

int decimal_compare(const struct decimal *a, const struct decimal *b)
{
	if (a->sign != b->sign)
		return a->sign < b->sign ? -1 : 1;
	return a->sign < 0 ? decimal_compare_size(b, a)
			   : decimal_compare_size(a, b);
}

void decimal_print(struct strbuf *sb, const char *text, size_t n)
{
	struct decimal d;

	if (!decimal_parse(&d, text, n) || d.infinite) {
		strbuf_add(sb, text, n);
		return;
	}
	strbuf_addstr(sb, d.sign < 0 ? "-" : "");
	if (d.n_whole)
		strbuf_add(sb, d.whole, d.n_whole);
	else
		strbuf_addch(sb, '0');
	if (!d.n_fraction)
		return;
	strbuf_addch(sb, '.');
	strbuf_add(sb, d.fraction, d.n_fraction);
}
