#include "destinations/duckdb/internal.h"

/* 10^38 - 1 is the largest that a DECIMAL holds. */
#define DECIMAL_DIGITS_MAX 38

struct decimal_scan {
	duckdb_hugeint value; /* digits so far, without the point */
	unsigned digits; /* digits that count: from the first non-zero on */
	unsigned fraction; /* digits behind the point */
	bool point;
	bool any;
};

static bool decimal_digit(struct decimal_scan *s, unsigned digit,
			  unsigned scale)
{
	s->any = true;
	if (s->point && s->fraction == scale)
		return digit == 0; /* zeros past the scale say nothing */
	if (s->point)
		s->fraction++;
	if (s->digits || digit)
		s->digits++;
	if (s->digits > DECIMAL_DIGITS_MAX)
		return false;
	s->value = s->value * 10 + digit;
	return true;
}

bool duckdb_target_decimal_parse(const uint8_t *text, size_t n,
				 unsigned precision, unsigned scale,
				 duckdb_hugeint *out)
{
	struct decimal_scan s = { 0, 0, 0, false, false };
	bool negative = n && text[0] == '-';

	for (size_t i = negative; i < n; i++) {
		unsigned digit = (unsigned)text[i] - '0';

		if (text[i] == '.' && !s.point)
			s.point = true;
		else if (digit > 9 || !decimal_digit(&s, digit, scale))
			return false;
	}
	for (; s.fraction < scale; s.fraction++) {
		if (s.digits && ++s.digits > DECIMAL_DIGITS_MAX)
			return false;
		s.value *= 10;
	}
	*out = negative ? -s.value : s.value;
	return s.any && s.digits <= precision;
}

size_t duckdb_target_decimal_trim(const uint8_t *text, size_t n)
{
	size_t end = n;

	if (!memchr(text, '.', n))
		return n;
	while (text[end - 1] == '0')
		end--;
	return text[end - 1] == '.' ? end - 1 : end;
}
