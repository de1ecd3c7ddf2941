/*
 * How a pipeline's rows are read from a table: each column's SQL, wire type
 * and place, the key, the mark. Built by describe, kept by the connector for
 * the settle and scan that follow.
 */
#ifndef TIDEMARK_CONNECTORS_POSTGRES_LAYOUT_H
#define TIDEMARK_CONNECTORS_POSTGRES_LAYOUT_H

#include "connectors/postgres/indexes.h"
#include "connectors/postgres/relation.h"
#include "connectors/postgres/types.h"
#include "core/plugin/connector.h"

struct layout_column {
	char *name;
	char *expression; /* the user's, or NULL */
	char *sql; /* "table"."name" or the expression in parentheses */
	/* The expression by which the server fills it, where that may be
	 * coarser than its type; or NULL. */
	char *computed;
	char *cast; /* the base type without modifier: pg_catalog.int4 */
	const struct wire_type *wire;
	decode_fn decode;
	struct type type; /* native owned */
	uint32_t oid; /* the base type's, */
	int32_t modifier; /* and its modifier: as a result describes them */
	char *labels; /* an enum's, in their order; or NULL */
	int64_t number; /* attnum; 0: an expression */
	bool nullable;
	bool collate; /* ordered by COLLATE "C", unlike its own collation */
};

struct layout {
	struct relation relation;
	struct indexes indexes;
	struct layout_column *columns; /* visible ones, then a hidden mark */
	size_t n_columns; /* visible */
	size_t *key;
	size_t n_key;
	bool key_unique; /* an index vouches for it */
	long mark; /* among `columns`, may be n_columns (hidden); -1 */
	/* The total order of a keyset pass: the mark, then the key. */
	size_t *order;
	size_t n_order;
	char *where; /* the user's, or NULL */
};

/* `mark` may be NULL. SCHEMA: no such table or column, no usable key; CONFIG:
 * the user's SQL fails, the strategy cannot serve this table. */
int postgres_source_layout_read(struct pg *pg, const struct source_spec *source,
				const struct watermark_spec *mark,
				struct layout *out, struct error *err);
void postgres_source_layout_release(struct layout *l);
/* Columns, key and mark as the engine sees them. */
void postgres_source_layout_to_schema(const struct layout *l, const char *table,
				      struct schema *out);
const struct layout_column *
postgres_source_layout_mark(const struct layout *l); /* or NULL */

#endif
