/* Values of a statement's row into batch vectors, one function a kind. */
#ifndef TIDEMARK_CONNECTORS_SQLITE_DECODE_H
#define TIDEMARK_CONNECTORS_SQLITE_DECODE_H

#include "connectors/sqlite/types.h"

#define SQSRC_DECODE(name)                                                     \
	int name(struct vector *v, size_t row, struct sqlite_statement *st,    \
		 int column, const struct type *type, struct error *err)

SQSRC_DECODE(sqsrc_decode_integer); /* INT64 */
SQSRC_DECODE(sqsrc_decode_bool);
SQSRC_DECODE(sqsrc_decode_real); /* FLOAT64 */
SQSRC_DECODE(sqsrc_decode_decimal);
SQSRC_DECODE(sqsrc_decode_text); /* UTF-8, checked */
SQSRC_DECODE(sqsrc_decode_any); /* as the text of what it is */
SQSRC_DECODE(sqsrc_decode_json);
SQSRC_DECODE(sqsrc_decode_blob);
SQSRC_DECODE(sqsrc_decode_uuid);
SQSRC_DECODE(sqsrc_decode_date);
SQSRC_DECODE(sqsrc_decode_time);
SQSRC_DECODE(sqsrc_decode_timestamp); /* TIMESTAMP, TIMESTAMPTZ */

#endif
