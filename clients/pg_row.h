/*
 * Rows as COPY (FORMAT binary) sends them. A header comes before the first row.
 * Each row is a count of columns and the bytes of each column. A trailer ends
 * them. Takes any bytes; knows nothing of libpq. Format: "Binary Format" in
 * PostgreSQL's page on COPY.
 */
#ifndef TIDEMARK_CLIENTS_PG_ROW_H
#define TIDEMARK_CLIENTS_PG_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"

struct pg_field_bytes {
	const uint8_t *data; /* borrowed; NULL: NULL */
	size_t n;
};

struct pg_row {
	size_t width; /* how many fields a row has to have */
	bool begun; /* the header has been seen */
	struct pg_field_bytes *fields;
	size_t n_fields;
	size_t capacity;
};

/* 1: `fields` has the `width` columns of the row in `data`, which must outlive
 * them. 0: the trailer. Negative: TRANSIENT, no server sends this. Before the
 * first call zero `row`, except for its width. */
int pg_row_read(struct pg_row *row, const uint8_t *data, size_t n,
		struct error *err);
void pg_row_release(struct pg_row *row);

#endif
