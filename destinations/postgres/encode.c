#include "destinations/postgres/encode.h"

#include <endian.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/data/value.h"

/* The server counts from 2000-01-01. */
#define EPOCH_DAYS INT32_C(10957)
#define EPOCH_US   (EPOCH_DAYS * US_PER_DAY)

/* Signs of a numeric on the wire: NUMERIC_POS and so on in numeric.c. */
enum numeric_sign {
	NUMERIC_POSITIVE = 0x0000,
	NUMERIC_NEGATIVE = 0x4000,
	NUMERIC_NAN = 0xC000,
	NUMERIC_INFINITY = 0xD000,
	NUMERIC_MINUS_INFINITY = 0xF000,
};

static uint8_t *encode_room(struct strbuf *out, size_t n)
{
	uint8_t *to = (uint8_t *)strbuf_reserve(out, n);

	out->len += n;
	return to;
}

static void encode_16(struct strbuf *out, uint16_t x)
{
	x = htobe16(x);
	memcpy(encode_room(out, 2), &x, 2);
}

static void encode_32(struct strbuf *out, uint32_t x)
{
	x = htobe32(x);
	memcpy(encode_room(out, 4), &x, 4);
}

static void encode_field_32(struct strbuf *out, uint32_t x)
{
	uint32_t wire[2] = { htobe32(4), htobe32(x) };

	memcpy(encode_room(out, sizeof(wire)), wire, sizeof(wire));
}

static void encode_field_64(struct strbuf *out, uint64_t x)
{
	uint32_t length = htobe32(8);
	uint8_t *to = encode_room(out, 12);

	x = htobe64(x);
	memcpy(to, &length, 4);
	memcpy(to + 4, &x, 8);
}

static void encode_field_bytes(struct strbuf *out, const void *src, size_t n)
{
	uint32_t length = htobe32((uint32_t)n);
	uint8_t *to = encode_room(out, n + 4);

	memcpy(to, &length, 4);
	if (n)
		memcpy(to + 4, src, n);
}

static void encode_numeric_special(struct strbuf *out, enum numeric_sign sign)
{
	encode_32(out, 8);
	encode_16(out, 0);
	encode_16(out, 0);
	encode_16(out, (uint16_t)sign);
	encode_16(out, 0);
}

/* Four decimal digits from `digits` of `n` characters starting at `from`
 * (which may lie before or run behind them: zeros there). */
static uint16_t encode_digit_group(const uint8_t *digits, ptrdiff_t n,
				   ptrdiff_t from)
{
	uint16_t group = 0;

	for (ptrdiff_t i = from; i < from + 4; i++)
		group = (uint16_t)(group * 10 +
				   (i >= 0 && i < n ? digits[i] - '0' : 0));
	return group;
}

/* [-]digits[.digits] as base-10000 digits aligned at the point. The server
 * strips zero digits at both ends (numeric_recv). */
static void encode_numeric(struct strbuf *out, const uint8_t *text, size_t n)
{
	enum numeric_sign sign = NUMERIC_POSITIVE;
	const uint8_t *point;
	size_t whole, fraction, whole_groups, fraction_groups;

	if (n && *text == '-') {
		sign = NUMERIC_NEGATIVE;
		text++;
		n--;
	}
	if (n && (*text == 'N' || *text == 'I')) {
		if (*text == 'N')
			sign = NUMERIC_NAN;
		else
			sign = sign == NUMERIC_NEGATIVE ? NUMERIC_MINUS_INFINITY
							: NUMERIC_INFINITY;
		encode_numeric_special(out, sign);
		return;
	}
	point = n ? memchr(text, '.', n) : NULL;
	whole = point ? (size_t)(point - text) : n;
	fraction = point ? n - whole - 1 : 0;
	whole_groups = (whole + 3) / 4;
	fraction_groups = (fraction + 3) / 4;
	encode_32(out, (uint32_t)(8 + 2 * (whole_groups + fraction_groups)));
	encode_16(out, (uint16_t)(whole_groups + fraction_groups));
	encode_16(out, (uint16_t)(whole_groups - 1));
	encode_16(out, (uint16_t)sign);
	encode_16(out, (uint16_t)fraction);
	for (size_t g = whole_groups; g > 0; g--)
		encode_16(out, encode_digit_group(text, (ptrdiff_t)whole,
						  (ptrdiff_t)whole -
							  (ptrdiff_t)g * 4));
	for (size_t g = 0; g < fraction_groups; g++)
		encode_16(out,
			  encode_digit_group(point + 1, (ptrdiff_t)fraction,
					     (ptrdiff_t)g * 4));
}

