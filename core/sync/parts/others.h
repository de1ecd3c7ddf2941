/*
 * Other pipelines that load the same table: pipelines of other configs, earlier
 * names of this one, or calls of `copy`. Their marks at the destination tell.
 * To one pipeline the other's rows are extra. So nothing is deleted, nor the
 * table replaced, while there is another. A pipeline in mode update brings no
 * rows and does not count.
 */
#ifndef TIDEMARK_CORE_SYNC_PARTS_OTHERS_H
#define TIDEMARK_CORE_SYNC_PARTS_OTHERS_H

#include "core/base/strlist.h"
#include "core/plugin/destination.h"
#include "core/settings/settings.h"

/* Is `name`, of a mark, that of a chunk of one of the pipeline's backfills? */
bool others_is_chunk(const char *name, const char *pipeline);
/* Append the names of those that bring rows into the target. */
int others_ask(struct destination *d, const struct target *target,
	       struct strlist *names, struct error *err);
/* The same by a connection of its own. Tries again what may pass. */
int others_find(const struct pipeline_settings *p, struct strlist *names,
		struct error *err);
/* CONFIG if there are any, with their names, the consequence and the remedy. */
int others_refuse(const struct pipeline_settings *p,
		  const struct strlist *names, const char *so,
		  struct error *err);
/* Both, of an open destination. */
int others_check(struct destination *d, const struct pipeline_settings *p,
		 const struct target *target, const char *so,
		 struct error *err);
/* For `check`: a problem for each. */
int others_inspect(struct destination *d, const struct pipeline_settings *p,
		   const struct target *target, struct problems *out,
		   struct error *err);
/* Forget the mark of `name`, of an open destination that is not prepared. */
int others_drop(struct destination *d, const struct target *target,
		const char *name, struct error *err);
/* Forget the mark that `name`, and what is left of its backfills, has at the
 * table of `p`. CONFIG if it has none, naming those that have. */
int others_forget(const struct pipeline_settings *p, const char *name,
		  struct error *err);

#endif
