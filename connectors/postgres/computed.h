/* The text that computes a mark: tick.h says how coarse that makes it. */
#ifndef TIDEMARK_CONNECTORS_POSTGRES_COMPUTED_H
#define TIDEMARK_CONNECTORS_POSTGRES_COMPUTED_H

#include "clients/pg.h"
#include "connectors/common/tick.h"
#include "connectors/postgres/layout.h"

/* Follow a view's mark down to the tables: `computed` becomes the expression
 * that the view makes of it. */
int postgres_source_computed_read(struct pg *pg, struct source_layout *l,
				  struct error *err);
/* Are the marks as fine as the column's type says? */
bool postgres_source_computed_is_plain(const struct source_column *mark);
/* If not: why? */
enum tick_doubt
postgres_source_computed_doubt(const struct source_column *mark);

#endif
