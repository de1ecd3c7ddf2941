/* Which JSON texts BigQuery's JSON holds as what they say. */
#ifndef TIDEMARK_DESTINATIONS_BIGQUERY_JSON_H
#define TIDEMARK_DESTINATIONS_BIGQUERY_JSON_H

#include <stddef.h>

/* What the type has no place for, or would drop without a word; NULL: nothing.
 * The order of members, spaces and how a number is spelt say nothing. */
const char *bigquery_json_refused(const char *text, size_t n);

#endif
