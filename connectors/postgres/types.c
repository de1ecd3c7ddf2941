#include "connectors/postgres/types.h"

#include "core/base/alloc.h"

/* The server adds its header's size to lengths and precisions. */
#define TYPES_HEADER 4

static const struct wire_type wire_table[] = {
	{ WIRE_BOOL, TYPE_BOOL, false, postgres_source_decode_bool },
	{ WIRE_INT2, TYPE_INT16, false, postgres_source_decode_int2 },
	{ WIRE_INT4, TYPE_INT32, false, postgres_source_decode_int4 },
	{ WIRE_INT8, TYPE_INT64, false, postgres_source_decode_int8 },
	{ WIRE_OID, TYPE_INT64, false, postgres_source_decode_oid },
	{ WIRE_FLOAT4, TYPE_FLOAT32, false, postgres_source_decode_int4 },
	{ WIRE_FLOAT8, TYPE_FLOAT64, false, postgres_source_decode_int8 },
	{ WIRE_NUMERIC, TYPE_DECIMAL, false, postgres_source_decode_numeric },
	{ WIRE_TEXT, TYPE_TEXT, false, postgres_source_decode_bytes },
	{ WIRE_VARCHAR, TYPE_TEXT, false, postgres_source_decode_bytes },
	{ WIRE_BPCHAR, TYPE_TEXT, false, postgres_source_decode_bytes },
	{ WIRE_NAME, TYPE_TEXT, false, postgres_source_decode_bytes },
	{ WIRE_BYTEA, TYPE_BYTES, false, postgres_source_decode_bytes },
	{ WIRE_DATE, TYPE_DATE, false, postgres_source_decode_date },
	{ WIRE_TIME, TYPE_TIME, false, postgres_source_decode_time },
	{ WIRE_TIMESTAMP, TYPE_TIMESTAMP, false,
	  postgres_source_decode_timestamp },
	{ WIRE_TIMESTAMPTZ, TYPE_TIMESTAMPTZ, false,
	  postgres_source_decode_timestamp },
	{ WIRE_INTERVAL, TYPE_INTERVAL, false,
	  postgres_source_decode_interval },
	{ WIRE_UUID, TYPE_UUID, false, postgres_source_decode_uuid },
	{ WIRE_JSON, TYPE_JSON, false, postgres_source_decode_bytes },
	{ WIRE_JSONB, TYPE_JSON, false, postgres_source_decode_jsonb },
	{ 0, TYPE_NATIVE, true, postgres_source_decode_bytes },
};

const struct wire_type *postgres_source_wire_types(size_t *n)
{
	*n = ARRAY_SIZE(wire_table);
	return wire_table;
}

const struct wire_type *postgres_source_wire_type_find(uint32_t oid)
{
	size_t i = 0;

	while (wire_table[i].oid && wire_table[i].oid != oid)
		i++;
	return &wire_table[i];
}

static void types_numeric(int32_t modifier, struct type *out)
{
	int32_t packed = modifier - TYPES_HEADER;

	out->precision = packed >> 16 & 0xffff;
	/* Eleven bits with a sign, from 15; positive before. */
	out->scale = ((packed & 0x7ff) ^ 0x400) - 0x400;
}

void postgres_source_wire_type_describe(const struct wire_type *wire,
					int32_t modifier, struct type *out)
{
	*out = (struct type){ .kind = wire->kind };
	switch (wire->oid) {
	case WIRE_NUMERIC:
		if (modifier >= TYPES_HEADER)
			types_numeric(modifier, out);
		break;
	case WIRE_VARCHAR:
	case WIRE_BPCHAR:
		if (modifier > TYPES_HEADER)
			out->precision = modifier - TYPES_HEADER;
		break;
	case WIRE_TIME:
	case WIRE_TIMESTAMP:
	case WIRE_TIMESTAMPTZ:
		out->digits = modifier >= 0 && modifier <= 6 ? modifier : 6;
		break;
	default:
		break;
	}
}
