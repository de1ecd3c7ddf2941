/* Columns of chunks into batch vectors, one function a layout. */
#ifndef TIDEMARK_CONNECTORS_DUCKDB_FILL_H
#define TIDEMARK_CONNECTORS_DUCKDB_FILL_H

#include "connectors/duckdb/types.h"

#define DUCKDB_SOURCE_FILL(name)                                               \
	size_t name(struct vector *v, size_t row,                              \
		    const struct duckdb_source_cells *c, size_t from,          \
		    size_t n, struct error *err)

DUCKDB_SOURCE_FILL(duckdb_source_fill_same); /* same width and meaning */
DUCKDB_SOURCE_FILL(
	duckdb_source_fill_small); /* integers that travel as wider ones */
DUCKDB_SOURCE_FILL(duckdb_source_fill_number); /* DECIMAL, HUGEINT, UHUGEINT */
DUCKDB_SOURCE_FILL(duckdb_source_fill_bytes); /* text and bytes */
DUCKDB_SOURCE_FILL(duckdb_source_fill_date);
DUCKDB_SOURCE_FILL(duckdb_source_fill_timestamp); /* any unit */
DUCKDB_SOURCE_FILL(duckdb_source_fill_interval);
DUCKDB_SOURCE_FILL(duckdb_source_fill_uuid);

#endif
