#include <string.h>

#include "clients/clickhouse_decimal.h"
#include "connectors/clickhouse/source.h"
#include "core/base/clock.h"
#include "core/base/row_values.h"
#include "core/data/value.h"

#define UUID_HALF 8

static int64_t decode_integer(const uint8_t *in,
			      const struct clickhouse_source_cell *cell)
{
	uint64_t value = 0;
	unsigned bits = (unsigned)cell->width * 8;

	memcpy(&value, in, cell->width);
	if (cell->wire == WIRE_SIGNED && bits < 64 && value >> (bits - 1))
		value |= ~UINT64_C(0) << bits;
	return (int64_t)value;
}

static void decode_whole(struct vector *v, size_t row, int64_t value)
{
	int32_t small = (int32_t)value;
	int16_t tiny = (int16_t)value;

	if (v->width == sizeof(value))
		vector_set_fixed(v, row, &value);
	else if (v->width == sizeof(small))
		vector_set_fixed(v, row, &small);
	else
		vector_set_fixed(v, row, &tiny);
}

static int decode_ticks(struct vector *v, size_t row, const uint8_t *in,
			int scale, struct error *err)
{
	int64_t value;

	memcpy(&value, in, sizeof(value));
	for (; scale < 6; scale++)
		if (__builtin_mul_overflow(value, 10, &value))
			return error_set(err, ERROR_DATA,
					 "a point in time out of range");
	decode_whole(v, row, value);
	return 0;
}

/* Two numbers of eight bytes, the higher half first. */
static void decode_uuid(struct vector *v, size_t row, const uint8_t *in)
{
	uint8_t uuid[2 * UUID_HALF];

	for (int i = 0; i < UUID_HALF; i++) {
		uuid[i] = in[UUID_HALF - 1 - i];
		uuid[UUID_HALF + i] = in[2 * UUID_HALF - 1 - i];
	}
	vector_set_fixed(v, row, uuid);
}

static int decode_digits(struct clickhouse_source *s, struct vector *v,
			 size_t row, const uint8_t *in,
			 const struct clickhouse_source_cell *cell,
			 struct error *err)
{
	strbuf_reset(&s->text);
	clickhouse_decimal_print(&s->text, in, cell->width,
				 cell->wire != WIRE_UNSIGNED, cell->scale);
	return vector_set_bytes(v, row, s->text.data, s->text.len, err);
}

static int decode_text(struct clickhouse_source *s, struct vector *v,
		       size_t row, const struct clickhouse_source_cell *cell,
		       struct error *err)
{
	const uint8_t *in = NULL;
	size_t n = cell->width;
	int rc = 0;

	if (cell->wire != WIRE_FIXED)
		rc = clickhouse_take_length(s->db, &n, err);
	if (!rc)
		rc = clickhouse_take(s->db, n, &in, err);
	if (rc)
		return rc;
	/* The server does not count the zeros that fill the text up either. */
	while (cell->wire == WIRE_FIXED && n && !in[n - 1])
		n--;
	if (v->kind == TYPE_DECIMAL)
		return value_set_decimal(v, row, in, n, err);
	if (!v->width)
		return vector_set_bytes(v, row, in, n, err);
	strbuf_reset(&s->text);
	strbuf_add(&s->text, in, n);
	if (strlen(s->text.data) == n && value_set(v, row, s->text.data))
		return 0;
	return error_set(err, ERROR_DATA, "'%.40s' is no %s",
			 row_value(s->text.data), type_kind_name(v->kind));
}

static int decode_fixed(struct clickhouse_source *s, struct vector *v,
			size_t row, const uint8_t *in,
			const struct clickhouse_source_cell *cell,
			struct error *err)
{
	int32_t days;

	switch (cell->wire) {
	case WIRE_FLOAT:
	case WIRE_BOOL:
		vector_set_fixed(v, row, in);
		return 0;
	case WIRE_UUID:
		decode_uuid(v, row, in);
		return 0;
	case WIRE_DATE:
		days = in[0] | in[1] << 8;
		if (cell->width == sizeof(days))
			memcpy(&days, in, sizeof(days));
		vector_set_fixed(v, row, &days);
		return 0;
	case WIRE_SECONDS:
		decode_whole(v, row, decode_integer(in, cell) * US_PER_SECOND);
		return 0;
	case WIRE_TICKS:
		return decode_ticks(v, row, in, cell->scale, err);
	default:
		break;
	}
	if (!v->width)
		return decode_digits(s, v, row, in, cell, err);
	decode_whole(v, row, decode_integer(in, cell));
	return 0;
}

static bool decode_has_length(const struct clickhouse_source_cell *cell)
{
	return cell->wire == WIRE_STRING || cell->wire == WIRE_FIXED ||
	       cell->wire == WIRE_PRINTED;
}

int clickhouse_source_decode(struct clickhouse_source *s, struct vector *v,
			     size_t row,
			     const struct clickhouse_source_cell *cell,
			     struct error *err)
{
	const uint8_t *in = NULL;
	int rc;

	if (cell->nullable) {
		rc = clickhouse_take(s->db, 1, &in, err);
		if (rc)
			return rc;
		if (*in) {
			vector_set_null(v, row);
			return 0;
		}
	}
	if (decode_has_length(cell))
		return decode_text(s, v, row, cell, err);
	rc = clickhouse_take(s->db, cell->width, &in, err);
	return rc ? rc : decode_fixed(s, v, row, in, cell, err);
}
