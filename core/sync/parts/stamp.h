/*
 * load.loaded_at: a column of the target with the time of loading. The source
 * does not have it: it is put behind the columns of each batch that goes to
 * the destination. A destination writes it with the row and compares without
 * it, so that an unchanged row stays as it is (schema_compared()).
 */
#ifndef TIDEMARK_CORE_SYNC_PARTS_STAMP_H
#define TIDEMARK_CORE_SYNC_PARTS_STAMP_H

#include "core/data/batch.h"
#include "core/settings/settings.h"

/* `out` is the target's schema for rows of `source`; release it. CONFIG if the
 * source has a column of that name. */
int stamp_schema(const struct pipeline_settings *p, const struct schema *source,
		 struct schema *out, struct error *err);

/* A batch as the target takes it: `batch` is the one given, unless that lacks
 * the column. */
struct stamped {
	const struct batch *batch;
	struct batch own; /* its other columns are those of the one given */
};
/* `schema`: the target's. The batch given outlives it. */
void stamp_begin(struct stamped *s, const struct schema *schema,
		 const struct batch *b);
void stamp_end(struct stamped *s);

#endif
