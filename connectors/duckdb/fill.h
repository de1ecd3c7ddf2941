/* Columns of chunks into batch vectors, one function a layout. */
#ifndef TIDEMARK_CONNECTORS_DUCKDB_FILL_H
#define TIDEMARK_CONNECTORS_DUCKDB_FILL_H

#include "connectors/duckdb/types.h"

#define DKSRC_FILL(name)                                                       \
	size_t name(struct vector *v, size_t row, const struct dksrc_cells *c, \
		    size_t from, size_t n, struct error *err)

DKSRC_FILL(dksrc_fill_same); /* of the same width and meaning */
DKSRC_FILL(dksrc_fill_small); /* integers that travel as wider ones */
DKSRC_FILL(dksrc_fill_number); /* DECIMAL, HUGEINT, UHUGEINT */
DKSRC_FILL(dksrc_fill_bytes); /* text and bytes */
DKSRC_FILL(dksrc_fill_date);
DKSRC_FILL(dksrc_fill_timestamp); /* of every unit */
DKSRC_FILL(dksrc_fill_interval);
DKSRC_FILL(dksrc_fill_uuid);

#endif
