/* The indexes of a table: its primary key, unique indexes, and indexes that an
 * ordered read can use. */
#ifndef TIDEMARK_CONNECTORS_POSTGRES_INDEXES_H
#define TIDEMARK_CONNECTORS_POSTGRES_INDEXES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "clients/pg.h"

struct index_info {
	bool primary;
	bool unique; /* over all rows, by plain columns, not deferrable */
	bool ordered; /* a btree over all rows */
	json_t *columns; /* names in order, null for an expression */
};
struct indexes {
	struct index_info *items;
	size_t n;
};

int postgres_source_indexes_find(struct pg *pg, uint32_t oid,
				 struct indexes *out, struct error *err);
void postgres_source_indexes_release(struct indexes *x);
/* The columns of the primary key, or NULL. Borrowed. */
const json_t *postgres_source_indexes_primary(const struct indexes *x);
/* Does an index keep the values of this column from repeating? */
bool postgres_source_indexes_unique_on(const struct indexes *x,
				       const char *column);
/* Is there an ordered index that begins with this column? */
bool postgres_source_indexes_begin_with(const struct indexes *x,
					const char *column);

#endif
