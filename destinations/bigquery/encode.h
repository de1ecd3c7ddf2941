/* Rows as newline-delimited JSON, for a load job: {"c0":1,"c1":"x","r":0}. */
#ifndef TIDEMARK_DESTINATIONS_BIGQUERY_ENCODE_H
#define TIDEMARK_DESTINATIONS_BIGQUERY_ENCODE_H

#include "core/data/batch.h"
#include "destinations/bigquery/types.h"

/* Append a row; `keys_only`: of the key's columns. `table`: for messages. DATA
 * naming column and key: a value that BigQuery has no place for. */
int bigquery_encode_row(struct strbuf *out, const struct batch *b, size_t row,
			const struct bigquery_type *types, bool keys_only,
			const char *table, struct error *err);
/* Append `n` bytes in base64 (RFC 4648, padded). */
void bigquery_encode_base64(struct strbuf *out, const uint8_t *data, size_t n);
/* Append a JSON string. */
void bigquery_encode_text(struct strbuf *out, const uint8_t *text, size_t n);

#endif
