/*
 * Mode append without a key. Each row that is read past the mark is kept as it
 * is, and nothing tells it from one that was read before. So no row may be read
 * a second time, unless what it was loaded as is removed in the transaction
 * that loads it.
 */
#ifndef TIDEMARK_CORE_SYNC_PARTS_KEYLESS_H
#define TIDEMARK_CORE_SYNC_PARTS_KEYLESS_H

#include "core/data/batch.h"
#include "core/settings/settings.h"

/* Does the pipeline keep rows that no key tells apart? */
bool keyless_appends(const struct pipeline_settings *p,
		     const struct schema *schema);
/* CONFIG: it does, and rows that are read again would be there twice. */
int keyless_refuse_again(const struct pipeline_settings *p,
			 const struct schema *schema, struct error *err);
/* CONFIG: a setting would have rows read a second time. */
int keyless_check(const struct pipeline_settings *p,
		  const struct schema *schema, struct error *err);
/* Does the first row of `b` lie beyond the mark `last` of the batch before it?
 * Then all rows up to `last` are there. False, too, if it cannot be told. */
bool keyless_is_beyond(const struct batch *b, enum strategy strategy,
		       const char *last);

#endif
