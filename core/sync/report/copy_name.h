/*
 * The name of a pipeline that `copy` makes. It belongs to the tables, not to
 * the spelling of their URLs: it is made of the engines' answers about both
 * ends. An older version may have left a mark under a name of its own rule, or
 * made it while an end said less of itself. Such a mark is found at the target,
 * and the pipeline goes on under that name.
 */
#ifndef TIDEMARK_CORE_SYNC_REPORT_COPY_NAME_H
#define TIDEMARK_CORE_SYNC_REPORT_COPY_NAME_H

#include "core/settings/settings.h"
#include "core/sync/parts/ends.h"

/* Open both ends and give the one pipeline of `s` its name, unless the user has
 * (`named`). The ends stay open in `ends`, which is empty after an error. An
 * end that does not answer is tried again as a run does. If the name has no
 * mark, and another name has one of the same tables, the log says so. */
int copy_name_find(struct settings *s, bool named, struct ends *ends,
		   struct error *err);

#endif