static int64_t encode_integer(const struct vector *v, size_t row)
{
	int16_t small;

	switch (v->width) {
	case 8:
		return vector_i64(v, row);
	case 4:
		return vector_i32(v, row);
	default:
		memcpy(&small, v->data + row * 2, 2);
		return small;
	}
}

static void encode_interval(struct strbuf *out, const struct vector *v,
			    size_t row)
{
	struct interval_value x;
	uint64_t us;

	memcpy(&x, v->data + row * sizeof(x), sizeof(x));
	us = htobe64((uint64_t)x.microseconds);
	encode_32(out, 16);
	memcpy(encode_room(out, 8), &us, 8);
	encode_32(out, (uint32_t)x.days);
	encode_32(out, (uint32_t)x.months);
}

static void encode_float64(struct strbuf *out, const struct vector *v,
			   size_t row)
{
	uint64_t bits;
	double wide;
	float narrow;

	if (v->width == 8) {
		memcpy(&bits, v->data + row * 8, 8);
	} else {
		memcpy(&narrow, v->data + row * 4, 4);
		wide = (double)narrow;
		memcpy(&bits, &wide, 8);
	}
	encode_field_64(out, bits);
}

/* Infinities are the extremes in both calendars. A day before the server's
 * first one stays there, for the server to refuse it. */
static void encode_date(struct strbuf *out, int32_t days)
{
	if (days != INT32_MIN && days != INT32_MAX &&
	    __builtin_sub_overflow(days, EPOCH_DAYS, &days))
		days = INT32_MIN + 1;
	encode_field_32(out, (uint32_t)days);
}

static void encode_timestamp(struct strbuf *out, int64_t us)
{
	if (us != INT64_MIN && us != INT64_MAX &&
	    __builtin_sub_overflow(us, EPOCH_US, &us))
		us = INT64_MIN + 1;
	encode_field_64(out, (uint64_t)us);
}

static void encode_variable(struct encoder *e, enum wire wire,
			    const struct vector *v, size_t row)
{
	const uint8_t *bytes = NULL;
	size_t n = 0;

	if (!v->width)
		bytes = vector_bytes(v, row, &n);
	if (wire == WIRE_PRINTED || (wire == WIRE_NUMERIC && v->width)) {
		strbuf_reset(&e->scratch);
		value_print(&e->scratch, v, row);
		bytes = (const uint8_t *)e->scratch.data;
		n = e->scratch.len;
	}
	if (wire == WIRE_NUMERIC) {
		encode_numeric(&e->out, bytes, n);
	} else if (wire == WIRE_JSONB) {
		encode_32(&e->out, (uint32_t)n + 1);
		*encode_room(&e->out, 1) = 1;
		strbuf_add(&e->out, bytes, n);
	} else {
		encode_field_bytes(&e->out, bytes, n);
	}
}

