#include "connectors/mysql/types.h"

#include <string.h>
#include <strings.h>

#include "connectors/mysql/decode.h"
#include "core/base/alloc.h"

/* MySQL takes the text of a parameter under CAST AS UNSIGNED for a signed
 * number, and cuts it off at 2^63 - 1. */
#define UNSIGNED_VALUE "CAST(CAST(? AS DECIMAL(20)) AS UNSIGNED)"
#define DECIMAL_MOST   65
#define INTEGER(name, kind)                                                    \
	{                                                                      \
		name, kind, MYDB_INTEGER, mysrc_decode_integer, ORDER_PLAIN,   \
			"CAST(? AS SIGNED)"                                    \
	}
#define TEXT(name)                                                             \
	{                                                                      \
		name, TYPE_TEXT, MYDB_BYTES, mysrc_decode_text, ORDER_TEXT,    \
			NULL                                                   \
	}
#define BYTES(name)                                                            \
	{                                                                      \
		name, TYPE_BYTES, MYDB_BYTES, mysrc_decode_bytes, ORDER_BYTES, \
			NULL                                                   \
	}
#define SHAPE(name)                                                            \
	{                                                                      \
		name, TYPE_BYTES, MYDB_BYTES, mysrc_decode_geometry,           \
			ORDER_NONE, NULL                                       \
	}

static const struct mysrc_type types_table[] = {
	INTEGER("tinyint", TYPE_INT16),
	INTEGER("tinyint unsigned", TYPE_INT16),
	INTEGER("smallint", TYPE_INT16),
	INTEGER("smallint unsigned", TYPE_INT32),
	INTEGER("mediumint", TYPE_INT32),
	INTEGER("mediumint unsigned", TYPE_INT32),
	INTEGER("int", TYPE_INT32),
	INTEGER("int unsigned", TYPE_INT64),
	INTEGER("bigint", TYPE_INT64),
	{ "bigint unsigned", TYPE_UINT64, MYDB_UNSIGNED, mysrc_decode_integer,
	  ORDER_PLAIN, UNSIGNED_VALUE },
	INTEGER("year", TYPE_INT16),
	{ "bit", TYPE_INT64, MYDB_BYTES, mysrc_decode_bits, ORDER_BITS,
	  UNSIGNED_VALUE },
	{ "bit unsigned", TYPE_UINT64, MYDB_BYTES, mysrc_decode_bits,
	  ORDER_BITS, UNSIGNED_VALUE },
	{ "decimal", TYPE_DECIMAL, MYDB_BYTES, mysrc_decode_decimal,
	  ORDER_PLAIN, NULL },
	/* The text of a float, read as a double, is another number. */
	{ "float", TYPE_FLOAT32, MYDB_FLOAT, mysrc_decode_float, ORDER_NONE,
	  NULL },
	{ "double", TYPE_FLOAT64, MYDB_DOUBLE, mysrc_decode_double, ORDER_PLAIN,
	  "CAST(? AS DOUBLE)" },
	{ "date", TYPE_DATE, MYDB_TIME, mysrc_decode_date, ORDER_PLAIN,
	  "CAST(? AS DATE)" },
	{ "datetime", TYPE_TIMESTAMP, MYDB_TIME, mysrc_decode_datetime,
	  ORDER_PLAIN, "CAST(? AS DATETIME(6))" },
	{ "timestamp", TYPE_TIMESTAMPTZ, MYDB_TIME, mysrc_decode_datetime,
	  ORDER_PLAIN, "CAST(? AS DATETIME(6))" },
	/* MySQL 9 takes a parameter under this cast for a TIME of its own, and
	 * a text in it for 00:00:00. */
	{ "time", TYPE_INTERVAL, MYDB_TIME, mysrc_decode_time, ORDER_PLAIN,
	  "CAST(CAST(? AS CHAR) AS TIME(6))" },
	TEXT("char"),
	TEXT("varchar"),
	TEXT("tinytext"),
	TEXT("text"),
	TEXT("mediumtext"),
	TEXT("longtext"),
	{ "enum", TYPE_TEXT, MYDB_BYTES, mysrc_decode_text, ORDER_LABEL, NULL },
	{ "set", TYPE_TEXT, MYDB_BYTES, mysrc_decode_text, ORDER_LABEL, NULL },
	BYTES("binary"),
	BYTES("varbinary"),
	BYTES("tinyblob"),
	BYTES("blob"),
	BYTES("mediumblob"),
	BYTES("longblob"),
	BYTES("vector"),
	{ "json", TYPE_JSON, MYDB_BYTES, mysrc_decode_text, ORDER_NONE, NULL },
	{ "uuid", TYPE_UUID, MYDB_BYTES, mysrc_decode_uuid, ORDER_PLAIN, "?" },
	{ "inet4", TYPE_NATIVE, MYDB_BYTES, mysrc_decode_text, ORDER_PLAIN,
	  "?" },
	{ "inet6", TYPE_NATIVE, MYDB_BYTES, mysrc_decode_text, ORDER_PLAIN,
	  "?" },
	SHAPE("geometry"),
	SHAPE("point"),
	SHAPE("linestring"),
	SHAPE("polygon"),
	SHAPE("multipoint"),
	SHAPE("multilinestring"),
	SHAPE("multipolygon"),
	SHAPE("geometrycollection"),
	SHAPE("geomcollection"),
	{ NULL, TYPE_NATIVE, MYDB_BYTES, mysrc_decode_text, ORDER_NONE, NULL },
};

