/*
 * The closed set of value types that travel between engines. A type that is not
 * in the set travels as TYPE_NATIVE: text in the engine's own notation, with
 * the type's name in `native`. The other end casts it back if it has a type of
 * the same name.
 */
#ifndef TIDEMARK_CORE_DATA_TYPE_H
#define TIDEMARK_CORE_DATA_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/strbuf.h"

/* How each kind lies in a vector:
 *   BOOL        uint8_t 0 or 1 (bytes, not Arrow bits: loops stay simple)
 *   FLOAT32/64  float, double, bits kept
 *   DECIMAL     text: [-]digits[.digits], "NaN", "Infinity", "-Infinity";
 *               scale as the source shows it
 *   TEXT JSON   UTF-8
 *   NATIVE      UTF-8 in the notation of `native`
 *   DATE        int32_t days since 1970-01-01; INT32_MIN/MAX: -/+infinity
 *   TIME        int64_t µs since midnight, 0 to 24:00:00
 *   TIMESTAMP   int64_t µs, wall clock without zone; INT64_MIN/MAX: -/+infinity
 *   TIMESTAMPTZ int64_t µs since 1970 UTC; INT64_MIN/MAX: -/+infinity
 *   INTERVAL    struct interval_value, 16 bytes
 *   UUID        16 bytes, network order */
enum type_kind {
	TYPE_BOOL,
	TYPE_INT16,
	TYPE_INT32,
	TYPE_INT64,
	TYPE_UINT64,
	TYPE_FLOAT32,
	TYPE_FLOAT64,
	TYPE_DECIMAL,
	TYPE_TEXT,
	TYPE_BYTES,
	TYPE_DATE,
	TYPE_TIME,
	TYPE_TIMESTAMP,
	TYPE_TIMESTAMPTZ,
	TYPE_INTERVAL,
	TYPE_UUID,
	TYPE_JSON,
	TYPE_NATIVE,
	TYPE_KINDS
};

struct interval_value {
	int64_t microseconds;
	int32_t days;
	int32_t months;
};

struct type {
	enum type_kind kind;
	/* DECIMAL: digits in all, 0 if unbounded; TEXT and BYTES: limit in
	 * characters or bytes, 0 if none; else 0. */
	int precision;
	int scale; /* DECIMAL: digits behind the point, if precision > 0 */
	int digits; /* TIME, TIMESTAMP, TIMESTAMPTZ: fraction digits 0..6 */
	/* The source's own spelling, "numeric(10,2)", "int4range"; owned by the
	 * holder of the struct. */
	char *native;
};

/* Bytes of a fixed-width value; 0 for the variable ones (offsets + data). */
size_t type_width(enum type_kind kind);
bool type_is_variable(enum type_kind kind);
/* "int32", "timestamptz", ... */
const char *type_kind_name(enum type_kind kind);

#endif
