#include "core/data/type.h"

struct type_traits {
	const char *name;
	size_t width; /* 0: variable */
};

static const struct type_traits type_table[TYPE_KINDS] = {
	[TYPE_BOOL] = { "bool", 1 },
	[TYPE_INT16] = { "int16", 2 },
	[TYPE_INT32] = { "int32", 4 },
	[TYPE_INT64] = { "int64", 8 },
	[TYPE_UINT64] = { "uint64", 8 },
	[TYPE_FLOAT32] = { "float32", 4 },
	[TYPE_FLOAT64] = { "float64", 8 },
	[TYPE_DECIMAL] = { "decimal", 0 },
	[TYPE_TEXT] = { "text", 0 },
	[TYPE_BYTES] = { "bytes", 0 },
	[TYPE_DATE] = { "date", 4 },
	[TYPE_TIME] = { "time", 8 },
	[TYPE_TIMESTAMP] = { "timestamp", 8 },
	[TYPE_TIMESTAMPTZ] = { "timestamptz", 8 },
	[TYPE_INTERVAL] = { "interval", sizeof(struct interval_value) },
	[TYPE_UUID] = { "uuid", 16 },
	[TYPE_JSON] = { "json", 0 },
	[TYPE_NATIVE] = { "native", 0 },
};

static bool type_is_known(enum type_kind kind)
{
	return (unsigned)kind < TYPE_KINDS;
}

size_t type_width(enum type_kind kind)
{
	return type_is_known(kind) ? type_table[kind].width : 0;
}

bool type_is_variable(enum type_kind kind)
{
	return type_width(kind) == 0;
}

const char *type_kind_name(enum type_kind kind)
{
	return type_is_known(kind) ? type_table[kind].name : "unknown";
}
