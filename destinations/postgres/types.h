/*
 * PostgreSQL's types for a destination: the type that a source column gets, and
 * whether an existing column's type holds it. Also how two values are told
 * apart, and in which binary form a batch's values travel.
 */
#ifndef TIDEMARK_DESTINATIONS_POSTGRES_TYPES_H
#define TIDEMARK_DESTINATIONS_POSTGRES_TYPES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/data/schema.h"
#include "core/plugin/destination.h"
#include "destinations/common/drift.h"

/* Object ids of built-in types never change: pg_type.dat. */
enum type_oid {
	OID_BOOL = 16,
	OID_BYTEA = 17,
	OID_CHAR = 18,
	OID_NAME = 19,
	OID_INT8 = 20,
	OID_INT2 = 21,
	OID_INT4 = 23,
	OID_TEXT = 25,
	OID_OID = 26,
	OID_JSON = 114,
	OID_CIDR = 650,
	OID_FLOAT4 = 700,
	OID_FLOAT8 = 701,
	OID_MACADDR8 = 774,
	OID_MACADDR = 829,
	OID_INET = 869,
	OID_BPCHAR = 1042,
	OID_VARCHAR = 1043,
	OID_DATE = 1082,
	OID_TIME = 1083,
	OID_TIMESTAMP = 1114,
	OID_TIMESTAMPTZ = 1184,
	OID_INTERVAL = 1186,
	OID_TIMETZ = 1266,
	OID_BIT = 1560,
	OID_VARBIT = 1562,
	OID_NUMERIC = 1700,
	OID_UUID = 2950,
	OID_PG_LSN = 3220,
	OID_JSONB = 3802,
};

struct sql_type {
	char *name; /* as DDL writes it: "numeric(10,2)" */
	uint32_t oid; /* the type's */
	uint32_t base; /* for a domain its base type's; else `oid` */
	int32_t modifier; /* the base type's; -1: none */
	char kind; /* pg_type.typtype of `base`: b e c r d m */
};

/* The type that a new column gets when the source's own type is not known
 * here: by the kind of its values. Name is the caller's. */
enum mapping postgres_type_by_kind(const struct type *type,
				   struct sql_type *out);

/* Does `actual` hold every value of `wanted`? For FIT_GROWS `grown` is set to
 * the type to alter it to (caller frees), else to NULL. `postgres`: the source
 * is PostgreSQL, where json keeps its text. */
enum fit postgres_type_fit(const struct sql_type *wanted,
			   const struct sql_type *actual, bool postgres,
			   char **grown);

/* How to tell whether a stored value is another one than the new. */
enum compare {
	COMPARE_EQUAL, /* by the type's own = */
	COMPARE_SCALE, /* numeric without scale: 1.0 and 1.00 differ */
	COMPARE_ZERO, /* a float: 0.0 and -0.0 differ */
	COMPARE_LENGTH, /* bpchar without a length keeps blanks at its end */
	COMPARE_TEXT /* no =, or one that takes different values for equal */
};
enum compare postgres_type_compare(const struct sql_type *type);
/* Are stored marks ordered as the source's are? Not when an int8 is kept as
 * text. */
bool postgres_type_same_order(const struct sql_type *wanted,
			      const struct sql_type *actual);

/* The binary form of a value of `kind` for a column of `type`. */
enum wire {
	WIRE_NONE, /* there is none: the table is loaded in text form */
	WIRE_BOOL,
	WIRE_INT16,
	WIRE_INT32,
	WIRE_INT64,
	WIRE_NUMERIC, /* from decimal text or any integer */
	WIRE_FLOAT32,
	WIRE_FLOAT64,
	WIRE_BYTES, /* as they are: text, bytea, json, enum labels */
	WIRE_JSONB, /* version 1, then text */
	WIRE_DATE,
	WIRE_TIME,
	WIRE_TIMESTAMP,
	WIRE_INTERVAL,
	WIRE_UUID,
	WIRE_PRINTED /* value_print, into a text column */
};
enum wire postgres_type_wire(enum type_kind kind, const struct sql_type *type);

#endif
