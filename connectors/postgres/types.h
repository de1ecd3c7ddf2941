/*
 * PostgreSQL's types: as which kind of value each travels, and which function
 * decodes it. There is one table. A type that is not in it travels as text
 * (TYPE_NATIVE).
 */
#ifndef TIDEMARK_CONNECTORS_POSTGRES_TYPES_H
#define TIDEMARK_CONNECTORS_POSTGRES_TYPES_H

#include "connectors/postgres/decode.h"
#include "core/data/type.h"

struct wire_type {
	uint32_t oid; /* the base type's, also for a domain */
	enum type_kind kind;
	bool as_text; /* the statement casts it to text */
	decode_fn decode;
};

enum wire_oid {
	WIRE_BOOL = 16,
	WIRE_BYTEA = 17,
	WIRE_NAME = 19,
	WIRE_INT8 = 20,
	WIRE_INT2 = 21,
	WIRE_INT4 = 23,
	WIRE_TEXT = 25,
	WIRE_OID = 26,
	WIRE_JSON = 114,
	WIRE_FLOAT4 = 700,
	WIRE_FLOAT8 = 701,
	WIRE_BPCHAR = 1042,
	WIRE_VARCHAR = 1043,
	WIRE_DATE = 1082,
	WIRE_TIME = 1083,
	WIRE_TIMESTAMP = 1114,
	WIRE_TIMESTAMPTZ = 1184,
	WIRE_INTERVAL = 1186,
	WIRE_NUMERIC = 1700,
	WIRE_UUID = 2950,
	WIRE_JSONB = 3802,
};

/* Never NULL. */
const struct wire_type *postgres_source_wire_type_find(uint32_t oid);
/* All of them, for tests and fuzzing; the last is the text of the others. */
const struct wire_type *postgres_source_wire_types(size_t *n);
/* Kind, precision, scale and digits of a type with a modifier; `native` is
 * left to the caller. */
void postgres_source_wire_type_describe(const struct wire_type *wire,
					int32_t modifier, struct type *out);

#endif
