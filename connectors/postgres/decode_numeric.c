#include <string.h>

#include "connectors/postgres/decode.h"

/*
 * numeric_send(): four 16-bit words (number of digits, weight of the first
 * one, sign, digits shown behind the point), then digits to the base 10000.
 * The number of digits has no sign: the largest numeric, of 131072 decimal
 * digits before the point and 16383 behind it, has 36864 of them.
 */
#define NUMERIC_HEADER	 8
#define NUMERIC_NEGATIVE 0x4000
#define NUMERIC_NAN	 0xC000
#define NUMERIC_PLUS	 0xD000 /* infinity, from 14 */
#define NUMERIC_MINUS	 0xF000
#define NUMERIC_SCALE	 0x3FFF

struct numeric {
	const uint8_t *digits;
	int n;
	int weight; /* the first digit's, in powers of 10000 */
	unsigned sign;
	int scale;
};

static int numeric_word(const uint8_t *p)
{
	return (int16_t)(uint16_t)(p[0] << 8 | p[1]);
}

/* The digit of weight `weight`; those that are not sent are zero. */
static int numeric_digit(const struct numeric *x, int weight)
{
	int at = x->weight - weight;

	return at >= 0 && at < x->n ? numeric_word(x->digits + 2 * at) : 0;
}

static int numeric_read(struct numeric *x, const uint8_t *bytes, size_t n,
			struct error *err)
{
	int scale;

	if (n < NUMERIC_HEADER)
		return error_set(err, ERROR_DATA, "a numeric of %zu bytes", n);
	x->n = numeric_word(bytes) & 0xffff;
	x->weight = numeric_word(bytes + 2);
	x->sign = (unsigned)numeric_word(bytes + 4) & 0xffff;
	scale = numeric_word(bytes + 6);
	x->digits = bytes + NUMERIC_HEADER;
	if (n != NUMERIC_HEADER + 2 * (size_t)x->n || scale < 0 ||
	    scale > NUMERIC_SCALE)
		return error_set(err, ERROR_DATA, "a damaged numeric");
	x->scale = scale;
	for (int i = 0; i < x->n; i++) {
		int digit = numeric_word(x->digits + 2 * i);
		if (digit < 0 || digit > 9999)
			return error_set(err, ERROR_DATA, "a damaged numeric");
	}
	return 0;
}

static uint8_t *numeric_put4(uint8_t *out, int digit)
{
	out[0] = (uint8_t)('0' + digit / 1000);
	out[1] = (uint8_t)('0' + digit / 100 % 10);
	out[2] = (uint8_t)('0' + digit / 10 % 10);
	out[3] = (uint8_t)('0' + digit % 10);
	return out + 4;
}

/* Without leading zeros, but at least one digit. */
static uint8_t *numeric_put_whole(uint8_t *out, const struct numeric *x)
{
	uint8_t *begin = out;
	size_t zeros = 0, n;

	for (int weight = x->weight; weight >= 0; weight--)
		out = numeric_put4(out, numeric_digit(x, weight));
	n = (size_t)(out - begin);
	while (zeros < n && begin[zeros] == '0')
		zeros++;
	if (zeros == n) {
		*begin = '0';
		return begin + 1;
	}
	memmove(begin, begin + zeros, n - zeros);
	return out - zeros;
}

static uint8_t *numeric_put_fraction(uint8_t *out, const struct numeric *x)
{
	uint8_t *begin = out;

	for (int shown = 0; shown < x->scale; shown += 4)
		out = numeric_put4(out, numeric_digit(x, -1 - shown / 4));
	return begin + x->scale;
}

static int numeric_special(struct vector *v, size_t row, unsigned sign,
			   struct error *err)
{
	const char *text = sign == NUMERIC_NAN	  ? "NaN"
			   : sign == NUMERIC_PLUS ? "Infinity"
						  : "-Infinity";

	return vector_set_bytes(v, row, text, strlen(text), err);
}

int postgres_source_decode_numeric(struct vector *v, size_t row,
				   const uint8_t *bytes, size_t n,
				   struct error *err)
{
	struct numeric x = { .n = 0 };
	uint8_t *begin, *out;
	size_t room;
	int rc = numeric_read(&x, bytes, n, err);

	if (rc)
		return rc;
	if (x.sign == NUMERIC_NAN || x.sign == NUMERIC_PLUS ||
	    x.sign == NUMERIC_MINUS)
		return numeric_special(v, row, x.sign, err);
	if (x.sign && x.sign != NUMERIC_NEGATIVE)
		return error_set(err, ERROR_DATA, "a damaged numeric");
	/* Sign, whole groups (or one zero), point, fraction groups. */
	room = 2 + 4 * (size_t)(x.weight < 0 ? 1 : x.weight + 1) +
	       ((size_t)x.scale + 3) / 4 * 4;
	rc = vector_reserve(v, row, room, &begin, err);
	if (rc)
		return rc;
	out = begin;
	if (x.sign)
		*out++ = '-';
	out = numeric_put_whole(out, &x);
	if (x.scale) {
		*out++ = '.';
		out = numeric_put_fraction(out, &x);
	}
	vector_commit(v, row, (size_t)(out - begin));
	return 0;
}
