#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/data/value.h"

/* The differences between float4 and float8. */
struct float_format {
	bool single;
	/* A decimal of so many digits survives the way through a normal number,
	 * so the search starts there. Subnormals hold fewer. */
	int safe_digits;
	int most_digits; /* with so many any number reads back */
	/* The first power of ten that PostgreSQL writes with an exponent. */
	int fixed_below;
	/* Only numbers in this range can have a decimal of most_digits that
	 * lies exactly half way to a neighbour. */
	double ties_from, ties_below;
};

static const struct float_format float_single = { true, 6, 9, 6, 4e6, 1e20 };
static const struct float_format float_double = {
	false, 15, 17, 15, 4e15, 1e40
};

/* A decimal number d1.d2d3... * 10^exponent. */
struct float_digits {
	char digits[48];
	int n;
	int exponent; /* the first digit's */
};

/* Take "d.ddde+xx" apart; the decimal point may be any character, so the
 * process's locale does not matter. */
static void float_take_apart(struct float_digits *out, const char *text)
{
	const char *p = text;

	*out = (struct float_digits){ .n = 0 };
	for (; *p && *p != 'e'; p++) {
		if (*p >= '0' && *p <= '9')
			out->digits[out->n++] = *p;
	}
	out->exponent = *p ? (int)strtol(p + 1, NULL, 10) : 0;
	while (out->n > 1 && out->digits[out->n - 1] == '0')
		out->n--;
}

static void float_put_fixed(struct strbuf *sb, const struct float_digits *f)
{
	int whole = f->exponent + 1;

	if (whole <= 0) {
		strbuf_add(sb, "0.0000", (size_t)(2 - whole));
		strbuf_add(sb, f->digits, (size_t)f->n);
		return;
	}
	for (int i = 0; i < whole; i++)
		strbuf_addch(sb, i < f->n ? f->digits[i] : '0');
	if (f->n > whole) {
		strbuf_addch(sb, '.');
		strbuf_add(sb, f->digits + whole, (size_t)(f->n - whole));
	}
}

static void float_put_exponent(struct strbuf *sb, const struct float_digits *f)
{
	strbuf_addch(sb, f->digits[0]);
	if (f->n > 1) {
		strbuf_addch(sb, '.');
		strbuf_add(sb, f->digits + 1, (size_t)(f->n - 1));
	}
	strbuf_addf(sb, "e%c%02d", f->exponent < 0 ? '-' : '+',
		    abs(f->exponent));
}

static bool float_put_special(struct strbuf *sb, double x)
{
	if (isnan(x))
		strbuf_addstr(sb, "NaN");
	else if (isinf(x))
		strbuf_addstr(sb, x > 0 ? "Infinity" : "-Infinity");
	else if (x == 0)
		strbuf_addstr(sb, signbit(x) ? "-0" : "0");
	else
		return false;
	return true;
}

/* Is the decimal exactly half way between `x` and `neighbour`? A long double
 * holds that point exactly, and 46 digits print it exactly. */
static bool float_is_tie(const struct float_digits *f, double x,
			 double neighbour)
{
	long double middle = ((long double)x + (long double)neighbour) / 2;
	struct float_digits tie;
	char text[80];

	snprintf(text, sizeof(text), "%.45Le", middle);
	float_take_apart(&tie, text);
	return tie.n == f->n && tie.exponent == f->exponent &&
	       !memcmp(tie.digits, f->digits, (size_t)f->n);
}

/* Does `text` stand for `x` and nothing else? Like PostgreSQL, a decimal that
 * only rounding to even would bring back does not count. */
static bool float_reads_back(const char *text, const struct float_digits *f,
			     double x, const struct float_format *format)
{
	double below, above;

	if (format->single) {
		if ((double)strtof(text, NULL) != x)
			return false;
		below = (double)nextafterf((float)x, 0);
		above = (double)nextafterf((float)x, INFINITY);
	} else {
		if (strtod(text, NULL) != x)
			return false;
		below = nextafter(x, 0);
		above = nextafter(x, INFINITY);
	}
	if (x < format->ties_from || x >= format->ties_below)
		return true;
	return !float_is_tie(f, x, below) && !float_is_tie(f, x, above);
}

/* Below a power of two the neighbour is half as far away as above it. So the
 * nearest decimal may miss, while the next larger one still reads back. A text
 * that ends in 9 would grow shorter, and the shorter one was tried already. */
static bool float_round_up(char *text, struct float_digits *f, double x,
			   const struct float_format *format)
{
	char *last = strchr(text, 'e') - 1;
	int exponent;

	if (frexp(x, &exponent) > 0.5 || *last == '9')
		return false;
	++*last;
	float_take_apart(f, text);
	return float_reads_back(text, f, x, format);
}

static void float_print(struct strbuf *sb, double x, bool normal,
			const struct float_format *format)
{
	double positive = fabs(x);
	int n = normal ? format->safe_digits : 1;
	struct float_digits f;
	char text[40];

	for (;; n++) {
		snprintf(text, sizeof(text), "%.*e", n - 1, positive);
		float_take_apart(&f, text);
		if (n == format->most_digits ||
		    float_reads_back(text, &f, positive, format) ||
		    float_round_up(text, &f, positive, format))
			break;
	}
	if (signbit(x))
		strbuf_addch(sb, '-');
	if (f.exponent >= -4 && f.exponent < format->fixed_below)
		float_put_fixed(sb, &f);
	else
		float_put_exponent(sb, &f);
}

void value_print_float64(struct strbuf *sb, double x)
{
	if (!float_put_special(sb, x))
		float_print(sb, x, isnormal(x), &float_double);
}

void value_print_float32(struct strbuf *sb, float x)
{
	if (!float_put_special(sb, (double)x))
		float_print(sb, (double)x, isnormal(x), &float_single);
}
