/* Values of a statement's row into batch vectors, one function a kind. */
#ifndef TIDEMARK_CONNECTORS_SQLITE_DECODE_H
#define TIDEMARK_CONNECTORS_SQLITE_DECODE_H

#include "connectors/sqlite/types.h"

#define SQLITE_SOURCE_DECODE(name)                                             \
	int name(struct vector *v, size_t row, struct sqlite_statement *st,    \
		 int column, const struct type *type, struct error *err)

SQLITE_SOURCE_DECODE(sqlite_source_decode_integer); /* INT64 */
SQLITE_SOURCE_DECODE(sqlite_source_decode_bool);
SQLITE_SOURCE_DECODE(sqlite_source_decode_real); /* FLOAT64 */
SQLITE_SOURCE_DECODE(sqlite_source_decode_decimal);
SQLITE_SOURCE_DECODE(sqlite_source_decode_text); /* UTF-8, checked */
SQLITE_SOURCE_DECODE(sqlite_source_decode_any); /* as the text of what it is */
SQLITE_SOURCE_DECODE(sqlite_source_decode_json);
SQLITE_SOURCE_DECODE(sqlite_source_decode_blob);
SQLITE_SOURCE_DECODE(sqlite_source_decode_uuid);
SQLITE_SOURCE_DECODE(sqlite_source_decode_date);
SQLITE_SOURCE_DECODE(sqlite_source_decode_time);
SQLITE_SOURCE_DECODE(
	sqlite_source_decode_timestamp); /* TIMESTAMP, TIMESTAMPTZ */

#endif