static void encode_binary(struct encoder *e, enum wire wire,
			  const struct vector *v, size_t row)
{
	struct strbuf *out = &e->out;

	switch (wire) {
	case WIRE_BOOL:
		encode_field_bytes(out, v->data + row, 1);
		break;
	case WIRE_INT16:
		encode_field_bytes(out,
				   &(uint16_t){ htobe16(
					   (uint16_t)encode_integer(v, row)) },
				   2);
		break;
	case WIRE_INT32:
		encode_field_32(out, (uint32_t)encode_integer(v, row));
		break;
	case WIRE_INT64:
	case WIRE_TIME:
		encode_field_64(out, (uint64_t)encode_integer(v, row));
		break;
	case WIRE_FLOAT32:
		encode_field_32(out, (uint32_t)vector_i32(v, row));
		break;
	case WIRE_FLOAT64:
		encode_float64(out, v, row);
		break;
	case WIRE_DATE:
		encode_date(out, vector_i32(v, row));
		break;
	case WIRE_TIMESTAMP:
		encode_timestamp(out, vector_i64(v, row));
		break;
	case WIRE_INTERVAL:
		encode_interval(out, v, row);
		break;
	case WIRE_UUID:
		encode_field_bytes(out, v->data + row * 16, 16);
		break;
	default:
		encode_variable(e, wire, v, row);
		break;
	}
}

/* COPY's text form: backslash before what has a meaning there. */
static void encode_escaped(struct strbuf *out, const uint8_t *src, size_t n)
{
	size_t from = 0;

	for (size_t i = 0; i < n; i++) {
		char c = (char)src[i];

		if (c != '\\' && c != '\t' && c != '\n' && c != '\r')
			continue;
		strbuf_add(out, src + from, i - from);
		strbuf_addch(out, '\\');
		if (c == '\t')
			strbuf_addch(out, 't');
		else if (c == '\n')
			strbuf_addch(out, 'n');
		else if (c == '\r')
			strbuf_addch(out, 'r');
		else
			strbuf_addch(out, c);
		from = i + 1;
	}
	strbuf_add(out, src + from, n - from);
}

static void encode_text(struct encoder *e, const struct vector *v, size_t row)
{
	const uint8_t *bytes;
	size_t n;

	if (!v->width && v->kind != TYPE_BYTES) {
		bytes = vector_bytes(v, row, &n);
	} else {
		strbuf_reset(&e->scratch);
		value_print(&e->scratch, v, row);
		bytes = (const uint8_t *)e->scratch.data;
		n = e->scratch.len;
	}
	encode_escaped(&e->out, bytes, n);
}

void postgres_encoder_set(struct encoder *e, const enum wire *wires, size_t n)
{
	e->wires = xreallocarray(e->wires, n ? n : 1, sizeof(*wires));
	e->n = n;
	e->binary = true;
	for (size_t i = 0; i < n; i++) {
		e->wires[i] = wires[i];
		if (wires[i] == WIRE_NONE)
			e->binary = false;
	}
}

void postgres_encoder_release(struct encoder *e)
{
	free(e->wires);
	e->wires = NULL;
	strbuf_release(&e->out);
	strbuf_release(&e->scratch);
}

void postgres_encode_header(struct encoder *e)
{
	static const char signature[] = "PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0";

	if (e->binary)
		strbuf_add(&e->out, signature, 19);
}

void postgres_encode_row(struct encoder *e, const struct batch *b, size_t row)
{
	if (e->binary)
		encode_16(&e->out, (uint16_t)e->n);
	for (size_t i = 0; i < e->n; i++) {
		const struct vector *v = &b->vectors[i];
		bool null = vector_is_null(v, row);

		if (e->binary && null)
			encode_32(&e->out, UINT32_MAX);
		else if (e->binary)
			encode_binary(e, e->wires[i], v, row);
		else if (null)
			strbuf_add(&e->out, "\\N", 2);
		else
			encode_text(e, v, row);
		if (!e->binary)
			strbuf_addch(&e->out, i + 1 < e->n ? '\t' : '\n');
	}
}

void postgres_encode_trailer(struct encoder *e)
{
	if (e->binary)
		encode_16(&e->out, UINT16_MAX);
}
