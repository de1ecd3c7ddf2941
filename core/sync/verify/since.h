/*
 * A side of a comparison that reads only the rows whose mark is a value or
 * later. The source goes by the pipeline's mark column, the destination by its
 * column of that name.
 */
#ifndef TIDEMARK_CORE_SYNC_VERIFY_SINCE_H
#define TIDEMARK_CORE_SYNC_VERIFY_SINCE_H

#include "core/sync/verify/side.h"

/* CONFIG if the rows of this pipeline do not say since when they are as they
 * are (xmin). */
int verify_since_check(const struct pipeline_settings *p, struct error *err);
/* For an open side: verify_read_both() reads from `since` on. CONFIG: `since`
 * is no value of the column, or there is no such column. */
int verify_since_begin(struct verify_side *s, const char *since,
		       struct error *err);

#endif
