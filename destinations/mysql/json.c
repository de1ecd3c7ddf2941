#include "destinations/mysql/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/row_values.h"
#include "core/data/value.h"

/* Any number of so few digits comes back from a double. */
#define SAFE_DIGITS 15
#define MOST_DIGITS 17
/* Where doubles have all their digits. */
#define SAFE_EXPONENT 290

/* 0.d1d2d3... * 10^exponent, without zeros at either end. */
struct json_number {
	char digits[MOST_DIGITS + 2]; /* the first of them */
	size_t n; /* all of them */
	long exponent;
};

static void number_add(struct json_number *x, char digit, size_t *zeros)
{
	if (digit == '0') {
		*zeros += x->n > 0;
		return;
	}
	for (; *zeros; --*zeros) {
		if (x->n < sizeof(x->digits))
			x->digits[x->n] = '0';
		x->n++;
	}
	if (x->n < sizeof(x->digits))
		x->digits[x->n] = digit;
	x->n++;
}

static void number_read(struct json_number *x, const char *text, size_t n)
{
	size_t zeros = 0, i = 0;
	bool point = false;

	memset(x, 0, sizeof(*x));
	for (; i < n && text[i] != 'e' && text[i] != 'E'; i++) {
		if (text[i] == '.')
			point = true;
		if (text[i] < '0' || text[i] > '9')
			continue;
		number_add(x, text[i], &zeros);
		if (!point && x->n)
			x->exponent++;
		else if (point && !x->n)
			x->exponent--;
	}
	if (i < n)
		x->exponent += strtol(text + i + 1, NULL, 10);
}

static bool number_is(const struct json_number *x, const char *text)
{
	struct json_number y;

	number_read(&y, text, strlen(text));
	return x->n == y.n && x->exponent == y.exponent &&
	       x->n <= sizeof(x->digits) && !memcmp(x->digits, y.digits, x->n);
}

/* Is `number` the shortest text of its double? There may be two, where a power
 * of two has a nearer neighbour below. */
static bool number_comes_back(const struct json_number *x, const char *number)
{
	double value = strtod(number, NULL);
	struct strbuf printed = STRBUF_INIT;
	char text[40] = "";
	bool same;

	if (!isfinite(value))
		return false;
	for (int n = 1; n <= MOST_DIGITS; n++) {
		snprintf(text, sizeof(text), "%.*e", n - 1, value);
		if (strtod(text, NULL) == value)
			break;
	}
	value_print_float64(&printed, value);
	same = number_is(x, text) || number_is(x, printed.data);
	strbuf_release(&printed);
	return same;
}

static bool number_is_whole(const char *text, size_t n)
{
	return !memchr(text, '.', n) && !memchr(text, 'e', n) &&
	       !memchr(text, 'E', n);
}

/* In 64 bits, with or without a sign. */
static bool number_is_integer(const char *text, size_t n)
{
	static const char least[] = "-9223372036854775808",
			  most[] = "18446744073709551615";
	const char *limit = *text == '-' ? least : most;
	size_t digits = strlen(limit);

	return n < digits || (n == digits && memcmp(text, limit, n) <= 0);
}

static bool number_survives(const char *text, size_t n)
{
	struct json_number x;
	char *copy;
	bool same;

	if (number_is_whole(text, n) && number_is_integer(text, n))
		return true;
	number_read(&x, text, n);
	if (x.n <= SAFE_DIGITS && labs(x.exponent) < SAFE_EXPONENT)
		return true;
	copy = xstrndup(text, n);
	same = number_comes_back(&x, copy);
	free(copy);
	return same;
}

static bool number_goes_on(char c)
{
	return c && strchr("0123456789.eE+-", c);
}

static size_t string_length(const char *text, size_t n)
{
	size_t i = 1;

	while (i < n && text[i] != '"')
		i += text[i] == '\\' ? 2 : 1;
	return i < n ? i + 1 : n;
}

static int json_refuse(const char *number, size_t length, struct error *err)
{
	char *text = xstrndup(number, length < 60 ? length : 60);
	int rc = error_set(err, ERROR_DATA,
			   "JSON with the number %s, which MySQL's JSON would "
			   "round (read the column as text: "
			   "source.expressions)",
			   row_value(text));

	free(text);
	return rc;
}

int mysql_target_json_check(const char *text, size_t n, struct error *err)
{
	for (size_t i = 0; i < n;) {
		size_t length = 1;

		if (text[i] == '"') {
			length = string_length(text + i, n - i);
		} else if (text[i] == '-' ||
			   (text[i] >= '0' && text[i] <= '9')) {
			while (i + length < n &&
			       number_goes_on(text[i + length]))
				length++;
			if (!number_survives(text + i, length))
				return json_refuse(text + i, length, err);
		}
		i += length;
	}
	return 0;
}
