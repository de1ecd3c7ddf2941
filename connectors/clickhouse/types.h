/*
 * ClickHouse's types: the kind of a column's values, and their form in
 * RowBinary. For a String in Tidemark's own tables, the column's comment tells
 * the type ("tidemark: json").
 */
#ifndef TIDEMARK_CONNECTORS_CLICKHOUSE_TYPES_H
#define TIDEMARK_CONNECTORS_CLICKHOUSE_TYPES_H

#include <stdbool.h>
#include <stddef.h>

#include "core/data/type.h"

enum clickhouse_source_wire {
	WIRE_SIGNED, /* `width` bytes */
	WIRE_UNSIGNED,
	WIRE_FLOAT,
	WIRE_BOOL,
	WIRE_DECIMAL,
	WIRE_STRING,
	WIRE_FIXED, /* FixedString(width) */
	WIRE_DATE, /* days: 2 bytes without a sign, or 4 with one */
	WIRE_SECONDS, /* 4 bytes without a sign */
	WIRE_TICKS, /* 8 bytes, of 10^-scale seconds */
	WIRE_UUID,
	WIRE_PRINTED, /* a String: the server prints it */
};

struct clickhouse_source_cell {
	enum clickhouse_source_wire wire;
	size_t width;
	int scale;
	bool nullable;
};

/* `declared`, with Nullable() and LowCardinality() or without; `comment`: the
 * column's, or NULL. Fills both (`out->native` is the caller's). */
void clickhouse_source_type_of(const char *declared, const char *comment,
			       struct type *out,
			       struct clickhouse_source_cell *cell);
/* Have its values one exact order, the same here and there? */
bool clickhouse_source_is_ordered(const struct type *type,
				  const struct clickhouse_source_cell *cell);

#endif
