/*
 * BigQuery's types: as which kind of value each travels, the SQL that selects
 * it, and how a text is compared with it. A type that is not in the table
 * (arrays, structs, ranges) travels as text with its type's name.
 */
#ifndef TIDEMARK_CONNECTORS_BIGQUERY_TYPES_H
#define TIDEMARK_CONNECTORS_BIGQUERY_TYPES_H

#include <jansson.h>

#include "core/data/batch.h"

struct bigquery_source_type {
	const char *name; /* in SQL, without digits */
	/* The SQL that is selected: "%s" is the column. */
	const char *output;
	const char *value; /* casts a compared text; NULL: no exact order */
	enum type_kind kind;
	int digits; /* a time's fraction */
};

/* Never NULL. Fills `out` (native owned by the caller) from a field of a
 * TableSchema. */
const struct bigquery_source_type *bigquery_source_type_of(const json_t *field,
							   struct type *out);
/* The column as it is selected; caller frees. */
char *bigquery_source_type_output(const struct bigquery_source_type *how,
				  const char *sql);
/* Put a cell of such a column at `row`. DATA: it is no such value. */
int bigquery_source_type_take(const struct bigquery_source_type *how,
			      struct vector *v, size_t row, const char *text,
			      size_t n, struct error *err);
/* Append a cell of a column of the API's type as value_print() would. */
void bigquery_source_type_print(const char *api_type, const char *text,
				struct strbuf *out);

#endif
