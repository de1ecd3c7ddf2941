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
		name, kind, MYSQL_CLIENT_INTEGER, mysql_source_decode_integer, \
			ORDER_PLAIN, "CAST(? AS SIGNED)"                       \
	}
#define TEXT(name)                                                             \
	{                                                                      \
		name, TYPE_TEXT, MYSQL_CLIENT_BYTES, mysql_source_decode_text, \
			ORDER_TEXT, NULL                                       \
	}
#define BYTES(name)                                                            \
	{                                                                      \
		name, TYPE_BYTES, MYSQL_CLIENT_BYTES,                          \
			mysql_source_decode_bytes, ORDER_BYTES, NULL           \
	}
#define SHAPE(name)                                                            \
	{                                                                      \
		name, TYPE_BYTES, MYSQL_CLIENT_BYTES,                          \
			mysql_source_decode_geometry, ORDER_NONE, NULL         \
	}

static const struct mysql_source_type types_table[] = {
	INTEGER("tinyint", TYPE_INT16),
	INTEGER("tinyint unsigned", TYPE_INT16),
	INTEGER("smallint", TYPE_INT16),
	INTEGER("smallint unsigned", TYPE_INT32),
	INTEGER("mediumint", TYPE_INT32),
	INTEGER("mediumint unsigned", TYPE_INT32),
	INTEGER("int", TYPE_INT32),
	INTEGER("int unsigned", TYPE_INT64),
	INTEGER("bigint", TYPE_INT64),
	{ "bigint unsigned", TYPE_UINT64, MYSQL_CLIENT_UNSIGNED,
	  mysql_source_decode_integer, ORDER_PLAIN, UNSIGNED_VALUE },
	INTEGER("year", TYPE_INT16),
	{ "bit", TYPE_INT64, MYSQL_CLIENT_BYTES, mysql_source_decode_bits,
	  ORDER_BITS, UNSIGNED_VALUE },
	{ "bit unsigned", TYPE_UINT64, MYSQL_CLIENT_BYTES,
	  mysql_source_decode_bits, ORDER_BITS, UNSIGNED_VALUE },
	{ "decimal", TYPE_DECIMAL, MYSQL_CLIENT_BYTES,
	  mysql_source_decode_decimal, ORDER_PLAIN, NULL },
	/* The text of a float, read as a double, is another number. */
	{ "float", TYPE_FLOAT32, MYSQL_CLIENT_FLOAT, mysql_source_decode_float,
	  ORDER_NONE, NULL },
	{ "double", TYPE_FLOAT64, MYSQL_CLIENT_DOUBLE,
	  mysql_source_decode_double, ORDER_PLAIN, "CAST(? AS DOUBLE)" },
	{ "date", TYPE_DATE, MYSQL_CLIENT_TIME, mysql_source_decode_date,
	  ORDER_PLAIN, "CAST(? AS DATE)" },
	{ "datetime", TYPE_TIMESTAMP, MYSQL_CLIENT_TIME,
	  mysql_source_decode_datetime, ORDER_PLAIN, "CAST(? AS DATETIME(6))" },
	{ "timestamp", TYPE_TIMESTAMPTZ, MYSQL_CLIENT_TIME,
	  mysql_source_decode_datetime, ORDER_PLAIN, "CAST(? AS DATETIME(6))" },
	/* MySQL 9 takes a parameter under this cast for a TIME of its own, and
	 * a text in it for 00:00:00. */
	{ "time", TYPE_INTERVAL, MYSQL_CLIENT_TIME, mysql_source_decode_time,
	  ORDER_PLAIN, "CAST(CAST(? AS CHAR) AS TIME(6))" },
	TEXT("char"),
	TEXT("varchar"),
	TEXT("tinytext"),
	TEXT("text"),
	TEXT("mediumtext"),
	TEXT("longtext"),
	{ "enum", TYPE_TEXT, MYSQL_CLIENT_BYTES, mysql_source_decode_text,
	  ORDER_LABEL, NULL },
	{ "set", TYPE_TEXT, MYSQL_CLIENT_BYTES, mysql_source_decode_text,
	  ORDER_LABEL, NULL },
	BYTES("binary"),
	BYTES("varbinary"),
	BYTES("tinyblob"),
	BYTES("blob"),
	BYTES("mediumblob"),
	BYTES("longblob"),
	BYTES("vector"),
	{ "json", TYPE_JSON, MYSQL_CLIENT_BYTES, mysql_source_decode_text,
	  ORDER_NONE, NULL },
	{ "uuid", TYPE_UUID, MYSQL_CLIENT_BYTES, mysql_source_decode_uuid,
	  ORDER_PLAIN, "?" },
	{ "inet4", TYPE_NATIVE, MYSQL_CLIENT_BYTES, mysql_source_decode_text,
	  ORDER_PLAIN, "?" },
	{ "inet6", TYPE_NATIVE, MYSQL_CLIENT_BYTES, mysql_source_decode_text,
	  ORDER_PLAIN, "?" },
	SHAPE("geometry"),
	SHAPE("point"),
	SHAPE("linestring"),
	SHAPE("polygon"),
	SHAPE("multipoint"),
	SHAPE("multilinestring"),
	SHAPE("multipolygon"),
	SHAPE("geometrycollection"),
	SHAPE("geomcollection"),
	{ NULL, TYPE_NATIVE, MYSQL_CLIENT_BYTES, mysql_source_decode_text,
	  ORDER_NONE, NULL },
};

