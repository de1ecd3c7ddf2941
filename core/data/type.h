/*
 * The closed set of value types that travel between engines. What an engine
 * has beyond it travels as TYPE_NATIVE: text in the engine's own notation,
 * with the type's name in `native`, cast back at the other end if that end
 * has a type of the same name.
 */
#ifndef TIDEMARK_CORE_DATA_TYPE_H
#define TIDEMARK_CORE_DATA_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/strbuf.h"

enum type_kind {
	TYPE_BOOL,        /* uint8_t 0 or 1 (bytes, not Arrow bits: loops stay simple) */
	TYPE_INT16,       /* int16_t */
	TYPE_INT32,       /* int32_t */
	TYPE_INT64,       /* int64_t */
	TYPE_UINT64,      /* uint64_t */
	TYPE_FLOAT32,     /* float, bits kept */
	TYPE_FLOAT64,     /* double, bits kept */
	TYPE_DECIMAL,     /* text: [-]digits[.digits], "NaN", "Infinity", "-Infinity"; scale as the source shows it */
	TYPE_TEXT,        /* UTF-8 */
	TYPE_BYTES,       /* any bytes */
	TYPE_DATE,        /* int32_t days since 1970-01-01; INT32_MIN/MAX: -/+infinity */
	TYPE_TIME,        /* int64_t µs since midnight, 0 to 24:00:00 */
	TYPE_TIMESTAMP,   /* int64_t µs, wall clock without zone; INT64_MIN/MAX: -/+infinity */
	TYPE_TIMESTAMPTZ, /* int64_t µs since 1970 UTC; INT64_MIN/MAX: -/+infinity */
	TYPE_INTERVAL,    /* struct interval_value, 16 bytes */
	TYPE_UUID,        /* 16 bytes, network order */
	TYPE_JSON,        /* UTF-8 text */
	TYPE_NATIVE,      /* UTF-8 text in the notation of `native` */
	TYPE_KINDS
};

struct interval_value {
	int64_t microseconds;
	int32_t days;
	int32_t months;
};

struct type {
	enum type_kind kind;
	int precision; /* DECIMAL: digits in all, 0 if unbounded; TEXT/BYTES: length limit in characters/bytes, 0 if none; else 0 */
	int scale;     /* DECIMAL: digits behind the point, meaningful if precision > 0 */
	int digits;    /* TIME, TIMESTAMP, TIMESTAMPTZ: fraction digits 0..6 */
	char *native;  /* the source's own spelling: "numeric(10,2)", "int4range"; owned by the holder of the struct */
};

/* Bytes of a fixed-width value; 0 for the variable ones (offsets + data). */
size_t type_width(enum type_kind kind);
bool type_is_variable(enum type_kind kind);
const char *type_kind_name(enum type_kind kind); /* "int32", "timestamptz", ... */

#endif
