/*
 * A table is read as it was described, or not at all. Before each statement
 * that reads rows, its transaction looks at the table's oid and its columns'
 * numbers, types and modifiers. It does so under the table's lock.
 */
#ifndef TIDEMARK_CONNECTORS_POSTGRES_SHAPE_H
#define TIDEMARK_CONNECTORS_POSTGRES_SHAPE_H

#include "connectors/postgres/postgres.h"
#include "connectors/postgres/query.h"

/* Begin a stream of rows. `leaf`: the part of the table that is read by itself,
 * or NULL. `extra`: how many columns the query has behind the layout's.
 * TRANSIENT if the table is no longer what was described. */
int postgres_source_shape_stream(struct postgres *c, const struct leaf *leaf,
				 const struct query *q, size_t extra,
				 struct error *err);

/* `rc` of a step for this source: was the statement refused because the table
 * was altered since it was described? Then it is TRANSIENT, for the run to
 * describe the table anew. Ends the pass of a failed step. */
int postgres_source_shape_judge(struct postgres *c,
				const struct source_spec *source,
				const struct watermark_spec *mark, int rc,
				struct error *err);

#endif
