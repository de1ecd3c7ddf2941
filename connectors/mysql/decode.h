/* Values of a stream into batch vectors, one function a kind. */
#ifndef TIDEMARK_CONNECTORS_MYSQL_DECODE_H
#define TIDEMARK_CONNECTORS_MYSQL_DECODE_H

#include "connectors/mysql/types.h"

/* Is it a day of the calendar? Not with a month or day of 0, nor one that
 * ALLOW_INVALID_DATES let in. */
bool mysrc_is_day(const struct mydb_time *t);

#define MYSRC_DECODE(name)                                                     \
	int name(struct vector *v, size_t row, const struct mydb_cell *cell,   \
		 enum zero_dates zero, struct error *err)

MYSRC_DECODE(mysrc_decode_integer); /* INT16, INT32, INT64, UINT64 */
MYSRC_DECODE(mysrc_decode_float);
MYSRC_DECODE(mysrc_decode_double);
MYSRC_DECODE(mysrc_decode_decimal);
MYSRC_DECODE(mysrc_decode_bits); /* INT64, UINT64 */
MYSRC_DECODE(mysrc_decode_date);
MYSRC_DECODE(mysrc_decode_datetime);
MYSRC_DECODE(mysrc_decode_time); /* INTERVAL */
MYSRC_DECODE(mysrc_decode_text); /* UTF-8, checked */
MYSRC_DECODE(mysrc_decode_bytes);
MYSRC_DECODE(mysrc_decode_geometry); /* the SRID in front is cut off */
MYSRC_DECODE(mysrc_decode_uuid);

#endif
