/*
 * The name of a pipeline that `copy` makes. It belongs to the tables, not to
 * the spelling of their URLs: what the engines say of both ends makes it. A
 * mark that an older version left under a name of its own rule, or one that was
 * made while an end said less of itself, is found at the target, and the
 * pipeline goes on under that name.
 */
#ifndef TIDEMARK_CORE_SYNC_REPORT_COPY_NAME_H
#define TIDEMARK_CORE_SYNC_REPORT_COPY_NAME_H

#include "core/settings/settings.h"
#include "core/sync/parts/ends.h"

/* Opens both ends, gives the one pipeline of `s` its name, unless the user has
 * (`named`), and leaves the ends open in `ends`, which is empty after an error.
 * An end that does not answer is tried again as a run does. Where the name has
 * no mark, and another has one of the same tables, the log says so. */
int copy_name_find(struct settings *s, bool named, struct ends *ends,
		   struct error *err);

#endif