const struct mysql_source_type *mysql_source_types(size_t *n)
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

const struct mysql_source_type *mysql_source_type_find(const char *data_type,
						       bool is_unsigned)
{
	size_t i = 0;

	while (types_table[i].name &&
	       !types_is(types_table[i].name, data_type, is_unsigned))
		i++;
	/* DECIMAL, FLOAT and DOUBLE UNSIGNED are the same without a sign. */
	return types_table[i].name || !is_unsigned
		       ? &types_table[i]
		       : mysql_source_type_find(data_type, false);
}

const struct mysql_source_type *mysql_source_type_bits(int bits)
{
	return mysql_source_type_find("bit", bits > 63);
}

static const struct {
	int type;
	const char *name;
} types_of_protocol[] = {
	{ MYSQL_CLIENT_TYPE_TINY, "tinyint" },
	{ MYSQL_CLIENT_TYPE_SHORT, "smallint" },
	{ MYSQL_CLIENT_TYPE_INT24, "mediumint" },
	{ MYSQL_CLIENT_TYPE_LONG, "int" },
	{ MYSQL_CLIENT_TYPE_LONGLONG, "bigint" },
	{ MYSQL_CLIENT_TYPE_YEAR, "year" },
	{ MYSQL_CLIENT_TYPE_FLOAT, "float" },
	{ MYSQL_CLIENT_TYPE_DOUBLE, "double" },
	{ MYSQL_CLIENT_TYPE_DECIMAL, "decimal" },
	{ MYSQL_CLIENT_TYPE_NEWDECIMAL, "decimal" },
	{ MYSQL_CLIENT_TYPE_DATE, "date" },
	{ MYSQL_CLIENT_TYPE_DATETIME, "datetime" },
	{ MYSQL_CLIENT_TYPE_TIMESTAMP, "timestamp" },
	{ MYSQL_CLIENT_TYPE_TIME, "time" },
	{ MYSQL_CLIENT_TYPE_JSON, "json" },
	{ MYSQL_CLIENT_TYPE_GEOMETRY, "geometry" },
};

const struct mysql_source_type *
mysql_source_type_of_field(const struct mysql_client_field *f)
{
	if (f->type == MYSQL_CLIENT_TYPE_BIT)
		return mysql_source_type_bits((int)f->length);
	for (size_t i = 0; i < ARRAY_SIZE(types_of_protocol); i++) {
		if (types_of_protocol[i].type == f->type)
			return mysql_source_type_find(
				types_of_protocol[i].name,
				f->is_unsigned &&
					f->type != MYSQL_CLIENT_TYPE_YEAR);
	}
	return mysql_source_type_find(f->binary ? "varbinary" : "varchar",
				      false);
}

void mysql_source_type_set_digits(struct type *out, long precision, long scale,
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

void mysql_source_type_digits(const struct mysql_client_field *f,
			      struct type *out)
{
	/* A sign, and a point. */
	mysql_source_type_set_digits(
		out, (long)f->length - !f->is_unsigned - (f->decimals > 0),
		f->decimals, f->decimals);
}
