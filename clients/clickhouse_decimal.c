#include "clients/clickhouse_decimal.h"

#include <string.h>

#define LIMBS	   4
#define LIMB_BYTES 8
/* Room for 256 bits in decimal, a point, zeros before it and a sign. */
#define TEXT_DIGITS 80
#define SCALE_MOST  76

__extension__ typedef unsigned __int128 decimal_wide;

struct decimal_bits {
	uint64_t limb[LIMBS]; /* the lowest first */
};

static void decimal_add_digit(struct decimal_bits *b, unsigned digit)
{
	decimal_wide carry = digit;

	for (int i = 0; i < LIMBS; i++) {
		carry += (decimal_wide)b->limb[i] * 10;
		b->limb[i] = (uint64_t)carry;
		carry >>= 64;
	}
}

/* Divide by ten; returns what is left. */
static unsigned decimal_take_digit(struct decimal_bits *b)
{
	decimal_wide rest = 0;

	for (int i = LIMBS - 1; i >= 0; i--) {
		rest = rest << 64 | b->limb[i];
		b->limb[i] = (uint64_t)(rest / 10);
		rest %= 10;
	}
	return (unsigned)rest;
}

static void decimal_negate(struct decimal_bits *b)
{
	decimal_wide carry = 1;

	for (int i = 0; i < LIMBS; i++) {
		carry += (uint64_t)~b->limb[i];
		b->limb[i] = (uint64_t)carry;
		carry >>= 64;
	}
}

static bool decimal_is_zero(const struct decimal_bits *b)
{
	return !(b->limb[0] | b->limb[1] | b->limb[2] | b->limb[3]);
}

static void decimal_store(const struct decimal_bits *b, size_t width,
			  uint8_t *out)
{
	for (size_t i = 0; i < width; i++)
		out[i] = (uint8_t)(b->limb[i / LIMB_BYTES] >>
				   (i % LIMB_BYTES * 8));
}

static void decimal_load(struct decimal_bits *b, const uint8_t *in,
			 size_t width, bool below)
{
	memset(b, below ? 0xff : 0, sizeof(*b));
	for (size_t i = 0; i < width; i++) {
		unsigned shift = i % LIMB_BYTES * 8;
		uint64_t *limb = &b->limb[i / LIMB_BYTES];

		*limb &= ~((uint64_t)0xff << shift);
		*limb |= (uint64_t)in[i] << shift;
	}
}

size_t clickhouse_decimal_width(int precision)
{
	if (precision <= 9)
		return 4;
	if (precision <= 18)
		return 8;
	return precision <= 38 ? 16 : 32;
}

/* The digits before the point, then `scale` of those behind it. */
static bool decimal_collect(struct decimal_bits *b, const char *text, size_t n,
			    int precision, int scale)
{
	int before = 0, behind = -1;
	bool any = false;

	for (size_t i = 0; i < n; i++) {
		char c = text[i];

		if (c == '.' && behind < 0) {
			behind = 0;
			continue;
		}
		if (c < '0' || c > '9')
			return false;
		any = true;
		if (behind == scale && c == '0')
			continue;
		if (behind == scale)
			return false;
		behind += behind >= 0;
		before += behind < 0 && (before || c != '0');
		if (before > precision - scale)
			return false;
		decimal_add_digit(b, (unsigned)(c - '0'));
	}
	for (behind = behind < 0 ? 0 : behind; behind < scale; behind++)
		decimal_add_digit(b, 0);
	return any;
}

bool clickhouse_decimal_encode(const char *text, size_t n, int precision,
			       int scale, uint8_t *out)
{
	struct decimal_bits b = { { 0, 0, 0, 0 } };
	bool below = n && *text == '-';

	if (!decimal_collect(&b, text + below, n - below, precision, scale))
		return false;
	if (below)
		decimal_negate(&b);
	decimal_store(&b, clickhouse_decimal_width(precision), out);
	return true;
}

void clickhouse_decimal_print(struct strbuf *sb, const uint8_t *in,
			      size_t width, bool with_sign, int scale)
{
	bool below = with_sign && in[width - 1] & 0x80;
	char text[TEXT_DIGITS + 4], *end = text + sizeof(text), *p = end;
	struct decimal_bits b;

	decimal_load(&b, in, width, below);
	if (below)
		decimal_negate(&b);
	scale = scale < SCALE_MOST ? scale : SCALE_MOST;
	for (int i = 0; i <= scale || !decimal_is_zero(&b); i++) {
		if (scale && i == scale)
			*--p = '.';
		*--p = (char)('0' + decimal_take_digit(&b));
	}
	if (below)
		*--p = '-';
	strbuf_add(sb, p, (size_t)(end - p));
}
