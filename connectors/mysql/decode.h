/* Values of a stream into batch vectors, one function a kind. */
#ifndef TIDEMARK_CONNECTORS_MYSQL_DECODE_H
#define TIDEMARK_CONNECTORS_MYSQL_DECODE_H

#include "connectors/mysql/types.h"

/* Is it a day of the calendar? A month or day of 0 is none, nor is a day that
 * only ALLOW_INVALID_DATES accepts. */
bool mysql_source_is_day(const struct mysql_client_time *t);

#define MYSQL_SOURCE_DECODE(name)                                              \
	int name(struct vector *v, size_t row,                                 \
		 const struct mysql_client_cell *cell, enum zero_dates zero,   \
		 struct error *err)

MYSQL_SOURCE_DECODE(
	mysql_source_decode_integer); /* INT16, INT32, INT64, UINT64 */
MYSQL_SOURCE_DECODE(mysql_source_decode_float);
MYSQL_SOURCE_DECODE(mysql_source_decode_double);
MYSQL_SOURCE_DECODE(mysql_source_decode_decimal);
MYSQL_SOURCE_DECODE(mysql_source_decode_bits); /* INT64, UINT64 */
MYSQL_SOURCE_DECODE(mysql_source_decode_date);
MYSQL_SOURCE_DECODE(mysql_source_decode_datetime);
MYSQL_SOURCE_DECODE(mysql_source_decode_time); /* INTERVAL */
MYSQL_SOURCE_DECODE(mysql_source_decode_text); /* UTF-8, checked */
MYSQL_SOURCE_DECODE(mysql_source_decode_bytes);
MYSQL_SOURCE_DECODE(
	mysql_source_decode_geometry); /* the SRID in front is cut off */
MYSQL_SOURCE_DECODE(mysql_source_decode_uuid);

#endif
