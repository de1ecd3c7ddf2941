/*
 * PostgreSQL's own facts of a table and its columns, beside struct
 * source_layout. Built by describe, kept by the connector for the settle and
 * scan that follow.
 */
#ifndef TIDEMARK_CONNECTORS_POSTGRES_LAYOUT_H
#define TIDEMARK_CONNECTORS_POSTGRES_LAYOUT_H

#include "connectors/common/source_layout.h"
#include "connectors/postgres/relation.h"
#include "connectors/postgres/types.h"

/* source_column.how; its `cast` is the base type without modifier:
 * pg_catalog.int4. */
struct wire_column {
	const struct wire_type *wire;
	decode_fn decode;
	uint32_t oid; /* the base type's, */
	int32_t modifier; /* and its modifier: as a result describes them */
	bool collate; /* ordered by COLLATE "C", unlike its own collation */
};

/* source_layout.own */
struct layout_facts {
	struct relation relation;
	struct wire_column columns[]; /* as source_layout.all */
};

/* `mark` may be NULL. SCHEMA: no such table or column, no usable key; CONFIG:
 * the user's SQL fails, the strategy cannot serve this table. */
int postgres_source_layout_read(struct pg *pg, const struct source_spec *source,
				const struct watermark_spec *mark,
				struct source_layout *out, struct error *err);
/* Columns, key and mark as the engine sees them. */
void postgres_source_layout_to_schema(const struct source_layout *l,
				      const char *table, struct schema *out);

static inline const struct relation *
postgres_source_relation(const struct source_layout *l)
{
	return &((const struct layout_facts *)l->own)->relation;
}

static inline const struct wire_column *
postgres_source_wire(const struct source_column *c)
{
	return c->how;
}

#endif
