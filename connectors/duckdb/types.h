/*
 * DuckDB's types: as which kind of value each travels, how its chunks hold it,
 * how it is compared, and which function takes it over. A type that is not in
 * the table (lists, structs, BIT, TIMESTAMP_NS, ...) travels as DuckDB's own
 * text with its type's name.
 */
#ifndef TIDEMARK_CONNECTORS_DUCKDB_TYPES_H
#define TIDEMARK_CONNECTORS_DUCKDB_TYPES_H

#include "clients/duckdb.h"
#include "core/data/batch.h"

/* A column of a chunk. */
struct duckdb_source_cells {
	const void *data;
	const uint64_t *validity; /* NULL: all present */
	struct duck_type type;
};

static inline bool duckdb_source_is_null(const struct duckdb_source_cells *c,
					 size_t row)
{
	return c->validity && !(c->validity[row >> 6] >> (row & 63) & 1);
}

/* Append rows `from` to `from + n` of a chunk's column to `v`, from its row
 * `row` on. Returns how many it took. Fewer than `n`: the next one does not fit
 * (DATA error, which names neither column nor key). */
typedef size_t (*duckdb_source_fill)(struct vector *v, size_t row,
				     const struct duckdb_source_cells *c,
				     size_t from, size_t n, struct error *err);

struct duckdb_source_type {
	const char *name; /* as DESCRIBE has it */
	enum type_kind kind;
	enum duck_kind duck;
	duckdb_source_fill fill;
	const char *cast; /* a compared text's; NULL: no exact order */
	int digits; /* a time's fraction */
};

/* Never NULL. Fills `out` (native owned by the caller) and what the chunks
 * hold. */
const struct duckdb_source_type *duckdb_source_type_of(const char *declared,
						       struct type *out,
						       struct duck_type *duck);

#endif
