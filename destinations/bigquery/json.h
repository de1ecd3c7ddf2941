/* JSON texts that BigQuery's JSON holds without a change of content. */
#ifndef TIDEMARK_DESTINATIONS_BIGQUERY_JSON_H
#define TIDEMARK_DESTINATIONS_BIGQUERY_JSON_H

#include <stddef.h>

/* The part of a text for which the type has no place, or that it would drop
 * without a word; NULL: none. The order of members, spaces and a number's
 * spelling do not count. */
const char *bigquery_json_refused(const char *text, size_t n);

#endif
