/* The indexes of a table: its primary key, unique indexes, and indexes that an
 * ordered read can use. */
#ifndef TIDEMARK_CONNECTORS_POSTGRES_INDEXES_H
#define TIDEMARK_CONNECTORS_POSTGRES_INDEXES_H

#include <stdint.h>

#include "clients/pg.h"
#include "connectors/common/source_layout.h"

/* Fill the layout's indexes. `unique`: over all rows, by plain columns, not
 * deferrable; `sorted`: a btree over all rows. */
int postgres_source_indexes_find(struct pg *pg, uint32_t oid,
				 struct source_layout *out, struct error *err);
/* Ask ahead for those of the table. */
void postgres_source_indexes_ahead(struct pg *pg, uint32_t oid);
/* Does an index keep the values of this column from repeating? */
bool postgres_source_indexes_unique_on(const struct source_layout *l,
				       const char *column);
/* Is there an ordered index that begins with this column? */
bool postgres_source_indexes_begin_with(const struct source_layout *l,
					const char *column);

#endif
