#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/data/value.h"

/* A decimal number 0.d1d2d3... * 10^(exponent + 1). */
struct float_digits {
	char digits[20];
	int n;
	int exponent; /* of the first digit */
};

/* Take "d.ddde+xx" apart; the decimal point may be any character, so the
 * process's locale does not matter. */
static void float_take_apart(struct float_digits *out, const char *text)
{
	const char *p = text;

	out->n = 0;
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

/* `fixed_below`: the first power of ten that PostgreSQL writes with an
 * exponent: 15 for float8, 6 for float4. */
static void float_put(struct strbuf *sb, const char *shortest, bool negative,
		      int fixed_below)
{
	struct float_digits f;

	if (negative)
		strbuf_addch(sb, '-');
	float_take_apart(&f, shortest);
	if (f.exponent >= -4 && f.exponent < fixed_below)
		float_put_fixed(sb, &f);
	else
		float_put_exponent(sb, &f);
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

/* Every decimal of up to 15 (6) digits survives the way through a normal
 * double (float), so the search starts there; subnormals hold fewer. */
void value_print_float64(struct strbuf *sb, double x)
{
	char text[40];
	double positive = fabs(x);

	if (float_put_special(sb, x))
		return;
	for (int digits = isnormal(x) ? 15 : 1; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*e", digits - 1, positive);
		if (digits == 17 || strtod(text, NULL) == positive)
			break;
	}
	float_put(sb, text, signbit(x), 15);
}

void value_print_float32(struct strbuf *sb, float x)
{
	char text[40];
	float positive = fabsf(x);

	if (float_put_special(sb, (double)x))
		return;
	for (int digits = isnormal(x) ? 6 : 1; digits <= 9; digits++) {
		snprintf(text, sizeof(text), "%.*e", digits - 1,
			 (double)positive);
		if (digits == 9 || strtof(text, NULL) == positive)
			break;
	}
	float_put(sb, text, signbit(x), 6);
}