const struct mysrc_type *mysrc_types(size_t *n)
{
	*n = ARRAY_SIZE(types_table);
	return types_table;
}

/* Does "int unsigned" of the table mean `data_type`, unsigned or not? */
static bool types_is(const char *name, const char *data_type, bool is_unsigned)
{
	size_t n = strlen(data_type);

	if (strncasecmp(name, data_type, n) != 0)
		return false;
	return name[n] ? is_unsigned && !strcmp(name + n, " unsigned")
		       : !is_unsigned;
}

const struct mysrc_type *mysrc_type_find(const char *data_type,
					 bool is_unsigned)
{
	size_t i = 0;

	while (types_table[i].name &&
	       !types_is(types_table[i].name, data_type, is_unsigned))
		i++;
	/* DECIMAL, FLOAT and DOUBLE UNSIGNED are the same without a sign. */
	return types_table[i].name || !is_unsigned
		       ? &types_table[i]
		       : mysrc_type_find(data_type, false);
}

const struct mysrc_type *mysrc_type_bits(int bits)
{
	return mysrc_type_find("bit", bits > 63);
}

static const struct {
	int type;
	const char *name;
} types_of_protocol[] = {
	{ MYDB_TYPE_TINY, "tinyint" },
	{ MYDB_TYPE_SHORT, "smallint" },
	{ MYDB_TYPE_INT24, "mediumint" },
	{ MYDB_TYPE_LONG, "int" },
	{ MYDB_TYPE_LONGLONG, "bigint" },
	{ MYDB_TYPE_YEAR, "year" },
	{ MYDB_TYPE_FLOAT, "float" },
	{ MYDB_TYPE_DOUBLE, "double" },
	{ MYDB_TYPE_DECIMAL, "decimal" },
	{ MYDB_TYPE_NEWDECIMAL, "decimal" },
	{ MYDB_TYPE_DATE, "date" },
	{ MYDB_TYPE_DATETIME, "datetime" },
	{ MYDB_TYPE_TIMESTAMP, "timestamp" },
	{ MYDB_TYPE_TIME, "time" },
	{ MYDB_TYPE_JSON, "json" },
	{ MYDB_TYPE_GEOMETRY, "geometry" },
};

const struct mysrc_type *mysrc_type_of_field(const struct mydb_field *f)
{
	if (f->type == MYDB_TYPE_BIT)
		return mysrc_type_bits((int)f->length);
	for (size_t i = 0; i < ARRAY_SIZE(types_of_protocol); i++) {
		if (types_of_protocol[i].type == f->type)
			return mysrc_type_find(
				types_of_protocol[i].name,
				f->is_unsigned && f->type != MYDB_TYPE_YEAR);
	}
	return mysrc_type_find(f->binary ? "varbinary" : "varchar", false);
}

void mysrc_type_set_digits(struct type *out, long precision, long scale,
			   long digits)
{
	if (out->kind == TYPE_DECIMAL && precision > 0 &&
	    precision <= DECIMAL_MOST && scale >= 0 && scale <= precision) {
		out->precision = (int)precision;
		out->scale = (int)scale;
	} else if (out->kind == TYPE_TIMESTAMP ||
		   out->kind == TYPE_TIMESTAMPTZ) {
		out->digits = digits >= 0 && digits <= 6 ? (int)digits : 6;
	}
}

void mysrc_type_digits(const struct mydb_field *f, struct type *out)
{
	/* A sign, and a point. */
	mysrc_type_set_digits(
		out, (long)f->length - !f->is_unsigned - (f->decimals > 0),
		f->decimals, f->decimals);
}
